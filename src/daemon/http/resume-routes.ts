// The routes of what can be resumed and of who was forked from whom, one row each as in routes.ts, which has them all.
// Test: test/e2e/cli-resume.test.ts, test/e2e/openapi.test.ts.
import { route, type Route } from './route.ts'
import * as schemas from './schemas.ts'

export const RESUMES: readonly Route[] = [
  route({
    id: 'listResumable', method: 'GET', path: '/v1/resumable', summary: 'What is suspended or has ended, and how each can go on.', query: schemas.resumableQuery, answer: 'resumables', errors: [],
    handle: ({ past }, { query }) => past.resumable(query),
  }),
  route({
    id: 'getLineage', method: 'GET', path: '/v1/processes/:ref/lineage', summary: 'The family of forks that a process belongs to.', answer: 'lineage', errors: [],
    handle: ({ past }, { ref }) => past.lineage(ref),
  }),
]
