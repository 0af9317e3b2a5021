// The API view of a need: one line, the possible answers, the commands, and the evidence that the process row has. Pure.
// Test: test/tables/daemon/needs/needs-of.test.ts.
import { answerCommands, crewCommandName } from '../../api/text/answer-command.ts'
import { reasonText } from '../../api/text/exit-reason.ts'
import { firstLine, toPlainLine } from '../../api/text/plain-line.ts'
import { shellWord } from '../../api/text/shell-quote.ts'
import type { NeedTaskView, NeedView } from '../../api/views/needs.ts'
import type { ProcessView } from '../../api/views/process.ts'
import { isPlainCommand } from '../../kernel/model/capabilities.ts'
import type { Task } from '../../kernel/model/crew/crew.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { Process } from '../../kernel/model/process.ts'
import { isLiving } from '../../kernel/model/status.ts'
import { isSeen, snoozedUntil } from '../../kernel/state/attention.ts'
import type { LiveTable } from '../../kernel/state/live-table.ts'
import { askView } from '../views/ask-view.ts'
import { isoTime } from '../views/format-times.ts'
import { snoozeTime } from './row-attention.ts'
import type { NeedKind } from './order.ts'
import type { Need } from './needs-of.ts'

/** The longest title, in characters. */
const TITLE_CHARS = 200

export interface NeedViewContext {
  readonly table: Pick<LiveTable, 'get'>
  /** wall ms; -Infinity: a snooze is shown although its time may have passed */
  readonly wall: number
  /** the process above which nothing is shown; null: there is none */
  readonly top: Uuid | null
  /** the view of the process, with the fields that a need shows */
  readonly view: Pick<ProcessView, 'note' | 'holds' | 'asks'>
}

export function needView(need: Need, { table, wall, top, view }: NeedViewContext): NeedView {
  const { id, kind, rank, at, process, ask, hold, task } = need
  const { uuid, pid, spec, progress, life } = process
  const root = rootOf(process, table, top)
  const until = snoozedUntil(process, at, wall)
  const exit = life.state === 'zombie' || life.state === 'dead' ? life.exit : null
  return {
    id,
    uuid,
    pid,
    name: spec.name,
    root: root.uuid,
    rootName: root.spec.name,
    kind,
    rank,
    at: isoTime(at),
    title: toPlainLine(titleOf(need, view.note), TITLE_CHARS),
    seen: isSeen(process, at),
    snoozedUntil: until === null ? null : snoozeTime(until),
    ask: ask ? askView(ask) : null,
    hold: (hold && view.holds.find(({ reason, by }) => reason === hold.reason && by === hold.by)) ?? null,
    task: task ? taskView(task) : null,
    options: ask ? [...ask.options] : VERBS_BY_KIND[kind].map(([verb, name]) => ({ id: verb, name, kind: 'choice' as const })),
    commands: commandsOf(need, view),
    evidence: {
      note: view.note,
      message: progress.lastText,
      error: exit && kind === 'failed' ? (exit.error ?? reasonText(exit.reason)) : null,
      // What follows is not in the row: need-queries.ts reads it when the need is opened.
      report: null,
      text: null,
      change: null,
    },
  }
}

/** The topmost living process above a process, or the process itself. Nothing above `top` counts. */
function rootOf(process: Process, table: Pick<LiveTable, 'get'>, top: Uuid | null): Process {
  let root = process
  for (const above of ancestorsOf(process, table)) {
    if (root.uuid === top) break
    root = above
  }
  return root
}

/** Whether a process belongs to the subtree of the process `uuid`, that process included. */
export function isInSubtree(process: Process, uuid: Uuid, table: Pick<LiveTable, 'get'>): boolean {
  return process.uuid === uuid || [...ancestorsOf(process, table)].some((above) => above.uuid === uuid)
}

/** The processes above a process by spawner, the nearest first, as far as they are in the table. */
function* ancestorsOf({ parentUuid }: Process, table: Pick<LiveTable, 'get'>): Generator<Process> {
  for (let above = parentUuid; above !== null;) {
    const process = table.get(above)
    if (!process) return
    yield process
    above = process.parentUuid
  }
}

function titleOf({ kind, process, ask, task }: Need, note: string | null): string {
  if (ask) return firstLine(ask.text)
  if (kind === 'merge' && task) return `cannot merge ${task.id}: ${task.landing?.blocked ?? ''}`
  if (kind === 'finished') return firstLine(process.progress.lastText ?? '') || 'has finished'
  return note?.replace(/^paused: /, '') ?? kind
}

function taskView({ id, title, state, implementer, reviewer, verdict, check }: Task): NeedTaskView {
  return { id, title, state, implementer, reviewer, verdict, passed: check?.ok ?? null }
}

type Verb = readonly [verb: string, name: string]
const CONTINUE: readonly Verb[] = [
  ['resume', 'Continue it'],
  ['stop', 'Stop it'],
]
const LOOK: readonly Verb[] = [
  ['logs', 'Show its log'],
  ['seen', 'Mark as seen'],
]

/** The verbs that help with a need without an ask. */
const VERBS_BY_KIND: Readonly<Record<NeedKind, readonly Verb[]>> = {
  command: [],
  edit: [],
  fetch: [],
  permission: [],
  plan: [],
  choice: [],
  text: [],
  gate: [],
  review: [],
  'human-task': [],
  merge: [],
  hold: CONTINUE,
  failed: [['resume', 'Continue it'], ...LOOK],
  silent: [
    ['logs', 'Show its log'],
    ['stop', 'Stop it'],
  ],
  finished: LOOK,
}

function commandsOf({ kind, process, ask, hold, task }: Need, { asks }: Pick<ProcessView, 'asks'>): string[] {
  const { pid, spec } = process
  const isCrew = spec.crew !== undefined
  const asker = { pid, name: spec.name, isCrew, asks }
  const resume = isCrew
    ? `reeve crew resume ${crewCommandName(asker)}`
    : `reeve resume ${isPlainCommand(spec) && !isLiving(process) ? '--rerun ' : ''}${pid}`
  if (ask) return [...answerCommands(asker, ask), ...(isCrew ? [`reeve answer ${crewCommandName(asker)}`] : [`reeve answer ${pid}`])]
  if (kind === 'merge' && task) return [`reeve crew show ${crewCommandName(asker)} ${shellWord(task.id)}`]
  if (kind === 'hold') return hold?.reason === 'budget' ? [`reeve inspect ${pid}`] : [resume, `reeve logs ${pid}`]
  if (kind === 'silent') return [`reeve logs ${pid}`, `reeve stop ${pid}`]
  return kind === 'failed' ? [`reeve logs ${pid}`, resume, `reeve needs --seen ${pid}`] : [`reeve logs ${pid}`, `reeve needs --seen ${pid}`]
}
