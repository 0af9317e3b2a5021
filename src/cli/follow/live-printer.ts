// Prints the activity of an agent. The text of the agent goes to stdout while the model writes it. Each tool call and event is a line on
// stderr, and so is the final summary. Untrusted text passes through `stripControls`. Test: test/tables/cli/follow/live-printer.test.ts.
import { reasonText } from '../../api/text/exit-reason.ts'
import { isFailedCall, outcomeText } from '../../api/text/tool-outcome.ts'
import type { EventView } from '../../api/views/daemon.ts'
import type { ProcessView } from '../../api/views/process.ts'
import type { AssistantPart, BodyOf, FactBody } from '../../kernel/model/facts.ts'
import { INPUT_COLUMNS, MIN_INPUT_COLUMNS, shortInput, processSummary } from '../print/process-text.ts'
import { HoldNoticeFilter } from '../print/hold-notice-filter.ts'
import type { FollowPrinter } from './follow.ts'
import { formatCount, formatTokens, formatDuration } from '../../faces/format.ts'
import { amountText } from '../print/limits.ts'
import type { Output } from '../print/output.ts'
import { MarkdownText } from '../print/transcript/markdown.ts'
import { wrapText } from '../print/prose.ts'
import { oneLine, stripControls, displayWidth, fitColoured } from '../print/text.ts'
import { failureLines } from '../print/transcript/failure-lines.ts'
import { toolResult } from '../print/transcript/tool-result.ts'
import { planIn, planLines, planOfCall, planSummary, type PlanEntry } from './agent-plan.ts'

/** the columns of a tool call apart from its name and input: three spaces, and `  interrupted 12m 34s` */
const OUTCOME_COLUMNS = 24
/** the indentation of an error, and one free column */
const ERROR_INDENT = 5
/** the number of recent results that `unfold` can show, and the greatest number of lines of each */
const MAX_FOLDED = 20
const MAX_UNFOLDED_LINES = 500

/** A result of which only the beginning was printed. */
interface Folded {
  readonly title: string
  readonly lines: readonly string[]
  readonly command: string
}

export class LivePrinter implements FollowPrinter {
  readonly receivesLiveEvents: boolean
  readonly #out: Output
  readonly #showsIntent: boolean
  readonly #noticeFilter = new HoldNoticeFilter()
  /** the inputs of the unfinished tool calls, by call id */
  readonly #inputs = new Map<string, unknown>()
  /** the printed text of the current step, before control characters are removed */
  #printed = ''
  #step = 0
  /** whether the model call of the current step is unfinished */
  #isCallOpen = false
  /** text that arrived before the start event of its step: text is sent at once, the event only after it is stored */
  #earlyText = { step: 0, text: '' }
  /** the recent results of which only the beginning was printed, oldest first */
  #folded: readonly Folded[] = []
  /** how many results of `#folded` were shown whole since the newest one was added */
  #unfoldedCount = 0
  #canUnfold = false
  #pid = 0
  /** the error of the last failed model call; the error of the turn repeats it */
  #lastError = ''

  /** `intent`: whether to print the intent */
  constructor(out: Output, { intent = false }: { intent?: boolean } = {}) {
    this.#out = out
    out.wrapper ??= new MarkdownText(out)
    this.#showsIntent = intent
    this.receivesLiveEvents = out.isTerminal('stdout')
  }

  enableUnfold(): void {
    this.#canUnfold = true
  }

  async unfold(): Promise<void> {
    const folded = this.#folded.at(-1 - this.#unfoldedCount)
    if (!folded) return this.#printLine('dim', this.#folded.length === 0 ? 'nothing is folded' : 'nothing more is folded')
    this.#unfoldedCount += 1
    const more = folded.lines.length - MAX_UNFOLDED_LINES
    const end =
      more > 0 ? [this.#out.paintMessage('dim', `    ${this.#out.ellipsis} ${formatCount(more, 'more line')}: \`${folded.command}\``)] : []
    const lines = folded.lines.slice(0, MAX_UNFOLDED_LINES).map((line) => `    ${line}`)
    await this.#out.message([folded.title, ...lines, ...end].join('\n'))
  }

  async printEvent(event: EventView, fact: FactBody | undefined): Promise<void> {
    this.#pid = event.pid
    if (event.type === 'live.text') await this.#onText(Number(event['step']), String(event['text']), event['whole'] === true)
    else if (fact) for (const shown of this.#noticeFilter.visibleFacts(fact)) await this.#printFact(shown)
  }

  async printEnd(process: ProcessView): Promise<void> {
    for (const shown of this.#noticeFilter.flush()) await this.#printFact(shown)
    await this.#out.proseEnd()
    const hasSucceeded = process.exit?.code === 0
    await this.#out.message(this.#out.paintMessage(hasSucceeded ? 'green' : 'red', processSummary(process)))
  }

  async #printFact(fact: FactBody): Promise<void> {
    switch (fact.type) {
      case 'model.started':
        return this.#onModelStarted(fact)
      case 'model.finished':
        return this.#onModelFinished(fact)
      case 'model.failed':
        return this.#onModelFailed(fact)
      case 'tool.started':
        return this.#out.beginLine(fact.callId, this.#toolCallText(fact))
      case 'tool.finished':
        return this.#onToolFinished(fact)
      case 'context.compacted':
        return this.#printLine(
          'dim',
          `context compacted: ${formatTokens(fact.before)} ${this.#out.arrow} ${formatTokens(fact.after)} tokens`,
        )
      case 'compaction.failed':
        return this.#onModelFailed({ ...fact, label: 'the context could not be compacted' })
      case 'limit.warned':
        return this.#printLine(
          'yellow',
          `warning: ${fact.limit !== 'context' ? amountText(fact.limit, fact.used, fact.of) : `${fact.limit}: ${Math.floor((100 * fact.used) / fact.of)} % used (${formatTokens(fact.used)} of ${formatTokens(fact.of)} tokens)`}`,
        )
      case 'liveness.changed':
        return this.#printLine(
          fact.word === 'alive' ? 'dim' : 'yellow',
          `${fact.word === 'alive' ? 'active again' : fact.word}${fact.evidence === '' || fact.word === 'alive' ? '' : ` (${fact.evidence})`}`,
        )
      case 'process.answered':
        return this.#printLine('dim', `answered: ${fact.option ?? fact.text} (by ${fact.by})`)
      case 'process.unanswered':
        return this.#printLine('dim', `the answer was taken back (by ${fact.by})`)
      case 'process.unasked':
        return this.#printLine('dim', 'the question was withdrawn')
      case 'process.error':
        return fact.message === this.#lastError ? undefined : this.#printLine('red', fact.message)
      case 'process.queue':
        return this.#printMessage(fact)
      case 'process.note':
        return this.#out.isTerminal('stderr') && planIn(fact) ? this.#printPlan(planIn(fact) ?? []) : this.#printLine('dim', fact.text)
      case 'capability.refused':
        return this.#printLine('yellow', `refused: ${fact.detail}`)
      case 'process.output':
        return this.#printLine('dim', fact.text)
      case 'child.spawned':
        return this.#printLine('dim', `child PID ${fact.childPid} spawned`)
      case 'child.exited':
        return this.#printLine('dim', `child PID ${fact.childPid} ended: ${reasonText(fact.reason)} (exit ${fact.code})`)
      default:
        return
    }
  }

  async #onModelFailed({
    error,
    retryInMs,
    label = 'model call failed',
  }: {
    readonly error: string
    readonly retryInMs: number | null
    readonly label?: string
  }): Promise<void> {
    if (error === 'interrupted') return this.#printLine('dim', 'interrupted')
    if (retryInMs === null) this.#lastError = error
    await this.#printLine(
      'yellow',
      `${label}: ${error}${retryInMs === null || retryInMs === 0 ? '' : `; retry in ${formatDuration(retryInMs)}`}`,
    )
  }

  /** Prints a message. The intent is printed only if the option `intent` is set, because whoever started the process already knows it. */
  async #printMessage({ id, from, text }: BodyOf<'process.queue'>): Promise<void> {
    if (id === 'intent' && !this.#showsIntent) return
    const sender = from === 'user' ? '' : `(${oneLine(from)}) `
    await this.#out.message(this.#out.paintMessage('cyan', `> ${this.#wrapped(sender + stripControls(text).trim())}`))
  }

  async #onModelStarted({ step }: BodyOf<'model.started'>): Promise<void> {
    this.#printed = ''
    await this.#out.proseEnd()
    if (step > this.#step && this.receivesLiveEvents) await this.#printLine('dim', `step ${step}`)
    this.#step = step
    this.#isCallOpen = true
    if (this.#earlyText.step === step) await this.#onText(step, this.#earlyText.text, true)
    this.#earlyText = { step: 0, text: '' }
  }

  /**
   * `isWhole`: the text is all text of the step so far, not the next piece. A printer that starts in the middle of a step first gets all
   * text of that step.
   */
  async #onText(step: number, text: string, isWhole: boolean): Promise<void> {
    if (!this.receivesLiveEvents) return
    if (step > this.#step) this.#earlyText = { step, text: step === this.#earlyText.step && !isWhole ? this.#earlyText.text + text : text }
    if (step !== this.#step || !this.#isCallOpen) return
    if (isWhole && !text.startsWith(this.#printed)) return
    const piece = isWhole ? text.slice(this.#printed.length) : text
    this.#printed += piece
    await this.#out.prose(stripControls(piece))
  }

  /** Prints the part of the answer that was not streamed. If streamed pieces were lost, the whole answer is printed again. */
  async #onModelFinished({ message }: BodyOf<'model.finished'>): Promise<void> {
    for (const part of message) if (part.type === 'tool-call') this.#inputs.set(part.callId, part.input)
    const text = textOf(message)
    const isContinued = text.startsWith(this.#printed)
    const missing = isContinued ? text.slice(this.#printed.length) : `\n${text}`
    this.#printed = ''
    this.#isCallOpen = false
    if (!isContinued) await this.#out.proseEnd()
    if (text !== '') await this.#out.prose(stripControls(text.endsWith('\n') ? missing : `${missing}\n`))
    await this.#out.proseEnd()
  }

  /** Prints the outcome. On a terminal the line of the call was begun when the call started, because a call may take long. */
  async #onToolFinished(fact: BodyOf<'tool.finished'>): Promise<void> {
    const result = this.#out.paintMessage(isFailedCall(fact) ? 'red' : 'green', outcomeText(fact))
    await this.#out.finishLine(fact.callId, this.#toolCallText(fact), `  ${result} ${formatDuration(fact.durationMs)}`)
    const input = this.#inputs.get(fact.callId)
    this.#inputs.delete(fact.callId)
    const isTerminal = this.#out.isTerminal('stderr')
    const plan = isTerminal ? planOfCall(fact.name, input) : null
    if (plan) return this.#printPlan(plan)
    const columns = isTerminal ? this.#out.messageColumns - ERROR_INDENT : INPUT_COLUMNS
    const failure = failureLines(fact, fact.content, { columns, ellipsis: this.#out.ellipsis })
    for (const line of failure) await this.#printLine('dim', `  ${line}`)
    if (isTerminal) await this.#printResult(fact, input, failure.length)
  }

  /** Prints the beginning of a result on a terminal. `failureCount`: the lines already printed for a failed call. */
  async #printResult(fact: BodyOf<'tool.finished'>, input: unknown, failureCount: number): Promise<void> {
    const result = toolResult(fact, input, this.#out)
    const columns = this.#out.messageColumns - ERROR_INDENT
    const shown = isFailedCall(fact) ? [] : result.lines
    for (const line of shown) await this.#out.message(`    ${fitColoured(line, columns, this.#out.ellipsis)}`)
    const more = result.all.length - shown.length - failureCount
    if (more <= 0) return
    const command = `reeve steps --step ${fact.step} ${this.#pid}`
    const title = `  ${this.#out.paintMessage('cyan', oneLine(fact.name))} ${shortInput(input, columns, this.#out.ellipsis)}`
    this.#folded = [...this.#folded.slice(1 - MAX_FOLDED), { title, lines: result.all, command }]
    this.#unfoldedCount = 0
    // Results of reading tools are shown only on request.
    if (shown.length + failureCount === 0) return
    await this.#printLine(
      'dim',
      `  ${this.#out.ellipsis} ${formatCount(more, 'more line')}: ${this.#canUnfold ? 'Ctrl+O' : `\`${command}\``}`,
    )
  }

  async #printPlan(plan: readonly PlanEntry[]): Promise<void> {
    await this.#printLine('dim', planSummary(plan).replace(/:.*/, ''))
    for (const line of planLines(plan, this.#out.messageColumns - ERROR_INDENT, this.#out)) await this.#out.message(`    ${line}`)
  }

  #toolCallText({ callId, name }: { readonly callId: string; readonly name: string }): string {
    const tool = oneLine(name)
    // The outcome needs room on the same row.
    const room = this.#out.isTerminal('stderr') ? this.#out.messageColumns - displayWidth(tool) - OUTCOME_COLUMNS : INPUT_COLUMNS
    return `  ${this.#out.paintMessage('cyan', tool)} ${shortInput(this.#inputs.get(callId), Math.max(MIN_INPUT_COLUMNS, room), this.#out.ellipsis)}`
  }

  async #printLine(style: 'dim' | 'yellow' | 'red', text: string): Promise<void> {
    await this.#out.message(this.#out.paintMessage(style, `  ${this.#wrapped(stripControls(text).trimEnd())}`))
  }

  /** Wraps the text; all lines but the first are indented. */
  #wrapped(text: string): string {
    return wrapText(text, this.#out.proseColumns('stderr'), '  ')
  }
}

function textOf(message: readonly AssistantPart[]): string {
  return message.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
