// Reports to the kernel what an ACP agent was refused. Each report is a fact, and an agent may ask without end, so their length and number
// are limited. Refuses nothing itself. Test: test/tables/drivers/acp/refusals.test.ts.
import type { CapabilityName } from '../../kernel/model/facts.ts'
import type { ReportQueue } from './report-queue.ts'
import { truncate } from '../../kernel/util/truncate.ts'

export type ReportRefusal = (what: CapabilityName, detail: string, callId?: string) => void

/** limit of reported refusals per incarnation */
const MAX_REFUSALS = 1_000
const MAX_DETAIL_CHARS = 1_000

/** Returns a function that reports refusals, up to the limit. */
export function refusalReporter(reports: Pick<ReportQueue, 'post' | 'note'>): ReportRefusal {
  let count = 0
  return (what, detail, callId) => {
    count += 1
    if (count <= MAX_REFUSALS)
      reports.post({ type: 'refused', what, detail: truncate(detail, MAX_DETAIL_CHARS), ...(callId === undefined ? {} : { callId }) })
    if (count === MAX_REFUSALS) reports.note(`${MAX_REFUSALS} of its requests were refused: further refusals are not reported`)
  }
}
