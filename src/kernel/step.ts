// The kernel's one entry: step(view, input) → { changes, effects }. Synchronous, pure, copies no table.
// Owns the switch over inputs. An operating error becomes a `refuse` effect, and changes
// nothing but the journal of an agent that asked for what it may not do.
// Tests: test/properties/kernel.test.ts, test/simulation.
import { answer } from './asking.ts'
import { boot } from './booting.ts'
import { isPlainCommand, takesMessages } from './capabilities.ts'
import { hasChildren } from './children.ts'
import { nodeMade, resumeNode } from './composing.ts'
import { crew } from './crewing.ts'
import { moved } from './crew-queues.ts'
import { retire } from './crewmates.ts'
import { freezeAt, timeoutAt } from './deadline.ts'
import { checkpointState, fork } from './forking.ts'
import { ERRORS, KernelError } from './errors.ts'
import { TIMED_OUT } from './exit.ts'
import { liveness } from './liveness.ts'
import { loop } from './loops.ts'
import { wakeAfter, warnOfLimits } from './budgets.ts'
import { hold } from './holding.ts'
import { actionOf, noRoomFor, usedOf } from './limits.ts'
import { reach } from './reaching.ts'
import { release, settle } from './pausing.ts'
import { checkOwn, checkWriter, recordRefusal } from './permitting.ts'
import { upTo } from './ranges.ts'
import { comeBackHeld, wakeDue } from './rate-limits.ts'
import { reap, terminate } from './release.ts'
import { beginIfDue, waitsForRestart } from './restarting.ts'
import { report } from './reporting.ts'
import { resume } from './resuming.ts'
import { deliverPending, handle, mask, signal } from './signalling.ts'
import { beginHeld, enqueue, spawn, start } from './spawning.ts'
import { isLiving } from './status.ts'
import { heed, removeChild } from './supervising.ts'
import { Work } from './work.ts'
import { endWrapUp } from './wrapping-up.ts'
import type { Input, InputOf } from './inputs.ts'
import type { Hold, Process, Sender, Uuid } from './types.ts'
import type { View } from './view.ts'
import type { Decision } from './work.ts'

export function step(view: View, input: Input): Decision {
  const work = new Work(view, input.now)
  try {
    decide(work, input)
    heed(work)
    return work.decision()
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    if (!('reply' in input)) throw error
    const { code, message, details, hint } = error
    const refused = new Work(view, input.now)
    recordRefusal(refused, input, error)
    refused.effect({ type: 'refuse', to: input.reply, code, message, ...(details ? { details } : {}), ...(hint === ERRORS[code].hint ? {} : { hint }) })
    return refused.decision()
  }
}

function decide(work: Work, input: Input): void {
  switch (input.type) {
    case 'spawn': return spawn(work, input)
    case 'start': return start(work, input)
    case 'signal': return signal(work, input)
    case 'resume': return resume(work, input)
    case 'fork': return fork(work, input)
    case 'pin': return pin(work, input)
    case 'removeChild': return removeChild(work, input)
    case 'composeNode': return nodeMade(work, input)
    case 'composeResume': return resumeNode(work, input)
    case 'crew': return crew(work, input)
    case 'crewMoved': return moved(work, input)
    case 'retire': return retire(work, input)
    case 'send': return send(work, input)
    case 'take': return take(work, input)
    case 'answer': return answer(work, input)
    case 'mask': return mask(work, input)
    case 'handle': return handle(work, input)
    case 'hold': return holdAll(work, input)
    case 'release': return releaseAll(work, input)
    case 'report': return report(work, input)
    case 'released': return released(work, input)
    case 'checkpoint': return checkpoint(work, input)
    case 'liveness': return liveness(work, input)
    case 'loop': return loop(work, input)
    case 'tick': return tick(work, input)
    case 'boot': return boot(work, input)
  }
}

function send(work: Work, input: InputOf<'send'>): void {
  const process = work.get(input.uuid)
  if (!process || !isLiving(process)) throw new KernelError('NOT_FOUND', `process ${process?.pid ?? input.uuid} has ended`)
  if (isPlainCommand(process.spec)) throw new KernelError('INVALID', 'a plain command takes no messages')
  if (!takesMessages(process.spec)) throw new KernelError('INVALID', `process ${process.pid} takes no messages while it runs: when it has ended, resume it with one`, undefined, process.spec.crew ? 'Its members do: `reeve crew send`.' : undefined)
  checkWriter(work, input.by, process)
  countMessage(work, input)
  enqueue(work, input.uuid, { id: input.id, from: input.by, text: input.text })
  settle(work, input.uuid)
  work.effect({ type: 'reply', to: input.reply, value: { type: 'done', uuid: input.uuid, affected: 1, childrenGoOn: 0, note: null } })
}

/** It has read what waits for it, in the middle of its turn: no turn begins by that any more. What a crew told it begins one all the same. */
function take(work: Work, input: InputOf<'take'>): void {
  const { uuid, by, ids } = input
  const process = work.get(uuid)
  if (!process || !isLiving(process)) throw new KernelError('NOT_FOUND', `process ${process?.pid ?? uuid} has ended`)
  checkOwn(by, process, 'the messages')
  const waiting = new Map(process.queue.map(({ id, from }) => [id, from]))
  const kept = ids.filter((id) => isOfCrew(waiting.get(id)))
  if (kept.length > 0) throw new KernelError('INVALID', `${kept.join(', ')}: what a coordinator or reeve said begins a turn of its own, and is not taken before`)
  const taken = ids.filter((id) => waiting.has(id))
  for (const id of taken) work.emit(uuid, { type: 'message.taken', id, turn: process.progress.turn })
  const left = ids.length - taken.length
  const note = left === 0 ? null : `${left} of them ${left === 1 ? 'does' : 'do'} not wait: taken before, or delivered`
  work.effect({ type: 'reply', to: input.reply, value: { type: 'done', uuid, affected: taken.length, childrenGoOn: 0, note } })
}

function isOfCrew(from: Sender | undefined): boolean {
  return from === 'coordinator' || from === 'system'
}

/** What an agent sends counts against its limit. Errors: RESOURCE_EXHAUSTED. */
function countMessage(work: Work, { by, uuid, id }: InputOf<'send'>): void {
  const sender = by.startsWith('agent:') ? work.get(by.slice('agent:'.length)) : undefined
  if (!sender) return
  const reached = noRoomFor(work, sender, 'message', work.now.mono)
  if (reached) throw new KernelError('RESOURCE_EXHAUSTED', `process ${reached.scope.pid} may send ${reached.of} messages, with all below it`)
  work.emit(sender.uuid, { type: 'message.sent', to: uuid, id })
  warnOfLimits(work, work.need(sender.uuid))
}

/** Kept by the collector until it is unpinned; it may be dead. */
function pin(work: Work, input: InputOf<'pin'>): void {
  const process = work.get(input.uuid) ?? input.frozen
  if (!process) throw new KernelError('NOT_FOUND', `no process ${input.uuid}`)
  checkOwn(input.by, process, 'whether it is kept')
  const changes = process.pinned !== input.pinned
  if (!work.get(process.uuid)) work.bring(process)
  if (changes) work.emit(process.uuid, { type: 'process.pinned', pinned: input.pinned, by: input.by })
  const note = changes ? null : `it was ${input.pinned ? 'pinned already' : 'not pinned'}`
  work.effect({ type: 'reply', to: input.reply, value: { type: 'done', uuid: process.uuid, affected: changes ? 1 : 0, childrenGoOn: 0, note } })
}

function holdAll(work: Work, input: InputOf<'hold'>): void {
  const running = input.uuid === null ? [...work.all()] : [input.uuid]
  for (const uuid of running) {
    const process = work.get(uuid)
    const added: Hold = { reason: input.reason, by: 'system', at: work.now.wall }
    // A restart that waits has nothing to drain, and the next daemon knows how long it is to wait.
    if (input.reason === 'daemon-shutdown' && process && waitsForRestart(process)) continue
    if (process?.life.state === 'created') beginHeld(work, process, added)
    else if (process?.life.state === 'running' && !process.life.stopping) hold(work, uuid, added, false)
  }
}

function releaseAll(work: Work, input: InputOf<'release'>): void {
  const held = input.uuid === null ? [...work.all()] : [input.uuid]
  for (const uuid of held) {
    if (work.get(uuid)) release(work, uuid, 'system', (other) => other.reason === input.reason && other.by === 'system')
  }
}

function released(work: Work, input: InputOf<'released'>): void {
  const process = work.get(input.uuid)
  if (process?.life.state !== 'zombie' || process.pid !== input.pid) return
  if (input.survivors.length === 0) {
    reap(work, process)
    wakeAfter(work, process)
    comeBackHeld(work, work.need(process.uuid))
    return
  }
  // It is tried again every few seconds: what was said is not said again.
  const message = `still alive after the kill: ${input.survivors.join(', ')}`
  if (process.note !== message) work.emit(process.uuid, { type: 'process.error', message })
}

function checkpoint(work: Work, input: InputOf<'checkpoint'>): void {
  const process = work.get(input.uuid)
  if (process?.life.state !== 'running' || process.pid !== input.pid) return
  const { uuid, seq, progress, context } = process
  const { wholeStep: step, turn, openCalls } = progress
  if (input.error !== null) work.emit(uuid, { type: 'checkpoint.failed', step, error: input.error })
  else work.emit(uuid, { type: 'checkpoint.written', step, ranges: upTo(context?.ranges ?? [[1, seq]], seq), turn, openCalls, ...checkpointState(process) })
}

/** Acts on the deadlines that have come; each leaves a state in which it is no longer one. */
function tick(work: Work, { uuid, now }: InputOf<'tick'>): void {
  const process = work.get(uuid)
  if (process?.life.state === 'created') return beginIfDue(work, process)
  if (process?.life.state !== 'running') return
  if (process.life.stopping) return endWrapUp(work, process)
  const timeout = timeoutAt(process)
  if (timeout !== null && timeout <= now.mono) return timeIsOver(work, process)
  warnOfLimits(work, process)
  deliverPending(work, uuid)
  wakeDue(work, work.need(uuid))
  freezeIfDue(work, uuid)
}

/** Looks at the process as its pending signals have left it: one may have added the hold that makes the freeze due, or have ended the pause. */
function freezeIfDue(work: Work, uuid: Uuid): void {
  const process = work.need(uuid)
  if (process.life.state !== 'running' || process.life.stopping) return
  const freeze = freezeAt(process)
  if (freeze === null || freeze > work.now.mono) return
  work.emit(uuid, { type: 'process.drained', inFlight: 'frozen: it did not drain in time' })
  work.effect({ type: 'driver.pause', uuid, pid: process.pid, freeze: true })
}

function timeIsOver(work: Work, process: Process): void {
  const { limits } = process.spec
  if (actionOf(limits, 'timeoutMs') === 'terminate') return stopByTimeout(work, process)
  const used = usedOf(work, process, 'timeoutMs', work.now.mono)
  reach(work, process, { limit: 'timeoutMs', used, of: limits.timeoutMs ?? 0, scope: process, waits: false })
}

function stopByTimeout(work: Work, process: Process): void {
  const { uuid, pid, life } = process
  if (life.state !== 'running' || !life.attached) return terminate(work, process, TIMED_OUT)
  const graceMs = Math.max(TIMEOUT_GRACE_MS, process.spec.graceMs ?? 0)
  work.emit(uuid, { type: 'process.stopping', stopping: { signal: 'SIGTERM', by: 'system', at: work.now.wall, graceMs, exit: TIMED_OUT } })
  if (hasChildren(work, process)) {
    work.news.push({ type: 'stopping', uuid, signal: 'SIGTERM' })
    return
  }
  work.effect({ type: 'driver.stop', uuid, pid, signal: 'SIGTERM', graceMs })
}

/** Grace of a process whose time is over. */
const TIMEOUT_GRACE_MS = 10_000
