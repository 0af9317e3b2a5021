// Reads the stdout of an agent with a known JSON-lines format: known lines become reports, all other lines stay output. Must never drop an
// unknown line: it is reported as output, like a line that is not JSON. Test: test/processes/command/json-line-agents.test.ts.
import type { KeepRaw } from '../../kernel/model/spec-parts.ts'
import { UsageDeltas, readCharges, type Charge } from './usage-deltas.ts'
import { ObservationMapper } from './observation-mapper.ts'
import { fieldsOf } from './formats/format.ts'
import { costUsd } from '../native/models/prices.ts'
import type { UserPrices } from '../native/models/prices.ts'
import { RawLines } from '../common/raw-lines.ts'
import type { Report } from '../../kernel/model/reports.ts'
import type { ProgramExit } from '../contain/containment-contract.ts'
import type { Launch } from '../port.ts'
import type { EndedProgram } from './exit-cause.ts'
import type { AgentFormat, Observation } from './formats/format.ts'
import type { KnownCommand } from './formats/formats.ts'
import { errorText } from '../../kernel/util/error-text.ts'

/** After this time without a line, the agent counts as running its last tool calls. */
const QUIET_MS = 250
const BRACE = 0x7b
/** The number of characters kept of the last stderr line, which may explain the exit. */
const MAX_LAST_LINE_CHARS = 300

export interface AgentOutputDeps {
  readonly known: KnownCommand
  /** the session that the fork copies, if the process has no session of its own yet */
  readonly forkOf: string | undefined
  readonly keepRaw: KeepRaw | undefined
  readonly prices?: UserPrices | undefined
  /** the turn on which the program works */
  readonly turn: number
  /** makes the reports about the end of the program */
  readonly endReports: (format: AgentFormat, ended: EndedProgram) => readonly Report[]
  readonly send: (reports: readonly Report[]) => Promise<void>
}

/** The state that one program of a conversation leaves to the next one. */
export interface ResumePoint {
  /** the last step so far; 0 before the first */
  readonly step: number
  readonly sessionId: string | null
  /** usage charged so far, by session id */
  readonly charged: ReadonlyMap<string, Charge>
}

/** Returns the state from which the first program of an incarnation continues. */
export async function resumePointOf(launch: Launch): Promise<ResumePoint> {
  const { step, sessionId, forkOf } = launch
  // A new agent has no recorded usage.
  return { step, sessionId, charged: sessionId === null && forkOf === undefined ? new Map() : await readCharges(launch) }
}

/** Creates the reader of one program's output, which continues from this state. */
export function openAgentOutput(deps: AgentOutputDeps, { step, sessionId, charged }: ResumePoint): AgentOutput {
  const {
    forkOf,
    prices: userPrices,
    known: { format, command },
  } = deps
  const meter = new UsageDeltas({
    charged,
    ...(forkOf === undefined ? {} : { forkOf }),
    mayBeOlder: format.continuesSession(command),
    price: (priced, tokens) => costUsd({ ...priced, userPrices }, tokens),
  })
  const now = () => performance.now()
  const mapper = new ObservationMapper({
    step,
    sessionId,
    meter,
    marksSteps: format.marksSteps,
    model: format.model(command) ?? format.title,
    keepsNoSession: format.keepsNoSession(command),
    now,
  })
  return new AgentOutput(deps, mapper, meter)
}

export class AgentOutput {
  readonly #deps: AgentOutputDeps
  readonly #mapper: ObservationMapper
  readonly #meter: UsageDeltas
  readonly #raw: RawLines
  #queue: Promise<void> = Promise.resolve()
  #quietTimer: NodeJS.Timeout | null = null
  #lastErrorLine = ''

  constructor(deps: AgentOutputDeps, mapper: ObservationMapper, meter: UsageDeltas) {
    this.#deps = deps
    this.#mapper = mapper
    this.#meter = meter
    this.#raw = new RawLines(deps.keepRaw)
  }

  get resumePoint(): ResumePoint {
    const { step, sessionId } = this.#mapper
    return { step, sessionId, charged: this.#meter.charged }
  }

  /** Whether the agent has reported the end of its task. */
  get isOver(): boolean {
    return this.#mapper.reportedEnd !== null
  }

  /** Reads whole lines, each with its LF, and pieces of overlong lines. Resolves when all reports are acknowledged. */
  takeLines(text: string): Promise<void> {
    return this.#enqueue(async () => {
      const reports: Report[] = []
      let unknown = ''
      for (const line of text.split(/(?<=\n)/)) {
        const observed = this.#read(line)
        if (observed === null) {
          unknown += line
          continue
        }
        if (unknown !== '') reports.push(outputReport(unknown))
        unknown = ''
        reports.push(...this.#raw.add(line), ...(await this.#mapper.observe(observed)))
      }
      if (unknown !== '') reports.push(outputReport(unknown))
      return reports
    })
  }

  /** Remembers the last stderr line, which may be the only explanation of a failure. */
  noteErrorLine(text: string): void {
    this.#lastErrorLine = text.trim().split('\n').at(-1)?.slice(0, MAX_LAST_LINE_CHARS) || this.#lastErrorLine
  }

  /** Reports the end of the program. Must be called after all of its output was read. */
  reportEnd(exit: ProgramExit): Promise<void> {
    const {
      known: { format },
      turn,
      endReports,
    } = this.#deps
    return this.#enqueue(async () => {
      const reports = this.#mapper.onEnd()
      const errorLine = this.#mapper.lastNote || (exit.code === 0 ? '' : this.#lastErrorLine)
      return [
        ...reports,
        ...this.#raw.drain(),
        ...endReports(format, {
          exit,
          ending: this.#mapper.reportedEnd,
          errorLine,
          turn,
          limitedUntil: this.#mapper.limitedUntil,
          nowMs: Date.now(),
        }),
      ]
    }).finally(() => this.#stopQuietTimer())
  }

  #enqueue(make: () => Promise<readonly Report[]>): Promise<void> {
    this.#stopQuietTimer()
    const done = this.#queue.then(make).then((reports) => this.#send(reports))
    // The caller gets the error. Later lines are read anyway.
    this.#queue = done.catch(() => undefined)
    // `setImmediate`: if the event loop was blocked during the wait, pending output is read first.
    const timer = setTimeout(
      () =>
        setImmediate(() => {
          // A report is rejected only if the process no longer exists.
          if (this.#quietTimer === timer) this.#queue = this.#queue.then(() => this.#send(this.#mapper.onQuiet())).catch(() => undefined)
        }),
      QUIET_MS,
    )
    this.#quietTimer = timer
    return done
  }

  /** Sends reports. A refused report does not stop later ones. Rejects if the process no longer exists. */
  async #send(reports: readonly Report[]): Promise<void> {
    if (reports.length === 0) return
    try {
      await this.#deps.send(reports)
    } catch (error) {
      await this.#deps.send([{ type: 'note', text: `not recorded: ${errorText(error)}` }])
    }
  }

  #stopQuietTimer(): void {
    if (this.#quietTimer !== null) clearTimeout(this.#quietTimer)
    this.#quietTimer = null
  }

  #read(line: string): readonly Observation[] | null {
    if (line.charCodeAt(0) !== BRACE) return null
    const { format, command } = this.#deps.known
    try {
      return format.read(fieldsOf(JSON.parse(line)), command)
    } catch {
      // A line that is not JSON is plain output.
      return null
    }
  }
}

function outputReport(text: string): Report {
  return { type: 'output', stream: 'stdout', text }
}
