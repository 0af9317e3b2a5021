// A recorded process as a model gives the same answers. Tools are really executed, and notes name the differences from the recording.
// The tests use a daemon, and a real kill -9 for the crash.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

interface Step {
  readonly text: string
  readonly tools: readonly { readonly name: string; readonly input: object }[]
}

const bashStep = (command: string): Step => ({ text: `I run ${command}`, tools: [{ name: 'bash', input: { command } }] })
const eventsOfFact = (events: readonly EventView[], fact: string): readonly EventView[] => events.filter((event) => event['fact'] === fact)
const notesOf = (events: readonly EventView[]): readonly string[] =>
  eventsOfFact(events, 'process.note')
    .map((event) => String(event['text']))
    .filter((text) => text.startsWith('replay:'))

async function startReplay(
  record: ProcessView,
  body: Partial<SpawnBody> = {},
): Promise<{ view: ProcessView; notes: readonly string[]; events: readonly EventView[] }> {
  const { uuid } = await daemon.spawn({ model: `replay:${record.uuid}`, ...body })
  const view = await daemon.waitForEnd(uuid)
  const events = await daemon.readHistory(uuid)
  return { view, events, notes: notesOf(events) }
}

async function record(items: readonly object[], body: Partial<SpawnBody> = {}): Promise<ProcessView> {
  return daemon.waitForEnd((await daemon.spawnScripted(items, body)).uuid)
}

describe('a replay', () => {
  beforeEach(() => writeFile(join(daemon.work, 'in.txt'), 'one\ntwo\nthree\n'))

  test('of the same work has the same messages, costs nothing and notes that there are no differences', async () => {
    const first = await record(
      [
        { ...bashStep('cat in.txt'), usage: { input: 500, output: 20 } },
        {
          tools: [
            { name: 'read', input: { path: 'in.txt' } },
            { name: 'ls', input: {} },
          ],
        },
        { text: 'done: {{ lastResult }}' },
      ],
      { name: 'first' },
    )
    const { view, notes, events } = await startReplay(first)
    expect(notes).toEqual(['replay: replayed 3 of 3 steps, 0 differences'])
    expect(view).toMatchObject({
      status: 'completed',
      model: `replay:${first.uuid}`,
      lastText: first.lastText,
      step: 3,
      usage: { inputTokens: 0, outputTokens: 0, costUsd: 0, unpriced: false, toolCalls: 3 },
    })
    expect(view.note).toBe(notes[0])
    const historyBefore = await daemon.readHistory(first.uuid)
    for (const fact of ['model.finished', 'tool.finished']) {
      // Reading tools run side by side, and end in any order.
      const stepsOf = (list: readonly EventView[]): unknown[] =>
        eventsOfFact(list, fact)
          .map(({ message, finish, callId, content, outcome }) => ({ message, finish, callId: String(callId), content, outcome }))
          .toSorted((a, b) => (a.callId < b.callId ? -1 : a.callId > b.callId ? 1 : 0))
      expect(stepsOf(events)).toEqual(stepsOf(historyBefore))
    }
  })

  test('names the differences: a result, the prompt, the tools, the message', async () => {
    const writeAgent = (name: string, prompt: string): Promise<void> =>
      writeFile(join(daemon.work, '.reeve/agents', `${name}.md`), `---\nname: ${name}\n---\n${prompt}\n`)
    await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
    await writeAgent('old', 'You help.\nBe brief.')
    await writeAgent('new', 'You help.\nBe thorough.')
    const first = await record(
      [bashStep('cat in.txt'), { tools: [{ name: 'write', input: { path: 'out.txt', content: 'x' } }] }, { text: 'done' }],
      { agent: 'old', intent: 'look' },
    )
    await writeFile(join(daemon.work, 'in.txt'), 'one\n2\nthree\n')
    const { view, notes } = await startReplay(first, { agent: 'new', intent: 'look well', deny: ['write'] })
    expect(view).toMatchObject({ status: 'completed', lastText: 'done' })
    expect(notes).toEqual([
      "replay: the system prompt differs: line 2: 'Be thorough.' instead of 'Be brief.'",
      'replay: the offered tools differ: without write',
      "replay: step 1: the message differs: line 1: 'look well' instead of 'look'",
      "replay: step 1: the result of `bash` differs: line 2: '2' instead of 'two'",
      'replay: step 2: the result of `write` differs: denied instead of ok',
      'replay: replayed 3 of 3 steps, 5 differences',
    ])
  })

  test('reports a limited number of differences, and counts the rest', async () => {
    const manyCalls = Array.from({ length: 60 }, (_, index) => ({ name: 'bash', input: { command: `echo ${index}; cat in.txt` } }))
    const first = await record([{ tools: manyCalls }, { text: 'done' }])
    await writeFile(join(daemon.work, 'in.txt'), 'other\n')
    const { notes } = await startReplay(first)
    expect(notes).toHaveLength(52)
    expect(notes.slice(-2)).toEqual(['replay: more differences', 'replay: replayed 2 of 2 steps, 60 differences'])
  })

  test('of several turns answers each message with the steps of its turn', async () => {
    const chat = await daemon.spawnScripted([{ text: 'first' }, bashStep('echo hi'), { text: 'second' }], {
      interactive: true,
      intent: 'a',
    })
    await daemon.waitForView(chat.uuid, (view) => view.turn === 1 && view.status === 'ready')
    await daemon.send(chat.uuid, 'b')
    await daemon.waitForView(chat.uuid, (view) => view.turn === 2 && view.status === 'ready')
    await daemon.signal(chat.uuid, 'SIGKILL')
    const first = await daemon.waitForEnd(chat.uuid)

    const { uuid } = await daemon.spawn({ model: `replay:${first.uuid}`, interactive: true, intent: 'a' })
    await daemon.waitForView(uuid, (view) => view.turn === 1 && view.status === 'ready')
    await daemon.send(uuid, 'B')
    expect(await daemon.waitForView(uuid, (view) => view.turn === 2 && view.status === 'ready')).toMatchObject({
      lastText: 'second',
      step: 3,
    })
    expect(notesOf(await daemon.readHistory(uuid))).toEqual([
      "replay: step 2: the message differs: line 1: 'B' instead of 'b'",
      'replay: replayed 3 of 3 steps, 1 difference',
    ])
    await daemon.send(uuid, 'more')
    await daemon.waitForView(uuid, (view) => view.turn === 3 && view.status === 'ready')
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    // A process that is not interactive ends with the first turn.
    expect(await startReplay(first, { intent: 'a' })).toMatchObject({
      view: { status: 'completed', lastText: 'first' },
      notes: ['replay: replayed 1 of 3 steps, 0 differences'],
    })
  })

  test('of an interrupted process completes with the end of the recording, and one of a failed process fails in the same way', async () => {
    const runningProcess = await daemon.spawnScripted([bashStep('echo hi'), { text: 'never', delay_ms: 600_000 }])
    await daemon.waitForEvent(runningProcess.uuid, (event) => event['fact'] === 'model.started' && event['step'] === 2)
    await daemon.signal(runningProcess.uuid, 'SIGKILL')
    expect(await startReplay(await daemon.waitForEnd(runningProcess.uuid))).toMatchObject({
      view: { status: 'completed', step: 2, exit: { code: 0 } },
      notes: ['replay: replayed 1 of 1 step, 0 differences'],
    })
    const failed = await record([bashStep('echo hi'), { error: 'the model fell over' }])
    expect(failed).toMatchObject({ status: 'failed', exit: { reason: 'the model fell over' } })
    expect(await startReplay(failed)).toMatchObject({
      view: { status: 'failed', exit: { reason: 'the model fell over' } },
      notes: ['replay: replayed 1 of 1 step, 0 differences'],
    })
  })
})

describe('the recording', () => {
  test('is named by PID, name or a part of its UUID, and recorded by its whole UUID', async () => {
    const first = await record([{ text: 'said' }], { name: 'the-first' })
    for (const ref of [`id:${first.uuid.slice(-8)}`, 'the-first', String(first.pid)]) {
      const { uuid } = await daemon.spawn({ model: `replay:${ref}` })
      expect(await daemon.waitForEnd(uuid)).toMatchObject({ model: `replay:${first.uuid}`, lastText: 'said' })
    }
    await daemon.spawn({ model: 'script:none.yaml', fallback: ['replay:the-first'] }).then(({ uuid, fallback }) => {
      expect(fallback).toEqual([`replay:${first.uuid}`])
      return daemon.waitForEnd(uuid)
    })
  })

  test('has no paid model as its fallback, unless one is requested', async () => {
    await writeFile(daemon.paths.configFile, 'fallback: [ollama/paid]\n')
    await mkdir(join(daemon.work, '.reeve/agents'), { recursive: true })
    await writeFile(join(daemon.work, '.reeve/agents/own.md'), '---\nfallback: [ollama/own]\nmodel: "script:none.yaml"\n---\n')
    const failed = await record([{ error: 'the model fell over' }])
    expect(failed.fallback).toEqual([])
    expect(await startReplay(failed, { agent: 'own' })).toMatchObject({
      view: { status: 'failed', fallback: [], exit: { reason: 'the model fell over' } },
    })
    const fallback = await daemon.writeScript([{ text: 'from the script' }])
    expect(await startReplay(failed, { fallback: [fallback] })).toMatchObject({
      view: { status: 'completed', lastText: 'from the script', fallback: [fallback] },
    })
    const replayProcess = await daemon.spawn({ agent: 'own' })
    expect(replayProcess.fallback).toEqual(['ollama/own'])
    await daemon.waitForEnd(replayProcess.uuid)
    await daemon.resume(replayProcess.uuid, { model: `replay:${failed.uuid}` })
    expect(await daemon.waitForEnd(replayProcess.uuid)).toMatchObject({ model: `replay:${failed.uuid}`, fallback: [] })
  })

  test('must exist, must have steps, and cannot be the process itself', async () => {
    await expect(daemon.spawn({ model: 'replay:nobody' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const command = await daemon.spawnShell('true')
    await daemon.waitForEnd(command.uuid)
    await expect(daemon.spawn({ model: `replay:${command.uuid}` })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('has no recorded steps'),
    })
    const first = await record([{ text: 'said' }])
    await expect(daemon.resume(first.uuid, { message: 'again', model: `replay:${first.uuid}` })).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('itself'),
    })
  })

  test('that was removed meanwhile is an error at the next start', async () => {
    const first = await record([{ text: 'one' }, { text: 'two' }])
    const { uuid } = await daemon.spawn({ model: `replay:${first.uuid}`, interactive: true, intent: 'a' })
    await daemon.waitForView(uuid, (view) => view.turn === 1 && view.status === 'ready')
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    await daemon.sendRaw({ method: 'DELETE', path: `/v1/processes/${first.uuid}` })
    await daemon.resume(uuid, { message: 'and now' })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'failed',
      exit: { code: 1, reason: expect.stringContaining(`the process ${first.uuid} cannot be replayed: it was removed`) },
    })
    await expect(daemon.spawn({ model: `replay:${first.uuid}` })).rejects.toMatchObject({ code: 'COLLECTED' })
  })

  test('may be of a running process: the steps recorded so far are replayed', async () => {
    const runningProcess = await daemon.spawnScripted([{ text: 'one' }, { text: 'two' }], { interactive: true, intent: 'a' })
    await daemon.waitForView(runningProcess.uuid, (view) => view.turn === 1 && view.status === 'ready')
    expect(await startReplay(runningProcess, { intent: 'a' })).toMatchObject({
      view: { lastText: 'one' },
      notes: ['replay: replayed 1 of 1 step, 0 differences'],
    })
    await daemon.signal(runningProcess.uuid, 'SIGKILL')
    await daemon.waitForEnd(runningProcess.uuid)
  })
})

test('a replay killed with its daemon continues where it was, and repeats no note', { timeout: 120_000 }, async () => {
  await using home = await DaemonHome.create()
  await home.start()
  const gateFile = join(home.work, 'gate')
  const wait = `cat in.txt; while [ -e ${gateFile} ]; do sleep 0.02; done; echo once >> effects`
  await writeFile(join(home.work, 'in.txt'), 'one\n')
  const model = home.writeScript([bashStep('cat in.txt'), bashStep(wait), { text: 'done' }])
  const first = await home.waitForEnd((await home.spawn({ model })).uuid)
  await writeFile(join(home.work, 'in.txt'), 'other\n')
  await writeFile(gateFile, '')
  const { uuid } = await home.spawn({ model: `replay:${first.uuid}` })
  await home.waitForView(uuid, (view) => view.step === 2)
  await waitUntil(() => home.findLeftovers().length > 0, 'the second tool runs')
  await home.kill()
  await home.start()
  await home.resume(uuid)
  expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'completed', step: 3, lastText: 'done' })
  const notes = notesOf((await home.readEvents()).filter((event) => event.uuid === uuid))
  expect(notes).toEqual([
    "replay: step 1: the result of `bash` differs: line 1: 'other' instead of 'one'",
    'replay: step 2: the result of `bash` differs: interrupted instead of ok',
    'replay: replayed 3 of 3 steps, 2 differences',
  ])
  expect(await readFile(join(home.work, 'effects'), 'utf8')).toBe('once\n')
  expect((await home.stop()).code).toBe(0)
  await home.waitUntilNothingIsLeft()
})
