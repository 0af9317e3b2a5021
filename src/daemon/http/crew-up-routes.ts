// The routes of what is needed before there is a crew: one row each as in routes.ts, which has them all.
// Test: test/e2e/crew-up.test.ts, test/e2e/openapi.test.ts.
import { route, type Route } from './route.ts'
import * as schemas from './schemas.ts'

export const CREW_UP: readonly Route[] = [
  route({
    id: 'listRoles', method: 'GET', path: '/v1/roles', summary: 'The prompts of the roles that members of a crew have in a directory.', query: schemas.rolesQuery, answer: 'roles', errors: ['AGENT_INVALID'],
    handle: ({ roles }, { query }) => roles(query.cwd),
  }),
]
