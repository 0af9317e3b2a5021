// Finds where a fork starts: the fact in the origin's journal that completed a step, and the origin's state after it. Reads only the newest
// checkpoint before that fact, and the facts after it. So step 10,000 costs no more than step 10. Must never change the origin, which may
// run meanwhile. Tests: test/tables/daemon/operations/fork-point.test.ts, test/e2e/lifecycle/fork.test.ts.
import { isExternal } from '../../kernel/model/capabilities.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { fold } from '../../kernel/state/fold.ts'
import { forkPointNow, forkState, processAt } from '../../kernel/decide/fork.ts'
import type { CheckpointFact } from '../../kernel/decide/fork.ts'
import type { Fact, ForkState } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { ForkPoint } from '../../kernel/model/inputs.ts'

/** The reads of journals that a fork needs. */
export type HistoryStore = Pick<Store, 'facts' | 'tail' | 'stepBounds'>

/** The requested start of a fork. Without a field: the current state, or else the end of the last complete step. */
export interface ForkStartOptions {
  readonly fromStep?: number
  readonly fromCheckpoint?: boolean
}

/** Facts per page: those of five steps with one tool call each, which is the distance between checkpoints. */
const PAGE_FACTS = 32
/** Facts that contain a whole state: a checkpoint, and the first fact of a fork. */
const STATE_FACTS = ['checkpoint.written', 'process.forked'] as const

/** Finds the start of a fork. Errors: INVALID with the range of steps, NOT_RESUMABLE with the reason, STORE_DAMAGED. */
export async function findForkPoint(
  store: HistoryStore,
  origin: Process,
  { fromStep, fromCheckpoint = false }: ForkStartOptions,
): Promise<ForkPoint> {
  const last = origin.progress.wholeStep
  const step = fromCheckpoint ? (await newestCheckpoint(store, origin)).body.step : fromStep
  if (step !== undefined && (step < 0 || step > last))
    throw new KernelError(
      'INVALID',
      `process ${origin.pid} has no whole step ${step}: a fork can begin at ${last === 0 ? 'step 0' : `any step from 0 to ${last}`}`,
      { from: 0, to: last },
    )
  const now = step === undefined || (isExternal(origin.spec) && step === last) ? forkPointNow(origin) : null
  if (now !== null) return now
  if (isExternal(origin.spec))
    throw new KernelError(
      'NOT_RESUMABLE',
      `agent ${origin.spec.agent} can only be forked as it is now, after step ${last}: reeve cannot cut the history in its session`,
    )
  return forkPointAtStep(store, origin, step ?? last)
}

/**
 * Checks that the state of the process equals the state that its newest checkpoint and the facts after it give.
 * Errors: NOT_RESUMABLE if there is no checkpoint, STORE_DAMAGED if the states differ.
 */
export async function compareWithCheckpoint(store: HistoryStore, process: Process): Promise<void> {
  const checkpoint = await newestCheckpoint(store, process)
  const rebuilt = await foldUntil(store, process, [checkpoint], (state) => state.seq === process.seq)
  if (!rebuilt || comparableText(forkState(rebuilt)) !== comparableText(forkState(process))) {
    throw new KernelError(
      'STORE_DAMAGED',
      `process ${process.pid} differs from its checkpoint of step ${checkpoint.body.step} with the facts after it; without --from-checkpoint it continues from its journal`,
    )
  }
}

/** Returns the state as text for a comparison. Leaves out the last text for users, which a checkpoint does not store. */
function comparableText({ lastText: _, ...state }: ForkState): string {
  return JSON.stringify(
    state,
    Object.keys(state).toSorted().concat('id', 'from', 'seq', 'urgent', 'window', 'ranges', 'compactedStep', 'compacting'),
  )
}

async function newestCheckpoint(store: HistoryStore, process: Process): Promise<CheckpointFact> {
  const [found] = await store.tail(process.uuid, 1, ['checkpoint.written'])
  if (!found || !isCheckpoint(found))
    throw new KernelError(
      'NOT_RESUMABLE',
      `process ${process.pid} has no checkpoint yet: without --from-checkpoint it continues from its journal, which has steps 0 to ${process.progress.wholeStep}`,
    )
  if (found.body.state === undefined)
    throw new KernelError(
      'NOT_RESUMABLE',
      `the newest checkpoint of process ${process.pid} is incomplete, because too many messages were queued: without --from-checkpoint it continues from its journal`,
    )
  return found
}

function isCheckpoint(fact: Fact): fact is CheckpointFact {
  return fact.body.type === 'checkpoint.written'
}

/** Finds the point at which a step was completed. Step 0 ends when the first model call starts. Errors: STORE_DAMAGED, COLLECTED. */
async function forkPointAtStep(store: HistoryStore, origin: Process, step: number): Promise<ForkPoint> {
  const bounds = await store.stepBounds(origin.uuid, Math.max(1, step))
  if (!bounds && step > 0) throw await missingFactsError(store, origin, `has no step ${step}`)
  // Facts after the read row do not count: the origin may have started another step since.
  const beforeSeq = Math.min(bounds?.first ?? Infinity, origin.seq + 1)
  const isAtPoint = step === 0 ? (state: Process) => state.seq === beforeSeq - 1 : (state: Process) => state.progress.wholeStep === step
  const found = await foldUntil(store, origin, stateFactsBefore(store, origin, beforeSeq), isAtPoint)
  if (!found) throw await missingFactsError(store, origin, `does not reach the end of step ${step}`)
  return { step, seq: found.seq, state: forkState(found) }
}

/** Returns the error for a journal that lacks facts: the process was removed meanwhile, or the journal is damaged. */
async function missingFactsError(store: HistoryStore, { uuid, pid }: Process, what: string): Promise<KernelError> {
  const isRemoved = (await store.facts(uuid, 0, 1)).length === 0
  return isRemoved
    ? new KernelError('COLLECTED', `process ${pid} was removed during the request`)
    : new KernelError('STORE_DAMAGED', `the journal of process ${pid} ${what}`)
}

/** The facts with a whole state from which a fold can start, newest first; null stands for the beginning of the journal. */
async function* stateFactsBefore(store: HistoryStore, { uuid }: Process, seq: number): AsyncGenerator<Fact | null> {
  for (let beforeSeq = seq; ;) {
    const [found] = await store.tail(uuid, 1, STATE_FACTS, beforeSeq)
    yield found ?? null
    if (!found) return
    beforeSeq = found.seq
  }
}

/**
 * Folds the journal from the first usable one of the starting facts. Returns the first state for which `isAtPoint` is true; null if there
 * is none.
 */
async function foldUntil(
  store: HistoryStore,
  origin: Process,
  startFacts: AsyncIterable<Fact | null> | Iterable<Fact>,
  isAtPoint: (state: Process) => boolean,
): Promise<Process | null> {
  for await (const start of startFacts) {
    const initial = start === null ? null : processAt(origin, isCheckpoint(start) ? start : null, isCheckpoint(start) ? [] : [start])
    if (start !== null && initial === null) continue
    return foldFrom(store, origin, initial, isAtPoint)
  }
  return null
}

/** Folds the facts after `initial` until `isAtPoint` is true; null if the origin's last fact comes first. */
async function foldFrom(
  store: HistoryStore,
  origin: Process,
  initial: Process | null,
  isAtPoint: (state: Process) => boolean,
): Promise<Process | null> {
  if (initial && isAtPoint(initial)) return initial
  let state = initial ?? undefined
  for (;;) {
    const page = await store.facts(origin.uuid, state?.seq ?? 0, PAGE_FACTS)
    for (const fact of page) {
      // Facts after the read row do not count.
      if (fact.seq > origin.seq) return null
      state = fold(state, fact)
      if (isAtPoint(state)) return state
    }
    if (page.length < PAGE_FACTS) return null
  }
}
