// Schemas of changed files, and of what a process changed in its worktree, for src/api/views/diff.ts.
// Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { count, text, texts, uuid, version } from './fields.ts'
import { FILE_CHANGES } from '../../../kernel/model/crew/words.ts'

export const diffFile = z.object({
  path: text,
  from: text.nullable().describe('the earlier path of a renamed file; null: not renamed'),
  change: z.enum(FILE_CHANGES),
  insertions: count.nullable().describe('the number of added lines; null for a binary file'),
  deletions: count.nullable().describe('the number of deleted lines; null for a binary file'),
})

const processDiff = z.object({
  version,
  uuid,
  pid: count,
  name: text.nullable(),
  of: z
    .enum(['worktree', 'step', 'salvage', 'branch'])
    .describe('the compared files: those of the worktree, of a recorded step, salvaged files of a removed worktree, or its branch'),
  step: count.nullable().describe('the step whose recorded files are compared; null: `of` is not `step`'),
  omitted: count.describe('the number of files that the record of the step does not contain, without ignored files'),
  base: text.describe('the commit from which the worktree began'),
  branch: text,
  repository: text.describe('the git directory of the repository'),
  files: z.array(diffFile),
  insertions: count,
  deletions: count,
  diff: text.nullable().describe('the unified diff, at most 8 MB of it; null: not requested'),
  left: texts.describe('files whose diff is missing from `diff`, or incomplete'),
})

export const diffAnswers = { processDiff }

export const DIFF_TYPES = { DiffFileView: diffFile, ProcessDiffView: processDiff }
