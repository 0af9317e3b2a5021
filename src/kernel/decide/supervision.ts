// Supervisors: the reaction to a child's end, the restart of a group, stopping all children before their supervisor, and recovering them
// when it starts. Never waits: after each end, start and resume of a process, `advance` finds the next action from the rows. The state
// between two ends is `Supervision` in the supervisor's row. Also runs the follow-ups of all decisions.
// Tests: test/tables/kernel/decide/supervision.test.ts, test/simulation/supervision.test.ts.
import { siblingsToRestart } from '../supervise/strategies.ts'
import { DEFAULT_INTENSITY, shouldRestart, decideRestart } from '../supervise/restart-decision.ts'
import { isCrew, supervisesChildren, canSupervise, childSlotOf, childRows, type ChildSlot } from './children.ts'
import { applyAnswer, applySystemCommand } from './crew-process/apply-command.ts'
import { requestKeptMessages, requestPendingMoves } from './crew-process/message-moves.ts'
import { memberGoneCommand, isLeaving, leaveReason, releaseMember, superviseMembers, maskMember } from './crew-process/member-process.ts'
import { requestStartingNodes, finishOrRestartNode, markNodeResumed, advanceRun, continueRun } from './compose.ts'
import { KernelError } from '../model/errors.ts'
import { terminate } from './release.ts'
import { restartNow, restartHeld, jitterOf, scheduleStart, restartByOwnPolicy } from './restart.ts'
import { presenceCommands } from '../crew/state/member-facts.ts'
import { startNextTurnNow } from './turns.ts'
import { isComposeRun } from '../compose/run-row.ts'
import { deliverSignal } from './signals.ts'
import { restartObstacle } from './spawn.ts'
import { isLiving, isSuspended } from '../model/status.ts'
import type { InputOf } from '../model/inputs.ts'
import type { ExitStatus, Process } from '../model/process.ts'
import type { Intensity, SupervisedChild } from '../model/supervision.ts'
import type { RestartDecision } from '../supervise/restart-decision.ts'
import type { FollowUp, DecisionDraft } from './draft.ts'
import type { Sender, Uuid } from '../model/ids.ts'
import type { Signal } from '../model/words.ts'
import type { MemberId } from '../model/crew/words.ts'
import { STOP_GRACE_MS } from '../model/signals.ts'

/** Runs the follow-ups of a decision, including those that they add. */
export function runFollowUps(draft: DecisionDraft): void {
  for (let followUp = draft.followUps.shift(); followUp; followUp = draft.followUps.shift()) {
    switch (followUp.type) {
      case 'ended':
        handleEnd(draft, followUp.uuid)
        break
      case 'supervisorStarted':
        recoverChildren(draft, followUp.uuid, followUp.endedChildren)
        break
      case 'supervisorReady':
        handleCrewReady(draft, followUp.uuid)
        break
      case 'nextTurn':
        startNextTurnNow(draft, followUp.uuid)
        break
      case 'unpaused':
        handleUnpaused(draft, followUp.uuid)
        break
      case 'resumed':
        handleResumed(draft, followUp.uuid)
        break
      case 'runChanged':
        advance(draft, followUp.uuid)
        break
      case 'memberCommand':
        applyMemberCommand(draft, followUp)
        break
      case 'answered':
        applyAnswer(draft, followUp.uuid, followUp)
        break
      case 'stopWithChildren':
        stopWithChildren(draft, followUp.uuid, followUp.signal)
        break
    }
  }
}

/** Handles the end of an incarnation: its supervisor, or its own policy, decides about a restart. */
function handleEnd(draft: DecisionDraft, uuid: Uuid): void {
  const process = draft.mustGet(uuid)
  const { life, spec } = process
  const slot = childSlotOf(draft, process)
  if (life.state === 'dead' && slot) dispatchChildEnd(draft, slot, process, life.exit)
  else if (life.state === 'dead' && (spec.childId === undefined || supervisesChildren(process)))
    restartByOwnPolicy(draft, process, life.exit)
  // A child that is not dead has already restarted, on hold because of a rate limit or a refused key.
  else if (slot) continueAfterEnd(draft, slot.supervisor.uuid)
}

/** Continues a supervisor after a pause. Meanwhile a run may have missed an answer, and a crew has started no work. */
function handleUnpaused(draft: DecisionDraft, uuid: Uuid): void {
  const process = draft.mustGet(uuid)
  if (isComposeRun(process)) requestStartingNodes(draft, uuid)
  if (isCrew(process)) applySystemCommand(draft, uuid, { type: 'unpaused' })
  advance(draft, uuid)
}

/** Informs a run that the user resumed the process of one of its nodes. */
function handleResumed(draft: DecisionDraft, uuid: Uuid): void {
  const process = draft.mustGet(uuid)
  const slot = childSlotOf(draft, process)
  if (slot && isComposeRun(slot.supervisor)) markNodeResumed(draft, slot.supervisor, process)
}

function handleCrewReady(draft: DecisionDraft, uuid: Uuid): void {
  if (!isCrew(draft.mustGet(uuid))) return
  applySystemCommand(draft, uuid, { type: 'begin' })
  requestPendingMoves(draft, uuid)
}

/** Applies a command about a member to its crew. A member that is committing gets its signal mask again in a new incarnation. */
function applyMemberCommand(draft: DecisionDraft, { crew, command }: Extract<FollowUp, { type: 'memberCommand' }>): void {
  // A member may start and end in one decision.
  if (command.type === 'member_running' && !isInTableAndLiving(draft.get(command.uuid))) return
  applySystemCommand(draft, crew, command)
  if (command.type !== 'member_running') return
  requestKeptMessages(draft, crew, command.member)
  const phase = draft.get(crew)?.crew?.members.find(({ id }) => id === command.member)?.phase
  if (phase === 'committing') maskMember(draft, crew, command.member, true)
}

function isInTableAndLiving(process: Process | undefined): boolean {
  return process !== undefined && isLiving(process)
}

/** Performs the next action of a supervisor after the end of a child, whether the supervisor is stopping or not. */
function continueAfterEnd(draft: DecisionDraft, uuid: Uuid): void {
  stopNext(draft, uuid)
  advance(draft, uuid)
}

function dispatchChildEnd(draft: DecisionDraft, slot: ChildSlot, process: Process, exit: ExitStatus): void {
  const { supervisor, child } = slot
  const { uuid, life, supervision } = supervisor
  if (isComposeRun(supervisor)) {
    finishOrRestartNode(draft, supervisor, process, exit)
    return continueAfterEnd(draft, uuid)
  }
  if (life.state === 'running' && life.stopping) return stopNext(draft, uuid)
  if (supervision?.group?.ids.includes(child.id)) handleGroupMemberEnd(draft, slot, process, exit)
  else if (isCrew(supervisor)) handleMemberEnd(draft, slot, process, exit)
  else handleChildEnd(draft, slot, process, exit)
  advance(draft, uuid)
}

function decideChildRestart(draft: DecisionDraft, { supervisor, child }: ChildSlot, process: Process, exit: ExitStatus): RestartDecision {
  return decideRestart({ ...intensityOf(supervisor), ...child }, exit, child.restarts, {
    wall: draft.now.wall,
    chance: jitterOf(process),
  })
}

function intensityOf({ spec }: Process): Intensity {
  return spec.supervisor ?? DEFAULT_INTENSITY
}

/** Decides about the restart of an ended child, and carries the decision out. */
function handleChildEnd(draft: DecisionDraft, slot: ChildSlot, process: Process, exit: ExitStatus): void {
  const decision = decideChildRestart(draft, slot, process, exit)
  if (decision.do === 'hold') holdChild(draft, slot, process, { cause: decision.cause, exit })
  else if (decision.do === 'giveUp') giveUp(draft, slot, process, { times: decision.times, exit })
  else if (decision.do === 'restart') restartChild(draft, slot, process, { ...decision, exit })
}

/**
 * Handles the end of a crew member. Unlike a supervisor, a crew never gives up and never holds a member. A member that
 * does not restart leaves the crew, and its work goes to other members.
 */
function handleMemberEnd(draft: DecisionDraft, slot: ChildSlot, process: Process, exit: ExitStatus): void {
  const {
    supervisor,
    child: { id },
  } = slot
  const decision = isLeaving(supervisor, id) ? null : decideChildRestart(draft, slot, process, exit)
  if (decision?.do === 'restart') {
    restartChild(draft, slot, process, { ...decision, exit })
    return superviseMembers(draft, supervisor.uuid)
  }
  releaseMember(draft, supervisor, process)
  const reason =
    decision === null
      ? leaveReason(supervisor, id)
      : decision.do === 'giveUp'
        ? `it ended ${decision.times} times within ${intensityOf(supervisor).windowMs / 1_000} s: ${exit.reason}`
        : decision.do === 'hold'
          ? decision.cause
          : exit.reason
  if (process.spec.member) applySystemCommand(draft, supervisor.uuid, memberGoneCommand(process.spec.member.id, exit.cause, reason))
}

function holdChild(
  draft: DecisionDraft,
  { supervisor, child: { id, uuid } }: ChildSlot,
  process: Process,
  why: { readonly cause: string; readonly exit: ExitStatus },
): void {
  draft.emit(supervisor.uuid, { type: 'supervisor.held', id, child: uuid, cause: why.cause })
  restartHeld(draft, process, why)
}

function restartChild(
  draft: DecisionDraft,
  slot: ChildSlot,
  process: Process,
  decision: Extract<RestartDecision, { do: 'restart' }> & { readonly exit: ExitStatus },
): void {
  const {
    supervisor,
    child: { id, uuid },
  } = slot
  const { exit, restarts, delayMs, attempt, fresh } = decision
  // After an end by the daemon (attempt 0) no sibling is running, so there is no group to stop.
  const group = attempt === 0 ? [] : restartGroupOf(draft, slot)
  if (attempt > 0)
    draft.emit(supervisor.uuid, {
      type: 'supervisor.restarting',
      id,
      child: uuid,
      cause: exit.reason,
      restarts,
      delayMs,
      ...(group.length > 0 ? { group } : {}),
    })
  const mustWait = group.length > 0 || supervisor.supervision?.group !== undefined || !canSupervise(supervisor)
  restartNow(draft, process, { by: asSender(supervisor), exit, attempt, fresh, delayMs: mustWait ? null : delayMs })
}

/**
 * The ids of the siblings that must stop and restart with a failed child, by the strategy. Suspended, ended and stopping
 * siblings are not among them.
 */
function restartGroupOf(draft: DecisionDraft, { supervisor, child }: ChildSlot): readonly string[] {
  const known = supervisor.supervision?.children ?? []
  const { strategy } = supervisor.spec.supervisor ?? { strategy: 'one_for_one' }
  const ids = new Set(
    siblingsToRestart(
      strategy,
      known.map(({ id }) => id),
      child.id,
    ),
  )
  return known.filter(({ id, uuid }) => ids.has(id) && mayBeStopped(draft.get(uuid))).map(({ id }) => id)
}

function mayBeStopped(process: Process | undefined): boolean {
  return process?.life.state === 'running' && !isSuspended(process) && !isBeingStopped(process)
}

/** Handles the end of a child that restarts with its group. Its new incarnation waits for the others, and the end is not counted. */
function handleGroupMemberEnd(draft: DecisionDraft, slot: ChildSlot, process: Process, exit: ExitStatus): void {
  const { supervisor, child } = slot
  const restartWithGroup = (): void => restartNow(draft, process, { by: asSender(supervisor), exit, attempt: 0, delayMs: null })
  if (exit.cause === 'parent') return child.type === 'temporary' ? undefined : restartWithGroup()
  const decision = decideChildRestart(draft, slot, process, exit)
  if (decision.do === 'hold') holdChild(draft, slot, process, { cause: decision.cause, exit })
  else if (decision.do !== 'stay') restartWithGroup()
}

/** Ends a supervisor whose child fails too often, after all its children. Its own supervisor or policy then decides about a restart. */
function giveUp(
  draft: DecisionDraft,
  { supervisor, child: { id, uuid: failed } }: ChildSlot,
  process: Process,
  { times, exit }: { readonly times: number; readonly exit: ExitStatus },
): void {
  const { uuid, life } = supervisor
  const { windowMs } = intensityOf(supervisor)
  // A supervisor that has not begun cannot end, so the child waits for it.
  if (life.state !== 'running') return restartNow(draft, process, { by: asSender(supervisor), exit, attempt: times, delayMs: null })
  draft.emit(uuid, { type: 'supervisor.escalated', id, child: failed, times, windowMs })
  const error = `child ${id} ended ${times === 1 ? 'once' : `${times} times`} within ${windowMs / 1_000} s: ${exit.reason}`
  draft.emit(uuid, {
    type: 'process.stopping',
    stopping: {
      signal: 'SIGTERM',
      by: asSender(supervisor),
      at: draft.now.wall,
      graceMs: STOP_GRACE_MS,
      exit: { code: 1, reason: error, error, cause: 'agent' },
    },
  })
  stopNext(draft, uuid)
}

function asSender({ uuid }: Process): Sender {
  return `agent:${uuid}`
}

/** True for a process that was asked to stop and is not dead yet. */
function isBeingStopped({ life, signals }: Process): boolean {
  return (
    life.state === 'zombie' ||
    (life.state === 'running' && life.stopping !== null) ||
    signals.pending.some(({ signal }) => signal === 'SIGTERM')
  )
}

/** Performs the next action of a supervisor: stops the next member of a group, or starts the children that wait for the supervisor. */
function advance(draft: DecisionDraft, uuid: Uuid): void {
  const supervisor = draft.mustGet(uuid)
  if (!supervisesChildren(supervisor) || !canSupervise(supervisor)) return
  const group = supervisor.supervision?.group
  if (group) {
    const members = childRows(draft, group.ids, supervisor)
    if (members.some(isBeingStopped)) return
    const next = members.findLast(mayBeStopped)
    if (next) return stopChild(draft, supervisor, next, 'SIGTERM', STOP_GRACE_MS)
    draft.emit(uuid, { type: 'supervisor.restarted', startAt: draft.now.wall + group.delayMs })
  }
  for (const child of childRows(draft, null, supervisor)) {
    if (child.life.state === 'created' && child.restart?.at === null) scheduleStart(draft, child, group?.delayMs ?? 0)
  }
  if (isComposeRun(supervisor) && advanceRun(draft, uuid)) stopNext(draft, uuid)
}

function stopChild(draft: DecisionDraft, supervisor: Process, { uuid }: Process, signal: Signal, graceMs: number): void {
  deliverSignal(draft, uuid, { signal, by: asSender(supervisor), root: null, graceMs, freeze: false })
}

/** Stops the children before their supervisor: one after another, last one first; with SIGKILL all at once. */
function stopWithChildren(draft: DecisionDraft, uuid: Uuid, signal: Signal): void {
  const supervisor = draft.mustGet(uuid)
  if (signal === 'SIGKILL')
    for (const child of childRows(draft, null, supervisor).toReversed())
      if (isLiving(child)) stopChild(draft, supervisor, child, 'SIGKILL', 0)
  stopNext(draft, uuid)
}

/** Stops the next child of a stopping supervisor, or the supervisor itself after its last child. */
function stopNext(draft: DecisionDraft, uuid: Uuid): void {
  const supervisor = draft.mustGet(uuid)
  const { life, pid } = supervisor
  if (life.state !== 'running' || !life.stopping) return
  const { graceMs, exit } = life.stopping
  const left = childRows(draft, null, supervisor)
  if (left.some(isBeingStopped)) return
  const last = left.findLast(isLiving)
  if (last) return stopChild(draft, supervisor, last, 'SIGTERM', graceMs)
  if (life.attached) draft.addEffect({ type: 'driver.stop', uuid, pid, signal: 'SIGTERM', graceMs })
  else terminate(draft, supervisor, exit)
}

/**
 * Recovers the children of a supervisor that starts, possibly after the end of a daemon. `endedChildren`: rows of the
 * ended children.
 */
function recoverChildren(draft: DecisionDraft, uuid: Uuid, endedChildren: readonly Process[]): void {
  const supervisor = draft.mustGet(uuid)
  if (!supervisesChildren(supervisor)) return
  if (isComposeRun(supervisor)) continueRun(draft, uuid, endedChildren)
  else if (isCrew(supervisor)) recoverMembers(draft, supervisor, endedChildren)
  else recoverSupervised(draft, supervisor, endedChildren)
  advance(draft, uuid)
}

function recoverSupervised(draft: DecisionDraft, supervisor: Process, endedChildren: readonly Process[]): void {
  for (const child of supervisor.supervision?.children ?? []) {
    const row = draft.get(child.uuid)
    if (row) adopt(draft, supervisor, row)
    else
      restoreChild(
        draft,
        { supervisor, child },
        endedChildren.find((dead) => dead.uuid === child.uuid),
      )
  }
}

/** Recovers the members of a crew. Members that do not return are recorded last, because the others then get their work. */
function recoverMembers(draft: DecisionDraft, supervisor: Process, endedChildren: readonly Process[]): void {
  const recordDepartures: (() => void)[] = []
  for (const child of supervisor.supervision?.children ?? []) {
    const row = draft.get(child.uuid)
    const dead = endedChildren.find(({ uuid }) => uuid === child.uuid)
    const obstacle = row ? null : memberObstacle(draft, { supervisor, child }, dead)
    if (row) registerLivingMember(draft, supervisor.uuid, row)
    else if (obstacle === null) restoreChild(draft, { supervisor, child }, dead)
    else recordDepartures.push(() => recordMemberGone(draft, supervisor, child, { dead, reason: obstacle }))
  }
  for (const row of resumedMembers(draft, supervisor)) registerLivingMember(draft, supervisor.uuid, row)
  superviseMembers(draft, supervisor.uuid)
  for (const recordDeparture of recordDepartures) recordDeparture()
}

/**
 * Reports a living member to its crew. If the member was leaving, the user resumed it while the crew did not run; its
 * departure is then recorded first.
 */
function registerLivingMember(draft: DecisionDraft, crew: Uuid, member: Process): void {
  const { id = '' } = member.spec.member ?? {}
  if (isLeaving(draft.mustGet(crew), id) && !isBeingStopped(member))
    applySystemCommand(draft, crew, memberGoneCommand(id as MemberId, 'parent', leaveReason(draft.mustGet(crew), id)))
  for (const command of presenceCommands(member, draft.mustGet(crew))) applyMemberCommand(draft, { type: 'memberCommand', crew, command })
}

/** Living former members, which the user resumed while their crew did not run. */
function resumedMembers(draft: DecisionDraft, { crew, supervision }: Process): readonly Process[] {
  const supervised = new Set(supervision?.children.map(({ uuid }) => uuid))
  return (crew?.members ?? [])
    .flatMap(({ uuid }) => (uuid === null || supervised.has(uuid) ? [] : (draft.get(uuid) ?? [])))
    .filter(isLiving)
}

function recordMemberGone(
  draft: DecisionDraft,
  supervisor: Process,
  { id, uuid }: SupervisedChild,
  { dead, reason }: { readonly dead: Process | undefined; readonly reason: string },
): void {
  releaseMember(draft, supervisor, dead ?? { uuid, spec: { ...supervisor.spec, childId: id }, retiredAt: null, queue: [] })
  applySystemCommand(
    draft,
    supervisor.uuid,
    memberGoneCommand(id as MemberId, dead?.life.state === 'dead' ? dead.life.exit.cause : 'daemon', reason),
  )
}

/** The reason why a member does not continue with its crew; null: it continues. */
function memberObstacle(draft: DecisionDraft, slot: ChildSlot, dead: Process | undefined): string | null {
  if (dead?.life.state !== 'dead') return 'it ended before its crew continued'
  const { exit } = dead.life
  const stoppedWithIt = exit.cause === 'parent'
  if (isLeaving(slot.supervisor, slot.child.id)) return leaveReason(slot.supervisor, slot.child.id)
  if (!stoppedWithIt && decideChildRestart(draft, slot, dead, exit).do !== 'restart') return exit.reason
  return restartObstacle(draft, dead.spec)
}

/** Makes a supervisor the parent of its living child again. */
function adopt(draft: DecisionDraft, supervisor: Process, row: Process): void {
  if (isLiving(row) && row.parent !== supervisor.uuid) draft.emit(row.uuid, { type: 'process.reparented', parent: supervisor.uuid })
}

/** Restarts an ended child with its supervisor, if a rule demands it. A child whose row no longer exists is removed. */
function restoreChild(draft: DecisionDraft, { supervisor, child }: ChildSlot, dead: Process | undefined): void {
  const { uuid } = supervisor
  if (!dead) {
    draft.emit(uuid, { type: 'supervisor.removed', id: child.id, child: child.uuid })
    return
  }
  if (dead.life.state !== 'dead') return
  const { exit } = dead.life
  const stoppedWithIt = exit.cause === 'parent' && child.type !== 'temporary'
  if (!stoppedWithIt && !shouldRestart(child, exit)) return
  const obstacle = restartObstacle(draft, dead.spec)
  if (obstacle !== null) {
    draft.emit(uuid, { type: 'process.error', message: `child ${child.id} cannot restart: ${obstacle}` })
    return
  }
  draft.loadEnded(dead)
  const decision = stoppedWithIt ? null : decideChildRestart(draft, { supervisor, child }, dead, exit)
  if (decision?.do === 'hold') return holdChild(draft, { supervisor, child }, dead, { cause: decision.cause, exit })
  restartNow(draft, dead, {
    by: asSender(supervisor),
    exit,
    attempt: 0,
    delayMs: null,
    fresh: decision?.do === 'restart' && decision.fresh,
  })
}

/** Removes a child from its supervisor, and stops it. Errors: NOT_FOUND, INVALID. */
export function removeChild(draft: DecisionDraft, input: InputOf<'removeChild'>): void {
  const supervisor = draft.get(input.uuid)
  if (!supervisor || !isLiving(supervisor)) throw new KernelError('NOT_FOUND', `process ${supervisor?.pid ?? input.uuid} has ended`)
  const child = supervisor.supervision?.children.find(({ id }) => id === input.id)
  if (!supervisesChildren(supervisor) || !child) throw new KernelError('NOT_FOUND', `process ${supervisor.pid} has no child "${input.id}"`)
  if (isComposeRun(supervisor))
    throw new KernelError('INVALID', `process ${supervisor.pid} is a run, which keeps its nodes: stop the process of "${child.id}"`)
  draft.emit(supervisor.uuid, { type: 'supervisor.removed', id: child.id, child: child.uuid }, true)
  const row = draft.get(child.uuid)
  if (row && isLiving(row))
    deliverSignal(draft, row.uuid, {
      signal: 'SIGTERM',
      by: input.by,
      root: null,
      graceMs: input.graceMs ?? STOP_GRACE_MS,
      freeze: false,
      ...(input.via === undefined ? {} : { via: input.via }),
    })
  advance(draft, supervisor.uuid)
  draft.replyDone(input.reply, supervisor.uuid, { affected: row && isLiving(row) ? 1 : 0 })
}
