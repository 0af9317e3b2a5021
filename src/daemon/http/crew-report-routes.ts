// The route of a crew's account, one row as in routes.ts, which has them all. Test: test/e2e/crew-report.test.ts.
import { route, type Route } from './route.ts'

export const CREW_REPORT: readonly Route[] = [
  route({
    id: 'getCrewReport', method: 'GET', path: '/v1/crews/:ref/report', summary: 'The account of a crew, dead or alive: what became of each task, who did it, what it cost, and what is left for a person.', answer: 'crewReport', errors: [],
    handle: async ({ crewReads, crewReport }, { ref }) => crewReport(await crewReads.resolve(ref)),
  }),
]
