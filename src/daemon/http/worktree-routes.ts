// The routes of a process's worktree; routes.ts registers them.
// Test: test/e2e/worktree/diff.test.ts, test/e2e/worktree/files.test.ts, test/e2e/worktree/merge.test.ts, test/e2e/daemon/openapi.test.ts.
import { mergePlanView, processDiffView, processFilesView } from '../views/diff-view.ts'
import { defineRoute, type ApiRoute } from './route.ts'
import { commitBody, diffQuery, filesQuery, mergeQuery } from './schemas.ts'

/** The limits of a diff in the format `view`. */
const VIEW_LIMITS = { fileBytes: 400_000, bytes: 2_000_000 }

export const WORKTREE_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'getDiff',
    method: 'GET',
    path: '/v1/processes/:ref/diff',
    right: 'read',
    within: true,
    summary: 'Returns what a process changed in its worktree between two states, such as its beginning and now.',
    query: diffQuery,
    answer: 'processDiff',
    errors: [],
    handle: async ({ reads, diffs }, { ref, query: { step, format, to, ...query } }) => {
      const process = await reads.resolve(ref)
      const hasText = format !== 'stat'
      const request = { ...query, to: step === undefined ? to : String(step), maxLines: hasText ? Infinity : 0 }
      return processDiffView(process, await diffs.diff(process, { ...request, cut: format === 'view' ? VIEW_LIMITS : undefined }), hasText)
    },
  }),
  defineRoute({
    id: 'getFiles',
    method: 'GET',
    path: '/v1/processes/:ref/files',
    right: 'read',
    within: true,
    summary: 'Lists the files that a process changed between two states, with the steps that changed them.',
    query: filesQuery,
    answer: 'processFiles',
    errors: [],
    handle: async ({ reads, diffs }, { ref, query }) => {
      const process = await reads.resolve(ref)
      return processFilesView(process, await diffs.files(process, query))
    },
  }),
  defineRoute({
    id: 'planMerge',
    method: 'GET',
    path: '/v1/processes/:ref/merge',
    right: 'socket',
    summary: 'Plans a merge of what a process did in its worktree: its commits, files and conflicts. Changes nothing.',
    query: mergeQuery,
    answer: 'mergePlan',
    errors: [],
    handle: async ({ reads, merges }, { ref, query }) => {
      const process = await reads.resolve(ref)
      return mergePlanView(process, await merges.planMerge(process, query))
    },
  }),
  defineRoute({
    id: 'commitWork',
    method: 'POST',
    path: '/v1/processes/:ref/commit',
    right: 'steer',
    summary: 'Commits the uncommitted files of a process to its branch, in the name of the author.',
    body: commitBody,
    answer: 'committed',
    errors: ['CONFLICT'],
    example: { author: { name: 'Ann', email: 'ann@example.org' } },
    handle: ({ reads, removals, merges }, { ref, body: { author, unfinished } }) =>
      removals.runExclusively(ref, async (uuid) => ({
        version: 1,
        ...(await merges.commit(await reads.get(uuid), author, unfinished ?? false)),
      })),
  }),
]
