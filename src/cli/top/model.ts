// The state of `reeve top`: rows and needs, the selection, folds, the filter, the panel and the dialog. Knows no terminal and no daemon.
// Test: test/tables/cli/top/controller.test.ts.
import type { Hang } from '../../api/client/hung-daemon.ts'
import type { NeedView } from '../../api/views/needs.ts'
import { isSnoozed } from '../../faces/attention.ts'
import { applyRowEvent, needsAfter, type RowEvent, type RowView, type SumsView } from '../../index.ts'
import { meetsFilter, parseFilter } from '../../faces/filter.ts'
import { FLAT_ORDERS, flatOrder, treeLines, type FlatOrder, type TreeLine } from '../../faces/tree.ts'
import type { Dialog } from './dialogs.ts'

export const PEEK_TABS = ['need', 'steps', 'diff', 'logs', 'limits'] as const
export type PeekTab = (typeof PEEK_TABS)[number]

/** Orders of the table: the tree, or flat. */
export type Order = 'tree' | FlatOrder
const ORDERS: readonly Order[] = ['tree', ...FLAT_ORDERS]

/** The fields that decide whether a row is visible, and where it is in each order. A filter can name a process whose tree it selects. */
const PLACE_FIELDS = ['parent', 'name', 'endedAt', 'attention'] as const
const ORDER_FIELDS: Readonly<Record<Order, readonly (keyof RowView)[]>> = {
  tree: [],
  urgency: [],
  recent: ['since'],
  cost: ['cost'],
  name: ['about'],
}

/** What the panel below the table shows. */
export interface Peek {
  readonly tab: PeekTab
  /** whether it has the whole screen */
  readonly isWhole: boolean
  /** how many lines the panel is scrolled, from the end that it shows first */
  readonly scroll: number
  /** the step as of which the process is shown; null: now */
  readonly at: number | null
}

/** The parts of the screen that keys move in. */
const AREAS = ['table', 'needs', 'peek'] as const
export type Area = (typeof AREAS)[number]

/** the time without a sign of life after which the rows count as out of date */
const STALE_MS = 5_000
/** the time without a connection after which the daemon counts as ended; a restart takes less */
const GONE_MS = 30_000

/** The content of the panel for a process. */
export interface PeekContent {
  /** what was selected when it was read: `TopModel.peekKey` */
  readonly key: string
  readonly lines: readonly string[] | null
  /** the steps that changed files, in order; absent: not read */
  readonly edits?: readonly number[]
}

export interface ScreenNotice {
  readonly text: string
  readonly isError: boolean
}

/** Identifies a need and the version of its question: an answer counts for no other version. */
function needKey({ id, ask }: NeedView): string {
  return `${id} ${ask?.hash ?? ''}`
}

export class TopModel {
  readonly rows = new Map<string, RowView>()
  sums: SumsView | null = null
  /** the needs that are not snoozed, the most urgent first */
  needs: readonly NeedView[] = []
  #allNeeds: readonly NeedView[] = []
  /** the USD a minute over the last five minutes: of all, and of the trees that spend, by their roots */
  usdPerMinute = 0
  ratesByRoot: ReadonlyMap<string, number> = new Map()
  /** the USD of each of the last 24 hours; empty: unknown */
  hours: readonly number[] = []
  /** the name of this machine */
  host = ''
  /** how far the daemon's clock is ahead of this one, in ms */
  clockLead = 0
  /** when the daemon last sent an event, monotonic ms; null: never */
  heardAt: number | null = null
  /** the same in wall ms of this machine, because monotonic time stands still while the machine sleeps */
  heardWall = 0
  isLinkUp = true
  /** why a daemon that still runs does not answer; null: unknown, or it answers */
  hang: Pick<Hang, 'message' | 'hint'> | null = null
  /** the command lines of the actions that the daemon has not answered yet */
  readonly underWay = new Set<string>()
  /** whether no key may change anything but the screen */
  isReadOnly = false
  /** whether all ended processes are shown, also those that do not need the user */
  showsEnded = false
  selected: string | null = null
  /** the chosen need of the selected process, which may have several */
  #needId: string | null = null
  /** the index of the first visible line of the table */
  top = 0
  /** where the rows are on the screen: the first and the last line, and the lines of a process; `last` below `first`: nowhere */
  tablePlace = { first: 0, last: 0, perRow: 1 }
  readonly folded = new Set<string>()
  readonly tagged = new Set<string>()
  order: Order = 'tree'
  filter = ''
  peek: Peek | null = null
  /** the part that `Tab` chose last; `area` is the one that has the keys */
  #chosenArea: Area = 'table'
  peekContent: PeekContent | null = null
  dialog: Dialog | null = null
  notice: ScreenNotice | null = null
  /** when each need was shown first, monotonic ms */
  readonly #needShownAt = new Map<string, number>()
  #lines: readonly TreeLine[] | null = null
  /** the last known index of the selected row */
  #index = -1

  /** Applies an event of the stream of rows. `mono`: monotonic ms; `wall`: ms. */
  onRows(event: RowEvent, mono: number, wall: number): void {
    this.heardAt = mono
    this.heardWall = wall
    this.isLinkUp = true
    this.hang = null
    if ('now' in event) this.clockLead = Date.parse(event.now) - wall
    this.#allNeeds = needsAfter(this.#allNeeds, event)
    const now = wall + this.clockLead
    this.onNeeds(
      this.#allNeeds.filter((need) => !isSnoozed(need, now)),
      mono,
    )
    if (event.type === 'alive') return
    if (event.sums) this.sums = event.sums
    const isSamePlace = event.type === 'rows' && this.#keepsPlaces(event, wall)
    const index = isSamePlace ? 0 : this.selectedIndex
    applyRowEvent(this.rows, event)
    if (isSamePlace) return
    this.#lines = null
    for (const uuid of this.tagged) if (!this.rows.has(uuid)) this.tagged.delete(uuid)
    this.#keepSelection(index)
  }

  /** How long the daemon has sent nothing, in ms; null: it never sent anything. */
  quietMs(mono: number): number | null {
    return this.heardAt === null ? null : Math.max(0, mono - this.heardAt)
  }

  /** Whether the rows may be out of date. Then clocks stand still, and no action is possible. */
  isStale(mono: number): boolean {
    const quietMs = this.quietMs(mono)
    return quietMs !== null && (!this.isLinkUp || quietMs > STALE_MS)
  }

  /** Whether the daemon has ended: nothing has listened for `GONE_MS`. A hanging daemon still listens. */
  isGone(mono: number): boolean {
    return !this.isLinkUp && this.hang === null && (this.quietMs(mono) ?? 0) >= GONE_MS
  }

  /** Whether no row comes, goes or moves. */
  #keepsPlaces({ up, gone }: Extract<RowEvent, { type: 'rows' }>, wall: number): boolean {
    const fields = [...PLACE_FIELDS, ...ORDER_FIELDS[this.order]]
    const now = wall + this.clockLead
    const parts = parseFilter(this.filter, this.rows)
    return (
      gone.length === 0 &&
      up.every((patch) => {
        const row = this.rows.get(patch.uuid)
        if (!row || fields.some((field) => field in patch)) return false
        return parts.length === 0 || meetsFilter(parts, row, now) === meetsFilter(parts, { ...row, ...patch }, now)
      })
    )
  }

  onNeeds(needs: readonly NeedView[], mono: number): void {
    this.needs = needs
    const keys = new Set(needs.map(needKey))
    for (const key of this.#needShownAt.keys()) if (!keys.has(key)) this.#needShownAt.delete(key)
    for (const key of keys) if (!this.#needShownAt.has(key)) this.#needShownAt.set(key, mono)
  }

  /** How long a need has been on the screen, in ms. */
  shownMs(need: NeedView, mono: number): number {
    return mono - (this.#needShownAt.get(needKey(need)) ?? mono)
  }

  /** The visible rows. `wall`: ms, for conditions on the age. */
  lines(wall = Date.now()): readonly TreeLine[] {
    this.#lines ??= this.#arrange(wall + this.clockLead)
    return this.#lines
  }

  #arrange(now: number): readonly TreeLine[] {
    const parts = parseFilter(this.filter, this.rows)
    const isMatch = (row: RowView): boolean =>
      parts.length > 0 ? meetsFilter(parts, row, now) : this.showsEnded || row.endedAt === null || row.attention > 0
    if (this.order === 'tree') return treeLines(this.rows, { folded: this.folded, isMatch })
    const matching = [...this.rows.values()].filter((row) => isMatch(row))
    return flatOrder(matching, this.order).map(({ uuid }) => ({ uuid, depth: 0, hasChildren: false, isFolded: false, isContext: false }))
  }

  get selectedRow(): RowView | undefined {
    return this.selected === null ? undefined : this.rows.get(this.selected)
  }

  /** The chosen need of the selected process, or else its first one. */
  get selectedNeed(): NeedView | undefined {
    const own = this.needs.filter(({ uuid }) => uuid === this.selected)
    return own.find(({ id }) => id === this.#needId) ?? own[0]
  }

  get selectedIndex(): number {
    const lines = this.lines()
    if (lines[this.#index]?.uuid !== this.selected) this.#index = lines.findIndex(({ uuid }) => uuid === this.selected)
    return this.#index
  }

  /** The rows that actions concern: the tagged ones, or the selected one. */
  get targets(): RowView[] {
    const uuids = this.tagged.size > 0 ? [...this.tagged] : this.selected === null ? [] : [this.selected]
    return uuids.flatMap((uuid) => this.rows.get(uuid) ?? [])
  }

  move(by: number): void {
    const lines = this.lines()
    const at = Math.max(0, Math.min(lines.length - 1, Math.max(0, this.selectedIndex) + by))
    this.select(lines[at]?.uuid ?? null)
  }

  select(uuid: string | null): void {
    if (uuid === this.selected) return
    this.selected = uuid
    if (this.peek) this.peek = { ...this.peek, scroll: 0, at: null }
  }

  /** Makes a row visible, and selects it. */
  reveal(uuid: string): void {
    this.#unfoldTo(uuid)
    const isVisible = (): boolean => this.lines().some((line) => line.uuid === uuid)
    if (!isVisible()) this.setFilter('')
    if (!isVisible()) {
      this.showsEnded = true
      this.setFilter('')
    }
    this.select(uuid)
  }

  /** Selects the row on a line of the screen, if there is one. */
  selectAt(screenRow: number): void {
    const { first, last, perRow } = this.tablePlace
    const line = screenRow < first || screenRow > last ? undefined : this.lines()[this.top + Math.floor((screenRow - first) / perRow)]
    if (!line) return
    this.select(line.uuid)
    this.#chosenArea = 'table'
  }

  /** The parts that are on the screen. */
  get #areas(): readonly Area[] {
    if (this.peek?.isWhole) return ['peek']
    return AREAS.filter((area) => (area === 'needs' ? this.needs.length > 0 : area === 'peek' ? this.peek !== null : true))
  }

  /** The part of the screen that the keys move in. */
  get area(): Area {
    const areas = this.#areas
    return areas.includes(this.#chosenArea) ? this.#chosenArea : (areas[0] ?? 'table')
  }

  /** Gives the keys to the next part of the screen, or to the one before. Returns false if there is no other. */
  moveArea(by: -1 | 1): boolean {
    const areas = this.#areas
    if (areas.length < 2) return false
    this.#chosenArea = areas[(areas.indexOf(this.area) + by + areas.length) % areas.length] ?? 'table'
    if (this.#chosenArea === 'needs' && !this.selectedNeed) this.selectNeed(0)
    return true
  }

  /** Selects the process of the n-th need, from 0, and shows what it is about. */
  selectNeed(index: number): void {
    const need = this.needs[index]
    if (!need) return
    this.reveal(need.uuid)
    this.#needId = need.id
    this.showEvidence()
  }

  /** Selects the need after the selected one, or the one before it. */
  moveNeed(by: -1 | 1): void {
    const { length } = this.needs
    const { selectedNeed } = this
    const at = selectedNeed ? this.needs.indexOf(selectedNeed) : -1
    if (length > 0) this.selectNeed(at < 0 ? (by > 0 ? 0 : length - 1) : (at + by + length) % length)
  }

  /** Moves the selection by this many needs, but not beyond the first or the last one. */
  #stepNeed(by: number): void {
    const at = this.selectedNeed ? this.needs.indexOf(this.selectedNeed) : 0
    this.selectNeed(Math.max(0, Math.min(this.needs.length - 1, at + by)))
  }

  /** Folds the selected row, or else selects its parent. */
  foldOrGoUp(): void {
    const line = this.lines()[this.selectedIndex]
    const parent = this.selectedRow?.parent ?? null
    if (line?.hasChildren && !line.isFolded) this.#setFolded(line.uuid, true)
    else if (parent !== null && this.lines().some(({ uuid }) => uuid === parent)) this.select(parent)
  }

  unfold(): void {
    if (this.selected !== null) this.#setFolded(this.selected, false)
  }

  unfoldAll(): void {
    this.folded.clear()
    this.#lines = null
  }

  /** Folds the deepest level that is open, or unfolds the highest level that is folded. */
  foldLevel(isFolding: boolean): void {
    const lines = this.lines().filter(({ hasChildren, isFolded }) => hasChildren && isFolded !== isFolding)
    const depths = lines.map(({ depth }) => depth)
    const depth = isFolding ? Math.max(...depths) : Math.min(...depths)
    const index = this.selectedIndex
    for (const line of lines) if (line.depth === depth) this.#setFolded(line.uuid, isFolding)
    this.#keepSelection(index)
  }

  nextOrder(): void {
    this.order = ORDERS[(ORDERS.indexOf(this.order) + 1) % ORDERS.length] ?? 'tree'
    this.#lines = null
    this.#keepSelection()
  }

  setFilter(text: string): void {
    this.filter = text
    this.#lines = null
    this.#keepSelection()
  }

  /** The first part of the filter that is wrong, with a hint; undefined: none is. */
  get filterError(): string | undefined {
    return parseFilter(this.filter, this.rows).find(({ error }) => error !== undefined)?.error
  }

  toggleTag(): void {
    if (this.selected === null) return
    if (!this.tagged.delete(this.selected)) this.tagged.add(this.selected)
    this.move(1)
  }

  /** Scrolls the panel, or moves the selection in the needs or in the table. */
  scrollOrMove(by: number): void {
    if (this.area === 'needs') return this.#stepNeed(by)
    if (this.area === 'table' || !this.peek) return this.move(by)
    // Steps and logs are shown from their end.
    const direction = this.showsEnd ? -1 : 1
    const most = Math.max(0, (this.peekLines?.length ?? 1) - 1)
    this.peek = { ...this.peek, scroll: Math.max(0, Math.min(most, this.peek.scroll + by * direction)) }
  }

  /** Gives the panel the whole screen, or returns it to its part of the screen. */
  toggleWholePeek(): void {
    if (!this.peek) this.togglePeek()
    if (this.peek) this.peek = { ...this.peek, isWhole: !this.peek.isWhole }
  }

  /** Undoes the first of these: the choice of the needs, a replay, a panel on the whole screen, a panel, tags, a filter. */
  close(): void {
    if (this.area === 'needs') this.#chosenArea = 'table'
    else if (this.peek && this.peek.at !== null) this.peek = { ...this.peek, at: null, scroll: 0 }
    else if (this.peek?.isWhole) this.peek = { ...this.peek, isWhole: false, scroll: 0 }
    else if (this.peek) this.togglePeek()
    else if (this.tagged.size > 0) this.tagged.clear()
    else if (this.filter !== '') this.setFilter('')
  }

  togglePeek(): void {
    if (this.peek && this.#chosenArea === 'peek') this.#chosenArea = 'table'
    this.peek = this.peek ? null : { tab: this.selectedNeed ? 'need' : 'steps', isWhole: false, scroll: 0, at: null }
  }

  /** Shows the tab to the left or to the right. */
  movePeekTab(by: -1 | 1): void {
    if (!this.peek) return this.togglePeek()
    const tabs = this.selectedNeed ? PEEK_TABS : PEEK_TABS.slice(1)
    const at = tabs.indexOf(this.peek.tab)
    this.peek = { ...this.peek, tab: tabs[(at + by + tabs.length) % tabs.length] ?? 'steps', scroll: 0, at: null }
  }

  /** Shows the process as of its last step, or again as it is now. */
  toggleReplay(): void {
    const at = this.peek?.at ?? null
    this.peek = { tab: 'steps', isWhole: this.peek?.isWhole ?? false, scroll: 0, at: at === null ? (this.selectedRow?.step ?? 1) : null }
  }

  /** Shows the process as of the next step, or the one before. */
  moveStep(by: -1 | 1): void {
    const { peek, selectedRow } = this
    if (!peek || peek.at === null || !selectedRow) return
    this.peek = { ...peek, scroll: 0, at: Math.max(1, Math.min(selectedRow.step, peek.at + by)) }
  }

  /** Shows the process as of the next or the previous step that changed files. Returns false if there is none. */
  moveToEdit(by: -1 | 1): boolean {
    const { peek } = this
    const at = peek?.at ?? null
    const edits = this.peekContent?.edits ?? []
    const step = at === null ? undefined : by > 0 ? edits.find((one) => one > at) : edits.findLast((one) => one < at)
    if (!peek || step === undefined) return false
    this.peek = { ...peek, scroll: 0, at: step }
    return true
  }

  /** The tab that the panel shows: `steps` in place of `need`, if the process has no need. */
  get shownTab(): PeekTab | null {
    if (!this.peek) return null
    return this.peek.tab === 'need' && !this.selectedNeed ? 'steps' : this.peek.tab
  }

  /** Whether the panel shows its end first: steps and logs grow there. */
  get showsEnd(): boolean {
    return this.peek?.at === null && (this.shownTab === 'steps' || this.shownTab === 'logs')
  }

  /** The lines of the panel, if they belong to what is selected; null: not read yet. */
  get peekLines(): readonly string[] | null {
    return this.peekContent?.key === this.peekKey ? this.peekContent.lines : null
  }

  /** What the panel is about: its process, its tab, and the question as it is now. */
  get peekKey(): string {
    const need = this.shownTab === 'need' ? this.selectedNeed : undefined
    return `${this.selected} ${this.shownTab} ${need ? needKey(need) : ''} ${this.peek?.at ?? ''}`
  }

  /** Whether the panel shows the selected need with its evidence. */
  get showsEvidence(): boolean {
    return this.shownTab === 'need' && this.peekLines !== null
  }

  /** Shows what the selected need is about. */
  showEvidence(): void {
    this.peek = { tab: 'need', isWhole: this.peek?.isWhole ?? false, scroll: 0, at: null }
  }

  #setFolded(uuid: string, isFolded: boolean): void {
    if (isFolded) this.folded.add(uuid)
    else this.folded.delete(uuid)
    this.#lines = null
  }

  #unfoldTo(uuid: string): void {
    for (let up = this.rows.get(uuid)?.parent ?? null; up !== null; up = this.rows.get(up)?.parent ?? null) this.#setFolded(up, false)
  }

  /** If the selected row is no longer visible, selects the one in its place. `index`: its place before. */
  #keepSelection(index = 0): void {
    const lines = this.lines()
    if (this.selected !== null && lines.some(({ uuid }) => uuid === this.selected)) return
    this.select(lines[Math.max(0, Math.min(index, lines.length - 1))]?.uuid ?? null)
  }
}
