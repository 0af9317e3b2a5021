// Schemas of the roles of crews, for src/api/views/crew-up.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { count, text, version } from '../fields.ts'
import { role } from './crew.ts'
import { ROLE_SOURCES } from '../../../../config/crew/roles.ts'

const rolePrompt = z
  .object({
    role,
    source: z.enum(ROLE_SOURCES),
    file: text.nullable().describe('null for built-in prompts'),
    prompt: text,
  })
  .describe('The prompt of a role, and its source.')
const problem = z.object({ role, file: text, line: count, message: text }).describe('An invalid file. `line` 0 means the file as a whole.')

const roles = z.object({
  version,
  roles: z.array(rolePrompt),
  errors: z.array(problem).describe('the invalid files, whose roles are missing in `roles`'),
})

export const roleAnswers = { roles }

export const ROLE_TYPES = { RoleView: rolePrompt, RoleProblem: problem, RolesView: roles }
