// When the files of a worktree are recorded: after each step in which a tool could have written, beside the next model call, and
// before the next tool of ours runs. All that a driver reports goes through here, as that is what says where its steps end.
// What is reported later never overtakes what waits. A record that fails is a fact, and holds up nothing.
// Tests: test/tables/recorder.test.ts, test/processes/files.test.ts.
import type { Ack, Report } from '../../kernel/reports.ts'
import type { FileRecord } from './records.ts'

type Say = (report: Report) => Promise<Ack>

export interface RecorderParts {
  readonly say: Say
  /** null: it is not to be recorded */
  readonly record: (step: number) => Promise<FileRecord | null>
  /** its tools run when it likes: nobody can keep them waiting */
  readonly external: boolean
  /** what it is broken off by */
  readonly signal: AbortSignal
}

export class Recorder {
  readonly #parts: RecorderParts
  /** the step that is to be recorded */
  #due: number | null = null
  #running: Promise<void> | null = null
  /** reports that wait, the first of them for a record */
  #line: Promise<unknown> | null = null

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  /** Records a step, behind the record that is on. Never rejects. */
  begin(step: number): Promise<void> {
    const before = this.#running ?? Promise.resolve()
    const running = before.then(() => this.#record(step)).finally(() => {
      if (this.#running === running) this.#running = null
    })
    return (this.#running = running)
  }

  /** Passes a report on: at once, or when the record is done that it waits for. */
  pass(report: Report): Promise<Ack> {
    return this.inOrder(report, () => this.#parts.say(report))
  }

  /** The same, for who says it in another way. */
  inOrder<T>(report: Report, say: () => Promise<T>): Promise<T> {
    this.#look(report)
    const wait = this.#isLate(report) ? this.#running : null
    if (wait === null && this.#line === null) return say()
    const turn: Promise<unknown> = Promise.all([this.#line, wait])
    const said = turn.then(() => say())
    this.#line = turn
    // Behind the report's own turn, so that what comes next cannot be earlier.
    turn.finally(() => { if (this.#line === turn) this.#line = null })
    return said
  }

  /** Resolves when nothing is being recorded. */
  async settled(): Promise<void> {
    while (this.#running) await this.#running
  }

  #look(report: Report): void {
    if (report.type === 'model.finished' && report.calls.some(({ effect }) => effect !== 'read')) this.#due = report.step
    else if (this.#due !== null && ENDS.has(report.type)) {
      this.begin(this.#due)
      this.#due = null
    }
  }

  /** The answer of a step of ours is what its tools wait for. After its end nothing of a process can be said. */
  #isLate({ type }: Report): boolean {
    if (this.#parts.signal.aborted) return false
    return type === 'turn.ended' || type === 'exited' || (type === 'model.finished' && !this.#parts.external)
  }

  async #record(step: number): Promise<void> {
    const { say, record, signal } = this.#parts
    if (signal.aborted) return
    const report = await record(step).then(
      (found): Report | null => found && recorded(step, found),
      (error: unknown): Report => ({ type: 'files.failed', step, error: error instanceof Error ? error.message : String(error) }),
    )
    if (report === null || signal.aborted) return
    // It may have ended in this moment, and then nobody asks for its files.
    await say(report).catch(() => 'late')
  }
}

function recorded(step: number, { commit, head, left, more }: FileRecord): Report {
  return { type: 'files.recorded', step, commit, head, left, ...(more > 0 ? { more } : {}) }
}

/** What shows that the tools of the step before have ended. */
const ENDS: ReadonlySet<Report['type']> = new Set<Report['type']>(['model.started', 'turn.ended', 'exited'])
