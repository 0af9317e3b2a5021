// Two printers: one prints the output of a command as if it ran without reeve, the other prints events as JSON. Files and pipes get
// every character unchanged. A terminal gets no control characters except colours. Test: test/e2e/cli/run.test.ts.
import type { EventView } from '../../api/views/daemon.ts'
import type { ProcessView } from '../../api/views/process.ts'
import type { FactBody } from '../../kernel/model/facts.ts'
import type { Stopping } from '../../kernel/model/process.ts'
import { processTitle, endingText, processSummary } from '../print/process-text.ts'
import type { FollowPrinter } from './follow.ts'
import { formatElapsed } from '../../faces/format.ts'
import type { Output } from '../print/output.ts'
import { TerminalFilter } from '../print/terminal-filter.ts'
import { stripControls } from '../print/text.ts'

/** the shortest grace that is reported: a shorter one is over before the user has read the line */
const MIN_REPORTED_GRACE_MS = 1_000
/** the sequence that switches to the alternate screen; full-screen programs print it first */
const FULL_SCREEN = '\x1b[?1049h'
const TERMINAL_HINT = 'it needs a terminal, and commands of reeve have none: start it without reeve. Ctrl+C ends it here.'
const EMPTY_OUTPUT_HINT =
  "it wrote nothing: a command of reeve has no terminal, and its stdin was empty. Pass its work as arguments, as in `reeve run -- sh -c 'make test'`, or pipe it in"

export class CommandPrinter implements FollowPrinter {
  readonly receivesLiveEvents = false
  readonly #out: Output
  #hasEndedByItself = true
  #hasTerminalHint = false
  #hasOutput = false
  readonly #filters: Readonly<Record<'stdout' | 'stderr', TerminalFilter | null>>

  constructor(out: Output) {
    this.#out = out
    const createFilter = (name: 'stdout' | 'stderr'): TerminalFilter | null => (out.isTerminal(name) ? new TerminalFilter() : null)
    this.#filters = { stdout: createFilter('stdout'), stderr: createFilter('stderr') }
  }

  async printEvent(_: EventView, fact: FactBody | undefined): Promise<void> {
    if (fact?.type === 'process.stopping') await this.#reportStopping(fact.stopping)
    if (fact?.type === 'process.exited') this.#hasEndedByItself = fact.exit.cause === 'agent'
    if (fact?.type === 'process.output') await this.#write(fact.stream, fact.text)
    else if (fact?.type === 'process.error') await this.#out.message(stripControls(fact.message))
  }

  /** Reports on a terminal that the process is being stopped: until its end nothing else would show that. */
  async #reportStopping({ signal, graceMs }: Stopping): Promise<void> {
    if (graceMs < MIN_REPORTED_GRACE_MS || !this.#out.isTerminal('stderr')) return
    await this.#out.message(this.#out.paintMessage('dim', `stopping (${signal}); killed after ${formatElapsed(graceMs)}`))
  }

  /**
   * Without a terminal, prints only errors that the command cannot report itself: stderr belongs to the command, and scripts read the code.
   */
  async printEnd(view: ProcessView): Promise<void> {
    for (const name of ['stdout', 'stderr'] as const) await this.#out.raw(name, this.#filters[name]?.end() ?? '')
    const unreported =
      view.exit?.error ?? (this.#hasEndedByItself || this.#out.isTerminal('stderr') ? null : `${processTitle(view)} ${endingText(view)}`)
    if (unreported) await this.#out.raw('stderr', stripControls(`reeve: ${unreported}\n`))
    if (!this.#out.isTerminal('stderr')) return
    await this.#out.message(this.#out.paintMessage('dim', processSummary(view)))
    if (!this.#hasOutput && isBareProgram(view)) await this.#out.message(this.#out.paintMessage('yellow', EMPTY_OUTPUT_HINT))
  }

  async #write(name: 'stdout' | 'stderr', text: string): Promise<void> {
    this.#hasOutput ||= text !== ''
    const filter = this.#filters[name]
    const shown = filter ? filter.push(text) : text
    if (name === 'stdout') await this.#out.piece(shown)
    else await this.#out.raw(name, shown)
    if (!filter || this.#hasTerminalHint || !text.includes(FULL_SCREEN)) return
    this.#hasTerminalHint = true
    await this.#out.message(this.#out.paintMessage('yellow', `\n${TERMINAL_HINT}`))
  }
}

/** Whether the process is a program without arguments that succeeded: probably a shell or interpreter, which read its empty stdin. */
function isBareProgram({ intent, exit, input }: ProcessView): boolean {
  return /^\S+$/.test(intent) && exit?.code === 0 && !input
}

export class JsonPrinter implements FollowPrinter {
  readonly receivesLiveEvents = false
  readonly #out: Output

  constructor(out: Output) {
    this.#out = out
  }

  async printEvent(event: EventView): Promise<void> {
    await this.#out.record(event)
  }

  async printEnd(): Promise<void> {}
}
