// The log of a process, or of it and all below it: the newest lines at the end, and earlier ones on request. It follows new lines until the
// user scrolls up. A line is drawn only once, and the browser leaves out what is not visible.
// Tests: test/e2e/web/process/logs.test.ts, test/tables/faces/log-list.test.ts.
import { signal, useSignal, type Signal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { JSX, VNode } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatCount } from '../../src/faces/format.ts'
import { joinEarlier, joinNewest, linesWith, nextMatch, patternOf, type LogList, type LogRead } from '../../src/faces/log-list.ts'
import { subtreeOf } from '../../src/faces/tree.ts'
import { callApi } from '../session-api.ts'
import { useKeys } from '../keyboard.ts'
import { useReader } from '../live.ts'
import { query, setQuery } from '../router.ts'
import { rows, rowSignal, watchList } from '../rows.ts'
import { LogChunk, CHUNK_LINES, type ChunkProps } from './log-lines.tsx'

/** the lines of one answer */
const PAGE_LINES = 1_000
/** this near to its end, the list follows new lines, in pixels */
const NEAR_PX = 40

/** The line of the log at which the search is; null: at none. */
const current = signal<number | null>(null)

export function LogsTab({ row: { uuid, sub } }: { readonly row: RowView }): JSX.Element {
  const isTree = query.value.get('tree') === '1'
  const address = `/v1/processes/${uuid}/logs?tail=${PAGE_LINES}${isTree ? '&subtree=1' : ''}`
  // Each address has its own list, so that an answer that comes late changes no other.
  const list = useMemo(() => signal<LogList | null>(null), [address])
  const { error } = useReader<true>(
    () => watchLog(uuid, isTree),
    address,
    async () => {
      const page = await callApi<LogRead>(address)
      list.value = joinNewest(list.peek(), page)
      return true
    },
  )
  useEffect(() => {
    current.value = null
  }, [address])
  const readEarlier = async (before: string): Promise<void> => {
    const page = await callApi<LogRead>(`${address}&before=${encodeURIComponent(before)}`)
    if (list.peek()?.before === before) list.value = joinEarlier(list.peek() ?? { ...page, first: 0, isCut: false }, page)
  }
  const hasTree = isTree || sub.live > 0 || [...rows.values()].some(({ parent }) => parent === uuid)
  return (
    <section class="log-view" aria-label="Log">
      <LogBar list={list} isTree={isTree} hasTree={hasTree} />
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {list.value === null ? (
        error.value === null ? (
          <p class="quiet">The log is being read.</p>
        ) : null
      ) : (
        <LogLines key={address} list={list.value} onEarlier={readEarlier} />
      )}
    </section>
  )
}

/** Watches the rows that change with each new line of the log. Returns whether the process has a row. */
function watchLog(uuid: string, isTree: boolean): boolean {
  if (!isTree) return rowSignal(uuid).value !== undefined
  watchList()
  for (const other of subtreeOf(rows, uuid)) void rowSignal(other).value
  return rows.has(uuid)
}

interface LogBarProps {
  readonly list: Signal<LogList | null>
  readonly isTree: boolean
  readonly hasTree: boolean
}

function LogBar({ list, isTree, hasTree }: LogBarProps): JSX.Element {
  const field = useRef<HTMLInputElement>(null)
  const find = query.value.get('find') ?? ''
  const matches = list.value ? linesWith(list.value, patternOf(find)) : []
  const go = (by: 1 | -1): void => {
    current.value = nextMatch(matches, current.value, by)
  }
  useKeys('process', { find: () => field.current?.focus() })
  const at = current.value === null ? -1 : matches.indexOf(current.value)
  return (
    <div class="step-filter" role="search">
      <input
        ref={field}
        type="search"
        aria-label="Find in the log"
        placeholder="find"
        value={find}
        onInput={(event) => {
          current.value = null
          setQuery('find', event.currentTarget.value)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') go(event.shiftKey ? -1 : 1)
        }}
      />
      {find === '' ? null : (
        <>
          <button type="button" aria-label="Match before" title="Shift+Enter" disabled={matches.length === 0} onClick={() => go(-1)}>
            ‹
          </button>
          <button type="button" aria-label="Match after" title="Enter" disabled={matches.length === 0} onClick={() => go(1)}>
            ›
          </button>
          <span class="count" role="status">
            {at < 0 ? '' : `${at + 1} of `}
            {formatCount(matches.length, 'line')}
            {list.value?.before ? ' of those below' : ''}
          </span>
        </>
      )}
      {hasTree ? (
        <label class="inline">
          <input type="checkbox" checked={isTree} onChange={(event) => setQuery('tree', event.currentTarget.checked ? '1' : '')} /> with all
          below it
        </label>
      ) : null}
    </div>
  )
}

interface LogLinesProps {
  readonly list: LogList
  readonly onEarlier: (before: string) => Promise<void>
}

function LogLines({ list, onEarlier }: LogLinesProps): JSX.Element {
  const { box, isAtEnd, unread, onScroll, goToEnd } = useFollowing(list)
  const find = query.value.get('find') ?? ''
  const chunks = useChunks(list, find)
  useEffect(() => {
    if (current.value !== null) box.current?.querySelector('.log.current')?.scrollIntoView({ block: 'center' })
  }, [current.value])
  return (
    <div class="log-box">
      <div ref={box} class="logs" role="log" aria-live="off" aria-label="Lines" tabIndex={0} onScroll={onScroll}>
        <div>
          {list.isCut ? <p class="quiet">Lines before these are in `reeve logs`.</p> : null}
          {list.before === null ? null : <EarlierButton key={list.before} before={list.before} onEarlier={onEarlier} />}
          {chunks}
          {list.lines.length === 0 ? <p class="quiet">Nothing was written yet.</p> : null}
        </div>
      </div>
      {isAtEnd ? null : (
        <button type="button" class="new-lines" onClick={goToEnd}>
          {unread === 0 ? 'To the end' : formatCount(unread, 'new line')} ↓
        </button>
      )}
    </div>
  )
}

function EarlierButton({ before, onEarlier }: { readonly before: string } & Pick<LogLinesProps, 'onEarlier'>): JSX.Element {
  const state = useSignal<'asked' | 'failed' | null>(null)
  const read = (): void => {
    state.value = 'asked'
    onEarlier(before).catch(() => (state.value = 'failed'))
  }
  return (
    <p class="buttons">
      <button type="button" disabled={state.value === 'asked'} onClick={read}>
        {state.value === 'asked' ? 'asked' : 'Earlier lines'}
      </button>
      {state.value === 'failed' ? <span class="problem">They could not be read.</span> : null}
    </p>
  )
}

/** Draws only the chunks that have changed: the same node again costs nothing. */
function useChunks({ lines, first }: LogList, find: string): VNode[] {
  const drawn = useRef(new Map<number, { readonly props: ChunkProps; readonly node: VNode }>())
  const pattern = useMemo(() => patternOf(find), [find])
  const next: typeof drawn.current = new Map()
  for (let from = first - mod(first); from < first + lines.length; from += CHUNK_LINES) {
    const props: ChunkProps = {
      from: Math.max(first, from),
      lines: lines.slice(Math.max(0, from - first), from + CHUNK_LINES - first),
      find: pattern,
      current: current.value !== null && current.value >= from && current.value < from + CHUNK_LINES ? current.value : null,
    }
    const known = drawn.current.get(from)
    next.set(from, known && isEqual(known.props, props) ? known : { props, node: <LogChunk key={from} {...props} /> })
  }
  drawn.current = next
  return [...next.values()].map(({ node }) => node)
}

/** How far a line is from the beginning of its chunk; also for numbers below 0. */
function mod(number: number): number {
  return ((number % CHUNK_LINES) + CHUNK_LINES) % CHUNK_LINES
}

function isEqual(a: ChunkProps, b: ChunkProps): boolean {
  return (
    a.from === b.from &&
    a.find === b.find &&
    a.current === b.current &&
    a.lines.length === b.lines.length &&
    a.lines.every((line, index) => line === b.lines[index])
  )
}

interface Following {
  readonly box: { current: HTMLDivElement | null }
  /** true: the list follows new lines */
  readonly isAtEnd: boolean
  /** the number of lines that came since the user scrolled up */
  readonly unread: number
  readonly onScroll: () => void
  readonly goToEnd: () => void
}

/** Stays at the end of a list while new lines come, until the user scrolls up. */
function useFollowing({ first, lines }: LogList): Following {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useSignal(true)
  const seen = useRef(0)
  const place = useRef({ top: 0, height: 0, first })
  const end = first + lines.length
  if (isAtEnd.value) seen.current = end
  const goToEnd = (): void => {
    isAtEnd.value = true
    if (box.current) box.current.scrollTop = box.current.scrollHeight
  }
  const onScroll = (): void => {
    if (!box.current) return
    const { scrollTop, clientHeight, scrollHeight } = box.current
    // Only a scroll upwards is the user's: the list itself grows downwards.
    if (scrollTop + clientHeight > scrollHeight - NEAR_PX) isAtEnd.value = true
    else if (scrollTop < place.current.top) isAtEnd.value = false
    place.current = { ...place.current, top: scrollTop }
  }
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    if (isAtEnd.value) element.scrollTop = element.scrollHeight
    else if (first < place.current.first) element.scrollTop += element.scrollHeight - place.current.height
    place.current = { top: element.scrollTop, height: element.scrollHeight, first }
  }, [end, first])
  useEffect(() => {
    const content = box.current?.firstElementChild
    if (!content) return
    const observer = new ResizeObserver(() => {
      if (isAtEnd.value && box.current) box.current.scrollTop = box.current.scrollHeight
    })
    observer.observe(content)
    return () => observer.disconnect()
  }, [])
  return { box, isAtEnd: isAtEnd.value, unread: end - seen.current, onScroll, goToEnd }
}
