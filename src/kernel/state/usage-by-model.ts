// The usage that a fact adds, and its model, for sums over many processes and over time. Must count exactly what the fold counts (fold.ts),
// so that both sums agree. Test: test/properties/usage-ledger.test.ts.
import type { FactBody, FactType } from '../model/facts.ts'
import type { CallUsage } from '../model/usage.ts'

/** The step and the models of open calls, from earlier facts of the same process. */
export interface SpendingState {
  /** the step of the last call that started */
  readonly step: number
  /** the model of the open or last call; '' before the first */
  readonly model: string
  /** the model of an open summary call */
  readonly summary?: string
  /** models of the open gateway calls */
  readonly calls?: Readonly<Record<string, string>>
}

/** The usage and the steps that one fact adds to one model. */
export interface Spending extends CallUsage {
  readonly model: string
  readonly steps: number
}

/** The types of facts that `foldSpending` reads; it skips all others. */
export const SPENDING_FACTS = [
  'process.spawned',
  'process.forked',
  'model.started',
  'model.finished',
  'model.failed',
  'usage.reported',
  'compaction.started',
  'compaction.failed',
  'context.compacted',
  'call.started',
  'call.finished',
] as const satisfies readonly FactType[]

export const INITIAL_SPENDING_STATE: SpendingState = { step: 0, model: '' }

/** The state after a fact, and the usage that the fact adds; null: none. */
export function foldSpending(state: SpendingState, body: FactBody): { readonly state: SpendingState; readonly spending: Spending | null } {
  const { model, summary, calls = {} } = state
  switch (body.type) {
    case 'process.spawned':
      return withoutSpending({ step: 0, model: body.spec.model ?? '' })
    case 'process.forked':
      return withoutSpending({ step: body.origin.step, model: body.spec.model ?? '' })
    case 'model.started':
      return {
        state: { ...state, step: body.step, model: body.model },
        spending: body.step > state.step ? { ...NOTHING, model: body.model, steps: 1 } : null,
      }
    case 'model.finished':
    case 'usage.reported':
      return withSpending(state, model, body.usage)
    case 'model.failed':
      return withSpending(state, model, body.usage)
    case 'compaction.started':
      return withoutSpending({ ...state, summary: body.model })
    case 'compaction.failed':
    case 'context.compacted':
      return withSpending(withoutSummary(state), summary ?? model, body.usage)
    case 'call.started':
      return withoutSpending({ ...state, calls: { ...calls, [body.call]: `${body.provider}/${body.model}` } })
    case 'call.finished':
      return withSpending(withoutCall(state, body.call), calls[body.call] ?? model, body.usage)
    default:
      return withoutSpending(state)
  }
}

const NOTHING: CallUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

function withoutSpending(state: SpendingState): ReturnType<typeof foldSpending> {
  return { state, spending: null }
}

function withSpending(state: SpendingState, model: string, usage: CallUsage | undefined): ReturnType<typeof foldSpending> {
  return { state, spending: usage === undefined ? null : { ...usage, model, steps: 0 } }
}

function withoutSummary({ summary: _, ...state }: SpendingState): SpendingState {
  return state
}

function withoutCall({ calls, ...state }: SpendingState, call: string): SpendingState {
  const left = Object.entries(calls ?? {}).filter(([name]) => name !== call)
  return left.length === 0 ? state : { ...state, calls: Object.fromEntries(left) }
}
