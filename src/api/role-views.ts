// The JSON that users see about roles of crews, as views.ts has the rest. Types only. Test: test/e2e/crew-up.test.ts.

/** The prompt of a role, and where it comes from. */
export interface RoleView {
  role: 'coordinator' | 'generic' | 'implementer' | 'reviewer' | 'researcher'
  source: 'project' | 'user' | 'built-in'
  /** null for the built-in ones */
  file: string | null
  prompt: string
}

/** A file that cannot be used; line 0 is the file as a whole. */
export interface RoleProblem { role: RoleView['role']; file: string; line: number; message: string }

/** `errors`: of the roles that are not among `roles` */
export interface RolesView { version: 1; roles: RoleView[]; errors: RoleProblem[] }
