// Routes that start and show crews; ../routes.ts registers them. Diffs, reports and commands have files of their own beside it.
// Test: test/e2e/crew/up.test.ts, test/e2e/daemon/openapi.test.ts.
import { defineRoute, type ApiRoute } from '../route.ts'
import * as schemas from './schemas.ts'

export const CREW_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'listRoles',
    method: 'GET',
    path: '/v1/roles',
    summary: 'Lists the prompts of the roles of crew members in a directory.',
    query: schemas.rolesQuery,
    answer: 'roles',
    errors: [],
    handle: ({ roles }, { query }) => roles(query.cwd),
  }),
  defineRoute({
    id: 'startCrew',
    method: 'POST',
    path: '/v1/crews',
    summary: 'Starts a crew with its tasks; answers when the start has been written to disk.',
    body: schemas.crewUpBody,
    answer: 'crewUp',
    status: 201,
    errors: ['NOT_FOUND', 'CONFLICT', 'RESOURCE_EXHAUSTED', 'AGENT_INVALID', 'CREDENTIALS_MISSING', 'DISK_FULL', 'READ_ONLY'],
    example: { cwd: '/src/app', workers: 2, tasks: [{ id: 'lexer', text: 'Write the lexer.', acceptance: 'It has tests.' }] },
    handle: ({ crewUp, parentUuid }, { body }) => crewUp(body, parentUuid),
  }),
  defineRoute({
    id: 'planCrew',
    method: 'POST',
    path: '/v1/crews/plan',
    summary: 'Shows the crew that the same request to /v1/crews would start, with the same errors; starts nothing.',
    body: schemas.crewUpBody,
    answer: 'crewPlan',
    errors: ['NOT_FOUND', 'CONFLICT', 'AGENT_INVALID', 'CREDENTIALS_MISSING', 'DISK_FULL', 'READ_ONLY'],
    example: { cwd: '/src/app', workers: 2, tasks: [{ id: 'lexer', text: 'Write the lexer.' }] },
    handle: ({ crewPlan }, { body }) => crewPlan(body),
  }),
  defineRoute({
    id: 'listCrews',
    method: 'GET',
    path: '/v1/crews',
    summary: 'Lists the living crews; with `all` also the ended ones.',
    query: schemas.crewsQuery,
    answer: 'crews',
    errors: [],
    handle: async ({ crewReads }, { query }) => ({ version: 1, crews: await crewReads.list(query.all ?? false) }),
  }),
  defineRoute({
    id: 'getCrew',
    method: 'GET',
    path: '/v1/crews/:ref',
    summary: 'Returns a crew, dead or alive, with its tasks and members.',
    answer: 'crew',
    errors: [],
    handle: async ({ crewReads }, { ref }) => ({ version: 1, crew: await crewReads.view(await crewReads.resolve(ref)) }),
  }),
  defineRoute({
    id: 'getCrewTask',
    method: 'GET',
    path: '/v1/crews/:ref/task',
    summary: 'Returns a task of a crew with its texts, its messages and its history.',
    query: schemas.taskQuery,
    answer: 'crewTask',
    errors: [],
    handle: async ({ crewReads }, { ref, query }) => ({ version: 1, task: await crewReads.task(await crewReads.resolve(ref), query.id) }),
  }),
]
