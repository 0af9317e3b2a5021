// The entry to the decisions of a crew: takes a command, returns facts and acts. Checks the permission of the issuer. The order is: first
// the command, then the rules (rules.ts), then the engine's commands (engine.ts). Guarantees that a repeated call changes nothing. An
// illegal command throws and changes nothing. Must never perform an act itself.
// Tests: test/tables/kernel/crew/decide/engine.test.ts, test/simulation/crew.test.ts.
import { KernelError } from '../../model/errors.ts'
import { applyUserAnswer } from './commands/user-answers.ts'
import { COMMAND_ISSUERS } from '../../model/crew/commands.ts'
import { CrewDraft } from './draft.ts'
import { refusalError } from './refusal-error.ts'
import { editTask } from './commands/edit-task.ts'
import { nextEngineCommand } from './engine.ts'
import { reopenTask, retryTask } from './commands/reopen-task.ts'
import { applyJobResult } from './job-results.ts'
import { requestHandover } from './context-handover.ts'
import { handleMemberGone, handleMemberRunning } from './member-lifecycle.ts'
import { notifyUser, replaceWorker, retireWorker, sendMessage, spawnWorker, stopWorker } from './commands/member-commands.ts'
import { setPriority } from './commands/task-order.ts'
import { handleMemberHeld } from './paused-members.ts'
import { postMessage, reportComplete, reportVerdict, signalReady } from './commands/worker-reports.ts'
import { applyRules } from './rules.ts'
import { beginCrew, completeCrew, unpauseCrew } from './lifecycle.ts'
import { addTasks, approveCommit, askReview, assignReview, assignTask, cancelTask, markDone, markFailed } from './commands/task-commands.ts'
import { enforceTaskLimits } from './task-limits.ts'
import { handleTurnBegun, handleTurnEnded } from './member-turns.ts'
import type { Issuer, Command, CrewContext, CrewDecision, CommandOf } from '../../model/crew/commands.ts'
import type { Crew, Member } from '../../model/crew/crew.ts'
import type { CrewSpec } from '../../model/process-spec.ts'

/** Applies the command and returns the answer to its issuer. */
type Handler<T extends Command['type']> = (draft: CrewDraft, command: CommandOf<T>) => string

/** maximum number of engine commands per decision; more than that is a defect of the engine */
const MAX_ENGINE_COMMANDS = 10_000

/** By the permitted issuer of a command: the hint for every other issuer. */
const ISSUER_HINTS = {
  lead: 'Only the user or a coordinator may.',
  worker: 'Only a worker may.',
  system: 'Only the daemon may.',
} as const

const HANDLERS: { readonly [T in Command['type']]: Handler<T> } = {
  add_task: (draft, command) => addTasks(draft, [command]),
  add_tasks: (draft, { tasks }) => addTasks(draft, tasks),
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
  set_priority: setPriority,
  retry_task: retryTask,
  reopen_task: reopenTask,
  edit_task: editTask,
  mark_task_done: markDone,
  mark_task_failed: markFailed,
  notify_user: notifyUser,
  complete_crew: completeCrew,
  post_message: postMessage,
  report_implementation_complete: reportComplete,
  report_review_verdict: reportVerdict,
  signal_ready: signalReady,
  begin: beginCrew,
  unpaused: unpauseCrew,
  member_running: handleMemberRunning,
  member_held: handleMemberHeld,
  turn_begun: handleTurnBegun,
  turn_ended: handleTurnEnded,
  member_gone: handleMemberGone,
  member_context_full: requestHandover,
  member_usage: enforceTaskLimits,
  job_done: applyJobResult,
  answered: applyUserAnswer,
}

/** Decides one command. Errors: PERMISSION, NOT_FOUND, INVALID, CONFLICT, LATE, RESOURCE_EXHAUSTED; an error changes nothing. */
export function decideCrew(crew: Crew, spec: CrewSpec, command: Command, ctx: CrewContext): CrewDecision {
  const draft = new CrewDraft(crew, spec, ctx)
  const { by } = ctx
  checkPermission(draft, command)
  const earlierCall =
    by.type === 'member' && by.call !== null ? draft.findMember(by.id)?.heard.find(({ call }) => call === by.call) : undefined
  if (earlierCall) return { facts: [], acts: [], note: earlierCall.note, directCount: 0 }
  if (by.type === 'member' && COMMAND_ISSUERS[command.type] === 'worker') checkCurrentTurn(draft.requireMember(by.id), by)
  const note = runHandler(draft, command)
  const directCount = draft.facts.length
  if (by.type === 'member') draft.emit({ type: 'crew.heard', member: by.id, call: by.call, tool: command.type, note })
  // While the crew's process is paused, stopping or not started, the rules wait for `unpaused` or `begin`.
  if (!ctx.paused && !draft.isHalted) {
    applyRules(draft)
    runEngine(draft)
  }
  return { facts: draft.facts, acts: draft.acts, note, directCount }
}

function runHandler(draft: CrewDraft, command: Command): string {
  const handler = HANDLERS[command.type] as (draft: CrewDraft, command: Command) => string
  return handler(draft, command)
}

/** Applies the engine's commands until it has none. */
function runEngine(draft: CrewDraft): void {
  if (draft.spec.coordinator !== 'engine') return
  for (let count = 0; count < MAX_ENGINE_COMMANDS; count += 1) {
    const command = nextEngineCommand(draft.crew, draft.spec)
    if (!command) return
    runHandler(draft, command)
    applyRules(draft)
  }
  throw new KernelError('INTERNAL', 'the engine of a crew does not stop issuing commands')
}

function checkPermission(draft: CrewDraft, { type }: Command): void {
  const { by } = draft.context
  const issuer = COMMAND_ISSUERS[type]
  if (by.type === 'system' ? issuer === 'system' : by.type !== 'member' && issuer === 'lead') return
  if (by.type !== 'member' || issuer === 'system')
    throw refusalError('PERMISSION', `${by.type === 'member' ? by.id : `the ${by.type}`} cannot call ${type}`, ISSUER_HINTS[issuer])
  const { role, state, heir: successor } = draft.requireMember(by.id)
  if (state === 'gone' || successor !== null)
    throw refusalError(
      'LATE',
      `${by.id} ${successor ? `was replaced by ${successor}` : 'is no longer part of the crew'}`,
      'You have nothing to do: end your turn.',
    )
  const requiredIssuer = role === 'coordinator' ? 'lead' : 'worker'
  if (issuer !== requiredIssuer)
    throw refusalError(
      'PERMISSION',
      `${type} is for ${issuer === 'lead' ? 'coordinators' : 'workers'}, and ${by.id} is a ${role}`,
      issuer === 'lead' ? 'Ask the coordinator with post_message.' : 'Ask a worker with send_message.',
    )
}

/** Refuses a worker's command that comes from another turn than the current one. Errors: LATE. */
function checkCurrentTurn({ id, turn }: Member, by: Extract<Issuer, { type: 'member' }>): void {
  if (turn.open !== null && (by.turn === null || by.turn === turn.open)) return
  throw refusalError('LATE', `turn ${by.turn ?? '?'} of ${id} is over`, 'Nothing was changed. Call it again in the current turn.')
}
