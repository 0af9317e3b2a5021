// Spawn and start: from a request to a row, and from a row to a driver that is asked to run it.
// Owns the checks before a row exists, and how work that was cut off is closed before a driver goes on with it.
// Test: test/tables/spawning.test.ts.
import { KernelError } from './errors.ts'
import { inheritedHolds } from './pausing.ts'
import type { InputOf } from './inputs.ts'
import type { ContainmentIntent, Hold, Process, Sender, Uuid } from './types.ts'
import type { Work } from './work.ts'

const MAX_DEPTH = 64

/** What the model reads for a call whose outcome nobody knows. */
export const INTERRUPTED_CALL = 'interrupted; it may or may not have happened'

export function spawn(work: Work, input: InputOf<'spawn'>): void {
  const { uuid, spec } = input
  const parent = checkParent(work, input.parent)
  checkRoom(work)
  checkName(work, spec.name)
  if (work.get(uuid)) throw new KernelError('CONFLICT', `${uuid} is in use`)
  const depth = (parent?.depth ?? 0) + 1
  if (depth > MAX_DEPTH) throw new KernelError('RESOURCE_EXHAUSTED', `processes may be nested ${MAX_DEPTH} deep`)
  const pid = work.takePid()
  work.emit(uuid, { type: 'process.spawned', pid, spec, parentUuid: input.parent, depth, by: input.by })
  if (spec.driver !== 'command' && spec.intent !== '') {
    work.emit(uuid, { type: 'process.queue', id: 'intent', from: input.by, text: spec.intent })
  }
  if (parent) work.emit(parent.uuid, { type: 'child.spawned', child: uuid, childPid: pid })
  work.effect({ type: 'reply', to: input.reply, value: { type: 'done', uuid, affected: 1, childrenGoOn: 0, note: null } })
  work.effect({ type: 'start', uuid, pid })
}

export function checkRoom(work: Work): void {
  if (work.active < work.maxProcesses) return
  throw new KernelError('RESOURCE_EXHAUSTED', `${work.active} processes run, and ${work.maxProcesses} may`)
}

export function checkName(work: Work, name: string | null): void {
  if (name === null) return
  const other = work.named(name)
  if (other !== undefined) throw new KernelError('CONFLICT', `a living process is called "${name}"`, { uuid: other })
}

function checkParent(work: Work, uuid: Uuid | null): Process | undefined {
  if (uuid === null) return undefined
  const parent = work.get(uuid)
  if (!parent || parent.life.state === 'zombie' || parent.life.state === 'dead') throw new KernelError('NOT_FOUND', `no living parent ${uuid}`)
  if (parent.life.state === 'running' && parent.life.stopping) throw new KernelError('INVALID', `parent ${parent.pid} is stopping`)
  return parent
}

/** The daemon's answer to a `start` effect; things may have changed since, and then it does nothing. */
export function start(work: Work, input: InputOf<'start'>): void {
  const process = work.get(input.uuid)
  if (!process || process.pid !== input.pid) return
  const { life } = process
  const idle = life.state === 'running' && !life.attached && !life.stopping && life.holds.length === 0
  if (life.state !== 'created' && !idle) return
  if (input.missingKeys.length > 0) waitForKeys(work, process, input.missingKeys)
  else if (life.state === 'created') begin(work, process, input.containment)
  else attach(work, process, input.containment)
}

function waitForKeys(work: Work, process: Process, missing: readonly string[]): void {
  const hold: Hold = { reason: 'credentials', by: 'system', at: work.now.wall }
  if (process.life.state === 'created') beginHeld(work, process, [hold])
  else work.emit(process.uuid, { type: 'process.held', hold, mono: work.now.mono })
  work.emit(process.uuid, { type: 'process.note', text: `needs ${missing.join(', ')}` })
}

function begin(work: Work, process: Process, containment: ContainmentIntent): void {
  const inherited = inheritedHolds(work, process)
  if (inherited.length > 0) {
    beginHeld(work, process, inherited)
    return
  }
  work.emit(process.uuid, { type: 'process.started', mono: work.now.mono, attached: true, containment })
  closeOpenWork(work, process.uuid)
  work.effect({ type: 'driver.start', uuid: process.uuid, pid: process.pid })
}

/** A process that is paused before it began runs without a driver until its last hold is gone. */
export function beginHeld(work: Work, process: Process, holds: readonly Hold[]): void {
  work.emit(process.uuid, { type: 'process.started', mono: work.now.mono, attached: false, containment: null })
  for (const held of holds) work.emit(process.uuid, { type: 'process.held', hold: held, mono: work.now.mono })
}

function attach(work: Work, process: Process, containment: ContainmentIntent): void {
  work.emit(process.uuid, { type: 'process.attached', containment })
  closeOpenWork(work, process.uuid)
  work.effect({ type: 'driver.start', uuid: process.uuid, pid: process.pid })
}

/** What an earlier incarnation left open: a model call is void; a call that may not run twice gets its honest answer. */
function closeOpenWork(work: Work, uuid: Uuid): void {
  const { progress } = work.need(uuid)
  if (progress.modelOpen) {
    work.emit(uuid, { type: 'model.failed', step: progress.step, attempt: progress.attempt, error: 'interrupted', status: null, retryInMs: 0 })
  }
  for (const call of progress.openCalls) {
    if (call.effect === 'once') closeCall(work, uuid, call)
  }
}

export function closeCall(work: Work, uuid: Uuid, call: { readonly callId: string; readonly name: string }): void {
  const { step } = work.need(uuid).progress
  work.emit(uuid, { type: 'tool.finished', step, callId: call.callId, name: call.name, outcome: 'interrupted', content: INTERRUPTED_CALL, durationMs: 0 })
}

/** A message into the queue. Errors: RESOURCE_EXHAUSTED at 1,000. */
export function enqueue(work: Work, uuid: Uuid, message: { readonly id: string; readonly from: Sender; readonly text: string }): void {
  if (work.need(uuid).queue.length >= MAX_QUEUE) throw new KernelError('RESOURCE_EXHAUSTED', `${MAX_QUEUE} messages wait already`)
  work.emit(uuid, { type: 'process.queue', ...message })
}

/** messages per process */
const MAX_QUEUE = 1_000
