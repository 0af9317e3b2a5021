// The one entry of a crew's machines: a command in, facts and acts out. Owns who may say what, that a repeated call changes
// nothing, and the order: the command, then what follows of it (settle.ts), then what the engine has to say (engine.ts).
// Must never act; an illegal command throws, and nothing of it remains.
// Tests: test/tables/crew-engine.test.ts, test/simulation/crew.test.ts.
import { KernelError } from '../kernel/errors.ts'
import { answered } from './answers.ts'
import { MAY } from './commands.ts'
import { CrewWork, refusal } from './crew-work.ts'
import { engine } from './engine.ts'
import { jobDone } from './jobs.ts'
import { memberFull } from './handing-over.ts'
import { memberGone, memberHeld, memberOn } from './joining.ts'
import { notifyUser, replaceWorker, retireWorker, sendMessage, spawnWorker, stopWorker } from './leading.ts'
import { postMessage, reportComplete, reportVerdict, signalReady } from './reports.ts'
import { settle } from './settle.ts'
import { begin, completeCrew, woken } from './starting.ts'
import { addTasks, approveCommit, askReview, assignReview, assignTask, cancelTask, markDone, markFailed } from './tasking.ts'
import { turnBegun, turnEnded } from './turns.ts'
import type { By, Command, Ctx, Decided } from './commands.ts'
import type { Crew, CrewSpec, Member } from './types.ts'

type CommandOf<T extends Command['type']> = Extract<Command, { type: T }>
/** Does it, and says in words what was done. */
type Handler<T extends Command['type']> = (work: CrewWork, command: CommandOf<T>) => string

/** Commands that the engine may have to say in one decision; more is a defect. */
const MAX_ENGINE = 10_000

const HANDLERS: { readonly [T in Command['type']]: Handler<T> } = {
  add_task: (work, command) => addTasks(work, [command]),
  add_tasks: (work, { tasks }) => addTasks(work, tasks),
  spawn_worker: spawnWorker,
  assign_task: assignTask,
  assign_review: assignReview,
  ask_review: askReview,
  approve_commit: approveCommit,
  send_message: sendMessage,
  replace_worker: replaceWorker,
  retire_worker: retireWorker,
  stop_worker: stopWorker,
  cancel_task: cancelTask,
  mark_task_done: markDone,
  mark_task_failed: markFailed,
  notify_user: notifyUser,
  complete_crew: completeCrew,
  post_message: postMessage,
  report_implementation_complete: reportComplete,
  report_review_verdict: reportVerdict,
  signal_ready: signalReady,
  begin,
  woken,
  member_on: memberOn,
  member_held: memberHeld,
  turn_begun: turnBegun,
  turn_ended: turnEnded,
  member_gone: memberGone,
  member_full: memberFull,
  job_done: jobDone,
  answered,
}

/** What a command does. Errors: PERMISSION, NOT_FOUND, INVALID, CONFLICT, LATE, RESOURCE_EXHAUSTED; nothing is changed then. */
export function decide(crew: Crew, spec: CrewSpec, command: Command, ctx: Ctx): Decided {
  const work = new CrewWork(crew, spec, ctx)
  const { by } = ctx
  mayAsk(work, command)
  const said = by.type === 'member' && by.call !== null ? work.member(by.id)?.heard.find(({ call }) => call === by.call) : undefined
  if (said) return { facts: [], acts: [], note: said.note }
  if (by.type === 'member' && MAY[command.type] === 'worker') needTurn(work.needMember(by.id), by)
  const note = run(work, command)
  if (by.type === 'member') work.emit({ type: 'crew.heard', member: by.id, call: by.call, tool: command.type, note })
  // What it begins while its process is paused, stops or has not begun would reach nobody: it follows of `woken` and `begin`.
  if (!ctx.paused) {
    settle(work)
    drive(work)
  }
  return { facts: work.facts, acts: work.acts, note }
}

function run(work: CrewWork, command: Command): string {
  const handler = HANDLERS[command.type] as (work: CrewWork, command: Command) => string
  return handler(work, command)
}

/** The engine speaks until it has nothing more to say. */
function drive(work: CrewWork): void {
  if (work.spec.coordinator !== 'engine') return
  for (let said = 0; said < MAX_ENGINE; said += 1) {
    const command = engine(work.crew, work.spec)
    if (!command) return
    run(work, command)
    settle(work)
  }
  throw new KernelError('INTERNAL', 'the engine of a crew does not come to an end')
}

function mayAsk(work: CrewWork, { type }: Command): void {
  const { by } = work.ctx
  const speaker = MAY[type]
  if (by.type === 'system' ? speaker === 'system' : by.type !== 'member' && speaker === 'lead') return
  if (by.type !== 'member' || speaker === 'system') throw refusal('PERMISSION', `${by.type === 'member' ? by.id : `a ${by.type}`} cannot say ${type}`, 'Only the daemon does.')
  const { role, state, heir } = work.needMember(by.id)
  if (state === 'gone' || heir !== null) throw refusal('LATE', `${by.id} ${heir ? `was replaced by ${heir}` : 'is no longer part of the crew'}`, 'Nothing to do: end your turn.')
  const wanted = role === 'coordinator' ? 'lead' : 'worker'
  if (speaker !== wanted) throw refusal('PERMISSION', `${type} is for ${speaker === 'lead' ? 'coordinators' : 'workers'}, and ${by.id} is a ${role}`, speaker === 'lead' ? 'Ask the coordinator: post_message.' : 'Ask a worker: send_message.')
}

/** What a worker says belongs to the turn that is on. */
function needTurn({ id, turn }: Member, by: Extract<By, { type: 'member' }>): void {
  if (turn.open !== null && (by.turn === null || by.turn === turn.open)) return
  throw refusal('LATE', `turn ${by.turn ?? '?'} of ${id} is over`, 'Nothing was changed. Say it again in the turn that is on.')
}
