// A command's own output, as if it had been started without us, and events as JSON for programs.
// To a file or pipe every character passes as it is; a terminal gets only what it may obey. Test: test/e2e/cli-run.test.ts.
import type { EventView, ProcessView } from '../api/views.ts'
import type { FactBody } from '../kernel/facts.ts'
import type { Stopping } from '../kernel/types.ts'
import { called, ending, held, summary } from './describe.ts'
import type { View } from './follow.ts'
import { elapsed } from './format.ts'
import type { Output } from './output.ts'
import { TerminalOutput } from './terminal-output.ts'
import { safe } from './text.ts'

/** A shorter one is over before it is read. */
const TOLD_GRACE_MS = 1_000

export class CommandView implements View {
  readonly live = false
  readonly #out: Output
  #endedByItself = true
  readonly #terminals: Readonly<Record<'stdout' | 'stderr', TerminalOutput | null>>

  constructor(out: Output) {
    this.#out = out
    const gate = (name: 'stdout' | 'stderr'): TerminalOutput | null => (out.isTerminal(name) ? new TerminalOutput() : null)
    this.#terminals = { stdout: gate('stdout'), stderr: gate('stderr') }
  }

  async event(_: EventView, fact: FactBody | undefined): Promise<void> {
    if (fact?.type === 'process.stopping') await this.#stopping(fact.stopping)
    if (fact?.type === 'process.exited') this.#endedByItself = fact.exit.cause === 'agent'
    if (fact?.type === 'process.output') await this.#write(fact.stream, fact.text)
    else if (fact?.type === 'process.error') await this.#out.words(safe(fact.message))
    else if (fact?.type === 'process.held') await this.#out.words(`${this.#out.pauseMark} ${held(fact.hold)}`)
  }

  /** Whoever asked for it would see nothing until it has ended. */
  async #stopping({ signal, graceMs }: Stopping): Promise<void> {
    if (graceMs < TOLD_GRACE_MS || !this.#out.isTerminal('stderr')) return
    await this.#out.words(this.#out.paintWords('dim', `stopping (${signal}); what is left after ${elapsed(graceMs)} is killed`))
  }

  /** A script has the exit code, and its stderr is the command's; only what the command cannot have said itself is told. */
  async end(view: ProcessView): Promise<void> {
    for (const name of ['stdout', 'stderr'] as const) await this.#out.raw(name, this.#terminals[name]?.end() ?? '')
    const untold = view.exit?.error ?? (this.#endedByItself || this.#out.isTerminal('stderr') ? null : `${called(view)} ${ending(view)}`)
    if (untold) await this.#out.raw('stderr', safe(`reeve: ${untold}\n`))
    if (this.#out.isTerminal('stderr')) await this.#out.words(this.#out.paintWords('dim', summary(view)))
  }

  async #write(name: 'stdout' | 'stderr', text: string): Promise<void> {
    const terminal = this.#terminals[name]
    const shown = terminal ? terminal.push(text) : text
    if (name === 'stdout') await this.#out.piece(shown)
    else await this.#out.raw(name, shown)
  }
}

export class JsonView implements View {
  readonly live = false
  readonly #out: Output

  constructor(out: Output) {
    this.#out = out
  }

  async event(event: EventView): Promise<void> {
    await this.#out.record(event)
  }

  async end(): Promise<void> {}
}
