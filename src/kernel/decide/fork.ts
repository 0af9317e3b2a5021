// Forks: a new process continues from a step in the history of another process, its origin. A fork copies no fact: its own facts follow the
// last shared fact, with the next number, so that both read as one journal. Decides where a fork may begin, and which state it takes over.
// The origin never changes. Tests: test/tables/kernel/decide/fork.test.ts, test/properties/fork-state.test.ts.
import { isExternal, isPlainCommand } from '../model/capabilities.ts'
import { supervisesChildren, withoutSupervision } from './children.ts'
import { KernelError } from '../model/errors.ts'
import { fold } from '../state/fold.ts'
import { checkResumer, checkSpawner, authorizeSpec } from './authorize.ts'
import { closeRangesAt } from '../model/context.ts'
import { isSignalMessage } from '../model/signals.ts'
import { enqueueMessage } from './message-queue.ts'
import { checkName, checkTableHasRoom } from './spawn.ts'
import { isLiving } from '../model/status.ts'
import type { CheckpointState, Fact, ForkState, ForkOrigin } from '../model/facts.ts'
import type { InputOf, ForkPoint } from '../model/inputs.ts'
import type { Checkpoint, ContextState } from '../model/context.ts'
import type { Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'
import type { Uuid } from '../model/ids.ts'

/** The maximum number of queued messages that a checkpoint records. */
const MAX_QUEUED = 16

export function forkProcess(draft: DecisionDraft, input: InputOf<'fork'>): void {
  const { uuid, reply } = input
  const note = makeFork(draft, input)
  draft.replyDone(reply, uuid, { note })
  draft.addEffect({ type: 'start', uuid, pid: draft.mustGet(uuid).pid })
}

/**
 * Creates the fork; the caller starts it. Returns a note about permissions that were not granted, or null. Errors: those of
 * a spawn and of a resume.
 */
export function makeFork(draft: DecisionDraft, input: InputOf<'fork'>): string | null {
  const { uuid, by, origin, at, message, childId } = input
  checkForkable(origin)
  checkResumer(draft, by, origin, false)
  checkSpawner(draft, by, origin.spec, origin.parentUuid)
  const { spec, note } = authorizeSpec(draft, {
    by,
    spec: { ...withoutSupervision(input.spec ?? { ...origin.spec, name: null }), ...(childId === undefined ? {} : { childId }) },
    before: origin.spec,
    parent: origin.parentUuid,
  })
  checkTableHasRoom(draft)
  checkName(draft, spec.name)
  if (draft.get(uuid)) throw new KernelError('CONFLICT', `${uuid} is in use`)
  const pid = draft.takePid()
  const parent = origin.parentUuid === null ? undefined : draft.get(origin.parentUuid)
  const forkOrigin: ForkOrigin = { uuid: origin.uuid, step: at.step, seq: at.seq }
  draft.emit(uuid, {
    type: 'process.forked',
    pid,
    spec,
    parentUuid: origin.parentUuid,
    depth: origin.depth,
    by,
    origin: forkOrigin,
    state: at.state,
  })
  if (parent && isLiving(parent)) draft.emit(parent.uuid, { type: 'child.spawned', child: uuid, childPid: pid })
  else if (origin.parentUuid !== null) draft.emit(uuid, { type: 'process.reparented', parent: null, ...payerOfFork(draft, origin) })
  if (note !== null) draft.emit(uuid, { type: 'process.note', text: note })
  if (message) enqueueMessage(draft, uuid, { id: message.id, from: by, text: message.text, urgent: true })
  return note
}

/** The payer of a fork whose spawner has ended: the payer of its origin, if that lives. */
function payerOfFork(draft: DecisionDraft, { payer }: Process): { readonly payer?: Uuid } {
  const process = typeof payer === 'string' ? draft.get(payer) : undefined
  return process && isLiving(process) ? { payer: process.uuid } : {}
}

/** Checks that a process can be forked. Errors: NOT_RESUMABLE, with an alternative in the message. */
export function checkForkable(process: Process): void {
  const obstacle = forkObstacle(process)
  if (obstacle !== null) throw new KernelError('NOT_RESUMABLE', obstacle)
}

/** The reason why a process cannot be forked; null: its row shows none. */
export function forkObstacle({ spec, sessionId, forkOf, pid }: Process): string | null {
  if (isPlainCommand(spec)) return `a command has no session to fork${spec.input ? '' : '; `reeve resume --rerun` runs it again'}`
  if (supervisesChildren({ spec })) return `a ${spec.driver} has no history to fork; its children may have one`
  if (spec.format === 'gemini') return 'Gemini CLI cannot fork its sessions; it can be resumed'
  return isExternal(spec) && sessionId === null && forkOf === undefined ? `process ${pid} reported no session that can be forked` : null
}

/** The fork point at the current state. Null while a step is open: a reader of the journal then finds the end of the last complete step. */
export function forkPointNow(process: Process): ForkPoint | null {
  const { modelOpen, openCalls, wholeStep: step, step: last } = process.progress
  // The session of an external agent also has its incomplete steps, so any state will do.
  if (!isExternal(process.spec) && (modelOpen || openCalls.length > 0 || step !== last)) return null
  return { step, seq: process.seq, state: forkState(process) }
}

/** The state that a fork takes over from a process. */
export function forkState({ spec, progress, queue, context, usage, sessionId, forkOf, seq }: Process): ForkState {
  const { turn, turnOpen, lastText } = progress
  return {
    turn,
    turnOpen,
    lastText,
    // A signal is addressed to this process, not to its forks.
    queue: queue.filter(({ id }) => !isSignalMessage(id)),
    sessionId: isExternal(spec) ? (sessionId ?? forkOf ?? null) : null,
    contextTokens: usage.contextTokens,
    context: contextAt(context, seq),
  }
}

/** The context as of fact `seq`, in the form that a checkpoint can store. An empty context is null, and the last range ends at `seq`. */
function contextAt(context: Process['context'], seq: number): ContextState | null {
  if (!context || (context.window === null && context.ranges === null && context.compactedStep === null)) return null
  return { ...context, compacting: false, ranges: context.ranges && closeRangesAt(context.ranges, seq) }
}

/** The fields of a checkpoint for forks; empty if too many messages are queued. */
export function checkpointState({ progress, queue, context, usage }: Process): { readonly state?: CheckpointState } {
  if (queue.length > MAX_QUEUED) return {}
  const { modelOpen, turnOpen } = progress
  const { compactedStep = null, window = null } = context ?? {}
  return { state: { modelOpen, turnOpen, queue, compactedStep, window, contextTokens: usage.contextTokens } }
}

export type CheckpointFact = Fact & { readonly body: Extract<Fact['body'], { type: 'checkpoint.written' }> }

/**
 * The process at the last of `facts`: all facts of the process, or all after `checkpoint`. Only the fields that
 * `forkState` reads are restored. Null if the checkpoint has no state for forks.
 */
export function processAt(process: Process, checkpoint: CheckpointFact | null, facts: readonly Fact[]): Process | null {
  const before = checkpoint === null ? undefined : restoreCheckpoint(process, checkpoint)
  if (before === null) return null
  return facts.reduce<Process | undefined>((last, fact) => fold(last, fact), before) ?? null
}

function restoreCheckpoint(process: Process, { seq, at, body }: CheckpointFact): Process | null {
  const { step, ranges, turn, openCalls, state } = body
  if (state === undefined) return null
  const { modelOpen, turnOpen, queue, compactedStep, window, contextTokens } = state
  const open = modelOpen || openCalls.length > 0
  const checkpoint: Checkpoint = { step, seq, at }
  return {
    ...process,
    life: { state: 'running', activity: 'working', holds: [], stopping: null, drained: false, midway: false, attached: true },
    progress: {
      step: open ? step + 1 : step,
      modelOpen,
      attempt: 0,
      openCalls: openCalls.map(({ askedAt: _, ...call }) => call),
      wholeStep: step,
      turn,
      turnOpen,
      lastText: null,
    },
    usage: { ...process.usage, contextTokens },
    queue,
    asks: [],
    context: { window, compactedStep, compacting: false, ranges: compactedStep === null ? null : ranges },
    checkpoint,
    seq,
  }
}
