// The rows of living and recently ended processes, as the stream sent them, and older rows on request. Also what needs the user.
// A change of one row redraws only what shows that row; the list is made anew only when its shape can have changed.
// Test: test/e2e/web/fleet.test.ts.
import { signal, type Signal } from '@preact/signals'
import { needsAfter, type RowEvent } from '../src/api/row-events.ts'
import type { NeedView } from '../src/api/views/needs.ts'
import type { RowView, SumsView } from '../src/api/views/rows.ts'
import { isUnseenEnd, needsUser } from '../src/faces/attention.ts'
import { OlderRows } from './fleet/older-rows.ts'

/** all rows by UUID; not a signal, because each change would redraw all */
export const rows = new Map<string, RowView>()
/** grows when a row came, went, or moved to another parent, and at each change while `followsAllChanges` */
const listVersion = signal(0)
export const sums = signal<SumsView | null>(null)
/** the position in the stream that the page shows; empty: the first rows have not come */
export const shownCursor = signal('')
/** what must be added to this browser's clock for the time of the daemon, in ms */
export const clockOffset = signal(0)
/** true while the list has a filter, because then any change can affect the list */
export const followsAllChanges = signal(false)

/** what waits for the user, with what is put off; null: the first rows have not come */
export const allNeeds = signal<readonly NeedView[] | null>(null)
/** the processes that need the user */
export const rowsWithNeeds = signal<ReadonlySet<string>>(new Set())

/** the processes with an open question */
export const askingUuids = signal<ReadonlySet<string>>(new Set())

/** the processes whose end the user has not seen, without older ones */
export const unseenEnds = signal<ReadonlySet<string>>(new Set())

const older = new OlderRows()

const watched = new Map<string, Signal<RowView | undefined>>()
let waiting: RowEvent[] = []
/** the frame and the timer that apply the waiting events; the first of them cancels the other */
let frame = 0
let timer = 0
let isLoaded = false

/** Must be called by code that reads `rows`, so that it is drawn again when the list has changed. Returns the version of the list. */
export function watchList(): number {
  return listVersion.value
}

/** Whether the first rows have come. */
export function hasRows(): boolean {
  return isLoaded
}

/** Adds rows of processes that ended over 24 hours ago. Those that the stream sends are newer. */
export function addOlderRows(added: readonly RowView[]): void {
  for (const uuid of older.add(rows, added)) showRow(uuid)
  listVersion.value += 1
}

/** Adds all older rows. From now on, rows that become too old stay, until `dropOlderRows`. */
export function addAllOlderRows(added: readonly RowView[]): void {
  older.keepAll()
  addOlderRows(added)
}

/** Removes all older rows from the list. */
export function dropOlderRows(): void {
  for (const uuid of older.drop(rows)) showRow(uuid)
  listVersion.value += 1
}

function showRow(uuid: string): void {
  const row = watched.get(uuid)
  if (row) row.value = rows.get(uuid)
}

/** The row of a process as a signal; undefined while there is none. */
export function rowSignal(uuid: string): Signal<RowView | undefined> {
  const known = watched.get(uuid)
  if (known) return known
  const row = signal(rows.get(uuid))
  watched.set(uuid, row)
  return row
}

/** Events wait at most this long for a frame, in ms. A hidden tab gets no frames. */
const MAX_WAIT_MS = 1_000

/** Takes an event of the stream. It is applied at the next frame, together with others; in a hidden tab once a second. */
export function takeRowEvent(event: RowEvent): void {
  waiting.push(event)
  if (waiting.length > 1) return
  timer = setTimeout(applyWaiting, MAX_WAIT_MS)
  frame = requestAnimationFrame(applyWaiting)
}

// A tab that has just been hidden gets no frame, and one that is visible again must show all at once.
addEventListener('visibilitychange', () => waiting.length > 0 && applyWaiting())

function applyWaiting(): void {
  clearTimeout(timer)
  cancelAnimationFrame(frame)
  const events = waiting
  waiting = []
  const changed = new Set<string>()
  let hasNewShape = false
  for (const event of events) {
    if ('now' in event) clockOffset.value = Date.parse(event.now) - Date.now()
    if ('sums' in event && event.sums) sums.value = event.sums
    hasNewShape = changesShape(event) || hasNewShape
    for (const uuid of uuidsOf(event)) changed.add(uuid)
    older.apply(rows, event, Date.now() + clockOffset.value)
    allNeeds.value = needsAfter(allNeeds.peek() ?? [], event)
    if (event.type === 'reset') isLoaded = true
    shownCursor.value = event.cursor
  }
  for (const uuid of changed) showRow(uuid)
  updateNeeds(events.some(({ type }) => type === 'reset') ? rows.keys() : changed)
  if (hasNewShape || (followsAllChanges.value && changed.size > 0)) listVersion.value += 1
}

function changesShape(event: RowEvent): boolean {
  if (event.type === 'alive') return false
  return (
    event.type === 'reset' ||
    event.gone.length > 0 ||
    event.removed !== undefined ||
    event.up.some((patch) => !rows.has(patch.uuid) || 'parent' in patch)
  )
}

function uuidsOf(event: RowEvent): Iterable<string> {
  if (event.type === 'reset') return watched.keys()
  return event.type === 'alive' ? [] : [...event.up.map(({ uuid }) => uuid), ...event.gone, ...(event.removed ?? [])]
}

function updateNeeds(uuids: Iterable<string>): void {
  const at = Date.now() + clockOffset.peek()
  const changed = [...uuids]
  updateSet(rowsWithNeeds, changed, (row) => needsUser(row, at))
  updateSet(askingUuids, changed, ({ asks }) => asks > 0)
  updateSet(unseenEnds, changed, isUnseenEnd)
}

/** Updates a set of processes by the rows that changed. The set never has older rows. */
function updateSet(set: Signal<ReadonlySet<string>>, changed: readonly string[], isIn: (row: RowView) => boolean): void {
  const before = set.peek()
  const next = new Set([...before].filter((uuid) => rows.has(uuid)))
  for (const uuid of changed) {
    const row = rows.get(uuid)
    if (row && !older.has(uuid) && isIn(row)) next.add(uuid)
    else next.delete(uuid)
  }
  if (next.size !== before.size || [...next].some((uuid) => !before.has(uuid))) set.value = next
}
