// The palette: finds pages, processes, and the actions of the current process with their command lines.
// Test: test/e2e/web/list/palette.test.ts.
import { computed, signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'
import { GO_KEY, keyTexts } from '../../src/faces/keys.ts'
import { markNameOf, markOf } from '../../src/faces/marks.ts'
import { titleOf } from '../../src/faces/process-names.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { selectedUuid } from '../fleet/list-state.ts'
import { PAGES } from '../pages.ts'
import { Dialog } from '../dialogs/dialog.tsx'
import { MarkIcon } from '../parts/icons.tsx'
import { commandLineOf, labelOfAction, possibleActions, runAction } from '../row-actions.ts'
import { navigate, path } from '../router.ts'
import { rows } from '../rows.ts'
import { openHelp } from './help.tsx'

/** the most processes that are offered */
const MAX_PROCESSES = 12

interface Choice {
  readonly id: string
  readonly text: string
  /** a command line, a key or a remark */
  readonly detail: string
  readonly row?: RowView
  readonly run: () => unknown
}

const isOpen = signal(false)
const text = signal('')
/** the index of the selected choice */
const selected = signal(0)

export function openPalette(): void {
  text.value = ''
  selected.value = 0
  isOpen.value = true
}

/** The process that actions apply to: the one of the page, or the selected one. */
function currentRow(): RowView | undefined {
  const [name, uuid] = path.value
  return rows.get((name === 'p' ? uuid : name === undefined ? selectedUuid.value : null) ?? '')
}

function pageChoices(): Choice[] {
  const pages = PAGES.filter(({ place }) => place !== 'none').map(({ path: to, title, key }) => ({
    id: `page ${to}`,
    text: title,
    detail: key === undefined ? '' : `${GO_KEY} ${key}`,
    run: () => navigate(to),
  }))
  return [...pages, { id: 'keys', text: 'Keys', detail: '?', run: openHelp }]
}

function actionChoices(): Choice[] {
  const row = currentRow()
  if (!row) return []
  return possibleActions(row).map((name) => ({
    id: `action ${name}`,
    text: `${titleOf(row)}: ${labelOfAction(name, row)}`,
    detail: commandLineOf(name, row) ?? keyTexts(name).join(' '),
    run: () => runAction(name, [row]),
  }))
}

function processChoices(words: readonly string[]): Choice[] {
  const found: RowView[] = []
  for (const row of rows.values()) {
    if (hasAllWords(`${row.name ?? ''} ${row.about} ${row.agent} ${row.pid} ${row.uuid}`, words)) found.push(row)
    if (found.length > 50 * MAX_PROCESSES) break
  }
  const isLive = ({ endedAt }: RowView): number => (endedAt === null ? 0 : 1)
  const newestFirst = found.toSorted((one, other) => isLive(one) - isLive(other) || (one.uuid < other.uuid ? 1 : -1))
  return newestFirst.slice(0, MAX_PROCESSES).map((row) => ({
    id: `process ${row.uuid}`,
    text: titleOf(row),
    detail: visibleText(row.why?.text ?? row.status),
    row,
    run: () => navigate(`/p/${row.uuid}`),
  }))
}

function hasAllWords(candidate: string, words: readonly string[]): boolean {
  const lower = candidate.toLowerCase()
  return words.every((word) => lower.includes(word))
}

const choices = computed((): readonly Choice[] => {
  if (!isOpen.value) return []
  const words = text.value
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  const fixed = [...actionChoices(), ...pageChoices()].filter((one) => hasAllWords(`${one.text} ${one.detail}`, words))
  const processes = processChoices(words)
  return words.length === 0 ? [...fixed, ...processes] : [...processes.slice(0, 6), ...fixed, ...processes.slice(6)]
})

function choose(choice: Choice | undefined): void {
  if (!choice) return
  isOpen.value = false
  choice.run()
}

function onKeyDown(event: KeyboardEvent): void {
  const moves: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }
  const by = moves[event.key]
  const count = choices.value.length
  if (by !== undefined && count > 0) selected.value = (selected.value + by + count) % count
  else if (event.key === 'Enter') choose(choices.value[selected.value])
  else return
  event.preventDefault()
  document.getElementById(`choice-${selected.value}`)?.scrollIntoView({ block: 'nearest' })
}

export function Palette(): JSX.Element | null {
  if (!isOpen.value) return null
  const count = choices.value.length
  return (
    <Dialog title="Go to, or do" onClose={() => (isOpen.value = false)}>
      <input
        type="text"
        role="combobox"
        aria-label="Search processes, pages and actions"
        aria-expanded={count > 0}
        aria-controls="choices"
        {...(count > 0 ? { 'aria-activedescendant': `choice-${selected.value}` } : {})}
        autofocus
        spellcheck={false}
        autocomplete="off"
        placeholder="process, page or action"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value
          selected.value = 0
        }}
        onKeyDown={onKeyDown}
      />
      <div id="choices" class="choices" role="listbox" aria-label="Choices">
        {choices.value.map((choice, index) => (
          <ChoiceLine key={choice.id} choice={choice} index={index} />
        ))}
      </div>
      {count === 0 ? <p class="quiet">Nothing has this text.</p> : null}
    </Dialog>
  )
}

function ChoiceLine({ choice, index }: { readonly choice: Choice; readonly index: number }): JSX.Element {
  const { row } = choice
  return (
    <div id={`choice-${index}`} role="option" aria-selected={index === selected.value} class="choice" onClick={() => choose(choice)}>
      <span>
        {row ? (
          <span class={`mark ${markOf(row).tone}`} role="img" aria-label={markOf(row).word}>
            <MarkIcon name={markNameOf(row)} />
          </span>
        ) : null}{' '}
        {choice.text}
      </span>
      <span class={choice.detail.startsWith('reeve ') ? 'quiet command-line' : 'quiet'}>{choice.detail}</span>
    </div>
  )
}
