// Forks: a new process that goes on from a step of another one's history. It copies no fact: its own begin after the last
// one of its origin that it names, with the next number, so that the two read as one journal.
// Owns where a fork may begin, and what of its origin it goes on with. The origin is never changed.
// Tests: test/tables/forking.test.ts, test/properties/forking.test.ts.
import { isExternal, isPlainCommand } from './capabilities.ts'
import { keepsChildren, unkept } from './children.ts'
import { KernelError } from './errors.ts'
import { fold } from './fold.ts'
import { checkReviver, checkSpawner, permitted } from './permitting.ts'
import { upTo } from './ranges.ts'
import { isOfSignal } from './signals.ts'
import { checkName, checkRoom, enqueue } from './spawning.ts'
import { isLiving } from './status.ts'
import type { CheckpointState, Fact, ForkState, Origin } from './facts.ts'
import type { InputOf } from './inputs.ts'
import type { Checkpoint, ContextState } from './ranges.ts'
import type { Process, Uuid } from './types.ts'
import type { Work } from './work.ts'

/** A place of a journal at which a step was whole, and what the process was there. */
export interface ForkPoint {
  readonly step: number
  readonly seq: number
  readonly state: ForkState
}

/** More waiting messages than these do not fit a checkpoint. */
const MAX_QUEUED = 16

export function fork(work: Work, input: InputOf<'fork'>): void {
  const { uuid, reply } = input
  const note = makeFork(work, input)
  work.effect({ type: 'reply', to: reply, value: { type: 'done', uuid, affected: 1, childrenGoOn: 0, note } })
  work.effect({ type: 'start', uuid, pid: work.need(uuid).pid })
}

/** The fork is there, and nobody has begun it yet. Gives a remark. Errors: those of a spawn, and of a resume. */
export function makeFork(work: Work, input: InputOf<'fork'>): string | null {
  const { uuid, origin, at, message, childId } = input
  const { by } = input
  checkForkable(origin)
  checkReviver(work, by, origin, false)
  checkSpawner(work, by, origin.spec, origin.parentUuid)
  const { spec, note } = permitted(work, { by, spec: { ...unkept(input.spec ?? { ...origin.spec, name: null }), ...(childId === undefined ? {} : { childId }) }, before: origin.spec, parent: origin.parentUuid })
  checkRoom(work)
  checkName(work, spec.name)
  if (work.get(uuid)) throw new KernelError('CONFLICT', `${uuid} is in use`)
  const pid = work.takePid()
  const parent = origin.parentUuid === null ? undefined : work.get(origin.parentUuid)
  const link: Origin = { uuid: origin.uuid, step: at.step, seq: at.seq }
  work.emit(uuid, { type: 'process.forked', pid, spec, parentUuid: origin.parentUuid, depth: origin.depth, by: input.by, origin: link, state: at.state })
  if (parent && isLiving(parent)) work.emit(parent.uuid, { type: 'child.spawned', child: uuid, childPid: pid })
  else if (origin.parentUuid !== null) work.emit(uuid, { type: 'process.reparented', parent: null, ...payerOfFork(work, origin) })
  if (note !== null) work.emit(uuid, { type: 'process.note', text: note })
  if (message) enqueue(work, uuid, { id: message.id, from: input.by, text: message.text, urgent: true })
  return note
}

/** Who spawned its origin has ended: who pays for that now pays for the fork too. */
function payerOfFork(work: Work, { payer }: Process): { readonly payer?: Uuid } {
  const process = typeof payer === 'string' ? work.get(payer) : undefined
  return process && isLiving(process) ? { payer: process.uuid } : {}
}

/** Errors: `NOT_RESUMABLE` with what could be done instead. */
export function checkForkable(process: Process): void {
  const obstacle = forkObstacle(process)
  if (obstacle !== null) throw new KernelError('NOT_RESUMABLE', obstacle)
}

/** Why nothing can be forked of it; null: it can, as far as its row says. */
export function forkObstacle({ spec, sessionId, forkOf, pid }: Process): string | null {
  if (isPlainCommand(spec)) return 'a command has no session to fork; it can be run again with `reeve resume --rerun`'
  if (keepsChildren({ spec })) return `a ${spec.driver} has no history to fork; its children may have`
  if (spec.format === 'gemini') return 'Gemini CLI cannot fork its sessions; it can be resumed'
  return isExternal(spec) && sessionId === null && forkOf === undefined ? `process ${pid} told no session that could be forked` : null
}

/** The newest place: as it is now, unless a step is open; then where the last whole one ended, which must be looked for (null). */
export function forkPointNow(process: Process): ForkPoint | null {
  const { modelOpen, openCalls, wholeStep: step, step: last } = process.progress
  // What an agent of others has said is in its session, whole or not.
  if (!isExternal(process.spec) && (modelOpen || openCalls.length > 0 || step !== last)) return null
  return { step, seq: process.seq, state: forkState(process) }
}

export function forkState({ spec, progress, queue, context, usage, sessionId, forkOf, seq }: Process): ForkState {
  const { turn, turnOpen, lastText } = progress
  return {
    // A signal was sent to this process, and to no fork of it.
    turn, turnOpen, lastText, queue: queue.filter(({ id }) => !isOfSignal(id)), sessionId: isExternal(spec) ? (sessionId ?? forkOf ?? null) : null, contextTokens: usage.contextTokens,
    context: contextAt(context, seq),
  }
}

/** A checkpoint cannot tell nothing from nothing known, nor where the last part, which goes on, was said to end. */
function contextAt(context: Process['context'], seq: number): ContextState | null {
  if (!context || (context.window === null && context.ranges === null && context.compactedStep === null)) return null
  return { ...context, compacting: false, ranges: context.ranges && upTo(context.ranges, seq) }
}

/** What a checkpoint says of the queue and the context, as far as its other fields do not. */
export function checkpointState({ progress, queue, context, usage }: Process): { readonly state?: CheckpointState } {
  if (queue.length > MAX_QUEUED) return {}
  const { modelOpen, turnOpen } = progress
  const { compactedStep = null, window = null } = context ?? {}
  return { state: { modelOpen, turnOpen, queue, compactedStep, window, contextTokens: usage.contextTokens } }
}

export type CheckpointFact = Fact & { readonly body: Extract<Fact['body'], { type: 'checkpoint.written' }> }

/**
 * The process as it was when it had the last of these facts: all that it has, or those after a checkpoint. Null for a
 * checkpoint that does not say enough. Only what `forkState` reads is as it was.
 */
export function processAt(process: Process, checkpoint: CheckpointFact | null, facts: readonly Fact[]): Process | null {
  const before = checkpoint === null ? undefined : atCheckpoint(process, checkpoint)
  if (before === null) return null
  return facts.reduce<Process | undefined>((last, fact) => fold(last, fact), before) ?? null
}

function atCheckpoint(process: Process, { seq, at, body }: CheckpointFact): Process | null {
  const { step, ranges, turn, openCalls, state } = body
  if (state === undefined) return null
  const { modelOpen, turnOpen, queue, compactedStep, window, contextTokens } = state
  const open = modelOpen || openCalls.length > 0
  const checkpoint: Checkpoint = { step, seq, at }
  return {
    ...process,
    life: { state: 'running', activity: 'working', holds: [], stopping: null, drained: false, midway: false, attached: true },
    progress: { step: open ? step + 1 : step, modelOpen, attempt: 0, openCalls, wholeStep: step, turn, turnOpen, lastText: null },
    usage: { ...process.usage, contextTokens },
    queue,
    asks: [],
    context: { window, compactedStep, compacting: false, ranges: compactedStep === null ? null : ranges },
    checkpoint,
    seq,
  }
}
