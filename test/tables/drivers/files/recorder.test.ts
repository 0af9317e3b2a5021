// When files are recorded: which steps are recorded, which reports wait for a record, and that no report overtakes a waiting one.
// The test replaces the recording itself, and decides when each record ends.
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { FileRecorder } from '../../../../src/drivers/files/recorder.ts'
import type { Report } from '../../../../src/kernel/model/reports.ts'
import type { ToolEffect } from '../../../../src/kernel/model/words.ts'

const USAGE = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

const asked = (step: number): Report => ({ type: 'model.started', step, attempt: 1, model: 'm' })
const answered = (step: number, ...effects: readonly ToolEffect[]): Report => ({
  type: 'model.finished',
  step,
  message: [],
  usage: USAGE,
  finish: 'stop',
  durationMs: 1,
  calls: effects.map((effect, index) => ({ callId: `${step}.${index}`, name: 'tool', effect })),
})
const result = (callId: string): Report => ({ type: 'tool.finished', callId, outcome: 'ok', content: '', durationMs: 1 })
const ended: Report = { type: 'turn.ended', turn: 1, outcome: 'ok' }
const note: Report = { type: 'note', text: 'n' }

class Stage {
  readonly sent: string[] = []
  readonly abort = new AbortController()
  readonly recorder: FileRecorder
  #records: PromiseWithResolvers<void>[] = []

  constructor(external = false) {
    this.recorder = new FileRecorder({
      external,
      signal: this.abort.signal,
      send: async (report) => {
        this.sent.push(report.type === 'files.recorded' || report.type === 'files.failed' ? `${report.type} ${report.step}` : report.type)
        return 'ok'
      },
      record: async (step) => {
        this.sent.push(`(${step}`)
        const record = Promise.withResolvers<void>()
        this.#records.push(record)
        await record.promise
        return { commit: 'c', head: 'h', omitted: [], omittedMore: 0 }
      },
    })
  }

  async tell(...reports: readonly Report[]): Promise<void> {
    for (const report of reports) this.recorder.send(report).catch(() => 'late')
    await turn()
  }

  /** Ends the running record. */
  async done(error?: Error): Promise<void> {
    const record = this.#records.shift()
    if (error) record?.reject(error)
    else record?.resolve()
    await turn()
  }

  /** The reports since the last call. */
  get news(): string[] {
    return this.sent.splice(0)
  }
}

describe('a native agent', () => {
  test('records a step during the next model call, whose answer waits for the record', async () => {
    const stage = new Stage()
    await stage.tell(asked(1), answered(1, 'read', 'once'), result('1.0'), result('1.1'), asked(2))
    expect(stage.news).toEqual(['model.started', 'model.finished', 'tool.finished', 'tool.finished', 'model.started', '(1'])
    await stage.tell(answered(2, 'once'))
    expect(stage.news, 'no tool may write before').toEqual([])
    await stage.done()
    expect(stage.news).toEqual(['files.recorded 1', 'model.finished'])
  })

  test('does not record a step that only read or had no calls', async () => {
    const stage = new Stage()
    await stage.tell(asked(1), answered(1, 'read'), result('1.0'), asked(2), answered(2), ended)
    expect(stage.news).toEqual(['model.started', 'model.finished', 'tool.finished', 'model.started', 'model.finished', 'turn.ended'])
  })

  test('ends a turn, and exits, after the record of the last step', async () => {
    for (const last of [ended, { type: 'exited', code: 0, osSignal: null } as const]) {
      const stage = new Stage()
      await stage.tell(answered(4, 'once'), result('4.0'), last)
      expect(stage.news).toEqual(['model.finished', 'tool.finished', '(4'])
      await stage.done()
      expect(stage.news).toEqual(['files.recorded 4', last.type])
    }
  })

  test('begins with a record, too', async () => {
    const stage = new Stage()
    // oxlint-disable-next-line typescript/no-floating-promises -- it never rejects
    stage.recorder.begin(0)
    await stage.tell(asked(1), answered(1, 'once'))
    expect(stage.news).toEqual(['model.started', '(0'])
    await stage.done()
    expect(stage.news).toEqual(['files.recorded 0', 'model.finished'])
  })

  test('lets no report overtake a waiting one', async () => {
    const stage = new Stage()
    await stage.tell(answered(1, 'once'), ended, note, asked(2))
    expect(stage.news).toEqual(['model.finished', '(1'])
    await stage.done()
    expect(stage.news).toEqual(['files.recorded 1', 'turn.ended', 'note', 'model.started'])
    await stage.tell(note)
    expect(stage.news, 'and holds nothing back later').toEqual(['note'])
  })
})

test('an external agent waits only at the end of its turn', async () => {
  const stage = new Stage(true)
  await stage.tell(answered(1, 'once'), result('1.0'), asked(2), answered(2, 'once'), result('2.0'), ended)
  expect(stage.news.filter((sent) => !sent.startsWith('('))).toEqual([
    'model.finished',
    'tool.finished',
    'model.started',
    'model.finished',
    'tool.finished',
  ])
  await stage.done()
  expect(stage.news).toEqual(['files.recorded 1', '(2'])
  await stage.done()
  expect(stage.news).toEqual(['files.recorded 2', 'turn.ended'])
})

test('a failed record is reported, and the next one is made all the same', async () => {
  const stage = new Stage()
  await stage.tell(answered(1, 'once'), asked(2), answered(2, 'once'))
  await stage.done(new Error('no room'))
  expect(stage.news).toEqual(expect.arrayContaining(['files.failed 1', 'model.finished']))
  await stage.tell(ended)
  await stage.done()
  expect(stage.news).toEqual(['(2', 'files.recorded 2', 'turn.ended'])
})

test('an ending incarnation does not wait, and reports no files', async () => {
  const stage = new Stage()
  await stage.tell(answered(1, 'once'), ended)
  expect(stage.news).toEqual(['model.finished', '(1'])
  stage.abort.abort()
  await stage.done(new Error('git was cancelled'))
  expect(stage.news).toEqual(['turn.ended'])
  await stage.tell(answered(2, 'once'), ended)
  expect(stage.news).toEqual(['model.finished', 'turn.ended'])
})
