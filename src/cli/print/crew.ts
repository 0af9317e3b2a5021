// Formats crews, members and tasks as tables and lines. Pure: the caller passes the data and the style. Test:
// test/tables/cli/print/crew.test.ts.
import { reasonText } from '../../api/text/exit-reason.ts'
import { earlyEndText, resumeCommandText } from '../../api/text/crew-end.ts'
import type { CrewMemberView, CrewTaskView, CrewView, TaskDetailView } from '../../api/views/crew.ts'
import { uncheckedText } from '../../kernel/model/crew/unchecked-tasks.ts'
import { blockText, isSuspendedByAncestor, sharesAccountHold, type BlockableProcess } from './blocked.ts'
import { formatClock, costCell, formatElapsed, formatCount, formatMoment, shortId } from '../../faces/format.ts'
import { responsiveTable, type OmittableColumn } from './responsive-table.ts'
import type { Output } from './output.ts'
import { STATUS_COLOURS, type Colour } from './status-colours.ts'
import { oneLine, stripControls } from './text.ts'

type Style = Pick<Output, 'paint' | 'ellipsis' | 'ascii' | 'pauseMark'>
type TaskState = CrewTaskView['state']

const TASK_COLOURS: Readonly<Record<TaskState, Colour>> = {
  queued: 'dim',
  implementing: 'green',
  awaiting_review: 'cyan',
  in_review: 'green',
  addressing_feedback: 'green',
  approved: 'cyan',
  committing: 'green',
  merging: 'green',
  waiting: 'yellow',
  done: 'dim',
  failed: 'red',
  cancelled: 'dim',
}

/** Returns a state as text: `in review`. */
export function stateText(state: string): string {
  return state.replaceAll('_', ' ')
}

/** Returns the lines of a table of crews, titles first. `maxWidth`: in columns. */
export function crewLines(crews: readonly CrewView[], out: Style, maxWidth: number): string[] {
  const columns: OmittableColumn[] = [
    { title: 'PID', side: 'right' },
    { title: 'ID' },
    { title: 'NAME', min: 8 },
    { title: 'STATUS', paint: (cell, row) => paintCell(cell, STATUS_COLOURS[crews[row]?.status ?? 'ready'], out) },
    { title: 'TASKS' },
    { title: 'WORKERS', side: 'right', omitRank: 1 },
    { title: 'ELAPSED', side: 'right', omitRank: 2 },
    { title: 'COST', side: 'right' },
    { title: 'NOTE', min: 4 },
  ]
  return responsiveTable(
    columns,
    crews.map((crew) => [
      String(crew.pid),
      shortId(crew.uuid),
      oneLine(crew.name ?? '-'),
      statusOf(crew.status, out),
      `${countDone(crew.tasks)}/${crew.tasks.length} done${uncheckedText(crew.tasks)}`,
      crew.exit ? '-' : String(workers(crew).length),
      formatElapsed(crew.elapsedMs),
      costText(
        crew,
        crew.tasks.some(({ startedAt }) => startedAt !== null),
      ),
      oneLine(noteOf(crew)),
    ]),
    maxWidth,
    out.ellipsis,
  )
}

function noteOf({ asks, ending, exit, waitsFor, status, note }: CrewView): string {
  if (status === 'suspended') return note ?? ''
  if (exit) return exit.code !== 0 && !ending ? reasonText(exit.reason) : (ending?.summary ?? '')
  return asks[0] ? `asks: ${asks[0].text}` : (ending?.summary ?? waitsFor[0] ?? '')
}

/** Returns the lines of a table of members, titles first. `includesGone`: also lists members that have left. */
export function memberLines(crew: CrewView, out: Style, maxWidth: number, includesGone = false): string[] {
  const members = includesGone ? crew.members : crew.members.filter(({ state }) => state !== 'gone')
  const columns: OmittableColumn[] = [
    { title: 'MEMBER' },
    { title: 'ROLE', min: 8 },
    { title: 'PHASE', min: 12, paint: (cell, row) => paintCell(cell, members[row]?.phase === 'idle' ? 'dim' : 'green', out) },
    { title: 'TASK', min: 8 },
    { title: 'STATUS', paint: (cell, row) => paintCell(cell, statusColour(members[row]), out) },
    { title: 'PID', side: 'right' },
    { title: 'CONTEXT', side: 'right', omitRank: 2 },
    { title: 'ELAPSED', side: 'right', omitRank: 1 },
    { title: 'COST', side: 'right' },
    { title: 'NOTE', min: 10, omitRank: 3 },
  ]
  return responsiveTable(
    columns,
    members.map((member) => [
      member.id,
      member.role,
      stateText(member.phase),
      member.task ?? '-',
      memberStatus(member, out),
      member.pid === null ? '-' : String(member.pid),
      contextText(member),
      formatElapsed(member.elapsedMs),
      costText(member, member.uuid !== null),
      oneLine(memberNote(member)),
    ]),
    maxWidth,
    out.ellipsis,
  )
}

function memberStatus({ state, status, leave }: CrewMemberView, out: Style): string {
  if (state === 'gone') return leave?.how ?? 'gone'
  return status === null ? 'starting' : statusOf(status, out)
}

function statusColour(member: CrewMemberView | undefined): Colour | undefined {
  return member === undefined || member.status === null ? undefined : STATUS_COLOURS[member.status]
}

/** Returns the note of a member, except a note about its context: the context has its own column. */
function memberNote({ note, leave, queueCount }: CrewMemberView): string {
  const parts = [queueCount > 0 ? `${queueCount} queued` : '', leave?.reason ?? '', note?.startsWith('context: ') ? '' : (note ?? '')]
  return [...new Set(parts)].filter((part) => part !== '').join('; ')
}

/** Returns the used part of the context window, such as `41 %`; the number of tokens if the window is unknown. */
export function contextText({ contextTokens, contextWindow }: Pick<CrewMemberView, 'contextTokens' | 'contextWindow'>): string {
  if (contextTokens === 0) return '-'
  return contextWindow === null ? `${Math.round(contextTokens / 1_000)}k` : `${Math.round((100 * contextTokens) / contextWindow)} %`
}

/** Returns the lines of a table of tasks, titles first. */
export function taskLines(tasks: readonly CrewTaskView[], out: Style, maxWidth: number): string[] {
  const columns: OmittableColumn[] = [
    { title: 'TASK' },
    { title: 'STATE', paint: (cell, row) => paintCell(cell, TASK_COLOURS[tasks[row]?.state ?? 'queued'], out) },
    { title: 'IMPLEMENTER' },
    { title: 'REVIEWER' },
    { title: 'ATTEMPTS', side: 'right', omitRank: 2 },
    { title: 'COMMIT', omitRank: 1 },
    { title: 'COST', side: 'right' },
    { title: 'NEEDS', min: 5, omitRank: 3 },
    { title: 'TITLE', min: 8 },
  ]
  return responsiveTable(
    columns,
    tasks.map((task) => [
      task.id,
      stateText(task.state),
      task.implementer ?? '-',
      task.reviewer ?? '-',
      String(attemptCount(task)),
      task.commit?.slice(0, 10) ?? '-',
      costText(task.spent, task.startedAt !== null),
      task.needs.join(', ') || '-',
      oneLine(titleOf(task)),
    ]),
    maxWidth,
    out.ellipsis,
  )
}

/** Returns the number of attempts, including the current one if the task has an assignee. */
function attemptCount({ attempts, state, implementer }: CrewTaskView): number {
  return attempts + (implementer === null || state === 'queued' || state === 'failed' || state === 'cancelled' ? 0 : 1)
}

/** Returns the title, with the reason if the state is unusual. */
function titleOf({ title, reason, state, asks, byWord }: CrewTaskView): string {
  if (byWord) return `${title} (unchecked: ${reason ?? 'no reason was given'})`
  if (asks !== null) return `${title} (waits for you: ${asks === 'gate' ? 'the commit' : asks === 'review' ? 'a review' : 'an answer'})`
  return reason !== null && state !== 'done' ? `${title} (${reason})` : title
}

/** Returns the page of a task: its fields, texts and history. */
export function taskPage(task: TaskDetailView, out: Style, now: number, change: readonly string[] = []): string[] {
  const facts: readonly (readonly [label: string, value: string | null])[] = [
    ['task', `${task.id}  ${out.paint(TASK_COLOURS[task.state], stateText(task.state))}`],
    ['title', task.title],
    ['needs', task.needs.join(', ') || null],
    ['role', task.role],
    ['agent', task.agent],
    ['model', task.model],
    [
      'implementer',
      task.implementers.length > 1
        ? `${task.implementer ?? '-'} (before: ${task.implementers.filter((id) => id !== task.implementer).join(', ')})`
        : task.implementer,
    ],
    ['reviewer', task.reviewer],
    ['verdict', task.verdict],
    ['attempts', task.attempts > 0 ? `${attemptCount(task)} (${formatCount(task.denials, 'denial')})` : null],
    ['begins at', task.base?.slice(0, 10) ?? null],
    ['verify', checkOf(task)],
    ['commit', task.commit?.slice(0, 10) ?? null],
    ['merged', task.merged?.slice(0, 10) ?? null],
    ['conflict', task.conflict],
    ['reason', task.reason],
    ['salvaged', task.salvaged],
    ['cost', task.spent.costUsd !== 0 ? costText(task.spent) : null],
  ]
  const shown = facts.filter((row): row is readonly [string, string] => row[1] !== null)
  const width = Math.max(...shown.map(([label]) => label.length))
  return [
    ...shown.map(([label, value]) => `${out.paint('dim', label.padEnd(width))}  ${label === 'task' ? value : oneLine(value)}`),
    ...section('text', task.text, out),
    ...section('acceptance', task.acceptance, out),
    ...(change.length === 0 ? [] : ['', out.paint('bold', 'change'), ...change.map((line) => ` ${line}`)]),
    '',
    out.paint('bold', 'history'),
    ...task.history.flatMap((event) => historyLines(event, out, now)),
  ]
}

/** Describes the last result of the verify command of a task. */
function checkOf({ check, verify }: CrewTaskView): string | null {
  if (check === null) return verify === 'none' ? 'none' : null
  return `${check.command}: ${check.ok ? 'passed' : `failed (${check.code ?? 'no exit code'})`} after ${formatElapsed(check.ms)}${check.stage === 'merge' ? ', when merged' : ''}`
}

function section(title: string, text: string | null, out: Style): string[] {
  return text === null || text === '' ? [] : ['', out.paint('bold', title), ...indentText(text)]
}

function historyLines({ at, what, text }: TaskDetailView['history'][number], out: Style, now: number): string[] {
  return [`  ${out.paint('dim', formatClock(at, now))}  ${oneLine(what)}`, ...(text === null ? [] : indentText(text, '            '))]
}

function indentText(text: string, by = '  '): string[] {
  return stripControls(text)
    .trimEnd()
    .split('\n')
    .map((line) => `${by}${line}`.trimEnd())
}

/** Returns the summary of a crew: `fix (PID 5) working | 2/5 tasks done, 1 failed | 3 workers | $0.42 | 3m 12s`. */
export function crewSummary(crew: CrewView): string {
  const failed = crew.tasks.filter(({ state }) => state === 'failed').length
  const cancelled = crew.tasks.filter(({ state }) => state === 'cancelled').length
  const tasks = [
    `${countDone(crew.tasks)}/${formatCount(crew.tasks.length, 'task')} done${uncheckedText(crew.tasks)}`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(cancelled > 0 ? [`${cancelled} cancelled`] : []),
  ].join(', ')
  return [
    `${oneLine(crew.name ?? 'crew')} (PID ${crew.pid}) ${crew.status}`,
    tasks,
    ...(crew.exit ? [] : [formatCount(workers(crew).length, 'worker')]),
    ...(crew.costUsd !== 0 ? [costText(crew)] : []),
    formatElapsed(crew.elapsedMs),
  ].join(' | ')
}

/** Returns what the crew waits for, each with the command that helps; for an ended crew, why it ended early. */
export function crewWaitLines(crew: CrewView): string[] {
  const { status, waitsFor, asks, exit } = crew
  if (exit) return endLines(crew)
  const processes = crewProcesses(crew)
  const blocks = processes
    .filter((each) => !isSuspendedByAncestor(each, processes) && !sharesAccountHold(each, processes))
    .flatMap((each) => blockText(each) ?? [])
  if (status === 'suspended') return blocks
  // `blocks` already contains the questions and the paused members.
  const others = waitsFor.filter((line) => !(asks.length > 0 && line.includes(' waits for the user')) && !line.includes('which is paused'))
  return [...blocks, ...others.map(oneLine)]
}

/** Returns why the crew ended before its work was done, and the command that continues it. */
function endLines(crew: CrewView): string[] {
  const reason = earlyEndText(crew)
  return reason === null ? [] : [oneLine(reason), oneLine(resumeCommandText(crew))]
}

/** Returns when and how the crew ended: `completed 2026-11-20 13:36:55, 3 min ago; 3 of 3 tasks done`. `now`: wall ms. */
export function crewEndText(crew: CrewView, now: number): string {
  const { status, exitedAt, tasks } = crew
  const reason = earlyEndText(crew)
  const moment = exitedAt === null ? '' : ` ${formatMoment(exitedAt, now)}`
  return `${status}${moment}; ${countDone(tasks)} of ${formatCount(tasks.length, 'task')} done${reason === null ? '' : `; ${reason}`}`
}

/** Returns the crew and its members, for notices. */
export function crewProcesses(crew: CrewView): BlockableProcess[] {
  const members = crew.members.flatMap(({ id, uuid, pid, state, ...member }) =>
    uuid === null || pid === null || state === 'gone' ? [] : [{ ...member, uuid, pid, name: id }],
  )
  return [{ ...crew, driver: 'crew' }, ...members]
}

/** Returns the lines that end the output about a crew: where its result is, and the next commands for the user. */
export function crewResultLines({ branch, tasks, exit, name, pid }: CrewView): string[] {
  const ref = oneLine(name ?? String(pid))
  const merged = tasks.filter((task) => task.merged !== null).length
  const unmerged = tasks.filter((task) => task.commit !== null && task.merged === null && task.state === 'done')
  const uncheckedTasks = tasks.filter(({ byWord }) => Boolean(byWord))
  return [
    ...(uncheckedTasks.length > 0
      ? [
          `done unchecked, with nothing reviewed or committed: ${uncheckedTasks.map(({ id, reason }) => `${id} (${oneLine(reason ?? 'no reason was given')})`).join(', ')}`,
        ]
      : []),
    ...(branch !== null && merged > 0 ? [`the work is on the branch ${oneLine(branch)}: ${workCommands(ref, exit !== null)}`] : []),
    ...(unmerged.length > 0 ? [`not merged: ${unmerged.map(({ id, commit }) => `${id} (${commit?.slice(0, 10)})`).join(', ')}`] : []),
    ...(exit ? [`\`reeve crew report ${ref}\` shows who did what, and the cost`] : []),
  ]
}

/** Returns the next commands for the work of a crew. Only the work of a crew that has ended can be merged. */
function workCommands(ref: string, hasEnded: boolean): string {
  return hasEnded ? `\`reeve diff ${ref}\`, then \`reeve merge ${ref}\` or \`reeve pr ${ref}\`` : `\`reeve diff ${ref}\``
}

/** Returns the present members except the coordinator. */
function workers({ members }: CrewView): readonly CrewMemberView[] {
  return members.filter(({ role, state }) => role !== 'coordinator' && state !== 'gone')
}

function countDone(tasks: readonly CrewTaskView[]): number {
  return tasks.filter(({ state }) => state === 'done').length
}

function statusOf(status: string, out: Style): string {
  return status === 'suspended' ? `${out.pauseMark} suspended` : status
}

function costText(used: { readonly costUsd: number | null; readonly unpriced: boolean }, isUsed = false): string {
  return costCell(used, isUsed)
}

function paintCell(cell: string, colour: Colour | undefined, out: Style): string {
  return colour ? out.paint(colour, cell) : cell
}
