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

const source = z
  .enum(['base', 'origin', 'worktree', 'step', 'salvage', 'branch', 'crew', 'reported'])
  .describe(
    'where the files come from. `base`: the commit from which the worktree, or the branch of the crew, began; `origin`: the recorded step at which a fork began; `worktree`: the present files; `step`: a recorded step; `salvage`: salvaged files of a removed worktree; `branch`: the branch of a removed worktree; `crew`: the branch of a crew',
  )
const identity = { uuid, pid: count, name: text.nullable() }

const diffSide = z
  .object({
    ...identity,
    of: source,
    step: count.nullable().describe('the step of the record; null: the files come from no record'),
    commit: text.describe('the compared commit or tree'),
  })
  .describe('A state of the files of a process.')
const sides = {
  of: source.describe(
    'the `of` of `to`, or `reported`: the process has no worktree, so these are edits that its agent reported. They have no line numbers, and lack changes by programs',
  ),
  from: diffSide.nullable().describe('the older state; null: `of` is `reported`'),
  to: diffSide.nullable().describe('the newer state; null: `of` is `reported`'),
}

const processDiff = z.object({
  version,
  ...identity,
  ...sides,
  step: count.nullable().describe('the step whose recorded files are compared; null: the newer files come from no record'),
  omitted: count.describe('the number of files that the records do not contain, not counting ignored files'),
  base: text.describe('the commit from which the worktree, or the branch of the crew, began; empty: `of` is `reported`'),
  branch: text,
  repository: text.describe('the git directory of the repository'),
  files: z.array(diffFile),
  insertions: count,
  deletions: count,
  diff: text.nullable().describe('the unified diff, at most 8 MB of it; null: not requested'),
  left: texts.describe('files whose diff is missing from `diff`, or incomplete'),
  truncated: z.boolean().describe('true: `left` is not empty'),
})

const changedFile = z.object({
  ...diffFile.shape,
  large: z.boolean().describe('true: the file has more than 400 kB, before or after the change'),
  steps: z.array(count).describe('the steps of the process of `to` that changed it, in order: the last 1,000'),
})

const processFiles = z.object({
  version,
  ...identity,
  ...sides,
  files: z.array(changedFile).describe('at most 5,000 files'),
  more: count.describe('the number of further files'),
  insertions: count.describe('the number of added lines in `files`'),
  deletions: count.describe('the number of deleted lines in `files`'),
  left: z
    .array(z.object({ path: text, why: z.enum(['large', 'repository', 'unreadable']) }))
    .describe('files that the records do not contain, not counting ignored files; their changes are missing'),
  leftMore: count.describe('the number of further such files'),
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

export const diffAnswers = { processDiff, processFiles, mergePlan, committed }

export const DIFF_TYPES = {
  DiffFileView: diffFile,
  DiffSideView: diffSide,
  ProcessDiffView: processDiff,
  ChangedFileView: changedFile,
  ProcessFilesView: processFiles,
  MergePlanView: mergePlan,
  CommittedView: committed,
}
