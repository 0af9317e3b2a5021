// Reads the steps of a history: short rows of all steps, one step with all its details, and large results in parts. The rows come from an
// index in memory. It is made at the first use, and continues from the journal with the facts since the last use. It keeps the histories
// that were read last, within a limit of their steps. Reads only. Test: test/e2e/library/steps.test.ts,
// test/properties/brief-steps.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import { GATEWAY_FACTS } from './gateway-calls.ts'
import { BRIEF_FACTS, BriefSteps, type BriefStep } from './brief-steps.ts'
import { partOf, stepDetailOf } from './step-detail.ts'
import { unbegunCalls } from '../../kernel/state/unbegun-calls.ts'
import type { BriefStepsView, StepDetailView, StepPartView } from '../../api/views/steps.ts'
import type { FactMark, FactType, PageFilter, StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { StepBounds, Store } from '../../store/store.ts'
import type { ProcessQueries } from '../views/process-queries.ts'

interface StepReadsDeps {
  readonly store: Pick<Store, 'facts' | 'filteredFacts' | 'stepBounds' | 'tail'>
  readonly reads: Pick<ProcessQueries, 'get'>
  readonly slices: SliceQueue
}

/** The largest number of histories in the index. */
const MAX_HISTORIES = 32
/** The largest number of steps of all histories in the index; one history may be longer. */
const MAX_STEPS = 100_000
/** Facts per page; each page is read in one turn of the event loop. Long texts are left out. */
const PAGE_FACTS = 500
/** The largest number of facts of one step that are read. */
const MAX_FACTS = 5_000
/** The largest number of records, and of checkpoints, that are read: those of the next step, of the step, and of the step before. */
const MAX_LATE = 4
/** The largest part of a result in one answer, in characters. */
const MAX_PART = 1_000_000

const BRIEF_FILTER: PageFilter = { without: [], marks: [], only: BRIEF_FACTS, withoutLongTexts: true }
const MESSAGE_FACTS: readonly FactType[] = ['process.incoming', 'message.taken']
const EARLIER_FILTER: PageFilter = { without: [], marks: [], only: [...MESSAGE_FACTS, ...GATEWAY_FACTS] }
const DETAIL_FILTER: PageFilter = { without: [], marks: [], only: [...BRIEF_FACTS, 'compaction.failed'] }

interface History {
  readonly brief: BriefSteps
  /** the number of the first fact of each row */
  readonly starts: number[]
  /** the number of the last fact that was read */
  seq: number
  /** the read that is running; a later request waits for it */
  running: Promise<void>
}

export interface BriefRequest {
  /** only steps after this one */
  readonly after?: number | undefined
  /** only steps before this one; without `after` the last ones */
  readonly before?: number | undefined
  readonly limit: number
}

export class StepReads {
  readonly #deps: StepReadsDeps
  /** the histories in the order of their last use, the oldest first */
  readonly #histories = new Map<Uuid, History>()

  constructor(deps: StepReadsDeps) {
    this.#deps = deps
  }

  /** Returns a page of brief steps. */
  async brief(process: Process, { after, before = Infinity, limit }: BriefRequest): Promise<BriefStepsView> {
    const { rows } = (await this.#updatedHistory(process)).brief
    const start = after === undefined ? 0 : firstAfter(rows, after)
    const end = firstAfter(rows, before - 1)
    const isFromEnd = after === undefined && before !== Infinity
    const page = isFromEnd ? rows.slice(Math.max(start, end - limit), end) : rows.slice(start, Math.min(end, start + limit))
    return { version: 1, total: rows.length, columns: columnsOf(page) }
  }

  /** Returns one step with all its details. Errors: `NOT_FOUND` without such a step. */
  async detail(process: Process, step: number): Promise<StepDetailView> {
    const { uuid } = process
    const [bounds, earlier] = await Promise.all([this.#boundsOf(uuid, step), this.#startBefore(uuid, step)])
    if (!bounds) throw noStepError(process, step)
    const [facts, earlierFacts] = await Promise.all([
      this.#range(uuid, [bounds.first, bounds.next ?? Infinity], DETAIL_FILTER),
      this.#range(uuid, [earlier, bounds.first], EARLIER_FILTER),
    ])
    const before = earlierFacts.filter(({ body }) => MESSAGE_FACTS.includes(body.type))
    const view = stepDetailOf({
      step,
      // A call at the gateway begins before its step.
      facts: [...earlierFacts.filter(({ body }) => GATEWAY_FACTS.includes(body.type)), ...facts],
      before,
      messages: await this.#messagesOf(uuid, before),
      late: await this.#lateFacts(process, step),
      unbegun: unbegunCalls(process),
    })
    if (!view) throw noStepError(process, step)
    return view
  }

  /** Returns a part of an input, a result or an image. Errors: `NOT_FOUND` without such a part. */
  async part(
    process: Process,
    { step, callId, part, offset }: { readonly step: number; readonly callId: string; readonly part: string; readonly offset: number },
  ): Promise<StepPartView> {
    const bounds = await this.#boundsOf(process.uuid, step)
    const facts = bounds ? await this.#range(process.uuid, [bounds.first, bounds.next ?? Infinity], PART_FILTER) : []
    const found = partOf(facts, callId, part)
    if (!found) throw new KernelError('NOT_FOUND', `step ${step} of process ${process.pid} has no ${part} of a call ${callId}`)
    const { text, mediaType } = found
    const end = Math.min(text.length, offset + MAX_PART)
    return { version: 1, mediaType, text: text.slice(offset, end), offset, total: text.length, next: end < text.length ? end : null }
  }

  /** Returns the index of a history, with all its facts up to now. */
  async #updatedHistory(process: Process): Promise<History> {
    const { uuid, seq } = process
    const known = this.#histories.get(uuid)
    // A history that was imported again may be another, shorter one.
    const history = known && known.seq <= seq ? known : { brief: new BriefSteps(), starts: [], seq: 0, running: Promise.resolve() }
    this.#histories.delete(uuid)
    this.#histories.set(uuid, history)
    const run = history.running.then(() => this.#read(uuid, history))
    // The next request reads again after a failed one.
    history.running = run.catch(() => {
      this.#histories.delete(uuid)
    })
    await run
    this.#forgetOldest(history)
    // If the process was removed between two pages, the partial result would look complete: this throws COLLECTED instead.
    await this.#deps.reads.get(uuid)
    return history
  }

  async #read(uuid: Uuid, history: History): Promise<void> {
    for (;;) {
      await this.#deps.slices.next()
      const page = await this.#deps.store.filteredFacts(uuid, history.seq, PAGE_FACTS, BRIEF_FILTER)
      const last = page.at(-1)
      if (!last) return
      for (const fact of page) {
        if (!isFact(fact)) continue
        const { body, at } = hasLongText(fact) ? await this.#readWhole(uuid, fact) : fact
        history.brief.apply(body, at)
        if (history.brief.rows.length > history.starts.length) history.starts.push(fact.seq)
      }
      history.seq = last.seq
    }
  }

  /** Reads a fact with its long texts. */
  async #readWhole(uuid: Uuid, fact: StoredFact): Promise<StoredFact> {
    return (await this.#deps.store.facts(uuid, fact.seq - 1, 1))[0] ?? fact
  }

  #forgetOldest(current: History): void {
    let steps = [...this.#histories.values()].reduce((sum, { brief }) => sum + brief.rows.length, 0)
    for (const [uuid, history] of this.#histories) {
      if (history === current || (this.#histories.size <= MAX_HISTORIES && steps <= MAX_STEPS)) return
      this.#histories.delete(uuid)
      steps -= history.brief.rows.length
    }
  }

  /** Returns where a step begins and ends: from the index, if that has a later step, else from the store. */
  async #boundsOf(uuid: Uuid, step: number): Promise<StepBounds | null> {
    const { brief, starts } = this.#histories.get(uuid) ?? { brief: { rows: [] }, starts: [] }
    const index = firstAfter(brief.rows, step - 1)
    const [first, next] = [starts[index], starts[index + 1]]
    const isKnown = brief.rows[index]?.step === step && first !== undefined && next !== undefined
    return isKnown ? { first, next } : this.#deps.store.stepBounds(uuid, step)
  }

  /** Returns the number of the first fact of the previous step; 1 if there is none. */
  async #startBefore(uuid: Uuid, step: number): Promise<number> {
    return (step > 1 ? (await this.#boundsOf(uuid, step - 1))?.first : undefined) ?? 1
  }

  /** Reads the facts from the number `first` to the one before `end`, up to a limit. */
  async #range(uuid: Uuid, [first, end]: readonly [number, number], filter: PageFilter): Promise<readonly StoredFact[]> {
    const found: StoredFact[] = []
    for (let after = first - 1; after < end - 1 && found.length < MAX_FACTS;) {
      await this.#deps.slices.next()
      const page = await this.#deps.store.filteredFacts(uuid, after, Math.min(PAGE_FACTS, end - 1 - after), filter)
      const last = page.at(-1)
      if (!last) break
      found.push(...page.filter(isFact).filter(({ body }) => filter.only?.includes(body.type)))
      after = last.seq
    }
    return found
  }

  /** Reads the facts with the texts of the messages that the agent received. Returns them by the ids of the messages. */
  async #messagesOf(uuid: Uuid, received: readonly StoredFact[]): Promise<ReadonlyMap<string, StoredFact>> {
    const found = new Map<string, StoredFact>()
    for (const { body, seq } of received) {
      if (body.type === 'process.incoming') {
        const [queued] = await this.#deps.store.facts(uuid, body.queuedAt - 1, 1)
        if (queued) found.set(body.id, queued)
      } else if (body.type === 'message.taken') {
        const queued = (await this.#deps.store.tail(uuid, PAGE_FACTS, ['process.queue'], seq)).findLast(
          (fact) => fact.body.type === 'process.queue' && fact.body.id === body.id,
        )
        if (queued) found.set(body.id, queued)
      }
    }
    return found
  }

  /** Reads the last records and checkpoints up to the end of the next step. */
  async #lateFacts({ uuid, spec, checkpoint }: Process, step: number): Promise<readonly StoredFact[]> {
    const end = (await this.#boundsOf(uuid, step + 1))?.next ?? undefined
    // A search for types of facts that a history does not have would read its whole index.
    const types: FactType[] = [
      ...(spec.worktree ? (['files.recorded'] as const) : []),
      ...(checkpoint ? (['checkpoint.written'] as const) : []),
    ]
    return (await Promise.all(types.map((type) => this.#deps.store.tail(uuid, MAX_LATE, [type], end)))).flat()
  }
}

const PART_FILTER: PageFilter = { without: [], marks: [], only: ['model.finished', 'tool.finished'] }

function noStepError({ pid, progress }: Process, step: number): KernelError {
  return new KernelError(
    'NOT_FOUND',
    `process ${pid} has no step ${step}: its last one is ${progress.step}`,
    undefined,
    `\`reeve steps ${pid}\` lists its steps.`,
  )
}

function isFact(fact: StoredFact | FactMark): fact is StoredFact {
  return 'body' in fact
}

/** Whether a text of the answer was left out because it is long. */
function hasLongText({ body }: StoredFact): boolean {
  return body.type === 'model.finished' && body.message.some((part) => part.type === 'text' && part.text === '')
}

/** Returns the index of the first row after a step. */
function firstAfter(rows: readonly BriefStep[], step: number): number {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rows[middle]?.step ?? Infinity) > step) high = middle
    else low = middle + 1
  }
  return low
}

function columnsOf(rows: readonly BriefStep[]): BriefStepsView['columns'] {
  return {
    step: rows.map(({ step }) => step),
    at: rows.map(({ at }) => at),
    modelMs: rows.map(({ modelMs }) => modelMs),
    toolMs: rows.map(({ toolMs }) => toolMs),
    humanMs: rows.map(({ humanMs }) => humanMs),
    heldMs: rows.map(({ heldMs }) => heldMs),
    in: rows.map((row) => row.in),
    cached: rows.map(({ cached }) => cached),
    out: rows.map(({ out }) => out),
    usd: rows.map(({ usd }) => usd),
    ctx: rows.map(({ ctx }) => ctx),
    flags: rows.map(({ flags }) => flags),
    tools: rows.map(({ tools }) => [...tools]),
    text: rows.map(({ text }) => text),
  }
}
