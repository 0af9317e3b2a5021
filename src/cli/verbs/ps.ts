// `reeve ps`: prints the table of processes. Tests: test/tables/cli/print/views.test.ts, test/e2e/cli/cli.test.ts.
import type { ProcessView, UsageView } from '../../api/views/process.ts'
import type { Status } from '../../kernel/model/status.ts'
import type { Reeve } from '../../index.ts'
import { formatTable } from '../print/format-table.ts'
import { UsageError } from '../errors.ts'
import { costCell, formatElapsed, shortId } from '../print/format.ts'
import { hasLabels, parseLabelFilter } from '../input/labels.ts'
import { responsiveTable, type OmittableColumn } from '../print/responsive-table.ts'
import type { Output } from '../print/output.ts'
import { STATUS_COLOURS } from '../print/status-colours.ts'
import { oneLine } from '../print/text.ts'
import { treeBranches } from '../print/tree.ts'
import type { VerbCall } from '../table/verb.ts'
import { STATUSES, PROCESS_STATES, RUNNING_STATUSES } from '../../kernel/model/words.ts'

export const STATES: readonly string[] = PROCESS_STATES
const ENDED_STATUSES: ReadonlySet<string> = new Set(['dead', 'completed', 'retired', 'stopped', 'failed', 'interrupted'])

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const filters = await Promise.all((args.list('filter') ?? []).map((text) => resolveParent(parseFilter(text), reeve)))
  const all = args.on('all') || filters.some(({ key, value }) => (key === 'status' || key === 'state') && ENDED_STATUSES.has(value))
  const asTree = args.on('tree')
  const labels = args.texts('label').map(parseLabelFilter)
  const requestRows = async (from: Reeve): Promise<PsRow[]> => {
    const views = (await from.list(
      out.json
        ? { all }
        : { all, fields: asTree || filters.length + labels.length > 0 ? [...TABLE_FIELDS, ...EXTRA_FIELDS] : TABLE_FIELDS },
    )) as PsRow[]
    return views.filter((view) => matchesFilters(view, filters) && hasLabels(view.labels, labels))
  }
  if (args.on('watch')) {
    if (args.on('quiet')) throw new UsageError('--watch and -q exclude each other')
    const { watchTable } = await import('../live/ps-watch.ts')
    return await watchTable(
      {
        requestRows: async (from) =>
          asTree ? await requestRows(from) : (await requestRows(from)).toSorted((a, b) => urgencyRank(a) - urgencyRank(b)),
        lines: (rows, maxWidth, sinceMs) =>
          lines(
            rows.map((row) => advanceClocks(row, sinceMs)),
            asTree,
            out,
            maxWidth,
          ),
        withoutClocks,
        keptRows: all && !asTree ? 'last' : 'first',
      },
      reeve,
      out,
    )
  }
  const pendingRows = requestRows(reeve)
  // Node opens stdout here, while the daemon answers.
  const maxWidth = out.columns
  const processes = await pendingRows
  if (out.json) await out.value({ processes })
  else if (!args.on('quiet')) await out.line(lines(processes, asTree, out, maxWidth).join('\n'))
  else if (processes.length > 0) await out.line(processes.map(({ uuid }) => uuid).join('\n'))
  return 0
}

/** Returns the sort key of a row: processes that need the user are first, because the last rows may not fit the screen. */
function urgencyRank({ status }: PsRow): number {
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

/** the fields of the table; requesting all fields would take 20 times as long */
const TABLE_FIELDS = [
  'uuid',
  'pid',
  'name',
  'agent',
  'status',
  'step',
  'elapsedMs',
  'usage.costUsd',
  'usage.inputTokens',
  'usage.unpriced',
  'note',
  'about',
  'pinned',
  'originUuid',
  'phase',
  'taskId',
] as const
/** the additional fields for filters and for the tree */
const EXTRA_FIELDS = ['ppid', 'parentUuid', 'driver', 'state', 'labels'] as const

export interface PsRow extends Pick<
  ProcessView,
  Exclude<(typeof TABLE_FIELDS)[number], `usage.${string}`> | (typeof EXTRA_FIELDS)[number]
> {
  readonly usage: Pick<UsageView, 'costUsd' | 'inputTokens' | 'unpriced'>
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

/** Replaces the name of a parent in a filter by its UUID. A removed parent can only be given by UUID. Errors: those of `get`. */
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

/** Returns the lines of the table, titles first. */
export function lines(processes: readonly PsRow[], asTree: boolean, out: Output, maxWidth = out.columns): string[] {
  const rows = asTree ? treeBranches(processes, out.ascii) : processes.map((view) => ({ view, branch: '' }))
  const columns: OmittableColumn[] = [
    { title: 'PID', side: 'right' },
    { title: 'ID', omitRank: 1 },
    { title: 'NAME', min: 8 },
    { title: 'AGENT', min: 7, omitRank: 2 },
    { title: 'STATUS', paint: (cell, row) => paintStatus(cell, rows[row]?.view.status, out) },
    { title: 'STEP', side: 'right', omitRank: 3 },
    { title: 'ELAPSED', side: 'right' },
    { title: 'COST', side: 'right' },
    { title: 'NOTE', min: 4 },
  ]
  const all = rows.map(({ view, branch }) => cells(view, branch, out))
  return maxWidth === Infinity ? formatTable(columns, all, maxWidth, out.ellipsis) : responsiveTable(columns, all, maxWidth, out.ellipsis)
}

function cells(view: PsRow, branch: string, out: Output): string[] {
  const { usage } = view
  return [
    String(view.pid),
    shortId(view.uuid),
    branch + (view.name === null ? '-' : oneLine(view.name)),
    oneLine(view.agent),
    view.status === 'suspended' ? `${out.pauseMark} suspended` : view.status,
    String(view.step),
    formatElapsed(view.elapsedMs),
    costCell(usage, view.step > 0 || usage.inputTokens > 0),
    noteOf(view),
  ]
}

/** Returns the note of a process, or the beginning of its intent. */
function noteOf({ note, about, pinned, originUuid, phase, taskId }: PsRow): string {
  const member = memberNote(phase, taskId)
  const text = oneLine(note ?? (member === '' ? about : ''))
  const parts = [pinned ? 'pinned' : '', member, text, originUuid === null ? '' : `(forked from ${shortId(originUuid)})`]
  return parts
    .filter((part) => part !== '')
    .join('; ')
    .replace('; (', ' (')
}

/** Returns the activity of a crew member: `implementing lexer`. */
function memberNote(phase: string | null, taskId: string | null): string {
  return phase === null || taskId === null ? '' : `${phase.replaceAll('_', ' ')} ${oneLine(taskId)}`
}

function paintStatus(cell: string, status: Status | undefined, out: Output): string {
  const colour = status && STATUS_COLOURS[status]
  return colour ? out.paint(colour, cell) : cell
}
