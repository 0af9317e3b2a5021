// Requests of an ACP agent to its client: files in its working directory and not elsewhere, and commands in its containment. Denied
// requests are refused.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openAcpHarness } from '../../support/agents/acp-harness.ts'
import type { AcpHarness } from '../../support/agents/acp-harness.ts'
import { findProcessesWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

let harness: AcpHarness
let work: string

beforeEach(async () => {
  harness = await openAcpHarness()
  work = join(harness.dir, 'work')
  mkdirSync(work)
  writeFileSync(join(work, 'in.txt'), 'inside')
  writeFileSync(join(harness.dir, 'out.txt'), 'outside')
  symlinkSync(harness.dir, join(work, 'link'))
})
afterEach(async () => {
  await harness[Symbol.asyncDispose]()
})

describe('files', () => {
  test.each([
    ['in the working directory are read', 'in.txt', 'inside'],
    ['that do not exist cause an error', 'none.txt', /^error: Resource not found/],
    ['above the working directory are refused', '../out.txt', /^error: Invalid params: .*outside of the working directory/],
    [
      'behind a link out of the working directory are refused',
      'link/out.txt',
      /^error: Invalid params: .*outside of the working directory/,
    ],
  ])('%s', async (_, file, expected) => {
    const run = await harness.start({ spec: { cwd: work } })
    expect((await run.runTurn(`read ${work}/${file}`)).result).toMatch(expected)
  })

  test('outside of the working directory are read if a rule allows it', async () => {
    const run = await harness.start({ spec: { cwd: work, permissions: { default: 'ask', tools: { read: 'allow' } } } })
    expect((await run.runTurn(`read ${harness.dir}/out.txt`)).result).toBe('outside')
  })

  test('in the working directory are written, with their directories; behind a link out of it they are refused', async () => {
    const run = await harness.start({ spec: { cwd: work } })
    expect((await run.runTurn(`write ${work}/deep/new.txt\nwrite ${work}/link/new.txt`)).result).toMatch(/^wroteerror: .*outside/)
    expect(readFileSync(join(work, 'deep/new.txt'), 'utf8')).toBe('written')
  })

  test.each([[{ deny: ['write'] }], [{ deny: ['edit'] }], [{ permissions: { default: 'deny' as const } }]])(
    'are not written where that is denied (%j)',
    async (spec) => {
      const run = await harness.start({ spec: { cwd: work, ...spec } })
      expect((await run.runTurn(`write ${work}/in.txt`)).result).toMatch(/^error: .*may not be written here/)
      expect(readFileSync(join(work, 'in.txt'), 'utf8')).toBe('inside')
    },
  )
})

describe('the allowed paths', () => {
  test('limit the agent in spite of rules that allow more, and refusals are reported', async () => {
    const spec = { cwd: work, permissions: { default: 'allow' as const }, capabilities: { paths: { read: [harness.dir], write: [work] } } }
    const run = await harness.start({ spec })
    expect(
      (await run.runTurn(`read ${harness.dir}/out.txt\nread /etc/passwd\nwrite ${work}/new.txt\nwrite ${work}/link/new.txt`)).result,
    ).toMatch(/^outsideerror: .*only what is below.*wroteerror: .*only what is below/)
    expect(run.kernel.factsOf('capability.refused')).toEqual([
      { type: 'capability.refused', what: 'paths', detail: expect.stringContaining('/etc/passwd may not be read') },
      { type: 'capability.refused', what: 'paths', detail: expect.stringContaining('link/new.txt may not be written') },
    ])
  })

  test('may be outside of the working directory', async () => {
    const run = await harness.start({ spec: { cwd: work, capabilities: { paths: { read: [work, harness.dir], write: [harness.dir] } } } })
    expect((await run.runTurn(`read ${harness.dir}/out.txt\nwrite ${harness.dir}/more.txt`)).result).toBe('outsidewrote')
  })

  test('cannot be left through a dangling link', async () => {
    symlinkSync(join(harness.dir, 'none'), join(work, 'nowhere'))
    const run = await harness.start({ spec: { cwd: work } })
    expect((await run.runTurn(`write ${work}/nowhere`)).result).toMatch(/^error: .*leads nowhere/)
    expect(existsSync(join(harness.dir, 'none'))).toBe(false)
  })
})

describe('commands', () => {
  test('run in the working directory; their output is the result of their call', async () => {
    const run = await harness.start({ spec: { cwd: work } })
    const { result } = await run.runTurn('run pwd; ls in.txt; exit 3')
    expect(result).toBe(`3 false ${work}\nin.txt`)
    expect(run.kernel.factsOf('tool.finished')).toMatchObject([{ outcome: 'error', content: `${work}\nin.txt\n` }])
  })

  test('lose the beginning of output that is longer than the agent keeps', async () => {
    const run = await harness.start({ spec: { cwd: work } })
    expect((await run.runTurn('run seq 1 100; echo end')).result).toMatch(/^0 true (\d+\s)+end$/)
  })

  test('that leave a child behind: a stop of the agent ends the child', async () => {
    const run = await harness.start({ spec: { cwd: work } })
    await run.runTurn(`run setsid sh -c 'exec sleep 600 ${harness.token}' </dev/null >/dev/null 2>&1 & echo ok`)
    await waitUntil(() => findProcessesWith(harness.token).some(({ argv }) => argv[0] === 'sleep'), 'the child sleeps')
    await run.agent.stop({ signal: 'SIGTERM', graceMs: 5_000 })
    expect(findProcessesWith(harness.token)).toEqual([])
  })

  test('are refused if they are denied or do not exist', async () => {
    const deniedRun = await harness.start({ spec: { cwd: work, deny: ['bash'] } })
    expect((await deniedRun.runTurn('run ls')).result).toMatch(/^error: .*Method not found/)
    expect(deniedRun.kernel.factsOf('capability.refused')).toMatchObject([{ what: 'tools', detail: 'a terminal' }])
    const other = await harness.start({ spec: { cwd: work } })
    expect((await other.runTurn('run no-such-command')).result).toMatch(/^error: .*no-such-command/)
  })
})
