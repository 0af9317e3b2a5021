// The recorder of files: the steps that it records, and the reports that wait for a record. No report overtakes a waiting report.
// The test replaces the recording itself, and decides when each record ends.
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { FileRecorder } from '../../../../src/drivers/git/recorder.ts'
import type { Report } from '../../../../src/kernel/model/reports.ts'
import type { ToolEffect } from '../../../../src/kernel/model/words.ts'

const USAGE = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

const modelStarted = (step: number): Report => ({ type: 'model.started', step, attempt: 1, model: 'm' })
const modelFinished = (step: number, ...effects: readonly ToolEffect[]): Report => ({
  type: 'model.finished',
  step,
  message: [],
  usage: USAGE,
  finish: 'stop',
  durationMs: 1,
  calls: effects.map((effect, index) => ({ callId: `${step}.${index}`, name: 'tool', effect })),
})
const toolFinished = (callId: string): Report => ({ type: 'tool.finished', callId, outcome: 'ok', content: '', durationMs: 1 })
const TURN_ENDED: Report = { type: 'turn.ended', turn: 1, outcome: 'ok' }
const NOTE: Report = { type: 'note', text: 'n' }

class RecorderFixture {
  /** the reports that were passed on, and `(4` when the record of step 4 begins */
  readonly passedOn: string[] = []
  readonly abort = new AbortController()
  readonly recorder: FileRecorder
  #records: PromiseWithResolvers<void>[] = []

  constructor(external = false) {
    this.recorder = new FileRecorder({
      external,
      signal: this.abort.signal,
      send: async (report) => {
        this.passedOn.push(
          report.type === 'files.recorded' || report.type === 'files.failed' ? `${report.type} ${report.step}` : report.type,
        )
        return 'ok'
      },
      record: async (step) => {
        this.passedOn.push(`(${step}`)
        const record = Promise.withResolvers<void>()
        this.#records.push(record)
        await record.promise
        return { commit: 'c', head: 'h', omitted: [], omittedMore: 0 }
      },
    })
  }

  async reportAll(...reports: readonly Report[]): Promise<void> {
    for (const report of reports) this.recorder.send(report).catch(() => 'late')
    await turn()
  }

  /** Ends the running record. */
  async endRecord(error?: Error): Promise<void> {
    const record = this.#records.shift()
    if (error) record?.reject(error)
    else record?.resolve()
    await turn()
  }

  /** The reports since the last call. */
  get newReports(): string[] {
    return this.passedOn.splice(0)
  }
}

describe('a native agent', () => {
  test('records a step during the next model call, whose answer waits for the record', async () => {
    const fixture = new RecorderFixture()
    await fixture.reportAll(modelStarted(1), modelFinished(1, 'read', 'once'), toolFinished('1.0'), toolFinished('1.1'), modelStarted(2))
    expect(fixture.newReports).toEqual(['model.started', 'model.finished', 'tool.finished', 'tool.finished', 'model.started', '(1'])
    await fixture.reportAll(modelFinished(2, 'once'))
    expect(fixture.newReports, 'no tool may write before').toEqual([])
    await fixture.endRecord()
    expect(fixture.newReports).toEqual(['files.recorded 1', 'model.finished'])
  })

  test('records no step that only read or had no calls', async () => {
    const fixture = new RecorderFixture()
    await fixture.reportAll(modelStarted(1), modelFinished(1, 'read'), toolFinished('1.0'), modelStarted(2), modelFinished(2), TURN_ENDED)
    expect(fixture.newReports).toEqual([
      'model.started',
      'model.finished',
      'tool.finished',
      'model.started',
      'model.finished',
      'turn.ended',
    ])
  })

  test('ends a turn, and exits, after the record of the last step', async () => {
    for (const lastReport of [TURN_ENDED, { type: 'exited', code: 0, osSignal: null } as const]) {
      const fixture = new RecorderFixture()
      await fixture.reportAll(modelFinished(4, 'once'), toolFinished('4.0'), lastReport)
      expect(fixture.newReports).toEqual(['model.finished', 'tool.finished', '(4'])
      await fixture.endRecord()
      expect(fixture.newReports).toEqual(['files.recorded 4', lastReport.type])
    }
  })

  test('records its files at the start, too', async () => {
    const fixture = new RecorderFixture()
    // oxlint-disable-next-line typescript/no-floating-promises -- it never rejects
    fixture.recorder.record(0)
    await fixture.reportAll(modelStarted(1), modelFinished(1, 'once'))
    expect(fixture.newReports).toEqual(['model.started', '(0'])
    await fixture.endRecord()
    expect(fixture.newReports).toEqual(['files.recorded 0', 'model.finished'])
  })

  test('lets no report overtake a waiting one', async () => {
    const fixture = new RecorderFixture()
    await fixture.reportAll(modelFinished(1, 'once'), TURN_ENDED, NOTE, modelStarted(2))
    expect(fixture.newReports).toEqual(['model.finished', '(1'])
    await fixture.endRecord()
    expect(fixture.newReports).toEqual(['files.recorded 1', 'turn.ended', 'note', 'model.started'])
    await fixture.reportAll(NOTE)
    expect(fixture.newReports, 'and holds nothing back later').toEqual(['note'])
  })
})

test('an external agent waits only at the end of its turn', async () => {
  const fixture = new RecorderFixture(true)
  await fixture.reportAll(
    modelFinished(1, 'once'),
    toolFinished('1.0'),
    modelStarted(2),
    modelFinished(2, 'once'),
    toolFinished('2.0'),
    TURN_ENDED,
  )
  expect(fixture.newReports.filter((report) => !report.startsWith('('))).toEqual([
    'model.finished',
    'tool.finished',
    'model.started',
    'model.finished',
    'tool.finished',
  ])
  await fixture.endRecord()
  expect(fixture.newReports).toEqual(['files.recorded 1', '(2'])
  await fixture.endRecord()
  expect(fixture.newReports).toEqual(['files.recorded 2', 'turn.ended'])
})

test('a failed record is reported, and the next step is still recorded', async () => {
  const fixture = new RecorderFixture()
  await fixture.reportAll(modelFinished(1, 'once'), modelStarted(2), modelFinished(2, 'once'))
  await fixture.endRecord(new Error('no room'))
  expect(fixture.newReports).toEqual(expect.arrayContaining(['files.failed 1', 'model.finished']))
  await fixture.reportAll(TURN_ENDED)
  await fixture.endRecord()
  expect(fixture.newReports).toEqual(['(2', 'files.recorded 2', 'turn.ended'])
})

test('an ending incarnation does not wait, and reports no files', async () => {
  const fixture = new RecorderFixture()
  await fixture.reportAll(modelFinished(1, 'once'), TURN_ENDED)
  expect(fixture.newReports).toEqual(['model.finished', '(1'])
  fixture.abort.abort()
  await fixture.endRecord(new Error('git was cancelled'))
  expect(fixture.newReports).toEqual(['turn.ended'])
  await fixture.reportAll(modelFinished(2, 'once'), TURN_ENDED)
  expect(fixture.newReports).toEqual(['model.finished', 'turn.ended'])
})
