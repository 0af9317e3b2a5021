// Hostile callers of the file tools: patterns, trees and files that would never end. Each call gets an answer, and none blocks the
// daemon or another agent. The API answers while a tool runs, and a busy thread is ended.
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ToolCall } from '../../../src/drivers/native/context/context.ts'
import { FileWorkers } from '../../../src/drivers/native/tools/file-workers.ts'
import { FreezableTimers } from '../../../src/drivers/common/freezable-timers.ts'
import { Toolbox } from '../../../src/drivers/native/tools/toolbox.ts'
import { truncate } from '../../../src/kernel/util/truncate.ts'
import { openContainmentHarness } from '../../support/agents/containment-harness.ts'
import type { ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import type { ScriptAnswer } from '../../support/daemon/daemon-home.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { tempDir } from '../../support/tmp.ts'
import type { TempDir } from '../../support/tmp.ts'

/** A pattern that backtracks for longer than any time limit. */
const EVIL = '(a+)+$'
const EVIL_LINE = `${'a'.repeat(60)}b`

describe('a call of', () => {
  let contained: ContainmentHarness
  let dir: string

  beforeAll(async () => {
    contained = await openContainmentHarness()
    dir = join(contained.dir, 'work')
    await mkdir(join(dir, 'deep', ...Array.from({ length: 200 }, () => 'd')), { recursive: true })
    await writeFile(join(dir, 'a'.repeat(200)), 'x')
    await writeFile(join(dir, 'evil'), EVIL_LINE)
    await writeFile(join(dir, 'line'), 'a'.repeat(4_000_000))
    execFileSync('mkfifo', [join(dir, 'fifo')])
    await symlink('self', join(dir, 'self'))
    await symlink('..', join(dir, 'deep/up'))
    await symlink('/dev/zero', join(dir, 'zero'))
  })
  afterAll(() => contained[Symbol.asyncDispose]())

  const longName = 'x'.repeat(5_000)
  const stars = `${'*a'.repeat(40)}b`

  const calls: readonly (readonly [name: string, input: unknown, outcome: 'ok' | 'error', words: string])[] = [
    ['glob', { pattern: stars }, 'ok', 'no files match'],
    ['glob', { pattern: '{0..99999999}' }, 'error', 'more than 1000 alternatives'],
    ['glob', { pattern: '{a,b}'.repeat(24) }, 'error', 'more than 1000 alternatives'],
    ['glob', { pattern: '**/'.repeat(500) }, 'ok', ''],
    ['glob', { pattern: '**/up/**/up/**' }, 'ok', ''],
    ['glob', { pattern: 'deep/up/deep/up/deep/up/evil' }, 'ok', 'deep/up/deep/up/deep/up/evil'],
    ['glob', { pattern: '*', path: '/proc/self/fd' }, 'ok', ''],
    ['glob', { pattern: '\0' }, 'ok', 'no files match'],
    ['grep', { pattern: 'x', glob: stars }, 'ok', 'no lines match'],
    ['grep', { pattern: 'x', glob: '{a,b}'.repeat(24) }, 'error', 'more than 1000 alternatives'],
    ['grep', { pattern: EVIL, path: 'evil' }, 'error', 'takes too long'],
    ['grep', { pattern: '(?:a|a)*b', path: 'line' }, 'error', ''],
    ['grep', { pattern: '('.repeat(100_000) }, 'error', 'cannot be used'],
    ['grep', { pattern: 'a', path: 'line' }, 'ok', 'line:1: aaa'],
    ['grep', { pattern: 'a', path: 'fifo' }, 'ok', 'no lines match'],
    ['grep', { pattern: 'a', path: 'zero' }, 'ok', 'no lines match'],
    ['grep', { pattern: 'a', path: 'self' }, 'error', 'ELOOP'],
    ['ls', { path: 'self' }, 'error', 'ELOOP'],
    ['ls', { path: longName }, 'error', 'ENAMETOOLONG'],
    ['read', { path: 'fifo' }, 'error', 'not a regular file'],
    ['read', { path: 'zero' }, 'error', 'not a regular file'],
    ['read', { path: 'line' }, 'ok', 'truncated within line 1'],
    ['read', { path: 'line', offset: 9_007_199_254_740_991 }, 'error', 'ends at line 1'],
    ['read', { path: 'a\0b' }, 'error', 'null bytes'],
    ['edit', { path: 'fifo', old_text: 'a', new_text: 'b' }, 'error', 'not a regular file'],
    ['edit', { path: 'line', old_text: 'a', new_text: longName.repeat(40), replace_all: true }, 'error', ''],
    ['write', { path: 'fifo', content: 'x' }, 'error', 'not a regular file'],
    ['write', { path: 'zero', content: 'x' }, 'error', 'not a regular file'],
    ['write', { path: 'self', content: 'x' }, 'error', ''],
    ['write', { path: 'evil/below', content: 'x' }, 'error', ''],
    ['read', JSON.parse('{"path":"evil","__proto__":{"limit":1}}'), 'error', 'invalid input'],
    ...['toString', 'constructor', '__proto__', 'hasOwnProperty', 'valueOf'].map(
      (name) => [name, {}, 'error', 'there is no tool'] as const,
    ),
  ]
  const cases = calls.map(([name, input, outcome, words]) => [name, truncate(JSON.stringify(input), 80), outcome, words, input] as const)

  test.each(cases)('%s %s gets an answer: %s %s', async (name, _, outcome, expectedText, input) => {
    const call: ToolCall = { type: 'tool-call', callId: 'c', name, input }
    const containment = await contained.open(contained.manager.kind)
    const { signal } = new AbortController()
    const end = await new Toolbox({ tools: null, deny: [] }).run(call, {
      callId: 'c',
      cwd: dir,
      env: {},
      containment,
      timers: new FreezableTimers(),
      signal,
      endSignal: signal,
      output: () => undefined,
    })
    expect({ ...end, content: end.content.slice(0, 40_000) }).toMatchObject({ outcome, content: expect.stringContaining(expectedText) })
    expect(Buffer.byteLength(end.content)).toBeLessThan(40_000)
  })
})

describe('a thread', () => {
  let dir: TempDir

  beforeEach(async () => {
    dir = await tempDir()
    await writeFile(join(dir.path, 'evil'), EVIL_LINE)
    await writeFile(join(dir.path, 'plain'), 'plain line')
  })
  afterEach(() => dir[Symbol.asyncDispose]())

  interface Agent {
    readonly timers: FreezableTimers
    readonly controller: AbortController
  }

  const newAgent = (): Agent => ({ timers: new FreezableTimers(), controller: new AbortController() })
  const callContext = ({ timers, controller }: Agent) => ({ cwd: dir.path, timers, signal: controller.signal })
  const search = (workers: FileWorkers, agent: Agent, pattern = EVIL) =>
    workers.run({ name: 'grep', effect: 'read', input: { pattern, path: 'evil', ignore_case: false } }, callContext(agent))
  const startRead = (workers: FileWorkers, agent: Agent) =>
    workers.run({ name: 'read', effect: 'read', input: { path: 'plain', offset: 1 } }, callContext(agent))

  test('starts at the first use, and ends when no call is left', async () => {
    const workers = new FileWorkers({ idleMs: 1 })
    expect(workers.size).toBe(0)
    expect(await startRead(workers, newAgent())).toBe('plain line')
    await waitUntil(() => workers.size === 0, 'no thread is left')
    expect(await startRead(workers, newAgent())).toBe('plain line')
  })

  test('is ended when its call takes too long or is aborted, and the next call gets a new thread', async () => {
    const workers = new FileWorkers({ callMs: 1, workers: 1 })
    await expect(search(workers, newAgent())).rejects.toThrow('the call took longer than 0.001 s and was ended')
    const workersWithoutLimit = new FileWorkers({ workers: 1 })
    const agent = newAgent()
    const call = search(workersWithoutLimit, agent)
    agent.controller.abort(new Error('stop'))
    await expect(call).rejects.toThrow('stop')
    expect(await startRead(workersWithoutLimit, newAgent())).toBe('plain line')
    expect(workersWithoutLimit.size).toBe(1)
  })

  test('that is busy for one agent leaves threads for the others, in any order of requests', async () => {
    const workers = new FileWorkers({ workers: 2, perAgent: 1 })
    const [busyAgent, otherAgent] = [newAgent(), newAgent()]
    // Both threads have begun: the start of a thread may take as long as a search.
    await Promise.all([startRead(workers, busyAgent), startRead(workers, otherAgent)])
    const endMessages: string[] = []
    const searches = [1, 2, 3].map(() => search(workers, busyAgent).catch((error: Error) => endMessages.push(error.message)))
    await startRead(workers, otherAgent).then(() => endMessages.push('read'))
    expect(endMessages).toEqual(['read'])
    busyAgent.controller.abort(new Error('stop'))
    await Promise.all(searches)
    expect(endMessages).toEqual(['read', 'stop', 'stop', 'stop'])
  })

  test('of a frozen agent uses no processor: a read begins again after the thaw', async () => {
    const workers = new FileWorkers({ workers: 1 })
    const agent = newAgent()
    const call = search(workers, agent, 'a+b$')
    agent.timers.setFrozen(true)
    expect(workers.size).toBe(0)
    expect(await startRead(workers, newAgent())).toBe('plain line')
    agent.timers.setFrozen(false)
    expect(await call).toBe(`evil:1: ${EVIL_LINE}`)
  })

  test('is not ended while it writes', async () => {
    const workers = new FileWorkers({ workers: 1 })
    const agent = newAgent()
    const call = workers.run({ name: 'write', effect: 'idempotent', input: { path: 'new', content: 'whole' } }, callContext(agent))
    agent.timers.setFrozen(true)
    agent.controller.abort(new Error('stop'))
    expect(await call).toBe('wrote 5 bytes to new')
    expect(await readFile(join(dir.path, 'new'), 'utf8')).toBe('whole')
    await expect(
      workers.run({ name: 'write', effect: 'idempotent', input: { path: 'late', content: '' } }, callContext(agent)),
    ).rejects.toThrow('stop')
  })

  test('leaves no file open, even after many ends', async () => {
    const workers = new FileWorkers({ idleMs: 1 })
    const countOpenFiles = (): number => readdirSync('/proc/self/fd').length
    await startRead(workers, newAgent())
    await waitUntil(() => workers.size === 0, 'no thread is left')
    const openBefore = countOpenFiles()
    for (let times = 0; times < 20; times += 1) {
      const agent = newAgent()
      const calls = [search(workers, agent), search(workers, agent)].map((call) => call.catch(() => undefined))
      agent.controller.abort()
      await Promise.all(calls)
    }
    await waitUntil(() => countOpenFiles() <= openBefore, 'all is closed')
  })
})

test('the API and other agents continue while a pattern backtracks, and the process can be killed', async () => {
  await using home = await DaemonHome.create()
  await home.start()
  await writeFile(join(home.work, 'evil'), EVIL_LINE)
  const hostileCalls = Array.from({ length: 2 }, () => ({ name: 'grep', input: { pattern: EVIL } }))
  const spawn = async (items: readonly ScriptAnswer[]): Promise<string> =>
    (await home.spawn({ intent: 'go', model: home.writeScript(items) })).uuid
  const busyProcess = await spawn(Array.from({ length: 60 }, () => ({ tools: hostileCalls })))
  await home.waitForView(busyProcess, ({ activity }) => activity === 'working')
  const other = await spawn([1, 2, 3, 4].map((limit) => ({ tools: [{ name: 'read', input: { path: 'evil', limit } }] })))
  // The other agent completed all its work during the searches.
  expect(await home.waitForEnd(other)).toMatchObject({ exit: { code: 0 }, usage: { toolCalls: 4 } })
  expect(await home.view(busyProcess)).toMatchObject({ state: 'running' })
  await home.signal(busyProcess, { signal: 'SIGKILL' })
  expect(await home.waitForEnd(busyProcess)).toMatchObject({ exit: { code: 137 } })
  await home.stop()
  await home.waitUntilNothingIsLeft()
})
