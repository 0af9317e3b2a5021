// Searches the transcripts of processes for a text: messages, texts of agents, inputs and results of tools, output of programs. Reads
// applied state only, in time slices, the newest facts first.
// Tests: test/e2e/daemon/search.test.ts, test/tables/daemon/views/search.test.ts.
import type { SearchMatchView, SearchView } from '../../api/views/search.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Process } from '../../kernel/model/process.ts'
import { statusOf } from '../../kernel/model/status.ts'
import type { Store } from '../../store/store.ts'
import { isoTime } from './format-times.ts'
import { excerptsOf, patternOf, textsOf } from './search-excerpts.ts'

/** The facts that contain text of a transcript. */
const SEARCHED_FACTS = ['process.queue', 'process.output', 'model.finished', 'model.failed', 'tool.finished']
/** The largest number of facts per page. A page is read in one slice, and becomes smaller if that takes long. */
const MAX_PAGE = 32
/** The time that reading and searching a page should take, in ms. */
const PAGE_MS = 4
/** The longest search, in ms. */
const MAX_SEARCH_MS = 60_000
/** Ended processes per page. */
const PAGE_ENDED = 100

export interface SearchQuery {
  readonly text: string
  readonly ignoreCase: boolean
  /** searches only facts since this time; wall ms */
  readonly since?: number | undefined
  /** the largest number of matches */
  readonly limit: number
}

export interface SearchDeps {
  readonly store: Pick<Store, 'tail' | 'dead'>
  readonly reads: { livingProcesses(): Process[]; find(uuid: Uuid): Promise<Process | undefined> }
  readonly slices: SliceQueue
  /** reads the monotonic clock, in ms */
  readonly mono: () => number
}

/** Searches some processes, or all if `processes` is null. Stops when `signal` aborts. */
export async function searchTranscripts(
  deps: SearchDeps,
  query: SearchQuery,
  processes: readonly Process[] | null,
  signal: AbortSignal,
): Promise<SearchView> {
  const search = new Search(deps, query, processes && new Set(processes.map(({ uuid }) => uuid)), signal)
  for await (const process of processes ?? allProcesses(deps, query.since ?? 0)) {
    if (search.isOver) break
    await search.read(process)
  }
  return search.view()
}

/** Yields the living processes, then the ended ones, each the newest first. Leaves out what ended before `since`. */
async function* allProcesses({ store, reads, slices }: SearchDeps, since: number): AsyncGenerator<Process> {
  const living = reads.livingProcesses().toReversed()
  yield* living
  const seen = new Set(living.map(({ uuid }) => uuid))
  let last: Process | undefined
  for (;;) {
    await slices.next()
    const page = await store.dead({
      limit: PAGE_ENDED,
      ...(last ? { before: { exitedAt: last.clock.exitedAt ?? 0, uuid: last.uuid } } : {}),
    })
    for (const process of page) {
      if ((process.clock.exitedAt ?? Infinity) < since) return
      if (!seen.has(process.uuid)) yield process
    }
    last = page.at(-1)
    if (page.length < PAGE_ENDED) return
  }
}

class Search {
  readonly #deps: SearchDeps
  readonly #query: SearchQuery
  readonly #named: ReadonlySet<Uuid> | null
  readonly #signal: AbortSignal
  readonly #pattern: RegExp
  readonly #began: number
  readonly #matches: SearchMatchView[] = []
  /** the number of matches that may follow */
  #room: number
  #processCount = 0
  #pageSize = 8
  #isCut = false

  constructor(deps: SearchDeps, query: SearchQuery, named: ReadonlySet<Uuid> | null, signal: AbortSignal) {
    this.#deps = deps
    this.#query = query
    this.#named = named
    this.#signal = signal
    this.#pattern = patternOf(query)
    this.#room = query.limit
    this.#began = deps.mono()
  }

  /** Whether the search has reached one of its bounds. */
  get isOver(): boolean {
    return this.#isCut || this.#signal.aborted || this.#deps.mono() - this.#began > MAX_SEARCH_MS
  }

  view(): SearchView {
    const limit = this.#isCut ? ('matches' as const) : this.isOver ? ('time' as const) : null
    return { version: 1, matches: this.#matches, processes: this.#processCount, cutBy: limit }
  }

  /** Searches one process, its newest facts first. The matches are added in the order of the journal. */
  async read(process: Process): Promise<void> {
    this.#processCount += 1
    const found: SearchMatchView[][] = []
    for await (const fact of this.#facts(process)) {
      const matches = this.#matchesOf(process, fact)
      if (matches.length > 0) found.push(matches)
    }
    this.#matches.push(...found.toReversed().flat())
  }

  /** Yields the facts to search, the newest first. */
  async *#facts(process: Process): AsyncGenerator<StoredFact> {
    for (let before = Number.MAX_SAFE_INTEGER; before > 1 && !this.isOver;) {
      await this.#deps.slices.next()
      const began = this.#deps.mono()
      const size = this.#pageSize
      const page = await this.#deps.store.tail(process.uuid, size, SEARCHED_FACTS, before)
      for (const fact of page.toReversed()) {
        if (this.#isCut || fact.at < (this.#query.since ?? 0) || (await this.#isOfOther(process, fact.uuid))) return
        yield fact
      }
      this.#fitPage(this.#deps.mono() - began)
      if (page.length < size) return
      before = page[0]?.seq ?? 0
    }
  }

  #fitPage(tookMs: number): void {
    const factor = tookMs > PAGE_MS ? 0.5 : tookMs < PAGE_MS / 2 ? 2 : 1
    this.#pageSize = Math.max(1, Math.min(MAX_PAGE, Math.floor(this.#pageSize * factor)))
  }

  /** Whether a fact of the origin of a fork is left out, because the origin is searched itself. */
  async #isOfOther({ uuid }: Process, owner: Uuid): Promise<boolean> {
    if (owner === uuid) return false
    return this.#named ? this.#named.has(owner) : (await this.#deps.reads.find(owner)) !== undefined
  }

  /** Returns the matches in a fact. If there is no room for all, returns the last ones, and sets `#isCut`. */
  #matchesOf(process: Process, { at, body }: StoredFact): SearchMatchView[] {
    const found: SearchMatchView[] = []
    for (const { kind, text } of textsOf(body))
      for (const excerpt of excerptsOf(text, this.#pattern)) {
        this.#isCut ||= found.length === this.#room
        if (this.#room === 0) return found
        if (found.length === this.#room) found.shift()
        found.push({ ...headOf(process, { at, body }), kind, ...excerpt })
      }
    this.#room -= found.length
    return found
  }
}

function headOf(
  process: Process,
  { at, body }: Pick<StoredFact, 'at' | 'body'>,
): Omit<SearchMatchView, 'kind' | 'before' | 'match' | 'after'> {
  const { uuid, pid, spec } = process
  return { uuid, pid, name: spec.name, status: statusOf(process), step: 'step' in body ? body.step : null, at: isoTime(at) }
}
