// The routes of the steps of a process; routes.ts registers them.
// Test: test/e2e/daemon/api.test.ts, test/e2e/library/steps.test.ts, test/e2e/daemon/openapi.test.ts.
import { defineRoute, type ApiRoute } from './route.ts'
import { stepPartParams, stepPartQuery, stepsQuery } from './schemas.ts'

/** The default number of brief steps in a page. */
const BRIEF_PAGE_STEPS = 5_000
/** The default number of whole steps in a page. */
const PAGE_STEPS = 100

export const STEP_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'getSteps',
    method: 'GET',
    path: '/v1/processes/:ref/steps',
    right: 'read',
    within: true,
    summary: 'Returns a page of the steps of a process, oldest first; with `brief` as columns; with `at` one step with all its details.',
    query: stepsQuery,
    answer: 'steps',
    errors: [],
    handle: async ({ reads, steps }, { ref, query: { at, brief, after, before, limit } }) => {
      const process = await reads.resolve(ref)
      if (at !== undefined) return { version: 1, step: await steps.detail(process, at) }
      if (brief) return steps.brief(process, { after, before, limit: limit ?? BRIEF_PAGE_STEPS })
      return { version: 1, steps: await reads.steps(process, after ?? 0, limit ?? PAGE_STEPS) }
    },
  }),
  defineRoute({
    id: 'getStepPart',
    method: 'GET',
    path: '/v1/processes/:ref/steps/:step/tools/:callId',
    right: 'read',
    within: true,
    summary: 'Returns a part of the input, the result or an image of a tool call.',
    query: stepPartQuery,
    params: stepPartParams,
    answer: 'stepPart',
    errors: [],
    handle: async ({ reads, steps }, { ref, params, query }) =>
      steps.part(await reads.resolve(ref), { step: Number(params['step']), callId: String(params['callId']), ...query }),
  }),
]
