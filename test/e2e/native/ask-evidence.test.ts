// A question of a native agent shows the call, the change of a file, what the agent said before, and a hash. An answer that names
// the hash counts for this question alone.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { runCli } from '../../support/daemon/cli.ts'
import type { AskView, ProcessView, SpawnBody } from '../../../src/api/views/process.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

type Call = readonly [name: string, input: object]

/** Starts an agent that says something before each of these calls. */
function startCalls(calls: readonly Call[], body: Partial<SpawnBody> = {}): Promise<ProcessView> {
  const steps = calls.map(([name, input], index) => ({ text: `Call ${index + 1}.`, tools: [{ name, input }] }))
  return daemon.spawnScripted([...steps, { text: 'done' }], { permissions: 'ask', ...body })
}
const answer = (ref: string, body: object): Promise<unknown> => daemon.client.post(`/v1/processes/${ref}/answer`, body)
async function waitForAsk(ref: string): Promise<AskView> {
  const { process } = await daemon.client.get<{ process: ProcessView }>(`/v1/processes/${ref}/wait`, { for: 'waiting' })
  const [ask] = process.asks
  if (!ask) throw new Error('it asks nothing')
  return ask
}

describe('a question shows', () => {
  test('the command and what the agent said before', async () => {
    const { uuid } = await startCalls([['bash', { command: 'true' }]])
    expect(await waitForAsk(uuid)).toMatchObject({
      callId: expect.any(String),
      step: 1,
      message: 'Call 1.',
      source: 'recorded',
      tool: { name: 'bash', kind: 'execute', input: { command: 'true' }, cut: false, locations: [] },
      diff: [],
      hash: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
  })

  test('an edit as the file before and after it, or only the two texts if the edit does not fit the file', async () => {
    await writeFile(join(daemon.work, 'a'), 'one\ntwo\ntwo\n')
    const { uuid } = await startCalls([
      ['edit', { path: 'a', old_text: 'one\ntwo', new_text: '1' }],
      ['edit', { path: 'a', old_text: 'two', new_text: '2', replace_all: true }],
      ['edit', { path: 'a', old_text: 'two', new_text: '2' }],
      ['edit', { path: 'missing', old_text: 'x', new_text: 'y' }],
    ])
    const diffs = []
    for (let call = 0; call < 4; call += 1) {
      const { tool, diff } = await waitForAsk(uuid)
      expect(tool).toMatchObject({ name: 'edit', kind: 'edit' })
      diffs.push(diff)
      await answer(uuid, { option: 'deny' })
    }
    expect(diffs).toMatchObject([
      [{ path: 'a', old: 'one\ntwo\ntwo\n', new: '1\ntwo\n', oldKnown: true, cut: 0 }],
      [{ path: 'a', old: 'one\ntwo\ntwo\n', new: 'one\n2\n2\n' }],
      [{ path: 'a', old: 'two', new: '2' }],
      [{ path: 'missing', old: 'x', new: 'y' }],
    ])
  })

  test('the old and the new text of a file that is written, a new file, and a file that cannot be shown', async () => {
    await writeFile(join(daemon.work, 'a'), 'old')
    await mkdir(join(daemon.work, 'directory'))
    const { uuid } = await startCalls([
      ['write', { path: 'a', content: 'new' }],
      ['write', { path: 'b', content: 'new' }],
      ['write', { path: 'directory', content: 'new' }],
    ])
    const diffs = []
    for (let call = 0; call < 3; call += 1) {
      diffs.push((await waitForAsk(uuid)).diff)
      await answer(uuid, { option: 'deny' })
    }
    expect(diffs).toMatchObject([
      [{ path: 'a', old: 'old', new: 'new', oldKnown: true }],
      [{ path: 'b', old: null, new: 'new', oldKnown: true }],
      [{ path: 'directory', old: '', new: 'new', oldKnown: false }],
    ])
  })

  test.each<[string, Partial<SpawnBody>]>([
    ['a rule', { deny: ['read'] }],
    ['its paths', { allow: ['read:sub', 'write:sub'] }],
  ])('no text of a file that the agent may not read, because of %s', async (_, body) => {
    await mkdir(join(daemon.work, 'sub'))
    await writeFile(join(daemon.work, 'secret'), 'the key')
    const { uuid } = await startCalls([['write', { path: 'secret', content: 'x' }]], body)
    const ask = await waitForAsk(uuid)
    expect(ask.diff).toMatchObject([{ path: 'secret', old: '', oldKnown: false }])
    expect(JSON.stringify(ask)).not.toContain('the key')
  })

  test('a large change in part, with the size of what it leaves out', async () => {
    const { uuid } = await startCalls([['write', { path: 'a', content: 'x'.repeat(100_000) }]])
    const ask = await waitForAsk(uuid)
    expect(ask).toMatchObject({ diff: [{ old: null, cut: 60_000 }], tool: { cut: true } })
    expect(JSON.stringify(ask).length).toBeLessThan(64 * 1024)
  })

  test('the same after a restart of the daemon, which asks again', async () => {
    const { uuid } = await startCalls([['write', { path: 'a', content: 'x' }]])
    const { hash } = await waitForAsk(uuid)
    await daemon.restart()
    expect((await waitForAsk(uuid)).hash).toBe(hash)
  })
})

describe('an answer with the hash', () => {
  test('of the open question counts, also without its id', async () => {
    const { uuid } = await startCalls([['bash', { command: 'true' }]])
    const { hash } = await waitForAsk(uuid)
    await answer(uuid, { option: 'allow', seen: hash })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
  })

  test('of an earlier question is refused, and changes nothing', async () => {
    const { uuid, pid } = await startCalls([
      ['bash', { command: 'true' }],
      ['bash', { command: 'touch other' }],
    ])
    const first = await waitForAsk(uuid)
    await answer(uuid, { option: 'deny' })
    await daemon.waitForEvent(uuid, ({ fact, question }) => fact === 'process.waiting' && String(question).includes('touch other'))
    const second = await waitForAsk(uuid)
    const refusal = {
      code: 'CONFLICT',
      message: `process ${pid} no longer asks this: it asks ${second.id} now`,
      hint: `Nothing was changed. \`reeve answer ${pid}\` shows its questions.`,
    }
    await expect(answer(uuid, { option: 'allow', seen: first.hash })).rejects.toMatchObject(refusal)
    await expect(answer(uuid, { id: first.id, option: 'allow', seen: first.hash })).rejects.toMatchObject(refusal)
    await expect(answer(uuid, { id: second.id, option: 'allow', seen: first.hash })).rejects.toMatchObject(refusal)
    expect(await waitForAsk(uuid)).toEqual(second)
  })

  test('on the command line', async () => {
    const { uuid, pid } = await startCalls([['bash', { command: 'true' }]])
    const { hash } = await waitForAsk(uuid)
    const cli = (...args: string[]): ReturnType<typeof runCli> => runCli(daemon.home, args, { cwd: daemon.work })
    expect(await cli('answer', '--seen', 'f00', String(pid), '1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no longer asks this: it asks something else now'),
    })
    expect(await cli('answer', '--seen', hash, String(pid), '1')).toMatchObject({ code: 0 })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
  })
})
