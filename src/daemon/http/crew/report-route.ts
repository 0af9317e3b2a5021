// The route of a crew's report; ../routes.ts registers it. Test: test/e2e/crew/report.test.ts.
import { defineRoute, type ApiRoute } from '../route.ts'

export const CREW_REPORT_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'getCrewReport',
    method: 'GET',
    path: '/v1/crews/:ref/report',
    right: 'read',
    summary:
      'Returns the report of a crew, dead or alive. It has the outcome, worker and cost of each task, and the open points for the user.',
    answer: 'crewReport',
    errors: [],
    handle: async ({ crewReads, crewReport }, { ref }) => crewReport(await crewReads.resolve(ref)),
  }),
]
