// `reeve ps`: the table of processes. Tests: test/tables/cli-views.test.ts, test/e2e/cli.test.ts.
import type { ProcessView, Status, UsageView } from '../../api/views.ts'
import type { Reeve } from '../../index.ts'
import { table, type Column } from '../columns.ts'
import { UsageError } from '../errors.ts'
import { cost, elapsed, shortId } from '../format.ts'
import type { Output } from '../output.ts'
import { STATUS_COLOURS } from '../status-colours.ts'
import { oneLine } from '../text.ts'
import { branches } from '../tree.ts'
import type { Call } from '../verbs.ts'

export const STATUSES: readonly string[] = ['pending', 'starting', 'ready', 'working', 'waiting', 'suspended', 'stopping', 'zombie', 'completed', 'retired', 'stopped', 'failed', 'interrupted'] satisfies Status[]
export const STATES: readonly string[] = ['created', 'running', 'zombie', 'dead'] satisfies ProcessView['state'][]
const ENDED: ReadonlySet<string> = new Set(['dead', 'completed', 'retired', 'stopped', 'failed', 'interrupted'])

export async function run({ args, out, reeve }: Call): Promise<number> {
  const filters = await Promise.all((args.list('filter') ?? []).map((text) => ofParent(filterOf(text), reeve)))
  const all = args.on('all') || filters.some(({ key, value }) => (key === 'status' || key === 'state') && ENDED.has(value))
  const asTree = args.on('tree')
  const ask = async (from: Reeve): Promise<Row[]> => {
    const views = await from.list(out.json ? { all } : { all, fields: asTree || filters.length > 0 ? [...SHOWN, ...ASKED] : SHOWN }) as Row[]
    return views.filter((view) => fits(view, filters))
  }
  if (args.on('watch')) {
    if (args.on('quiet')) throw new UsageError('--watch and -q do not go together')
    const { watch } = await import('../live/watch.ts')
    return await watch({ rows: ask, lines: (rows, maxWidth, sinceMs) => lines(rows.map((row) => later(row, sinceMs)), asTree, out, maxWidth), essence, keep: all && !asTree ? 'last' : 'first' }, reeve, out)
  }
  const asked = ask(reeve)
  // The stream is made while the daemon answers.
  const maxWidth = out.columns
  const processes = await asked
  if (out.json) await out.value({ processes })
  else if (!args.on('quiet')) await out.line(lines(processes, asTree, out, maxWidth).join('\n'))
  else if (processes.length > 0) await out.line(processes.map(({ uuid }) => uuid).join('\n'))
  return 0
}

const RUNNING: ReadonlySet<Status> = new Set(['starting', 'ready', 'working', 'waiting', 'stopping'])

/** A row whose clock has gone on. */
function later(row: Row, ms: number): Row {
  return RUNNING.has(row.status) ? { ...row, elapsedMs: row.elapsedMs + ms } : row
}

/** A row without its clocks. */
function essence(row: Row): object {
  const { updatedAt: _, ...usage } = row.usage as Partial<UsageView>
  return { ...row, usage, elapsedMs: 0, updatedAt: null }
}

/** What the table needs: a twentieth of the whole, and of the time that it would take. */
const SHOWN = ['uuid', 'pid', 'name', 'agent', 'status', 'step', 'elapsedMs', 'usage.costUsd', 'usage.inputTokens', 'usage.unpriced', 'note', 'pinned', 'originUuid', 'phase', 'taskId'] as const
/** What filters and the tree need besides. */
const ASKED = ['ppid', 'parentUuid', 'driver', 'state'] as const

export interface Row extends Pick<ProcessView, Exclude<(typeof SHOWN)[number], `usage.${string}`> | (typeof ASKED)[number]> {
  readonly usage: Pick<UsageView, 'costUsd' | 'inputTokens' | 'unpriced'>
}

interface Filter { key: FilterKey; value: string }
type FilterKey = keyof typeof FILTERS

export const FILTERS = {
  status: (view: Row, value: string) => view.status === value,
  state: (view: Row, value: string) => view.state === value,
  name: (view: Row, value: string) => view.name === value,
  agent: (view: Row, value: string) => view.agent === value,
  driver: (view: Row, value: string) => view.driver === value,
  parent: (view: Row, value: string) => String(view.ppid) === value || isPartOf(value, view.parentUuid),
} as const

function filterOf(text: string): Filter {
  const [key = '', ...rest] = text.split('=')
  if (!Object.hasOwn(FILTERS, key) || rest.length === 0) {
    throw new UsageError(`--filter ${text} is not KEY=VALUE`, `The keys are ${Object.keys(FILTERS).join(', ')}.`)
  }
  const value = rest.join('=')
  const known = key === 'status' ? STATUSES : key === 'state' ? STATES : null
  if (known && !known.includes(value)) throw new UsageError(`there is no ${key} "${value}"`, `There are ${known.join(', ')}.`)
  return { key: key as FilterKey, value }
}

/** A parent is named as any process is; one that is gone can still be told by its UUID. Errors: those of `get`. */
async function ofParent(filter: Filter, reeve: Reeve): Promise<Filter> {
  if (filter.key !== 'parent' || /^\d+$/.test(filter.value)) return filter
  try {
    return { ...filter, value: (await reeve.get(filter.value)).uuid }
  } catch (error) {
    if (/^[0-9a-f-]{4,}$/.test(filter.value)) return filter
    throw error
  }
}

/** Filters with the same key are alternatives; all keys must fit. */
function fits(view: Row, filters: readonly Filter[]): boolean {
  return filters.every(({ key }) => filters.some((other) => other.key === key && FILTERS[key](view, other.value)))
}

function isPartOf(part: string, uuid: string | null): boolean {
  return uuid !== null && part.length >= 4 && (uuid.startsWith(part) || uuid.endsWith(part))
}

/** The lines of the table, its titles first. */
export function lines(processes: readonly Row[], asTree: boolean, out: Output, maxWidth = out.columns): string[] {
  const rows = asTree ? branches(processes, out.ascii) : processes.map((view) => ({ view, branch: '' }))
  const columns: Column[] = [
    { title: 'PID', side: 'right' },
    { title: 'ID' },
    { title: 'NAME', min: 8 },
    { title: 'AGENT', min: 7 },
    { title: 'STATUS', paint: (cell, row) => painted(cell, rows[row]?.view.status, out) },
    { title: 'STEP', side: 'right' },
    { title: 'ELAPSED', side: 'right' },
    { title: 'COST', side: 'right' },
    { title: 'NOTE', min: 4 },
  ]
  return table(columns, rows.map(({ view, branch }) => cells(view, branch, out)), maxWidth, out.ellipsis)
}

function cells(view: Row, branch: string, out: Output): string[] {
  const { usage } = view
  const spent = usage.costUsd > 0 || usage.inputTokens > 0
  return [
    String(view.pid),
    shortId(view.uuid),
    branch + (view.name === null ? '-' : oneLine(view.name)),
    oneLine(view.agent),
    view.status === 'suspended' ? `${out.pauseMark} suspended` : view.status,
    String(view.step),
    elapsed(view.elapsedMs),
    spent ? cost(usage.costUsd, usage.unpriced) : '-',
    noteOf(view),
  ]
}

function noteOf({ note, pinned, originUuid, phase, taskId }: Row): string {
  const told = note === null ? '' : oneLine(note)
  const parts = [pinned ? 'pinned' : '', memberNote(phase, taskId), told, originUuid === null ? '' : `(forked from ${shortId(originUuid)})`]
  return parts.filter((part) => part !== '').join('; ').replace('; (', ' (')
}

/** Of a member of a crew that has something to do: `implementing lexer`. */
function memberNote(phase: string | null, taskId: string | null): string {
  return phase === null || taskId === null ? '' : `${phase.replaceAll('_', ' ')} ${oneLine(taskId)}`
}

function painted(cell: string, status: Status | undefined, out: Output): string {
  const colour = status && STATUS_COLOURS[status]
  return colour ? out.paint(colour, cell) : cell
}
