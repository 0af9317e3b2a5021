// The prompts of a crew's roles: `.reeve/roles/ROLE.md` of the project (the nearest one upwards), else the user's, else the
// built-in words. A file is Markdown as it is, without a front matter. Test: test/tables/config-roles.test.ts.
import { join } from 'node:path'
import { ancestors, problemError, problemIn, readText, trustedOwners, type Problem } from './files.ts'
import { ROLE_PROMPTS } from './role-prompts.ts'
import type { Paths } from './paths.ts'

export type RoleName = keyof typeof ROLE_PROMPTS
export const ROLES = Object.keys(ROLE_PROMPTS) as readonly RoleName[]

export interface RolePrompt {
  readonly role: RoleName
  readonly source: 'project' | 'user' | 'built-in'
  /** null for the built-in ones */
  readonly file: string | null
  readonly prompt: string
}

/** Errors: AGENT_INVALID for a file that cannot be used, also one of blanks; one without a byte is none. */
export async function rolePrompt(role: RoleName, cwd: string, where: Pick<Paths, 'agentsDir'>): Promise<RolePrompt> {
  const trusted = await trustedOwners(cwd)
  for (const dir of ancestors(cwd)) {
    const found = await promptIn(join(dir, '.reeve', 'roles', `${role}.md`), trusted)
    if (found) return { role, source: 'project', ...found }
  }
  const own = await promptIn(join(where.agentsDir, '..', 'roles', `${role}.md`))
  return own ? { role, source: 'user', ...own } : { role, source: 'built-in', file: null, prompt: ROLE_PROMPTS[role] }
}

/** All roles; of a file that cannot be used it is said what is wrong, and the other roles are there. */
export async function rolePrompts(cwd: string, where: Pick<Paths, 'agentsDir'>): Promise<{ readonly roles: RolePrompt[]; readonly errors: (Problem & { readonly role: RoleName })[] }> {
  const roles: RolePrompt[] = []
  const errors: (Problem & { readonly role: RoleName })[] = []
  for (const role of ROLES) {
    try {
      roles.push(await rolePrompt(role, cwd, where))
    } catch (error) {
      errors.push({ role, ...problemIn(error) })
    }
  }
  return { roles, errors }
}

async function promptIn(file: string, trusted?: ReadonlySet<number>): Promise<{ readonly file: string; readonly prompt: string } | null> {
  const found = await readText(file, trusted)
  // `reeve crew roles ROLE > FILE`: the shell has made the file by the time that we are asked for what is to be in it.
  if (found === null || found.text === '') return null
  const prompt = found.text.replace(/^\uFEFF/, '').trim()
  if (prompt === '') throw problemError({ file, line: 1, message: 'it is empty: write what the role does, or remove it' })
  return { file, prompt }
}
