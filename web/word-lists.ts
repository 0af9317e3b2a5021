// The closed word lists that the page needs, because it may not import those of the kernel. Each list is made of a table that has a key for
// every word of the API's type: a missing word does not compile. Test: test/tables/web/crew-commands.test.ts.
import type { CrewCommandBody } from '../src/api/views/crew.ts'
import type { CrewUpBody } from '../src/api/views/crew-up.ts'
import type { ResumeBody } from '../src/api/views/process.ts'
import type { WebSessionView } from '../src/api/views/web.ts'

type FieldOf<Type extends CrewCommandBody['type'], Field extends string> =
  Extract<CrewCommandBody, { type: Type }> extends { readonly [F in Field]: infer Value } ? Value : never
type WorkerRole = FieldOf<'spawn_worker', 'role'>
type CrewOutcome = FieldOf<'complete_crew', 'outcome'>
type CommitGate = NonNullable<CrewUpBody['gate']>
type Effort = NonNullable<ResumeBody['effort']>
export type WebRight = WebSessionView['right']

function listOf<Word extends string>(table: Readonly<Record<Word, true>>): readonly Word[] {
  return Object.keys(table) as Word[]
}

export const WORKER_ROLES = listOf<WorkerRole>({ generic: true, implementer: true, reviewer: true, researcher: true })
export const CREW_OUTCOMES = listOf<CrewOutcome>({ completed: true, failed: true, cancelled: true })
export const COMMIT_GATES = listOf<CommitGate>({ auto: true, coordinator: true, human: true })
export const EFFORTS = listOf<Effort>({ none: true, minimal: true, low: true, medium: true, high: true, xhigh: true, max: true })
/** What a session may do; each right has those before it. */
export const WEB_RIGHTS = listOf<WebRight>({ read: true, answer: true, steer: true, start: true, all: true })
