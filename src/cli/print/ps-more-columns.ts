// The columns of `reeve ps` that `--wide`, `-o` and `--sort` name; loaded only for these flags.
// Test: test/tables/cli/print/ps-more-columns.test.ts.
import { labelsText } from '../../api/text/labels-text.ts'
import { UsageError } from '../errors.ts'
import type { Output } from './output.ts'
import { DEFAULT_COLUMNS, DEFAULT_COLUMN_BY_NAME, noteOf, type PsColumn, type PsRow } from './ps-columns.ts'
import { oneLine } from './text.ts'

/** All columns by their names in `-o`, in the order of the help. */
export const PS_COLUMNS = {
  ...DEFAULT_COLUMN_BY_NAME,
  intent: { title: 'INTENT', min: 8, cell: ({ about }) => oneLine(about) },
  model: { title: 'MODEL', min: 8, cell: ({ model }) => (model === null ? '-' : oneLine(model)) },
  dir: { title: 'DIR', min: 8, cell: ({ directory }) => oneLine(directory) },
  branch: { title: 'BRANCH', min: 8, cell: ({ worktree }) => (worktree === null ? '-' : oneLine(worktree.branch)) },
  labels: { title: 'LABELS', min: 8, cell: ({ labels }) => oneLine(labelsText(labels)) },
  driver: { title: 'DRIVER', cell: ({ driver }) => driver },
  ppid: { title: 'PPID', side: 'right', cell: ({ ppid }) => String(ppid), key: ({ ppid }) => ppid },
  uuid: { title: 'UUID', cell: ({ uuid }) => uuid },
  created: { title: 'CREATED', cell: ({ createdAt }) => createdAt, key: ({ createdAt }) => Date.parse(createdAt) },
} satisfies Readonly<Record<string, PsColumn>>

const COLUMNS: Readonly<Record<string, PsColumn>> = PS_COLUMNS

const { note, intent, model, dir, branch } = PS_COLUMNS
/** The intent has its own column here, so the note does not repeat it. */
const WIDE_COLUMNS: readonly PsColumn[] = [
  ...DEFAULT_COLUMNS.filter((column) => column !== note),
  model,
  dir,
  branch,
  { ...note, cell: (view) => noteOf(view, '') },
  intent,
]

/** Returns the columns that the flags choose; null: the default ones. Errors: usage, with the list of all columns. */
export function chosenColumns(names: readonly string[] | undefined, isWide: boolean): readonly PsColumn[] | null {
  if (names === undefined) return isWide ? WIDE_COLUMNS : null
  if (isWide) throw new UsageError('-o and --wide exclude each other')
  // The user chose these columns: none is omitted.
  return names.map((each) => ({ ...columnOf(each), omitRank: undefined }))
}

/** Returns the function that compares rows by a column; `-COLUMN` reverses the order. Errors: usage, with the list of all columns. */
export function rowOrder(text: string, out: Output): (a: PsRow, b: PsRow) => number {
  const isReversed = text.startsWith('-')
  const { key, cell } = columnOf(isReversed ? text.slice(1) : text)
  const compare = key
    ? (a: PsRow, b: PsRow) => key(a) - key(b)
    : (a: PsRow, b: PsRow) => cell(a, out, '').localeCompare(cell(b, out, ''), 'en', { numeric: true })
  return isReversed ? (a, b) => compare(b, a) : compare
}

function columnOf(text: string): PsColumn {
  const column = Object.hasOwn(COLUMNS, text.toLowerCase()) ? COLUMNS[text.toLowerCase()] : undefined
  if (!column) throw new UsageError(`there is no column "${text}"`, `Columns: ${Object.keys(COLUMNS).join(', ')}.`)
  return column
}
