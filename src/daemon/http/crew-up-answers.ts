// What the API answers about the beginnings of crews, as zod schemas held to their views in both directions.
// For the document and for tests alone, as answers.ts. Test: test/e2e/openapi.test.ts.
import { z } from 'zod'
import { of } from './exact.ts'
import type { RolesView } from '../../api/role-views.ts'

export const crewUpAnswers = {
  roles: of<RolesView>()(z.object({
    version: z.literal(1),
    roles: z.array(z.object({
      role: z.enum(['coordinator', 'generic', 'implementer', 'reviewer', 'researcher']), source: z.enum(['project', 'user', 'built-in']),
      file: z.string().nullable(), prompt: z.string(),
    })),
  })),
}
