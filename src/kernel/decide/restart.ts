// Restarts: new incarnations that a policy creates. Lets such an incarnation wait for its time, and restarts processes without a
// supervisor. The decision whether to restart is in src/kernel/supervise. A waiting incarnation is a row in the state `created`, so that a
// stop or a pause can still reach it. Test: test/tables/kernel/decide/supervision.test.ts, test/processes/daemon/supervision.test.ts.
import { payerOf } from '../state/accounts.ts'
import { readoptChildren, findPayer } from './limits/payer.ts'
import { DEFAULT_INTENSITY, decideRestart } from '../supervise/restart-decision.ts'
import { resumeSource, takesMessages } from '../model/capabilities.ts'
import { supervisesChildren } from './children.ts'
import { narrowToParent } from './authorize.ts'
import { enqueueMessage } from './message-queue.ts'
import { startOnHold } from './spawn.ts'
import { isLiving } from '../model/status.ts'
import type { ExitStatus, Hold, Process } from '../model/process.ts'
import type { RestartPolicy, Restarts } from '../model/supervision.ts'
import type { DecisionDraft } from './draft.ts'
import type { Sender, Uuid } from '../model/ids.ts'

export interface RestartDetails {
  readonly by: Sender
  /** how the last incarnation ended */
  readonly exit: ExitStatus
  readonly attempt: number
  /** time until the start; null: the incarnation waits until its supervisor decides */
  readonly delayMs: number | null
  /** the incarnation starts over, instead of continuing from its history */
  readonly fresh?: boolean
  readonly restarts?: Restarts
  /** holds that the incarnation begins with */
  readonly holds?: readonly Hold[]
}

/**
 * A jitter from 0 to below 1, which differs per process and restart. It is derived from the PID and the random part of
 * the UUID, because the kernel has no other source of chance.
 */
export function jitterOf({ uuid, pid }: Pick<Process, 'uuid' | 'pid'>): number {
  const random = Number.parseInt(uuid.slice(-8), 16) || 0
  return (Math.imul(random ^ Math.imul(pid, 0x9e3779b1), 0x85ebca6b) >>> 0) / 2 ** 32
}

/** Creates a new incarnation of a dead process. */
export function restartNow(draft: DecisionDraft, process: Process, details: RestartDetails): void {
  const { uuid, keeps = [] } = process
  const { by, exit, attempt, delayMs, restarts } = details
  const { wall, mono } = draft.now
  const pid = draft.takePid()
  const startsOver = details.fresh === true || resumeSource(process) === 'rerun'
  const startTime = { at: delayMs === null ? null : wall + delayMs, dueMono: delayMs === null || delayMs === 0 ? null : mono + delayMs }
  const restart = { attempt, cause: exit.reason, after: exit.cause, ...startTime, ...(restarts ? { restarts } : {}) }
  draft.emit(uuid, {
    type: 'process.resumed',
    pid,
    by,
    fromStep: process.progress.wholeStep,
    ...narrowToParent(draft, process),
    ...(startsOver ? { rerun: true } : {}),
    restart,
  })
  reattachToParent(draft, draft.mustGet(uuid))
  if (startsOver) enqueueIntent(draft, draft.mustGet(uuid))
  const holds = [...keeps, ...(details.holds ?? [])]
  if (holds.length > 0) startOnHold(draft, draft.mustGet(uuid), ...holds)
  else if (delayMs === 0) draft.addEffect({ type: 'start', uuid, pid })
}

/** Restarts a process on hold: it would end in the same way again, so the user must look at it first. */
export function restartHeld(
  draft: DecisionDraft,
  process: Process,
  { cause, exit }: { readonly cause: string; readonly exit: ExitStatus },
): void {
  restartNow(draft, process, {
    by: 'system',
    exit,
    attempt: 0,
    delayMs: null,
    holds: [{ reason: 'supervisor', by: 'system', at: draft.now.wall }],
  })
  draft.emit(process.uuid, { type: 'process.note', text: cause })
}

/** Sets the start time of a waiting incarnation; `delayMs` 0 starts it now. */
export function scheduleStart(draft: DecisionDraft, { uuid, pid }: Process, delayMs: number): void {
  const { wall, mono } = draft.now
  draft.emit(uuid, { type: 'restart.due', startAt: wall + delayMs, dueMono: delayMs === 0 ? null : mono + delayMs })
  if (delayMs === 0) draft.addEffect({ type: 'start', uuid, pid })
}

/** True for an incarnation that waits for its start time or for its supervisor. */
export function waitsForRestart({ life, restart }: Process): boolean {
  return life.state === 'created' && restart !== undefined && (restart.at === null || restart.dueMono !== null)
}

/** Starts a waiting incarnation whose time has come. */
export function startIfDue(draft: DecisionDraft, { uuid, pid, restart }: Process): void {
  if (restart === undefined || restart.dueMono === null || restart.dueMono > draft.now.mono) return
  draft.emit(uuid, { type: 'restart.due', startAt: restart.at, dueMono: null })
  draft.addEffect({ type: 'start', uuid, pid })
}

/**
 * Sets a new start time for an incarnation that waited under the last daemon, whose monotonic times are no longer valid. The
 * wall clock may have jumped, so the wait is at most the maximum backoff.
 */
export function keepWaiting(draft: DecisionDraft, { uuid, spec, restart }: Process): void {
  if (!restart || restart.at === null) {
    draft.emit(uuid, { type: 'restart.due', startAt: null, dueMono: null })
    return
  }
  const maxWaitMs = (spec.restart?.backoff ?? DEFAULT_INTENSITY.backoff).maxMs
  scheduleStart(draft, draft.mustGet(uuid), Math.min(maxWaitMs, Math.max(0, restart.at - draft.now.wall)))
}

/**
 * Restarts an ended process according to its own policy. A supervisor without a policy restarts after the death of the
 * daemon, because its children need it.
 */
export function restartByOwnPolicy(draft: DecisionDraft, process: Process, exit: ExitStatus): void {
  const policy = process.spec.restart ?? (supervisesChildren(process) && exit.cause === 'daemon' ? SUPERVISOR_DEFAULT_POLICY : null)
  if (policy === null) return
  const decision = decideRestart({ ...DEFAULT_INTENSITY, ...policy }, exit, process.restarts, {
    wall: draft.now.wall,
    chance: jitterOf(process),
  })
  if (decision.do === 'hold') restartHeld(draft, process, { cause: decision.cause, exit })
  if (decision.do === 'restart') restartNow(draft, process, { by: 'system', exit, ...decision })
}

const SUPERVISOR_DEFAULT_POLICY: RestartPolicy = { type: 'transient' }

/** Makes the living spawner the parent of a new incarnation, else PID 0; living children of the process return to it. */
export function reattachToParent(draft: DecisionDraft, process: Process): void {
  const spawner = process.parentUuid === null ? undefined : draft.get(process.parentUuid)
  const parent: Uuid | null = spawner && isLiving(spawner) ? spawner.uuid : null
  const payer = findPayer(draft, process.uuid)
  const changesPayer = payer !== null && payer !== payerOf(process)
  if (parent !== process.parent || changesPayer)
    draft.emit(process.uuid, { type: 'process.reparented', parent, ...(changesPayer ? { payer } : {}) })
  readoptChildren(draft, process.uuid)
}

/** Queues the intent for a process that starts over. */
export function enqueueIntent(draft: DecisionDraft, { uuid, spec, queue }: Process): void {
  if (!takesMessages(spec) || spec.intent === '' || queue.some(({ id }) => id === 'intent')) return
  enqueueMessage(draft, uuid, { id: 'intent', from: 'user', text: spec.intent })
}
