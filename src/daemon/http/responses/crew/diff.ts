// Schemas of the change of a task, for src/api/views/crew-diff.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { count, text, texts, version } from '../fields.ts'
import { diffFile } from '../diff.ts'

const crewDiff = z.object({
  version,
  crew: text.describe("the crew's name, or its PID"),
  task: z.object({ id: text, title: text, state: text, implementer: text.nullable(), reviewer: text.nullable() }),
  of: z
    .enum(['review', 'commit', 'landed'])
    .nullable()
    .describe('the version of the change: under review, committed, or merged into the crew branch; null: no change'),
  note: text.describe('which version of the change this is, as text; or why there is no change'),
  from: text.nullable().describe('the commit before the change; null: no change'),
  to: text.nullable().describe('the commit with the change; null: no change'),
  repository: text.nullable().describe('the git directory that has both commits; null: no change'),
  files: z.array(diffFile),
  insertions: count,
  deletions: count,
  diff: text.nullable().describe('the unified diff; null: not requested'),
  left: texts.describe('files whose diff is missing from `diff`, or incomplete'),
})

export const crewDiffAnswers = { crewDiff }

export const CREW_DIFF_TYPES = { CrewDiffView: crewDiff }
