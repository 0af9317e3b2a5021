// Schemas of changed files, of what a process changed in its worktree, and of its merge, for src/api/views/diff.ts.
// Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { count, text, texts, time, uuid, version } from './fields.ts'
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
    .enum(['worktree', 'step', 'salvage', 'branch', 'crew'])
    .describe(
      'the source of the files: the worktree, a recorded step, salvaged files of a removed worktree, its branch, or the branch of a crew',
    ),
  step: count.nullable().describe('the step whose recorded files are compared; null: `of` is not `step`'),
  omitted: count.describe('the number of files that the record of the step does not contain, without ignored files'),
  base: text.describe('the commit from which the worktree, or the branch of the crew, began'),
  branch: text,
  repository: text.describe('the git directory of the repository'),
  files: z.array(diffFile),
  insertions: count,
  deletions: count,
  diff: text.nullable().describe('the unified diff, at most 8 MB of it; null: not requested'),
  left: texts.describe('files whose diff is missing from `diff`, or incomplete'),
})

const mergePlan = z.object({
  version,
  uuid,
  pid: count,
  name: text.nullable(),
  createdAt: time,
  ended: z.boolean().describe('false: the process may still change its files'),
  of: z
    .enum(['worktree', 'salvage', 'branch', 'crew'])
    .describe('the merged files: those of the worktree, salvaged files of a removed worktree, its branch, or the branch of a crew'),
  dir: text.nullable().describe('the directory of the worktree; null for a crew'),
  branch: text,
  head: text.describe('the newest commit of the work; uncommitted files are on top of it'),
  uncommitted: count.describe('the number of uncommitted files'),
  commits: z
    .array(z.object({ commit: text, subject: text }))
    .describe('the commits that are not merged yet, the newest first; at most 100'),
  files: z.array(diffFile).describe('the files that the merge would change'),
  insertions: count,
  deletions: count,
  conflicts: texts.describe('the files that conflict; the merge must then be made by hand'),
})

const committed = z.object({
  version,
  commit: text.describe('the newest commit of the work, with all of its files'),
  isNew: z.boolean().describe('false: there were no uncommitted files'),
})

export const diffAnswers = { processDiff, mergePlan, committed }

export const DIFF_TYPES = { DiffFileView: diffFile, ProcessDiffView: processDiff, MergePlanView: mergePlan, CommittedView: committed }
