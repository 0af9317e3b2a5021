// The JSON of the API: the roles of crews. Made by `npm run docs` from the schemas of the daemon (scripts/views.ts): do not edit. Test:
// test/e2e/crew/up.test.ts.
import type { Role } from '../../kernel/model/crew/words.ts'

/** The prompt of a role, and its source. */
export interface RoleView {
  role: Role
  source: 'project' | 'user' | 'built-in'
  /** null for built-in prompts */
  file: string | null
  prompt: string
}

/** An invalid file. `line` 0 means the file as a whole. */
export interface RoleProblem {
  role: Role
  file: string
  line: number
  message: string
}

export interface RolesView {
  version: 1
  roles: RoleView[]
  /** the invalid files, whose roles are missing in `roles` */
  errors: RoleProblem[]
}
