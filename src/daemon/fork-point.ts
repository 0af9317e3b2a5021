// Where a fork begins: the fact of the origin's journal that made a step whole, and what the process was there. Read from
// the newest checkpoint before it and the facts after that, so that it costs the same at step 10 and at step 10,000.
// Must never change anything of the origin, which may go on meanwhile. Tests: test/properties/forking.test.ts, test/e2e/fork.test.ts.
import { isExternal } from '../kernel/capabilities.ts'
import { KernelError } from '../kernel/errors.ts'
import { fold } from '../kernel/fold.ts'
import { forkPointNow, forkState, processAt } from '../kernel/forking.ts'
import type { CheckpointFact, ForkPoint } from '../kernel/forking.ts'
import type { Fact, ForkState } from '../kernel/facts.ts'
import type { Process } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'

export type PastStore = Pick<Store, 'facts' | 'tail' | 'stepBounds'>

/** What was asked for: neither is the end of the last whole step, or now. */
export interface ForkFrom {
  readonly fromStep?: number
  readonly fromCheckpoint?: boolean
}

/** What five steps with a call each take, which is how far apart checkpoints are. */
const PAGE_FACTS = 32
/** A fork's first fact says all that it goes on with, as a checkpoint does. */
const STARTS = ['checkpoint.written', 'process.forked'] as const

/** Errors: INVALID with the steps that there are, NOT_RESUMABLE with the reason, STORE_DAMAGED. */
export async function forkPoint(store: PastStore, origin: Process, { fromStep, fromCheckpoint = false }: ForkFrom): Promise<ForkPoint> {
  const last = origin.progress.wholeStep
  const step = fromCheckpoint ? (await newestCheckpoint(store, origin)).body.step : fromStep
  if (step !== undefined && (step < 0 || step > last)) throw new KernelError('INVALID', `process ${origin.pid} has no whole step ${step}: a fork can begin at ${last === 0 ? 'step 0' : `any step from 0 to ${last}`}`, { from: 0, to: last })
  const now = step === undefined || (isExternal(origin.spec) && step === last) ? forkPointNow(origin) : null
  if (now !== null) return now
  if (isExternal(origin.spec)) throw new KernelError('NOT_RESUMABLE', `agent ${origin.spec.agent} can only be forked as it is now, after step ${last}: its history is its session's, which reeve cannot cut`)
  return atStep(store, origin, step ?? last)
}

/**
 * Insists on the newest checkpoint: what it goes on with is what that says and the facts after it, and nothing that the row
 * remembers. Gives the step of the checkpoint. Errors: NOT_RESUMABLE where there is none, STORE_DAMAGED where both differ.
 */
export async function checkFromCheckpoint(store: PastStore, process: Process): Promise<number> {
  const checkpoint = await newestCheckpoint(store, process)
  const rebuilt = await replay(store, process, [checkpoint], (at) => at.seq === process.seq)
  if (!rebuilt || essence(forkState(rebuilt)) !== essence(forkState(process))) {
    throw new KernelError('STORE_DAMAGED', `process ${process.pid} is not what its checkpoint of step ${checkpoint.body.step} and the facts after it say; without --from-checkpoint it goes on from its journal`)
  }
  return checkpoint.body.step
}

/** All but the text for people, which a checkpoint does not have. */
function essence({ lastText: _, ...state }: ForkState): string {
  return JSON.stringify(state, Object.keys(state).toSorted().concat('id', 'from', 'seq', 'urgent', 'window', 'ranges', 'compactedStep', 'compacting'))
}

async function newestCheckpoint(store: PastStore, process: Process): Promise<CheckpointFact> {
  const [found] = await store.tail(process.uuid, 1, ['checkpoint.written'])
  if (!found || !isCheckpoint(found)) throw new KernelError('NOT_RESUMABLE', `process ${process.pid} has no checkpoint yet: without --from-checkpoint it goes on from its journal, which has steps 0 to ${process.progress.wholeStep}`)
  if (found.body.state === undefined) throw new KernelError('NOT_RESUMABLE', `the newest checkpoint of process ${process.pid} does not say enough, as too many messages waited: without --from-checkpoint it goes on from its journal`)
  return found
}

function isCheckpoint(fact: Fact): fact is CheckpointFact {
  return fact.body.type === 'checkpoint.written'
}

/** The moment at which a step became whole; step 0 is over when the first model call begins. */
async function atStep(store: PastStore, origin: Process, step: number): Promise<ForkPoint> {
  const bounds = await store.stepBounds(origin.uuid, Math.max(1, step))
  if (!bounds && step > 0) throw await missing(store, origin, `has no step ${step}`)
  // Since it was read it may have begun a step that it had not.
  const before = Math.min(bounds?.first ?? Infinity, origin.seq + 1)
  const isThere = step === 0 ? (at: Process) => at.seq === before - 1 : (at: Process) => at.progress.wholeStep === step
  const found = await replay(store, origin, starts(store, origin, before), isThere)
  if (!found) throw await missing(store, origin, `does not come to the end of step ${step}`)
  return { step, seq: found.seq, state: forkState(found) }
}

/** A journal lacks what its row speaks of: it was removed while it was read, or it is damaged. */
async function missing(store: PastStore, { uuid, pid }: Process, what: string): Promise<KernelError> {
  const isGone = (await store.facts(uuid, 0, 1)).length === 0
  return isGone ? new KernelError('COLLECTED', `process ${pid} was removed in this moment`) : new KernelError('STORE_DAMAGED', `the journal of process ${pid} ${what}`)
}

/** What it can be read on from, newest first; the last is the beginning of the journal. */
async function* starts(store: PastStore, { uuid }: Process, before: number): AsyncGenerator<Fact | null> {
  for (let beforeSeq = before; ;) {
    const [found] = await store.tail(uuid, 1, STARTS, beforeSeq)
    yield found ?? null
    if (!found) return
    beforeSeq = found.seq
  }
}

/** The process as it was at the first fact after a start of which `isThere` is true. Null if none is. */
async function replay(store: PastStore, origin: Process, from: AsyncIterable<Fact | null> | Iterable<Fact>, isThere: (at: Process) => boolean): Promise<Process | null> {
  for await (const start of from) {
    const begun = start === null ? null : processAt(origin, isCheckpoint(start) ? start : null, isCheckpoint(start) ? [] : [start])
    if (start !== null && begun === null) continue
    return readOn(store, origin, begun, isThere)
  }
  return null
}

async function readOn(store: PastStore, origin: Process, begun: Process | null, isThere: (at: Process) => boolean): Promise<Process | null> {
  if (begun && isThere(begun)) return begun
  let at = begun ?? undefined
  for (;;) {
    const page = await store.facts(origin.uuid, at?.seq ?? 0, PAGE_FACTS)
    for (const fact of page) {
      // The process as it was read is all that is asked for, and it may have gone on since.
      if (fact.seq > origin.seq) return null
      at = fold(at, fact)
      if (isThere(at)) return at
    }
    if (page.length < PAGE_FACTS) return null
  }
}
