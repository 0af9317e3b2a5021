// The first page: who needs the user, and all processes as a tree. Rows keep their places: the strip above them shows what is urgent.
// Test: test/e2e/web/fleet.test.ts.
import { computed } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { JSX } from 'preact'
import { FLAT_ORDERS, type TreeLine } from '../../src/faces/tree.ts'
import {
  actionTargets,
  changeLevel,
  filterParts,
  filterText,
  isFiltered,
  lines,
  order,
  orderAgain,
  orderedAt,
  selectedIndex,
  selectLine,
  selectParent,
  syncFoldsWithAddress,
  tagged,
  toggleTag,
} from '../fleet/list.ts'
import { OlderEnds, UnseenEnds } from '../fleet/ends.tsx'
import { isPeeking, PeekPanel } from '../fleet/peek.tsx'
import { TaggedBar } from '../fleet/tagged-bar.tsx'
import { useKeys, type KeyHandlers } from '../keyboard.ts'
import { selectedUuid, setFolded, toggleFold } from '../fleet/list-state.ts'
import { focusNeed } from '../needs/need-keys.ts'
import { Since } from '../parts/clock.tsx'
import { FleetRow, rowHeight } from '../fleet/fleet-row.tsx'
import { isNarrow } from '../frame/narrow.ts'
import { NeedsStrip } from '../needs/strip.tsx'
import { RowWindow } from '../parts/row-window.tsx'
import { rowKeys } from '../row-actions.ts'
import { followsAllChanges, hasRows, rows, watchList } from '../rows.ts'
import { navigate, setQuery } from '../router.ts'

/** Folds an open row, or selects the parent of another one. */
function foldOrGoUp(): void {
  const line = selectedLine()
  if (!line) return
  if (line.hasChildren && !line.isFolded) return toggleFold(line.uuid)
  selectParent(line.uuid)
}

const PAGE_ROWS = 20

function selectedLine(): TreeLine | undefined {
  return selectedIndex.value === null ? undefined : lines.value[selectedIndex.value]
}

/** Calls `action` for the selected process. Returns false if the list shows none. */
function doToSelected(action: (uuid: string) => void): boolean {
  const line = selectedLine()
  if (line) action(line.uuid)
  return line !== undefined
}

/** Moves the selection, and the focus to the list, so that a screen reader reads the row. */
function moveTo(index: number): void {
  selectLine(index)
  document.querySelector<HTMLElement>('.tree')?.focus({ preventScroll: true })
}

/** Without a selection, the first move selects the first row. */
function moveBy(by: number): void {
  moveTo(selectedIndex.value === null ? 0 : selectedIndex.value + by)
}

function nextOrder(): void {
  const names = ['', ...FLAT_ORDERS]
  setQuery('sort', names[(names.indexOf(order.value ?? '') + 1) % names.length] ?? '')
}

/** Leaves a field, else closes the peek, else removes all tags. Returns false if there was nothing to do. */
function closeOne(): boolean {
  if (document.activeElement instanceof HTMLInputElement) document.activeElement.blur()
  else if (isPeeking.value) isPeeking.value = false
  else if (tagged.value.size > 0) tagged.value = new Set()
  else return false
  return true
}

const LIST_KEYS: KeyHandlers = {
  selectNext: () => moveBy(1),
  selectPrevious: () => moveBy(-1),
  pageDown: () => moveBy(PAGE_ROWS),
  pageUp: () => moveBy(-PAGE_ROWS),
  selectFirst: () => moveTo(0),
  selectLast: () => moveTo(lines.value.length - 1),
  open: () => doToSelected((uuid) => navigate(`/p/${uuid}`)),
  unfold: () => selectedLine()?.isFolded && toggleFold(selectedLine()?.uuid ?? ''),
  fold: foldOrGoUp,
  foldLevel: () => changeLevel('fold'),
  unfoldLevel: () => changeLevel('unfold'),
  unfoldAll: () => setFolded(new Set()),
  peek: () => (isPeeking.value = !isPeeking.value && selectedLine() !== undefined),
  tag: () => doToSelected(toggleTag),
  filter: () => document.getElementById('filter')?.focus(),
  sort: nextOrder,
  goToNeed: (key) => focusNeed(Number(key) - 1),
  close: closeOne,
  ...rowKeys(actionTargets),
}

/** The address is read when the first rows are there, which may be after the page is drawn. */
const isLoaded = computed(() => watchList() >= 0 && hasRows())

export function FleetPage(): JSX.Element {
  useKeys('list', LIST_KEYS)
  useEffect(syncFoldsWithAddress, [isLoaded.value])
  return (
    <>
      {isNarrow.value ? null : <NeedsStrip />}
      <Fleet />
    </>
  )
}

function Fleet(): JSX.Element {
  useEffect(() => {
    followsAllChanges.value = isFiltered.value
    return () => {
      followsAllChanges.value = false
    }
  }, [isFiltered.value])
  watchList()
  if (!hasRows()) return <p class="quiet">The list is being read.</p>
  if (rows.size === 0) return <NothingYet />
  return (
    <section class="fleet" aria-label="Fleet">
      <FilterBar />
      {lines.value.length === 0 ? (
        <NoMatch />
      ) : (
        <>
          <Titles />
          <RowTree />
        </>
      )}
      <TaggedBar />
      <PeekPanel />
    </section>
  )
}

const TITLES = ['name', 'agent', 'what it does', 'time', 'step', 'ctx', 'cost', 'budget'] as const
const NUMBERS: ReadonlySet<string> = new Set(['time', 'step', 'ctx', 'cost'])

/** The titles of the columns. They do not scroll with the rows. */
function Titles(): JSX.Element {
  return (
    <div class="titles" aria-hidden="true">
      {TITLES.map((title) => (
        <span key={title} class={NUMBERS.has(title) ? 'number' : title === 'what it does' ? 'why' : title}>
          {title}
        </span>
      ))}
    </div>
  )
}

function RowTree(): JSX.Element {
  const selected = selectedIndex.value
  return (
    <RowWindow
      class="tree"
      count={lines.value.length}
      rowHeight={rowHeight.value}
      selected={selected}
      attributes={{
        role: 'treegrid',
        tabIndex: 0,
        'aria-label': 'Processes',
        'aria-rowcount': lines.value.length,
        ...(selected === null ? {} : { 'aria-activedescendant': `row-${selectedUuid.value}` }),
      }}
      draw={(index, top) => {
        const line = lines.value[index]
        return line ? (
          <FleetRow
            key={line.uuid}
            line={line}
            index={index}
            top={top}
            isSelected={line.uuid === selectedUuid.value}
            isTagged={tagged.value.has(line.uuid)}
          />
        ) : (
          <></>
        )
      }}
    />
  )
}

function FilterBar(): JSX.Element {
  const errors = filterParts.value.flatMap(({ error }) => error ?? [])
  return (
    <div class="filter-bar" role="search">
      <label>
        <span class="hidden">Filter</span>
        <input
          id="filter"
          type="search"
          placeholder="filter: status:waiting agent:claude cost:>5 under:fix"
          value={filterText.value}
          onInput={(event) => setQuery('q', event.currentTarget.value)}
          spellcheck={false}
          autocomplete="off"
        />
      </label>
      <label>
        <span class="hidden">Order</span>
        <select value={order.value ?? ''} onChange={(event) => setQuery('sort', event.currentTarget.value)}>
          <option value="">tree</option>
          {FLAT_ORDERS.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {orderedAt.value === null ? null : (
        <button type="button" class="plain" onClick={orderAgain}>
          order is <Since at={new Date(orderedAt.value).toISOString()} /> old · order again
        </button>
      )}
      <UnseenEnds />
      <OlderEnds />
      {errors.length === 0 ? null : (
        <span class="filter-error" role="status">
          {errors.join(' · ')}
        </span>
      )}
    </div>
  )
}

/** Shows that no process meets the filter, with a button for each part of it, which drops that part. */
function NoMatch(): JSX.Element {
  const parts = filterParts.value.map(({ text }) => text)
  return (
    <section class="empty">
      <p>No process meets this filter.</p>
      <p class="buttons">
        {parts.map((text, index) => (
          <button key={text} type="button" onClick={() => setQuery('q', parts.filter((_, other) => other !== index).join(' '))}>
            without {text}
          </button>
        ))}
      </p>
    </section>
  )
}

const FIRST_COMMANDS = ['reeve run --agent claude "find out why the tests fail"', 'reeve run -- npm test', 'reeve agents']

function NothingYet(): JSX.Element {
  return (
    <section class="empty">
      <p>Nothing runs here yet. Start something in a terminal:</p>
      <pre>{FIRST_COMMANDS.join('\n')}</pre>
      <p>
        <OlderEnds />
      </p>
    </section>
  )
}
