// The default columns of `reeve ps`, and the fields of a process that columns need. ps-more-columns.ts has the other columns, which are
// loaded on demand. Test: test/tables/cli/print/ps-columns.test.ts.
import type { ProcessView, UsageView, WorktreeView } from '../../api/views/process.ts'
import { costCell, formatElapsed, shortId } from '../../faces/format.ts'
import type { Output } from './output.ts'
import type { OmittableColumn } from './responsive-table.ts'
import { oneLine } from './text.ts'

/** The fields of the default columns; requesting all fields would take 20 times as long. */
export const TABLE_FIELDS = [
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
/** The additional fields of other columns, of filters and of the tree. */
export const EXTRA_FIELDS = ['ppid', 'parentUuid', 'driver', 'state', 'labels', 'model', 'directory', 'worktree', 'createdAt'] as const

export interface PsRow extends Pick<
  ProcessView,
  Exclude<(typeof TABLE_FIELDS)[number], `usage.${string}`> | Exclude<(typeof EXTRA_FIELDS)[number], 'worktree'>
> {
  readonly worktree: Pick<WorktreeView, 'branch'> | null
  readonly usage: Pick<UsageView, 'costUsd' | 'inputTokens' | 'unpriced'>
}

export interface PsColumn extends Omit<OmittableColumn, 'paint'> {
  /** returns the text of a cell; `branch`: the lines of the tree before a name */
  readonly cell: (view: PsRow, out: Output, branch: string) => string
  /** what rows are sorted by; default: the text */
  readonly key?: (view: PsRow) => number
}

/** The default columns by their names in `-o`. */
export const DEFAULT_COLUMN_BY_NAME = {
  pid: { title: 'PID', side: 'right', cell: ({ pid }) => String(pid), key: ({ pid }) => pid },
  id: { title: 'ID', omitRank: 1, cell: ({ uuid }) => shortId(uuid) },
  name: { title: 'NAME', min: 8, cell: ({ name }, _, branch) => branch + (name === null ? '-' : oneLine(name)) },
  agent: { title: 'AGENT', min: 7, omitRank: 2, cell: ({ agent }) => oneLine(agent) },
  status: { title: 'STATUS', cell: ({ status }, { pauseMark }) => (status === 'suspended' ? `${pauseMark} suspended` : status) },
  step: { title: 'STEP', side: 'right', omitRank: 3, cell: ({ step }) => String(step), key: ({ step }) => step },
  elapsed: { title: 'ELAPSED', side: 'right', cell: ({ elapsedMs }) => formatElapsed(elapsedMs), key: ({ elapsedMs }) => elapsedMs },
  cost: {
    title: 'COST',
    side: 'right',
    cell: ({ usage, step }) => costCell(usage, step > 0 || usage.inputTokens > 0),
    key: ({ usage }) => usage.costUsd ?? 0,
  },
  note: { title: 'NOTE', min: 4, readable: 40, cell: (view) => noteOf(view, view.about) },
} satisfies Readonly<Record<string, PsColumn>>

export const DEFAULT_COLUMNS: readonly PsColumn[] = Object.values(DEFAULT_COLUMN_BY_NAME)

/** Returns the note of a process, or else `about`, the beginning of its intent. */
export function noteOf({ note: text, pinned, originUuid, phase, taskId }: PsRow, about: string): string {
  const member = memberNote(phase, taskId)
  const parts = [
    pinned ? 'pinned' : '',
    member,
    oneLine(text ?? (member === '' ? about : '')),
    originUuid === null ? '' : `(forked from ${shortId(originUuid)})`,
  ]
  return parts
    .filter((part) => part !== '')
    .join('; ')
    .replace('; (', ' (')
}

/** Returns the activity of a crew member: `implementing lexer`. */
function memberNote(phase: string | null, taskId: string | null): string {
  return phase === null || taskId === null ? '' : `${phase.replaceAll('_', ' ')} ${oneLine(taskId)}`
}
