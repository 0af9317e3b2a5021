// Crews, their members and their tasks as tables and lines. Pure: it is told what there is, and how it may look.
// Test: test/tables/cli-crew.test.ts.
import type { CrewMemberView, CrewTaskView, CrewView, TaskDetailView } from '../api/crew-views.ts'
import { clock, cost, elapsed, plural, shortId } from './format.ts'
import { givingTable, type GivingColumn } from './give-way.ts'
import type { Output } from './output.ts'
import { STATUS_COLOURS, type Colour } from './status-colours.ts'
import { oneLine, safe } from './text.ts'

type Look = Pick<Output, 'paint' | 'ellipsis' | 'ascii' | 'pauseMark'>
type TaskState = CrewTaskView['state']

const TASK_COLOURS: Readonly<Record<TaskState, Colour>> = {
  queued: 'dim', implementing: 'green', awaiting_review: 'cyan', in_review: 'green', addressing_feedback: 'green', approved: 'cyan', committing: 'green', merging: 'green',
  waiting: 'yellow', done: 'dim', failed: 'red', cancelled: 'dim',
}

/** As people read them: `in review`. */
export function words(state: string): string {
  return state.replaceAll('_', ' ')
}

export function crewLines(crews: readonly CrewView[], out: Look, maxWidth: number): string[] {
  const columns: GivingColumn[] = [
    { title: 'PID', side: 'right' }, { title: 'ID' }, { title: 'NAME', min: 8 }, { title: 'STATUS', paint: (cell, row) => painted(cell, STATUS_COLOURS[crews[row]?.status ?? 'ready'], out) },
    { title: 'TASKS' }, { title: 'WORKERS', side: 'right', gives: 1 }, { title: 'ELAPSED', side: 'right', gives: 2 }, { title: 'COST', side: 'right' }, { title: 'NOTE', min: 4 },
  ]
  return givingTable(columns, crews.map((crew) => [
    String(crew.pid), shortId(crew.uuid), oneLine(crew.name ?? '-'), statusOf(crew.status, out), `${done(crew.tasks)}/${crew.tasks.length} done`,
    crew.exit ? '-' : String(workers(crew).length), elapsed(crew.elapsedMs), spent(crew), oneLine(noteOf(crew)),
  ]), maxWidth, out.ellipsis)
}

function noteOf({ asks, ending, exit, waitsFor, status, note }: CrewView): string {
  if (status === 'suspended') return note ?? ''
  if (exit) return exit.code !== 0 && !ending ? exit.reason : (ending?.summary ?? '')
  return asks[0] ? `asks: ${asks[0].text}` : (ending?.summary ?? waitsFor[0] ?? '')
}

export function memberLines(crew: CrewView, out: Look, maxWidth: number, all = false): string[] {
  const members = all ? crew.members : crew.members.filter(({ state }) => state !== 'gone')
  const columns: GivingColumn[] = [
    { title: 'MEMBER' }, { title: 'ROLE', min: 8 }, { title: 'PHASE', min: 12, paint: (cell, row) => painted(cell, members[row]?.phase === 'idle' ? 'dim' : 'green', out) }, { title: 'TASK', min: 8 },
    { title: 'STATUS', paint: (cell, row) => painted(cell, statusColour(members[row]), out) }, { title: 'PID', side: 'right' }, { title: 'CONTEXT', side: 'right', gives: 2 },
    { title: 'ELAPSED', side: 'right', gives: 1 }, { title: 'COST', side: 'right' }, { title: 'NOTE', min: 10, gives: 3 },
  ]
  return givingTable(columns, members.map((member) => [
    member.id, member.role, words(member.phase), member.task ?? '-', memberStatus(member, out), member.pid === null ? '-' : String(member.pid), context(member), elapsed(member.elapsedMs), spent(member), oneLine(memberNote(member)),
  ]), maxWidth, out.ellipsis)
}

function memberStatus({ state, status, leave }: CrewMemberView, out: Look): string {
  if (state === 'gone') return leave?.how ?? 'gone'
  return status === null ? 'starting' : statusOf(status, out)
}

function statusColour(member: CrewMemberView | undefined): Colour | undefined {
  return member === undefined || member.status === null ? undefined : STATUS_COLOURS[member.status]
}

/** How full its context is stands in a column of its own, as it is now. */
function memberNote({ note, leave, queueCount }: CrewMemberView): string {
  const parts = [queueCount > 0 ? `${queueCount} queued` : '', leave?.reason ?? '', note?.startsWith('context: ') ? '' : (note ?? '')]
  return [...new Set(parts)].filter((part) => part !== '').join('; ')
}

/** `41 %` of what it can take in; the tokens alone where nobody knows how much that is. */
export function context({ contextTokens, contextWindow }: Pick<CrewMemberView, 'contextTokens' | 'contextWindow'>): string {
  if (contextTokens === 0) return '-'
  return contextWindow === null ? `${Math.round(contextTokens / 1_000)}k` : `${Math.round((100 * contextTokens) / contextWindow)} %`
}

export function taskLines(tasks: readonly CrewTaskView[], out: Look, maxWidth: number): string[] {
  const columns: GivingColumn[] = [
    { title: 'TASK' }, { title: 'STATE', paint: (cell, row) => painted(cell, TASK_COLOURS[tasks[row]?.state ?? 'queued'], out) }, { title: 'IMPLEMENTER' }, { title: 'REVIEWER' }, { title: 'TRIES', side: 'right', gives: 2 },
    { title: 'COMMIT', gives: 1 }, { title: 'COST', side: 'right' }, { title: 'NEEDS', min: 5, gives: 3 }, { title: 'TITLE', min: 8 },
  ]
  return givingTable(columns, tasks.map((task) => [
    task.id, words(task.state), task.implementer ?? '-', task.reviewer ?? '-', String(tries(task)), task.commit?.slice(0, 10) ?? '-', spent(task.spent), task.needs.join(', ') || '-', oneLine(titleOf(task)),
  ]), maxWidth, out.ellipsis)
}

/** The one that is on counts, too. */
function tries({ attempts, state }: CrewTaskView): number {
  return attempts + (state === 'queued' || state === 'failed' || state === 'cancelled' ? 0 : 1)
}

/** With why it is as it is, where that is not as it should be. */
function titleOf({ title, reason, state, asks }: CrewTaskView): string {
  if (asks !== null) return `${title} (waits for you: ${asks === 'gate' ? 'the commit' : asks === 'review' ? 'a review' : 'an answer'})`
  return reason !== null && state !== 'done' ? `${title} (${reason})` : title
}

/** All about one task: what it is, what was said, what happened. */
export function taskPage(task: TaskDetailView, out: Look, now: number): string[] {
  const facts: readonly (readonly [label: string, value: string | null])[] = [
    ['task', `${task.id}  ${out.paint(TASK_COLOURS[task.state], words(task.state))}`], ['title', task.title], ['needs', task.needs.join(', ') || null], ['role', task.role],
    ['implementer', task.implementers.length > 1 ? `${task.implementer ?? '-'} (before: ${task.implementers.filter((id) => id !== task.implementer).join(', ')})` : task.implementer],
    ['reviewer', task.reviewer], ['verdict', task.verdict], ['tries', task.attempts > 0 ? `${tries(task)} (${plural(task.denials, 'denial')})` : null], ['begins at', task.base?.slice(0, 10) ?? null],
    ['commit', task.commit?.slice(0, 10) ?? null], ['merged', task.merged?.slice(0, 10) ?? null], ['conflict', task.conflict], ['reason', task.reason], ['salvaged', task.salvaged], ['cost', task.spent.costUsd > 0 ? spent(task.spent) : null],
  ]
  const shown = facts.filter((row): row is readonly [string, string] => row[1] !== null)
  const width = Math.max(...shown.map(([label]) => label.length))
  return [
    ...shown.map(([label, value]) => `${out.paint('dim', label.padEnd(width))}  ${label === 'task' ? value : oneLine(value)}`),
    ...part('text', task.text, out), ...part('acceptance', task.acceptance, out),
    '', out.paint('bold', 'history'), ...task.history.flatMap((event) => historyLines(event, out, now)),
  ]
}

function part(title: string, text: string | null, out: Look): string[] {
  return text === null || text === '' ? [] : ['', out.paint('bold', title), ...indented(text)]
}

function historyLines({ at, what, text }: TaskDetailView['history'][number], out: Look, now: number): string[] {
  return [`  ${out.paint('dim', clock(at, now))}  ${oneLine(what)}`, ...(text === null ? [] : indented(text, '            '))]
}

function indented(text: string, by = '  '): string[] {
  return safe(text).trimEnd().split('\n').map((line) => `${by}${line}`.trimEnd())
}

/** `fix (PID 5) working | 2/5 tasks done, 1 failed | 3 workers | $0.42 | 3m 12s`. */
export function crewSummary(crew: CrewView): string {
  const failed = crew.tasks.filter(({ state }) => state === 'failed').length
  const cancelled = crew.tasks.filter(({ state }) => state === 'cancelled').length
  const tasks = [`${done(crew.tasks)}/${plural(crew.tasks.length, 'task')} done`, ...(failed > 0 ? [`${failed} failed`] : []), ...(cancelled > 0 ? [`${cancelled} cancelled`] : [])].join(', ')
  return [`${oneLine(crew.name ?? 'crew')} (PID ${crew.pid}) ${crew.status}`, tasks, ...(crew.exit ? [] : [plural(workers(crew).length, 'worker')]), ...(crew.costUsd > 0 ? [spent(crew)] : []), elapsed(crew.elapsedMs)].join(' | ')
}

/** Why nothing goes on, as far as that is so, and what helps. */
export function crewWaits({ status, note, name, pid, waitsFor, asks, exit, members }: CrewView): string[] {
  if (exit) return []
  const called = oneLine(name ?? String(pid))
  if (status === 'suspended') return [oneLine(`${note ?? 'it is paused'}: \`reeve crew resume ${called}\` lets it go on`)]
  // What it asks is one thing that it waits for.
  const others = asks.length > 0 ? waitsFor.filter((line) => !line.includes(' waits for a person')) : waitsFor
  return [...asks.map(({ text }) => oneLine(`asks you: ${text} (\`reeve answer ${called}\`)`)), ...members.flatMap(memberAsks), ...others.map(oneLine)]
}

/** An agent that asks before it acts stands still until then. */
function memberAsks({ id, pid, status, note }: CrewMemberView): string[] {
  return status === 'waiting' ? [oneLine(`${id} ${note ?? 'asks'} (\`reeve answer ${pid}\`)`)] : []
}

/** What a person does next with what came of it. */
export function crewNext({ branch, tasks, exit, name, pid }: CrewView): string[] {
  const merged = tasks.filter((task) => task.merged !== null).length
  const left = tasks.filter((task) => task.commit !== null && task.merged === null && task.state === 'done')
  return [
    ...(branch !== null && merged > 0 ? [`the work is on the branch ${oneLine(branch)}: \`git merge ${oneLine(branch)}\``] : []),
    ...(left.length > 0 ? [`not merged: ${left.map(({ id, commit }) => `${id} (${commit?.slice(0, 10)})`).join(', ')}`] : []),
    ...(exit ? [`\`reeve crew report ${oneLine(name ?? String(pid))}\` tells who did what, and what it cost`] : []),
  ]
}

function workers({ members }: CrewView): readonly CrewMemberView[] {
  return members.filter(({ role, state }) => role !== 'coordinator' && state !== 'gone')
}

function done(tasks: readonly CrewTaskView[]): number {
  return tasks.filter(({ state }) => state === 'done').length
}

function statusOf(status: string, out: Look): string {
  return status === 'suspended' ? `${out.pauseMark} suspended` : status
}

function spent({ costUsd, unpriced }: { readonly costUsd: number; readonly unpriced: boolean }): string {
  return costUsd > 0 || unpriced ? cost(costUsd, unpriced) : '-'
}

function painted(cell: string, colour: Colour | undefined, out: Look): string {
  return colour ? out.paint(colour, cell) : cell
}
