// An agent while it works, for people: its text on stdout as it is written, a line for each tool call and for each thing
// that happens to it on stderr, and a line that sums it up. All text of others goes through `safe`.
// Test: test/tables/cli-views.test.ts.
import type { EventView, ProcessView } from '../api/views.ts'
import type { AssistantPart, FactBody } from '../kernel/facts.ts'
import { askLines } from './asks.ts'
import { held, INPUT_COLUMNS, shortInput, summary } from './describe.ts'
import type { View } from './follow.ts'
import { shortId, tokens, took } from './format.ts'
import { moreOf } from './limit-flags.ts'
import { amountText } from './limit-words.ts'
import type { Output } from './output.ts'
import { fit, oneLine, safe, width } from './text.ts'

/** `  ` before a tool's name, ` ` behind it, and `  interrupted 12m 34s`. */
const OUTCOME_COLUMNS = 24
const INPUT_LEAST = 10
/** Of the reason of a call that failed, and one column that stays free. */
const WHY_INDENT = 5
const MAX_WHY_CHARS = 1000

/** What lets it go on, where a plain resume does not, or who is to do something is not plain. */
const NEXT: Readonly<Record<string, (pid: number) => string>> = {
  'context-full': (pid) => `\`reeve resume ${pid}\` tries again; after \`reeve stop ${pid}\` it can have a --model with more room`,
  loop: (pid) => `\`reeve resume ${pid}\` lets it go on, with a new count; \`reeve events --tail 20 ${pid}\` has the evidence`,
  breaker: (pid) => `\`reeve resume ${pid}\` lets it go on, with a new count; \`reeve logs --tail 40 ${pid}\` shows what failed`,
  'rate-limit': (pid) => `\`reeve resume ${pid}\` goes on then, or tries before; with \`run --wake\` it would by itself`,
  credentials: (pid) => `\`reeve resume ${pid}\` where the key is set lets it go on`,
}

type Fact<T extends FactBody['type']> = FactBody & { type: T }

export class LiveView implements View {
  readonly live: boolean
  readonly #out: Output
  readonly #intent: boolean
  /** inputs of the calls that are under way */
  readonly #inputs = new Map<string, unknown>()
  /** what is already on the screen of the step that is being written, before `safe` */
  #shown = ''
  #step = 0
  /** what the last model call failed with for good: the turn fails with the same words */
  #failure = ''

  /** `intent`: show also what it was first asked to do */
  constructor(out: Output, { intent = false }: { intent?: boolean } = {}) {
    this.#out = out
    this.#intent = intent
    this.live = out.isTerminal('stdout')
  }

  async event(event: EventView, fact: FactBody | undefined): Promise<void> {
    if (event.type === 'live.text') await this.#delta(Number(event['step']), String(event['text']))
    else if (fact) await this.#fact(fact, event)
  }

  async end(process: ProcessView): Promise<void> {
    const ok = process.exit?.code === 0
    await this.#out.words(this.#out.paintWords(ok ? 'green' : 'red', summary(process)))
  }

  async #fact(fact: FactBody, event: EventView): Promise<void> {
    switch (fact.type) {
      case 'model.started': return this.#begin(fact)
      case 'model.finished': return this.#finish(fact)
      case 'model.failed': return this.#failed(fact)
      case 'tool.started': return this.#out.begin(fact.callId, this.#call(fact))
      case 'tool.finished': return this.#tool(fact)
      case 'process.held': return this.#held(fact, event.pid)
      case 'context.compacted': return this.#say('dim', `context compacted: ${tokens(fact.before)} ${this.#out.arrow} ${tokens(fact.after)} tokens`)
      case 'compaction.failed': return this.#failed({ ...fact, what: 'the context could not be summed up' })
      case 'limit.reached': return this.#reached(fact, event)
      case 'limit.warned': return this.#say('yellow', fact.limit !== 'context' ? amountText(fact.limit, fact.used, fact.of) : `${fact.limit}: ${Math.floor((100 * fact.used) / fact.of)} % used (${tokens(fact.used)} of ${tokens(fact.of)} tokens)`)
      case 'liveness.changed': return this.#say(fact.word === 'alive' ? 'dim' : 'yellow', `${fact.word === 'alive' ? 'it goes on' : fact.word}${fact.evidence === '' || fact.word === 'alive' ? '' : ` (${fact.evidence})`}`)
      case 'process.released': return this.#say('dim', `goes on (by ${fact.by})`)
      case 'process.waiting': return this.#asks(fact, event.pid)
      case 'process.answered': return this.#say('dim', `answered: ${fact.option ?? fact.text} (by ${fact.by})`)
      case 'process.unasked': return this.#say('dim', 'it no longer asks')
      case 'process.error': return fact.message === this.#failure ? undefined : this.#say('red', fact.message)
      case 'process.queue': return this.#message(fact)
      case 'process.note': return this.#say('dim', fact.text)
      case 'capability.refused': return this.#say('yellow', `refused: ${fact.detail}`)
      case 'process.output': return this.#say('dim', fact.text)
      case 'child.spawned': return this.#say('dim', `child PID ${fact.childPid} spawned`)
      case 'child.exited': return this.#say('dim', `child PID ${fact.childPid} ended: ${fact.reason} (exit ${fact.code})`)
      default: return
    }
  }

  async #held({ hold }: Fact<'process.held'>, pid: number): Promise<void> {
    await this.#say('yellow', `${this.#out.pauseMark} ${held(hold)}`)
    const next = hold.wake === true ? undefined : NEXT[hold.reason]?.(pid)
    if (next !== undefined) await this.#say('dim', next)
  }

  /** Which limit it is comes behind the hold: only then the way on is known. */
  async #reached({ limit, used, of, action, scope }: Fact<'limit.reached'>, { uuid, pid }: EventView): Promise<void> {
    await this.#say('yellow', `limit: ${amountText(limit, used, of)}${action === 'wait' ? ', and other calls are open: it waits' : ''}`)
    if (action === 'suspend') await this.#say('dim', `${moreOf(limit, scope === uuid ? String(pid) : shortId(scope))} lets it go on`)
  }

  async #asks({ question, ask }: Fact<'process.waiting'>, pid: number): Promise<void> {
    const lines = askLines(ask ?? { text: question, options: [] })
    await this.#say('yellow', `asks: ${lines.join('\n')}`)
    await this.#say('dim', `\`reeve answer ${pid} ${ask && ask.options.length > 0 ? 'NUMBER' : 'TEXT'}\` answers`)
  }

  async #failed({ error, retryInMs, what = 'model call failed' }: { readonly error: string; readonly retryInMs: number | null; readonly what?: string }): Promise<void> {
    if (error === 'interrupted') return this.#say('dim', 'interrupted')
    if (retryInMs === null) this.#failure = error
    await this.#say('yellow', `${what}: ${error}${retryInMs === null || retryInMs === 0 ? '' : `; again in ${took(retryInMs)}`}`)
  }

  /** What it was first asked to do is known to who started it. */
  async #message({ id, from, text }: Fact<'process.queue'>): Promise<void> {
    if (id === 'intent' && !this.#intent) return
    const sender = from === 'user' ? '' : `(${oneLine(from)}) `
    await this.#out.words(this.#out.paintWords('cyan', `> ${sender}${safe(text).trim().replaceAll('\n', '\n  ')}`))
  }

  async #begin({ step }: Fact<'model.started'>): Promise<void> {
    this.#shown = ''
    if (step > this.#step && this.live) await this.#say('dim', `step ${step}`)
    this.#step = step
  }

  async #delta(step: number, text: string): Promise<void> {
    if (step !== this.#step || !this.live) return
    this.#shown += text
    await this.#out.piece(safe(text))
  }

  /** What was streamed is a beginning of it, unless pieces were lost: then all of it is shown again. */
  async #finish({ message }: Fact<'model.finished'>): Promise<void> {
    for (const part of message) if (part.type === 'tool-call') this.#inputs.set(part.callId, part.input)
    const text = textOf(message)
    const isContinued = text.startsWith(this.#shown)
    const missing = isContinued ? text.slice(this.#shown.length) : `\n${text}`
    this.#shown = ''
    if (text !== '') await this.#out.piece(safe(text.endsWith('\n') ? missing : `${missing}\n`))
  }

  /** On a terminal a call is there from its beginning: it may take long. */
  async #tool(fact: Fact<'tool.finished'>): Promise<void> {
    const result = this.#out.paintWords(fact.outcome === 'ok' ? 'green' : 'red', fact.outcome)
    await this.#out.finish(fact.callId, this.#call(fact), `  ${result} ${took(fact.durationMs)}`)
    this.#inputs.delete(fact.callId)
    if (fact.outcome !== 'ok') await this.#why(fact.content)
  }

  /** Its first words: `reeve logs` has them all. */
  async #why(content: string): Promise<void> {
    const room = this.#out.isTerminal('stderr') ? this.#out.wordColumns - WHY_INDENT : INPUT_COLUMNS
    const words = fit(oneLine(content.slice(0, MAX_WHY_CHARS)), room, this.#out.ellipsis)
    if (words !== '') await this.#say('dim', `  ${words}`)
  }

  #call({ callId, name }: { readonly callId: string; readonly name: string }): string {
    const tool = oneLine(name)
    // The outcome has its place on the same row.
    const room = this.#out.isTerminal('stderr') ? this.#out.wordColumns - width(tool) - OUTCOME_COLUMNS : INPUT_COLUMNS
    return `  ${this.#out.paintWords('cyan', tool)} ${shortInput(this.#inputs.get(callId), Math.max(INPUT_LEAST, room), this.#out.ellipsis)}`
  }

  async #say(style: 'dim' | 'yellow' | 'red', text: string): Promise<void> {
    await this.#out.words(this.#out.paintWords(style, `  ${safe(text).trimEnd().replaceAll('\n', '\n  ')}`))
  }
}

function textOf(message: readonly AssistantPart[]): string {
  return message.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
