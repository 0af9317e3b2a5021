// The reason of an end as text, in which a process that sent a signal has its name instead of its UUID.
// Test: test/tables/cli/print/process-text.test.ts.
import { reasonText } from '../../src/api/text/exit-reason.ts'
import { nameOf } from '../../src/faces/process-names.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { rows } from '../rows.ts'

export function exitReasonText(reason: string): string {
  return reasonText(visibleText(reason), (uuid) => {
    const row = rows.get(uuid)
    return row && nameOf(row)
  })
}
