// Finds the step that each model call at the gateway belongs to. An external agent reports a step when the model begins to answer. So the
// call of a step begins before that step, and after the previous one. Other calls between two steps, such as those of a subagent, count
// for the later step. After the last step of a turn they count for that step. Pure. Test: test/tables/daemon/steps/gateway-calls.test.ts.
import type { FactBody, FactType } from '../../kernel/model/facts.ts'
import type { CallUsage } from '../../kernel/model/usage.ts'

/** The facts that `GatewayCalls` needs besides `model.started`: those of calls at the gateway, and those that end a turn. */
export const GATEWAY_FACTS: readonly FactType[] = ['call.started', 'call.finished', 'process.ready', 'process.exited']

/** The usage of a call, with the step that it belongs to. */
export interface StepUsage {
  readonly step: number
  readonly usage: CallUsage
  readonly contextTokens: number | undefined
  readonly firstTokenMs: number | undefined
}

type Finished = Omit<StepUsage, 'step'>

export class GatewayCalls {
  /** the open calls, each with its step; null: that step has not begun */
  readonly #open = new Map<string, number | null>()
  /** the finished calls whose step has not begun */
  #waiting: Finished[] = []
  /** the last step that has begun; null: none was read */
  #step: number | null = null

  /** Applies the next fact of a history. Returns the usage that belongs to a known step now. */
  apply(body: FactBody): readonly StepUsage[] {
    switch (body.type) {
      case 'call.started':
        this.#open.set(body.call, null)
        return []
      case 'call.finished':
        return this.#finish(body.call, { usage: body.usage, contextTokens: body.contextTokens, firstTokenMs: body.firstTokenMs })
      case 'model.started':
        this.#step = body.step
        for (const [call, known] of this.#open) if (known === null) this.#open.set(call, body.step)
        return this.#takeWaiting()
      case 'process.ready':
      case 'process.exited':
        return this.#takeWaiting()
      default:
        return []
    }
  }

  #finish(call: string, finished: Finished): readonly StepUsage[] {
    const step = this.#open.get(call)
    this.#open.delete(call)
    // In a history that is read from its middle, a call without a begin belongs to an earlier step.
    if (step === undefined) return []
    if (step !== null) return [{ step, ...finished }]
    this.#waiting.push(finished)
    return []
  }

  /** Assigns the waiting usage to the last step. Drops it if no step has begun: it then belongs to no step. */
  #takeWaiting(): readonly StepUsage[] {
    const waiting = this.#waiting
    this.#waiting = []
    const step = this.#step
    return step === null ? [] : waiting.map((finished) => ({ step, ...finished }))
  }
}
