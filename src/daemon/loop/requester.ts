// Describes who sends a request to the kernel: a process or the user, and the session of the page.
// Tests: test/e2e/lifecycle/nested.test.ts, test/e2e/web/security.test.ts.
import type { Uuid } from '../../kernel/model/ids.ts'

/** Who starts a crew or a compose run. */
export interface Requester {
  /** the process that becomes the parent of the crew or run; null: the user starts it */
  readonly parentUuid: Uuid | null
  /** the session of the page, `web:ID`; undefined for other clients */
  readonly via?: string | undefined
}

/** Returns the field `via` of a request; no field for clients other than the page. */
export function viaOf(via: string | undefined): { readonly via?: string } {
  return via === undefined ? {} : { via }
}
