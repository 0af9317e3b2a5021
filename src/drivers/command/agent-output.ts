// The stdout of an agent whose JSON lines are known: what is understood becomes reports, anything else stays output.
// Owns the order of what is said. Must never lose a line: one that is no JSON, or says nothing known, is output.
// Test: test/processes/command-agents.test.ts.
import { Meter, chargedBefore, type Charge } from './meter.ts'
import { Narrator } from './narrator.ts'
import { fields } from './formats/format.ts'
import { costUsd } from '../native/prices.ts'
import type { OwnPrices } from '../native/prices.ts'
import type { Report } from '../../kernel/reports.ts'
import type { ProgramExit } from '../contain/contain.ts'
import type { Launch } from '../port.ts'
import type { Ended } from './ending.ts'
import type { Format, Observed } from './formats/format.ts'
import type { Spoken } from './formats/formats.ts'

/** After so long without a line the agent is doing what it asked for last. */
const QUIET_MS = 250
const BRACE = 0x7b
/** The last words on stderr are kept, to say why it ended. */
const LAST_WORDS_CHARS = 300

export interface AgentOutputParts {
  readonly spoken: Spoken
  /** of a fork that has no session yet: the one that it begins as a copy of */
  readonly forkOf: string | undefined
  readonly prices?: OwnPrices | undefined
  /** what its program does is of this turn */
  readonly turn: number
  /** what is said of its end */
  readonly last: (format: Format, ended: Ended) => readonly Report[]
  readonly say: (reports: readonly Report[]) => Promise<void>
}

/** What a program goes on from, and what it leaves to the next one. */
export interface Standing {
  readonly step: number
  readonly sessionId: string | null
  /** what was charged already, by session */
  readonly charged: ReadonlyMap<string, Charge>
}

export async function standingOf(launch: Launch): Promise<Standing> {
  const { step, sessionId, forkOf } = launch
  // An agent that begins has been charged for nothing.
  return { step, sessionId, charged: sessionId === null && forkOf === undefined ? new Map() : await chargedBefore(launch) }
}

export function openAgentOutput(parts: AgentOutputParts, { step, sessionId, charged }: Standing): AgentOutput {
  const { forkOf, prices: own, spoken: { format, command } } = parts
  const meter = new Meter({ charged, ...(forkOf === undefined ? {} : { forkOf }), foreign: format.continues(command), price: (priced, tokens) => costUsd({ ...priced, own }, tokens) })
  const now = () => performance.now()
  const narrator = new Narrator({ step, sessionId, meter, marksSteps: format.marksSteps, model: format.model(command) ?? format.title, forgets: format.forgets(command), now })
  return new AgentOutput(parts, narrator, meter)
}

export class AgentOutput {
  readonly #parts: AgentOutputParts
  readonly #narrator: Narrator
  readonly #meter: Meter
  #order: Promise<void> = Promise.resolve()
  #quiet: NodeJS.Timeout | null = null
  #lastWords = ''

  constructor(parts: AgentOutputParts, narrator: Narrator, meter: Meter) {
    this.#parts = parts
    this.#narrator = narrator
    this.#meter = meter
  }

  get standing(): Standing {
    const { step, sessionId } = this.#narrator
    return { step, sessionId, charged: this.#meter.charged }
  }

  /** Whole lines, each with its LF, and pieces of such as are too long. Resolves when all is acknowledged. */
  take(text: string): Promise<void> {
    return this.#next(async () => {
      const reports: Report[] = []
      let unknown = ''
      for (const line of text.split(/(?<=\n)/)) {
        const seen = this.#read(line)
        if (seen === null) {
          unknown += line
          continue
        }
        if (unknown !== '') reports.push(output(unknown))
        unknown = ''
        reports.push(...await this.#narrator.see(seen))
      }
      if (unknown !== '') reports.push(output(unknown))
      return reports
    })
  }

  /** What it writes to stderr is output as ever; its last line may be all that it says of a failure. */
  complain(text: string): void {
    this.#lastWords = text.trim().split('\n').at(-1)?.slice(0, LAST_WORDS_CHARS) || this.#lastWords
  }

  /** The program has ended, and all that it wrote was taken. */
  end(exit: ProgramExit): Promise<void> {
    const { spoken: { format }, turn, last } = this.#parts
    return this.#next(async () => {
      const reports = this.#narrator.end()
      const complaint = this.#narrator.lastNote || (exit.code === 0 ? '' : this.#lastWords)
      return [...reports, ...last(format, { exit, ending: this.#narrator.ending, complaint, turn, limitedUntil: this.#narrator.limitedUntil, nowMs: Date.now() })]
    }).finally(() => this.#stopWaiting())
  }

  #next(make: () => Promise<readonly Report[]>): Promise<void> {
    this.#stopWaiting()
    const done = this.#order.then(make).then((reports) => this.#say(reports))
    this.#order = done.catch(() => undefined)
    // Where the loop stood still for that long it may have written: what waits to be read is read first.
    const timer = setTimeout(() => setImmediate(() => {
      if (this.#quiet === timer) this.#order = this.#order.then(() => this.#say(this.#narrator.quiet())).catch(() => undefined)
    }), QUIET_MS)
    this.#quiet = timer
    return done
  }

  /** One report that is refused must not silence those that follow. Rejects if the process is gone. */
  async #say(reports: readonly Report[]): Promise<void> {
    if (reports.length === 0) return
    try {
      await this.#parts.say(reports)
    } catch (error) {
      await this.#parts.say([{ type: 'note', text: `not recorded: ${error instanceof Error ? error.message : String(error)}` }])
    }
  }

  #stopWaiting(): void {
    if (this.#quiet !== null) clearTimeout(this.#quiet)
    this.#quiet = null
  }

  #read(line: string): readonly Observed[] | null {
    if (line.charCodeAt(0) !== BRACE) return null
    const { format, command } = this.#parts.spoken
    try {
      return format.read(fields(JSON.parse(line)), command)
    } catch {
      return null
    }
  }
}

function output(text: string): Report {
  return { type: 'output', stream: 'stdout', text }
}
