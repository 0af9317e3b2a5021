// The route of the usage report; routes.ts registers it. Test: test/e2e/limits/usage.test.ts.
import { defineRoute, type ApiRoute } from './route.ts'
import * as schemas from './schemas.ts'

export const USAGE_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'getUsage',
    method: 'GET',
    path: '/v1/usage',
    right: 'read',
    summary: 'Returns the usage of all processes, removed ones included, by agent, model, day or tree.',
    query: schemas.usageQuery,
    answer: 'usage',
    errors: ['DISK_FULL', 'READ_ONLY'],
    handle: ({ usage }, { query }) => usage(query),
  }),
]
