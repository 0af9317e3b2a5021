// The route that shows the change of a task; ../routes.ts registers it.
// Test: test/e2e/crew/diff.test.ts, test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { defineRoute, type ApiRoute } from '../route.ts'
import { DIFF_SELECTIONS } from '../../../kernel/model/crew/words.ts'

/** The default and the largest number of lines of a diff. */
const [DEFAULT_LINES, MAX_LINES] = [4_000, 1_000_000]

export const CREW_DIFF_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'getCrewDiff',
    method: 'GET',
    path: '/v1/crews/:ref/diff',
    right: 'read',
    summary: 'Returns the change of a task: the version under review, the committed one, or the merged one; or why there is none.',
    answer: 'crewDiff',
    errors: [],
    query: z.strictObject({
      task: z.string().min(1).max(100),
      which: z.enum(DIFF_SELECTIONS).default('auto'),
      lines: z.coerce
        .number()
        .int()
        .min(0)
        .max(MAX_LINES)
        .default(DEFAULT_LINES)
        .describe('the largest number of lines of the diff; 0: only the list of files'),
    }),
    handle: async ({ crewReads, crewDiffs }, { ref, query: { task, which, lines } }) =>
      crewDiffs.view(await crewReads.resolve(ref), task, { which, maxLines: lines }),
  }),
]
