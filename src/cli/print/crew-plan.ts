// Prints the plan of a crew: its settings, its members, and its tasks with their workers, limits and verify commands. Marks the tasks that
// an earlier crew has finished, and those that run again. Test: test/e2e/crew/plan.test.ts.
import { shellLine } from '../../api/text/shell-quote.ts'
import type { CrewPlanView, CrewRunBody, PlannedMemberView, PlannedTaskView } from '../../api/views/crew-up.ts'
import { formatTable, type Column } from './format-table.ts'
import { formatCount, formatDuration } from '../../faces/format.ts'
import type { Output } from './output.ts'
import { oneLine, stripControls } from './text.ts'

/** Prints the plan, and returns the exit code 0. */
export async function printCrewPlan(plan: CrewPlanView, out: Output): Promise<number> {
  if (out.json) {
    const { version: _, ...rest } = plan
    await out.value(rest)
    return 0
  }
  for (const line of headLines(plan)) await out.line(stripControls(line))
  for (const line of tableLines(MEMBER_COLUMNS, plan.members, plan, out)) await out.line(line)
  await out.line('')
  for (const line of tableLines(TASK_COLUMNS, plan.tasks, plan, out)) await out.line(line)
  for (const note of plan.notes) await out.message(out.paintMessage('yellow', stripControls(note)))
  await out.message('nothing was started')
  return 0
}

/** the greatest number of copied files that are named */
const MAX_NAMES = 20

function headLines({
  name,
  branch,
  base,
  coordinator,
  gate,
  merge,
  maxAttempts,
  maxWorkers,
  reviews,
  stay,
  verify,
  setup,
  copy,
  copied,
  limits,
}: CrewPlanView): string[] {
  const target = branch === null ? 'no repository' : `branch ${branch} from ${base?.slice(0, 10)}`
  return [
    `crew ${name} | ${target} | coordinator: ${coordinator} | gate: ${gate} | merge: ${merge}${reviews ? '' : ' | no reviews'}${stay ? ' | stays' : ''} | ${maxAttempts === 1 ? '1 attempt' : `${maxAttempts} attempts`} per task | at most ${formatCount(maxWorkers, 'worker')}`,
    ...(Object.keys(limits).length > 0 ? [`limits of all members together: ${limitsText(limits)}`] : []),
    ...(setup ? [`setup: ${commandText(setup)}${timeoutText(setup)}`] : []),
    ...(copy.length > 0 ? [`copy: ${copy.join(', ')}`] : []),
    ...(copied.length > 0
      ? [
          `copied into each worktree: ${copied.slice(0, MAX_NAMES).join(', ')}${copied.length > MAX_NAMES ? ` and ${copied.length - MAX_NAMES} more` : ''}`,
        ]
      : []),
    ...(verify ? [`verify: ${commandText(verify)}${timeoutText(verify)}`] : []),
  ]
}

interface PlanColumn<T> extends Column {
  /** returns the cell of a row */
  readonly cellOf: (row: T, plan: CrewPlanView) => string
  /** whether a row needs this column; without such a row it is omitted. Absent: always shown */
  readonly isNeededBy?: (row: T, plan: CrewPlanView) => boolean
}

const MEMBER_COLUMNS: readonly PlanColumn<PlannedMemberView>[] = [
  { title: 'ROLE', cellOf: ({ role }) => role },
  { title: 'COUNT', side: 'right', cellOf: ({ count }) => String(count) },
  { title: 'AGENT', min: 8, cellOf: ({ agent }) => agent },
  { title: 'MODEL', min: 8, cellOf: ({ model }) => model ?? '-' },
  { title: 'PERMISSIONS', cellOf: ({ permissions }) => permissions ?? '-' },
  { title: 'LIMITS', min: 8, cellOf: ({ limits }) => limitsText(limits) },
  { title: 'VERIFY', min: 8, cellOf: ({ verify }) => commandText(verify), isNeededBy: ({ verify }) => verify !== null },
]

const TASK_COLUMNS: readonly PlanColumn<PlannedTaskView>[] = [
  { title: 'TASK', cellOf: ({ id }) => id },
  { title: 'TITLE', min: 8, cellOf: ({ title }) => title },
  { title: 'NEEDS', min: 8, cellOf: ({ needs }) => needs.join(', ') || '-' },
  { title: 'FOR', cellOf: ({ by, role, kind }) => by?.role ?? role ?? kind },
  { title: 'PRIORITY', side: 'right', cellOf: ({ priority }) => String(priority) },
  { title: 'AGENT', min: 8, cellOf: ({ by }) => by?.agent ?? '-' },
  { title: 'MODEL', min: 8, cellOf: ({ by }) => by?.model ?? '-' },
  { title: 'LIMITS', min: 8, cellOf: ({ limits }) => limitsText(limits ?? {}), isNeededBy: ({ limits }) => limits !== null },
  {
    title: 'VERIFY',
    min: 8,
    cellOf: ({ verify }) => commandText(verify),
    isNeededBy: ({ verify, by }, plan) => by !== null && commandText(verify) !== commandText(plan.verify),
  },
  { title: 'NOTE', min: 8, cellOf: takenOverText, isNeededBy: ({ takenOver, again }) => takenOver || again !== null },
]

function tableLines<T>(columns: readonly PlanColumn<T>[], rows: readonly T[], plan: CrewPlanView, out: Output): string[] {
  const shown = columns.filter(({ isNeededBy }) => isNeededBy === undefined || rows.some((row) => isNeededBy(row, plan)))
  return formatTable(
    shown,
    rows.map((row) => shown.map(({ cellOf }) => oneLine(cellOf(row, plan)))),
    out.columns,
    out.ellipsis,
  )
}

function commandText(run: CrewRunBody | null): string {
  return run === null ? '-' : shellLine(run.command)
}

function timeoutText({ timeoutMs }: CrewRunBody): string {
  return timeoutMs === undefined ? '' : ` (at most ${formatDuration(timeoutMs)})`
}

function limitsText(limits: CrewPlanView['limits']): string {
  return (
    Object.entries(limits)
      .map(
        ([key, value]) =>
          `${key.replace(/Ms$/, '')}=${typeof value === 'object' ? JSON.stringify(value) : key.endsWith('Ms') ? formatDuration(Number(value)) : String(value)}`,
      )
      .join(' ') || '-'
  )
}

function takenOverText({ takenOver, commit, again }: PlannedTaskView): string {
  if (takenOver) return commit === null ? 'taken over' : `taken over, ${commit.slice(0, 10)}`
  return again === null ? '-' : `again: ${again}`
}
