// The routes of a process's worktree; routes.ts registers them.
// Test: test/e2e/worktree/diff.test.ts, test/e2e/daemon/openapi.test.ts.
import { processDiffView } from '../views/process-diff.ts'
import { defineRoute, type ApiRoute } from './route.ts'
import { diffQuery } from './schemas.ts'

export const WORKTREE_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'getDiff',
    method: 'GET',
    path: '/v1/processes/:ref/diff',
    summary: 'Returns what a process changed in its worktree, up to now or up to a step.',
    query: diffQuery,
    answer: 'processDiff',
    errors: [],
    handle: async ({ reads, worktrees }, { ref, query: { step, format } }) => {
      const process = await reads.resolve(ref)
      const hasText = format === 'patch'
      return processDiffView(process, await worktrees.diff(process, { step, maxLines: hasText ? Infinity : 0 }), hasText)
    },
  }),
]
