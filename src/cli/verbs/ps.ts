// `reeve ps`: prints the table of processes. Tests: test/tables/cli/print/ps-columns.test.ts, test/e2e/cli/cli.test.ts.
import type { UsageView } from '../../api/views/process.ts'
import type { Status } from '../../kernel/model/status.ts'
import type { Reeve } from '../../index.ts'
import { formatTable } from '../print/format-table.ts'
import { UsageError } from '../errors.ts'
import type { Args } from '../input/args.ts'
import { DEFAULT_COLUMNS, EXTRA_FIELDS, TABLE_FIELDS, type PsColumn, type PsRow } from '../print/ps-columns.ts'
import { responsiveTable } from '../print/responsive-table.ts'
import type { Output } from '../print/output.ts'
import { STATUS_COLOURS } from '../print/status-colours.ts'
import { treeBranches } from '../print/tree.ts'
import type { WatchRow } from '../live/ps-rows.ts'
import type { VerbCall } from '../table/verb.ts'
import { STATUSES, PROCESS_STATES, RUNNING_STATUSES } from '../../kernel/model/words.ts'

export const STATES: readonly string[] = PROCESS_STATES
/** the values of the filters `status` and `state` that only ended processes have */
const ENDED_STATUSES: ReadonlySet<string> = new Set(['dead', 'completed', 'retired', 'stopped', 'failed', 'interrupted'])

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const { table, all, sort, ...query } = await parseQuery(args, out, reeve)
  const requestRows = async (from: Reeve): Promise<PsRow[]> => {
    const views = (await from.list(
      out.json ? { all } : { all, fields: query.needsExtraFields ? [...TABLE_FIELDS, ...EXTRA_FIELDS] : TABLE_FIELDS },
    )) as PsRow[]
    const rows = views.filter(query.isWanted)
    return sort ? rows.toSorted(sort) : rows
  }
  if (args.on('watch')) {
    if (args.on('quiet')) throw new UsageError('--watch and -q exclude each other')
    const [{ watchTable }, { psRows }] = await Promise.all([import('../live/ps-watch.ts'), import('../live/ps-rows.ts')])
    const shownRows = (rows: readonly WatchRow[]): WatchRow[] => {
      const wanted = rows.filter(query.isWanted)
      if (table.asTree) return treeBranches(wanted, out.ascii).map(({ view }) => view)
      return wanted.toSorted(sort ?? ((a, b) => urgencyRank(a) - urgencyRank(b)))
    }
    return await watchTable(
      {
        scope: all ? 'all' : 'live',
        rowsOf: (rows, now) => shownRows(psRows(rows, now)),
        requestRecords: requestRows,
        lines: (rows, maxWidth, sinceMs) =>
          psTableLines(
            rows.map((row) => advanceClocks(row, sinceMs)),
            table,
            out,
            maxWidth,
          ),
        withoutClocks,
        keptRows: all && !table.asTree && sort === null ? 'last' : 'first',
      },
      reeve,
      out,
    )
  }
  const pendingRows = requestRows(reeve)
  // Node opens stdout here, while the daemon answers.
  const maxWidth = args.on('wide') ? Infinity : out.columns
  const processes = await pendingRows
  if (out.json) await out.value({ processes })
  else if (!args.on('quiet')) await out.line(psTableLines(processes, table, out, maxWidth).join('\n'))
  else if (processes.length > 0) await out.line(processes.map(({ uuid }) => uuid).join('\n'))
  return 0
}

/** The table and the processes that the flags request. */
interface Query {
  readonly table: TableOptions
  /** includes ended processes */
  readonly all: boolean
  readonly sort: ((a: PsRow, b: PsRow) => number) | null
  readonly needsExtraFields: boolean
  readonly isWanted: (row: PsRow) => boolean
}

/** Parses the flags. Errors: usage; those of the parent in a filter. */
async function parseQuery(args: Args, out: Output, reeve: Reeve): Promise<Query> {
  const asTree = args.on('tree')
  const sortText = args.text('sort')
  const more = args.on('columns') || args.on('wide') || sortText !== undefined ? await import('../print/ps-more-columns.ts') : null
  const columns = more?.chosenColumns(args.list('columns'), args.on('wide')) ?? null
  if (columns !== null && (out.json || args.on('quiet'))) throw new UsageError('-o and --wide exclude --json and -q')
  if (asTree && sortText !== undefined) throw new UsageError('--tree and --sort exclude each other')
  const sort = sortText === undefined ? null : (more?.rowOrder(sortText, out) ?? null)
  const hasLabels = args.on('label') ? (await import('../input/labels.ts')).labelFilter(args.texts('label')) : null
  const here = args.on('here') ? process.cwd() : null
  const filters = await Promise.all((args.list('filter') ?? []).map((text) => resolveParent(parseFilter(text), reeve)))
  return {
    table: { asTree, columns },
    all: args.on('all') || filters.some(({ key, value }) => (key === 'status' || key === 'state') && ENDED_STATUSES.has(value)),
    sort,
    needsExtraFields: asTree || columns !== null || sort !== null || here !== null || hasLabels !== null || filters.length > 0,
    isWanted: (row) =>
      matchesFilters(row, filters) && (hasLabels === null || hasLabels(row.labels)) && (here === null || isAtOrBelow(row.directory, here)),
  }
}

function isAtOrBelow(directory: string, top: string): boolean {
  return directory === top || directory.startsWith(top.endsWith('/') ? top : `${top}/`)
}

/** Returns the sort key of a row: processes that need the user are first, because the last rows may not fit the screen. */
function urgencyRank({ status, attention, needsUser }: WatchRow): number {
  if (needsUser === true) return -(attention ?? 0)
  return status === 'waiting' ? 0 : status === 'suspended' ? 1 : 2
}

const RUNNING: ReadonlySet<Status> = new Set(RUNNING_STATUSES)

/** Returns the row with its elapsed time advanced by `ms`. */
function advanceClocks(row: PsRow, ms: number): PsRow {
  return RUNNING.has(row.status) ? { ...row, elapsedMs: row.elapsedMs + ms } : row
}

/** Returns the row without its elapsed time, to detect changes. */
function withoutClocks(row: PsRow): object {
  const { updatedAt: _, ...usage } = row.usage as Partial<UsageView>
  return { ...row, usage, elapsedMs: 0, updatedAt: null }
}

interface Filter {
  key: FilterKey
  value: string
}
type FilterKey = keyof typeof FILTERS

export const FILTERS = {
  status: (view: PsRow, value: string) => view.status === value,
  state: (view: PsRow, value: string) => view.state === value,
  name: (view: PsRow, value: string) => view.name === value,
  agent: (view: PsRow, value: string) => view.agent === value,
  driver: (view: PsRow, value: string) => view.driver === value,
  parent: (view: PsRow, value: string) => String(view.ppid) === value || isPartOf(value, view.parentUuid),
} as const

function parseFilter(text: string): Filter {
  const [key = '', ...rest] = text.split('=')
  if (!Object.hasOwn(FILTERS, key) || rest.length === 0) {
    throw new UsageError(`--filter ${text} is not KEY=VALUE`, `Keys: ${Object.keys(FILTERS).join(', ')}.`)
  }
  const value = rest.join('=')
  const known = key === 'status' ? STATUSES : key === 'state' ? STATES : null
  if (known && !known.includes(value)) throw new UsageError(`unknown ${key} "${value}"`, `Values: ${known.join(', ')}.`)
  return { key: key as FilterKey, value }
}

/** Replaces the name of a parent in a filter with its UUID. Only a UUID or a part of it finds a removed parent. Errors: those of `get`. */
async function resolveParent(filter: Filter, reeve: Reeve): Promise<Filter> {
  if (filter.key !== 'parent' || /^\d+$/.test(filter.value)) return filter
  try {
    return { ...filter, value: (await reeve.get(filter.value)).uuid }
  } catch (error) {
    if (/^[0-9a-f-]{4,}$/.test(filter.value)) return filter
    throw error
  }
}

/** Whether a row matches the filters: for each key, at least one filter with that key. */
function matchesFilters(view: PsRow, filters: readonly Filter[]): boolean {
  return filters.every(({ key }) => filters.some((other) => other.key === key && FILTERS[key](view, other.value)))
}

function isPartOf(part: string, uuid: string | null): boolean {
  return uuid !== null && part.length >= 4 && (uuid.startsWith(part) || uuid.endsWith(part))
}

interface TableOptions {
  /** children are below their parents */
  readonly asTree?: boolean
  /** null: the default columns, of which some are omitted on a narrow terminal */
  readonly columns?: readonly PsColumn[] | null
}

/** Returns the lines of the table, titles first. */
export function psTableLines(
  processes: readonly PsRow[],
  { asTree = false, columns: chosen = null }: TableOptions,
  out: Output,
  maxWidth = out.columns,
): string[] {
  const rows = asTree ? treeBranches(processes, out.ascii) : processes.map((view) => ({ view, branch: '' }))
  const columns = (chosen ?? DEFAULT_COLUMNS).map((column) =>
    column.title === 'STATUS'
      ? { ...column, paint: (cell: string, row: number) => paintStatus(cell, rows[row]?.view.status, out) }
      : column,
  )
  const all = rows.map(({ view, branch }) => columns.map(({ cell }) => cell(view, out, branch)))
  return maxWidth === Infinity || chosen !== null
    ? formatTable(columns, all, maxWidth, out.ellipsis)
    : responsiveTable(columns, all, maxWidth, out.ellipsis)
}

function paintStatus(cell: string, status: Status | undefined, out: Output): string {
  const colour = status && STATUS_COLOURS[status]
  return colour ? out.paint(colour, cell) : cell
}
