// The route of what was used, one row as in routes.ts, which has them all. Test: test/e2e/usage.test.ts.
import { route, type Route } from './route.ts'
import * as schemas from './schemas.ts'

export const USAGE: readonly Route[] = [
  route({
    id: 'getUsage', method: 'GET', path: '/v1/usage', summary: 'What all processes have used, the removed ones too: by agent, model, day or tree.', query: schemas.usageQuery, answer: 'usage', errors: ['DISK_FULL', 'READ_ONLY'],
    handle: ({ usage }, { query }) => usage(query),
  }),
]
