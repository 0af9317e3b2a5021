// Identifiers of processes and senders, and the clocks of an input. Test: test/properties/kernel.test.ts,
// test/tables/kernel/model/ids.test.ts.

/** A UUID v7 of 36 characters, which names one process forever. */
export type Uuid = string

/** The number of one incarnation, below 2^53. The kernel itself is 0. */
export type Pid = number

/** The two clocks of an input: `wall` in ms since the epoch, `mono` in ms on a clock that never jumps. */
export interface Now {
  readonly wall: number
  readonly mono: number
}

/** The sender of a request: the user, the kernel, a crew's coordinator, or an agent by its UUID. */
export type Sender = 'user' | 'system' | 'coordinator' | `agent:${Uuid}`

const AGENT_PREFIX = 'agent:'

/** The UUID in `agent:UUID`; null for every other sender. */
export function agentUuidIn(by: Sender): Uuid | null {
  return by.startsWith(AGENT_PREFIX) ? by.slice(AGENT_PREFIX.length) : null
}
