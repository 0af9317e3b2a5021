// Finds the prompts of a crew's roles. The nearest `.reeve/roles/ROLE.md` of the project comes first, then the user's file, then the
// built-in prompt. A file is Markdown without front matter. Test: test/tables/config/crew/roles.test.ts.
import { join } from 'node:path'
import { problemError, problemIn, type Problem } from '../problem.ts'
import { ancestorDirectories, readText, trustedOwners } from '../untrusted-files.ts'
import { ROLE_PROMPTS } from './role-prompts.ts'
import type { Paths } from '../paths.ts'

export type RoleName = keyof typeof ROLE_PROMPTS
export const ROLES = Object.keys(ROLE_PROMPTS) as readonly RoleName[]

export const ROLE_SOURCES = ['project', 'user', 'built-in'] as const

export interface RolePrompt {
  readonly role: RoleName
  readonly source: (typeof ROLE_SOURCES)[number]
  /** null for built-in prompts */
  readonly file: string | null
  readonly prompt: string
}

/**
 * Returns the prompt of a role. A file of 0 bytes counts as missing. Errors: AGENT_INVALID for an unusable file, such as one that contains
 * only white space.
 */
export async function readRolePrompt(role: RoleName, cwd: string, where: Pick<Paths, 'agentsDir'>): Promise<RolePrompt> {
  const trusted = await trustedOwners(cwd)
  for (const dir of ancestorDirectories(cwd)) {
    const found = await readPrompt(join(dir, '.reeve', 'roles', `${role}.md`), trusted)
    if (found) return { role, source: 'project', ...found }
  }
  const userPrompt = await readPrompt(join(where.agentsDir, '..', 'roles', `${role}.md`))
  return userPrompt ? { role, source: 'user', ...userPrompt } : { role, source: 'built-in', file: null, prompt: ROLE_PROMPTS[role] }
}

/** Returns the prompts of all roles. An unusable file becomes an entry in `errors`. */
export async function readRolePrompts(
  cwd: string,
  where: Pick<Paths, 'agentsDir'>,
): Promise<{ readonly roles: RolePrompt[]; readonly errors: (Problem & { readonly role: RoleName })[] }> {
  const roles: RolePrompt[] = []
  const errors: (Problem & { readonly role: RoleName })[] = []
  for (const role of ROLES) {
    try {
      roles.push(await readRolePrompt(role, cwd, where))
    } catch (error) {
      errors.push({ role, ...problemIn(error) })
    }
  }
  return { roles, errors }
}

/** Returns null if the file is missing. `trusted`: the permitted owners of a project's file; the user's own directory needs no check. */
async function readPrompt(file: string, trusted?: ReadonlySet<number>): Promise<{ readonly file: string; readonly prompt: string } | null> {
  const found = await readText(file, trusted)
  // In `reeve crew roles ROLE > FILE`, the shell creates the empty file before reeve reads the prompt to print.
  if (found === null || found.text === '') return null
  const prompt = found.text.replace(/^\uFEFF/, '').trim()
  if (prompt === '') throw problemError({ file, line: 1, message: 'the file is empty: write the prompt of the role, or remove the file' })
  return { file, prompt }
}
