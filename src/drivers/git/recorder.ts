// Decides when the files of a worktree are recorded: after each step that may have written, during the next model call. The next tool of a
// native agent waits for the record. All reports of a driver pass through here, because they show when steps end. A later report never
// overtakes a waiting one. A failed record is reported, and delays nothing.
// Tests: test/tables/drivers/git/recorder.test.ts, test/processes/git/records.test.ts.
import type { Ack, Report } from '../../kernel/model/reports.ts'
import type { FileRecord } from './records.ts'
import { errorText } from '../../kernel/util/error-text.ts'

type SendReport = (report: Report) => Promise<Ack>

export interface FileRecorderDeps {
  readonly send: SendReport
  /** records the files; null if the step must not be recorded */
  readonly record: (step: number) => Promise<FileRecord | null>
  /** whether the agent is an external one, whose tools reeve cannot delay */
  readonly external: boolean
  /** cancels the recording */
  readonly signal: AbortSignal
}

export class FileRecorder {
  readonly #deps: FileRecorderDeps
  /** the step that must be recorded next */
  #stepToRecord: number | null = null
  #running: Promise<void> | null = null
  /** resolves when the last waiting report may be sent; null if none waits */
  #queue: Promise<unknown> | null = null

  constructor(deps: FileRecorderDeps) {
    this.#deps = deps
  }

  /** Records a step, after the running record. Never rejects. */
  record(step: number): Promise<void> {
    const before = this.#running ?? Promise.resolve()
    const running = before
      .then(() => this.#record(step))
      .finally(() => {
        if (this.#running === running) this.#running = null
      })
    return (this.#running = running)
  }

  /** Passes a report on, at once or after the record for which it must wait. */
  send(report: Report): Promise<Ack> {
    return this.sendInOrder(report, () => this.#deps.send(report))
  }

  /** Like `send`, for a report that the caller sends in another way. */
  sendInOrder<T>(report: Report, send: () => Promise<T>): Promise<T> {
    this.#noteStep(report)
    const wait = this.#mustWait(report) ? this.#running : null
    if (wait === null && this.#queue === null) return send()
    const turn: Promise<unknown> = Promise.all([this.#queue, wait])
    const sent = turn.then(() => send())
    this.#queue = turn
    // The queue is cleared after this report.
    // oxlint-disable-next-line typescript/no-floating-promises -- the caller that waits for the turn handles a rejection
    turn.finally(() => {
      if (this.#queue === turn) this.#queue = null
    })
    return sent
  }

  /** Resolves when nothing is being recorded. */
  async waitUntilIdle(): Promise<void> {
    while (this.#running) await this.#running
  }

  #noteStep(report: Report): void {
    if (report.type === 'model.finished' && report.calls.some(({ effect }) => effect !== 'read')) this.#stepToRecord = report.step
    else if (this.#stepToRecord !== null && STEP_ENDS.has(report.type)) {
      // oxlint-disable-next-line typescript/no-floating-promises -- it never rejects
      this.record(this.#stepToRecord)
      this.#stepToRecord = null
    }
  }

  /**
   * Whether a report must wait for the running record. A native agent's tools start after the model's answer. After its end a
   * process can report nothing.
   */
  #mustWait({ type }: Report): boolean {
    if (this.#deps.signal.aborted) return false
    return type === 'turn.ended' || type === 'exited' || (type === 'model.finished' && !this.#deps.external)
  }

  async #record(step: number): Promise<void> {
    const { send, record, signal } = this.#deps
    if (signal.aborted) return
    const report = await record(step).then(
      (recorded): Report | null => recorded && recordedReport(step, recorded),
      (error: unknown): Report => ({ type: 'files.failed', step, error: errorText(error) }),
    )
    if (report === null || signal.aborted) return
    // If the process has ended at this moment, the record is no longer needed.
    await send(report).catch(() => 'late')
  }
}

function recordedReport(step: number, { commit, head, omitted: left, omittedMore: more }: FileRecord): Report {
  return { type: 'files.recorded', step, commit, head, left, ...(more > 0 ? { more } : {}) }
}

/** Reports that prove that the tools of the previous step have ended. */
const STEP_ENDS: ReadonlySet<Report['type']> = new Set<Report['type']>(['model.started', 'turn.ended', 'exited'])
