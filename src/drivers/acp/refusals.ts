// What an agent of the protocol is refused, as the kernel hears of it: each is a fact, so their length and their number have a
// limit, as an agent may ask without end. Owns those limits; refuses nothing by itself. Test: test/tables/acp-refusals.test.ts.
import type { CapabilityName } from '../../kernel/facts.ts'
import type { Saying } from './saying.ts'

export type Refused = (what: CapabilityName, detail: string, callId?: string) => void

/** told in one incarnation */
const MAX_REFUSALS = 1_000
const MAX_DETAIL_CHARS = 1_000

export function refusalsTo(saying: Pick<Saying, 'tell' | 'note'>): Refused {
  let told = 0
  return (what, detail, callId) => {
    told += 1
    if (told <= MAX_REFUSALS) saying.tell({ type: 'refused', what, detail: detail.slice(0, MAX_DETAIL_CHARS), ...(callId === undefined ? {} : { callId }) })
    if (told === MAX_REFUSALS) saying.note(`it was refused ${MAX_REFUSALS} things: what comes is refused, and not told any more`)
  }
}
