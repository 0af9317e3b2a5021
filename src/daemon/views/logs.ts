// Reads the log lines of one or more processes backwards, as one log in the order of the store. Reads each journal in small pages, only as
// far as lines are wanted, in time slices. A page has a position, from which the next one continues.
// Tests: test/tables/daemon/views/process-queries.test.ts, test/e2e/cli/logs.test.ts.
import { isRepeatedByNote, LOG_FACTS, logLines } from '../../api/text/log-lines.ts'
import { isoTime } from './format-times.ts'
import { unbegunCalls } from '../../kernel/state/unbegun-calls.ts'
import { patternOf } from './search-excerpts.ts'
import type { LogLine } from '../../api/views/process.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { FactBody, StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'

/** Facts per page; pages are small, because a fact may contain long texts and images. With many processes they are smaller still. */
const PAGE_FACTS = 32
const MANY_PAGE_FACTS = 4
/** The largest number of lines of an answer. */
const MAX_LINES = 10_000
/** The largest number of facts that one answer reads. */
const MAX_FACTS = 50_000

/** A place in a log: the first `lines` lines of the fact at `cursor`, and all facts before it. */
export interface LogPosition {
  readonly cursor: number
  readonly lines: number
}

export interface LogQuery {
  /** the largest number of lines, of which the last ones are read */
  readonly tail: number
  /** only lines since this time, in wall ms */
  readonly since?: number | null | undefined
  /** only lines before this position */
  readonly before?: LogPosition | undefined
  /** only lines with this text */
  readonly match?: { readonly text: string; readonly ignoreCase: boolean } | undefined
}

export interface LogPage {
  readonly lines: LogLine[]
  /** the cursor of the newest fact that was read; 0 if there is none */
  readonly cursor: number
  /** where the previous lines end; null at the beginning of the log */
  readonly before: LogPosition | null
}

export interface LogDeps {
  readonly store: Pick<Store, 'tail' | 'since'>
  readonly slices: SliceQueue
}

/** Reads the last lines before a position. With several processes each line names its own. */
export async function readLogs(deps: LogDeps, processes: readonly Process[], query: LogQuery): Promise<LogPage> {
  const { before = { cursor: Number.MAX_SAFE_INTEGER, lines: 0 } } = query
  const pattern = query.match && patternOf(query.match)
  const isMany = processes.length > 1
  const sources: LogSource[] = []
  for (const process of processes) sources.push(await LogSource.open(deps, process, { before, isMany, since: query.since ?? 0 }))
  const cursor = Math.max(0, ...sources.map((source) => source.newest))
  const parts: LogLine[][] = []
  let room = Math.min(query.tail, MAX_LINES)
  for (let facts = 0; ; facts += 1) {
    const source = newestOf(sources)
    const current = source?.current
    if (!source || !current) return { lines: parts.reverse().flat(), cursor, before: null }
    const position = { cursor: current.fact.cursor, lines: Infinity }
    if (room === 0 || facts === MAX_FACTS) return { lines: parts.reverse().flat(), cursor, before: position }
    const { uuid, pid, spec } = source.process
    const all = isRepeatedByNote(current.fact.body, current.next) ? [] : source.linesOf(current.fact)
    const wanted = pattern ? all.filter(({ text }) => text.search(pattern) >= 0) : all
    const open = current.fact.cursor === before.cursor ? wanted.slice(0, before.lines) : wanted
    const shown = open.slice(Math.max(0, open.length - room))
    parts.push(isMany ? shown.map((line) => ({ ...line, uuid, pid, name: spec.name })) : shown)
    room -= shown.length
    if (shown.length < open.length)
      return { lines: parts.reverse().flat(), cursor, before: { ...position, lines: open.length - shown.length } }
    await source.advance()
  }
}

function newestOf(sources: readonly LogSource[]): LogSource | undefined {
  let newest: LogSource | undefined
  for (const source of sources) if (source.current && source.current.fact.cursor > (newest?.current?.fact.cursor ?? 0)) newest = source
  return newest
}

type CallState = NonNullable<NonNullable<LogLine['call']>['state']>

function withState(line: LogLine, state: CallState | undefined): LogLine {
  return line.call && state ? { ...line, call: { ...line.call, state } } : line
}

/** What is read of a log: the facts before a position and since a time; with many processes only their own facts. */
interface LogRange {
  readonly before: LogPosition
  /** wall ms */
  readonly since: number
  readonly isMany: boolean
}

/** The facts of one process with log lines, the newest first. */
class LogSource {
  readonly process: Process
  readonly #deps: LogDeps
  readonly #range: LogRange
  readonly #pageFacts: number
  /** the states of the open tool calls, by call id */
  readonly #open: ReadonlyMap<string, CallState>
  /** facts that were read and not yet used, in order */
  #page: readonly StoredFact[] = []
  #beforeSeq: number
  #isAtStart = false
  /** the fact, and the body of the one after it */
  current: { readonly fact: StoredFact; readonly next: FactBody | undefined } | null = null
  /** the cursor of the newest fact; 0 if there is none */
  newest = 0

  private constructor(deps: LogDeps, process: Process, range: LogRange, beforeSeq: number) {
    this.#deps = deps
    this.process = process
    this.#range = range
    const unbegun = unbegunCalls(process)
    this.#open = new Map(process.progress.openCalls.map(({ callId }) => [callId, unbegun.has(callId) ? 'not begun' : 'open']))
    this.#pageFacts = range.isMany ? MANY_PAGE_FACTS : PAGE_FACTS
    this.#beforeSeq = beforeSeq
  }

  static async open(deps: LogDeps, process: Process, range: LogRange): Promise<LogSource> {
    const { cursor } = range.before
    // The first own fact after the position; a fork may have facts of its origin before it.
    const [following] =
      cursor === Number.MAX_SAFE_INTEGER ? [] : await deps.store.since({ uuid: process.uuid, afterCursor: cursor, limit: 1 })
    const source = new LogSource(deps, process, range, following?.seq ?? Number.MAX_SAFE_INTEGER)
    await source.advance()
    source.newest = source.current?.fact.cursor ?? 0
    return source
  }

  /** Returns the log lines of a fact. Those of open calls have the state of the call. */
  linesOf({ at, body }: StoredFact): LogLine[] {
    const lines = logLines(isoTime(at), body)
    return this.#open.size === 0 ? lines : lines.map((line) => withState(line, line.call && this.#open.get(line.call.id)))
  }

  /** Moves to the previous fact in the range; `current` is null after the first one. */
  async advance(): Promise<void> {
    const { before, since, isMany } = this.#range
    for (let next = this.current?.fact.body; ;) {
      const fact = await this.#previous()
      if (!fact || fact.at < since || (isMany && fact.uuid !== this.process.uuid)) {
        this.current = null
        return
      }
      if (fact.cursor < before.cursor || (fact.cursor === before.cursor && before.lines > 0)) {
        this.current = { fact, next }
        return
      }
      next = fact.body
    }
  }

  async #previous(): Promise<StoredFact | undefined> {
    if (this.#page.length === 0 && !this.#isAtStart && this.#beforeSeq > 1) {
      await this.#deps.slices.next()
      const page = await this.#deps.store.tail(this.process.uuid, this.#pageFacts, LOG_FACTS, this.#beforeSeq)
      this.#isAtStart = page.length < this.#pageFacts
      this.#beforeSeq = page[0]?.seq ?? 0
      this.#page = page
    }
    const fact = this.#page.at(-1)
    this.#page = this.#page.slice(0, -1)
    return fact
  }
}
