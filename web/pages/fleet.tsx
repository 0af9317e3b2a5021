// The first page: who needs the user, and all processes as a tree. Rows never move by themselves; urgency is the strip above them.
// Test: test/e2e/web/fleet.test.ts.
import { computed } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { JSX, TargetedKeyboardEvent } from 'preact'
import { meetsFilter, parseFilter } from '../../src/faces/filter.ts'
import { FLAT_ORDERS, flatOrder, treeLines, type FlatOrder, type TreeLine } from '../../src/faces/tree.ts'
import { folded, selectedUuid, toggleFold } from '../list-state.ts'
import { daemonNow } from '../parts/clock.tsx'
import { FleetRow, rowHeight } from '../parts/fleet-row.tsx'
import { NeedsStrip } from '../parts/needs-strip.tsx'
import { RowWindow } from '../parts/row-window.tsx'
import { followsAllChanges, hasRows, rows, watchList } from '../rows.ts'
import { navigate, query, setQuery } from '../router.ts'

const filterText = computed(() => query.value.get('q') ?? '')
const order = computed((): FlatOrder | null => FLAT_ORDERS.find((name) => name === query.value.get('sort')) ?? null)
const isChanging = computed(() => filterText.value !== '' || order.value !== null)

const filterParts = computed(() => {
  // `under:` looks at the tree.
  watchList()
  return parseFilter(filterText.value, rows)
})

const lines = computed((): TreeLine[] => {
  watchList()
  const parts = filterParts.value
  const isMatch = parts.length === 0 ? undefined : (row: Parameters<typeof meetsFilter>[1]) => meetsFilter(parts, row, daemonNow())
  if (order.value === null) return treeLines(rows, { folded: folded.value, isMatch })
  const some = isMatch ? [...rows.values()].filter(isMatch) : rows.values()
  return flatOrder(some, order.value).map(({ uuid }) => ({ uuid, depth: 0, hasChildren: false, isFolded: false, isContext: false }))
})

const selectedIndex = computed(() => {
  const index = lines.value.findIndex(({ uuid }) => uuid === selectedUuid.value)
  return index === -1 ? null : index
})

function select(index: number): void {
  const line = lines.value[Math.max(0, Math.min(index, lines.value.length - 1))]
  if (line) selectedUuid.value = line.uuid
}

/** Folds an open row, or selects the parent of another one. */
function foldOrGoUp(line: TreeLine): void {
  if (line.hasChildren && !line.isFolded) return toggleFold(line.uuid)
  const parent = rows.get(line.uuid)?.parent
  if (parent !== null && parent !== undefined && rows.has(parent)) selectedUuid.value = parent
}

const PAGE_ROWS = 20

/** Moves the selection by a key. Returns false for a key that the list does not know. */
function onListKey(key: string): boolean {
  const at = selectedIndex.value ?? -1
  const line = lines.value[at]
  const moves: Readonly<Record<string, () => void>> = {
    ArrowDown: () => select(at + 1),
    ArrowUp: () => select(at - 1),
    j: () => select(at + 1),
    k: () => select(at - 1),
    PageDown: () => select(at + PAGE_ROWS),
    PageUp: () => select(at - PAGE_ROWS),
    Home: () => select(0),
    End: () => select(lines.value.length - 1),
    G: () => select(lines.value.length - 1),
    ArrowRight: () => line?.isFolded && toggleFold(line.uuid),
    ArrowLeft: () => line && foldOrGoUp(line),
    h: () => line && foldOrGoUp(line),
    Enter: () => line && navigate(`/p/${line.uuid}`),
  }
  const move = Object.hasOwn(moves, key) ? moves[key] : undefined
  move?.()
  return move !== undefined
}

function onKeyDown(event: TargetedKeyboardEvent<HTMLElement>): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (onListKey(event.key)) event.preventDefault()
}

export function FleetPage(): JSX.Element {
  return (
    <>
      <NeedsStrip />
      <Fleet />
    </>
  )
}

function Fleet(): JSX.Element {
  useEffect(() => {
    followsAllChanges.value = isChanging.value
    return () => {
      followsAllChanges.value = false
    }
  }, [isChanging.value])
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
        onKeyDown,
      }}
      draw={(index, top) => {
        const line = lines.value[index]
        return line ? <FleetRow key={line.uuid} line={line} index={index} top={top} isSelected={line.uuid === selectedUuid.value} /> : <></>
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
      {errors.length === 0 ? null : (
        <span class="filter-error" role="status">
          {errors.join(' · ')}
        </span>
      )}
    </div>
  )
}

/** Says which parts of the filter leave nothing, with a button for each to drop it. */
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
    </section>
  )
}
