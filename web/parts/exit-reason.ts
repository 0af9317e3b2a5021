// The reason of an end as text, in which a process that sent a signal has its name instead of its UUID.
// The text itself is made by src/api/text/exit-reason.ts. Used by the pages of processes, crews, supervisors and runs.
import { reasonText } from '../../src/api/text/exit-reason.ts'
import { nameOf } from '../../src/faces/process-names.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { rows } from '../rows.ts'

/** `reason`: untrusted; hidden characters become escapes, so that it cannot pretend to be another text. */
export function exitReasonText(reason: string): string {
  return reasonText(visibleText(reason), (uuid) => {
    const row = rows.get(uuid)
    return row && nameOf(row)
  })
}
