// What a fact adds to what its process has used, and to which model it belongs: for sums over many processes and over time.
// Owns how a call finds its model. Counts exactly what the fold counts (fold.ts), so that the sums are those of the processes.
// Test: test/properties/usage.test.ts.
import type { FactBody, FactType } from './facts.ts'
import type { CallUsage } from './types.ts'

/** What must be known of the facts before. */
export interface SpendingState {
  /** the last step that a call was started of */
  readonly step: number
  /** whom the open call, or the last one, asked; '' before the first */
  readonly model: string
  /** whom a summary is asked of, while it is open */
  readonly summary?: string
  /** calls through the gateway that are open: their models */
  readonly calls?: Readonly<Record<string, string>>
}

/** Steps and calls of one model. */
export interface Spending extends CallUsage {
  readonly model: string
  readonly steps: number
}

/** The facts that say something here. */
export const SPENDING_FACTS = [
  'process.spawned', 'process.forked', 'model.started', 'model.finished', 'model.failed', 'usage.reported',
  'compaction.started', 'compaction.failed', 'context.compacted', 'call.started', 'call.finished',
] as const satisfies readonly FactType[]

export const NO_SPENDING: SpendingState = { step: 0, model: '' }

/** The state after a fact; and what it adds, null if that is nothing. */
export function spend(state: SpendingState, body: FactBody): { readonly state: SpendingState; readonly spending: Spending | null } {
  const { model, summary, calls = {} } = state
  switch (body.type) {
    case 'process.spawned': return nothing({ step: 0, model: body.spec.model ?? '' })
    case 'process.forked': return nothing({ step: body.origin.step, model: body.spec.model ?? '' })
    case 'model.started': return { state: { ...state, step: body.step, model: body.model }, spending: body.step > state.step ? { ...NOTHING, model: body.model, steps: 1 } : null }
    case 'model.finished':
    case 'usage.reported': return used(state, model, body.usage)
    case 'model.failed': return used(state, model, body.usage)
    case 'compaction.started': return nothing({ ...state, summary: body.model })
    case 'compaction.failed':
    case 'context.compacted': return used(withoutSummary(state), summary ?? model, body.usage)
    case 'call.started': return nothing({ ...state, calls: { ...calls, [body.call]: `${body.provider}/${body.model}` } })
    case 'call.finished': return used(withoutCall(state, body.call), calls[body.call] ?? model, body.usage)
    default: return nothing(state)
  }
}

const NOTHING: CallUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

function nothing(state: SpendingState): ReturnType<typeof spend> {
  return { state, spending: null }
}

function used(state: SpendingState, model: string, usage: CallUsage | undefined): ReturnType<typeof spend> {
  return { state, spending: usage === undefined ? null : { ...usage, model, steps: 0 } }
}

function withoutSummary({ summary: _, ...state }: SpendingState): SpendingState {
  return state
}

function withoutCall({ calls, ...state }: SpendingState, call: string): SpendingState {
  const left = Object.entries(calls ?? {}).filter(([name]) => name !== call)
  return left.length === 0 ? state : { ...state, calls: Object.fromEntries(left) }
}
