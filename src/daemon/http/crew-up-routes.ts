// The routes that begin crews, and look at them: one row each as in routes.ts, which has them all.
// Test: test/e2e/crew-up.test.ts, test/e2e/openapi.test.ts.
import { route, type Route } from './route.ts'
import * as schemas from './crew-up-schemas.ts'

export const CREW_UP: readonly Route[] = [
  route({
    id: 'listRoles', method: 'GET', path: '/v1/roles', summary: 'The prompts of the roles that members of a crew have in a directory.', query: schemas.rolesQuery, answer: 'roles', errors: [],
    handle: ({ roles }, { query }) => roles(query.cwd),
  }),
  route({
    id: 'startCrew', method: 'POST', path: '/v1/crews', summary: 'Starts a crew with its tasks; answers once that is on disk.', body: schemas.crewUpBody, answer: 'crewUp', status: 201,
    errors: ['NOT_FOUND', 'CONFLICT', 'RESOURCE_EXHAUSTED', 'AGENT_INVALID', 'CREDENTIALS_MISSING', 'DISK_FULL', 'READ_ONLY'],
    example: { cwd: '/src/app', workers: 2, tasks: [{ id: 'lexer', text: 'Write the lexer.', acceptance: 'It has tests.' }] },
    handle: ({ crewUp }, { body }) => crewUp(body),
  }),
  route({
    id: 'listCrews', method: 'GET', path: '/v1/crews', summary: 'The crews that live; with `all` those that have ended, too.', query: schemas.crewsQuery, answer: 'crews', errors: [],
    handle: async ({ crewReads }, { query }) => ({ version: 1, crews: await crewReads.list(query.all ?? false) }),
  }),
  route({
    id: 'getCrew', method: 'GET', path: '/v1/crews/:ref', summary: 'A crew with its tasks and members, dead or alive.', answer: 'crew', errors: [],
    handle: async ({ crewReads }, { ref }) => ({ version: 1, crew: await crewReads.view(await crewReads.resolve(ref)) }),
  }),
  route({
    id: 'getCrewTask', method: 'GET', path: '/v1/crews/:ref/task', summary: 'A task of a crew with its texts, its thread and what happened to it.', query: schemas.taskQuery, answer: 'crewTask', errors: [],
    handle: async ({ crewReads }, { ref, query }) => ({ version: 1, task: await crewReads.task(await crewReads.resolve(ref), query.id) }),
  }),
]
