// The routes of needs, that is, of what waits for the user; routes.ts registers them. Test: test/e2e/lifecycle/needs.test.ts.
import { defineRoute, type ApiRoute } from './route.ts'
import * as schemas from './schemas.ts'

export const NEEDS_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'listNeeds',
    method: 'GET',
    path: '/v1/needs',
    right: 'read',
    within: true,
    summary: 'Lists what waits for the user: questions, holds, silences, and ends that the user has not seen. The most urgent comes first.',
    query: schemas.needsQuery,
    answer: 'needs',
    errors: ['NOT_FOUND', 'AMBIGUOUS', 'COLLECTED', 'PERMISSION'],
    handle: ({ needs }, { query }) => needs.list(query),
  }),
  defineRoute({
    id: 'getNeed',
    method: 'GET',
    path: '/v1/needs/:id',
    right: 'read',
    within: true,
    summary: 'Returns something that waits for the user, with its whole evidence.',
    answer: 'need',
    errors: ['NOT_FOUND'],
    handle: async ({ needs }, { id }) => ({ version: 1, need: await needs.get(id) }),
  }),
]
