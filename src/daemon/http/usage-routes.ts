// The routes of usage; routes.ts registers them. Test: test/e2e/limits/usage.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import { defineRoute, type ApiRoute } from './route.ts'
import * as schemas from './schemas.ts'

export const USAGE_ROUTES: readonly ApiRoute[] = [
  defineRoute({
    id: 'getUsage',
    method: 'GET',
    path: '/v1/usage',
    right: 'read',
    summary: 'Returns the usage of all processes, removed ones included, by agent, model, time, tree, process, directory or label.',
    query: schemas.usageQuery,
    answer: 'usage',
    errors: ['NOT_FOUND', 'AMBIGUOUS', 'COLLECTED', 'PERMISSION', 'DISK_FULL', 'READ_ONLY'],
    handle: ({ usage }, { query: { by, every, ...query } }) => {
      if (every !== undefined && by.length > 1) throw new KernelError('INVALID', '`every` and two groups exclude each other')
      if (by.includes('label') !== (query.label !== undefined))
        throw new KernelError('INVALID', 'the group `label` and `label=KEY` belong together')
      return usage({ ...query, by: every === undefined ? by : [every, by[0]] })
    },
  }),
  defineRoute({
    id: 'getUsageRate',
    method: 'GET',
    path: '/v1/usage/rate',
    right: 'read',
    summary: 'Returns what processes spend per minute now, together and by tree.',
    answer: 'usageRate',
    errors: [],
    handle: ({ usageRate }) => usageRate(),
  }),
]
