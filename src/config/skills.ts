// Finds the skills for an agent: folders with a `SKILL.md`, in the repository and in the user's configuration. Keeps only the names,
// descriptions and hashes; src/drivers/native/tools/skill.ts reads a text again when an agent loads it. A link must not lead out of the
// repository. A bad file is left out with a note, and never fails a start. Test: test/tables/config/skills.test.ts.
import { createHash } from 'node:crypto'
import { readdir, realpath } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import * as z from 'zod'
import { KernelError } from '../kernel/model/errors.ts'
import type { Skill } from '../kernel/model/spec-parts.ts'
import { isBelow } from '../kernel/state/permissions.ts'
import { parseFrontMatterLines, splitFrontMatter } from '../kernel/util/front-matter.ts'
import { truncate } from '../kernel/util/truncate.ts'
import { readText, trustedOwners } from './untrusted-files.ts'
import { repositoryDirectories } from './repository-directories.ts'
import type { Paths } from './paths.ts'
import { parseYaml, type YamlFormat } from './yaml.ts'

/** The folders of skills in each directory of a repository. In one directory, the first one takes precedence over the second. */
const REPOSITORY_FOLDERS = [join('.agents', 'skills'), join('.claude', 'skills')] as const
/** maximum number of skills that are read from one folder */
const MAX_FOLDER_SKILLS = 500
const MAX_DESCRIPTION_CHARS = 1_024
/** The limit of all names and descriptions together, in bytes. */
export const MAX_SKILL_LIST_BYTES = 16 * 1024
/** maximum number of names in one note */
const MAX_NAMED_SKILLS = 10

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/
const format: YamlFormat<Record<string, unknown>> = { schema: z.record(z.string(), z.unknown()), knownKeys: () => [] }

export interface FoundSkills {
  readonly skills: readonly Skill[]
  /** why skills were left out */
  readonly problems: readonly string[]
}

/** A folder whose subfolders may be skills. */
interface SkillsFolder {
  readonly dir: string
  /** the root of the repository; null: the folder belongs to the user */
  readonly root: string | null
}

/**
 * Finds the skills for a working directory: those of the nearest directory first, and those of the user last. `only`: the names that the
 * agent may load; absent: all.
 */
export async function findSkills(cwd: string, { config }: Pick<Paths, 'config'>, only?: readonly string[]): Promise<FoundSkills> {
  const start = await realpath(cwd)
  const dirs = await repositoryDirectories(start)
  const root = dirs.at(-1) ?? start
  const owners = await trustedOwners(start)
  const folders: SkillsFolder[] = [
    ...dirs.flatMap((dir) => REPOSITORY_FOLDERS.map((folder) => ({ dir: join(dir, folder), root }))),
    { dir: join(config, 'skills'), root: null },
  ]
  const found = new Map<string, Skill>()
  const problems: string[] = []
  for (const folder of folders) {
    for (const read of await readFolder(folder, owners)) {
      if (read === null) continue
      if ('problem' in read) problems.push(read.problem)
      else {
        const nearer = found.get(read.skill.name)
        if (nearer === undefined) found.set(read.skill.name, read.skill)
        else if (nearer.path !== read.skill.path)
          problems.push(`${read.skill.path}: it is not used, because ${nearer.path} has the same name and is nearer`)
      }
    }
  }
  const wanted = [...found.values()].filter(({ name }) => only === undefined || only.includes(name))
  const missing = (only ?? []).filter((name) => !found.has(name))
  const { fitting, leftOut } = fitList(wanted)
  return {
    skills: fitting,
    problems: [
      ...problems,
      ...(missing.length === 0 ? [] : [`there is no skill ${namesText(missing)}`]),
      ...(leftOut.length === 0
        ? []
        : [`the nearer skills have ${MAX_SKILL_LIST_BYTES / 1024} KiB of descriptions, so these are left out: ${namesText(leftOut)}`]),
    ],
  }
}

type ReadSkill = { readonly skill: Skill } | { readonly problem: string } | null

async function readFolder({ dir, root }: SkillsFolder, owners: ReadonlySet<number>): Promise<readonly ReadSkill[]> {
  // A folder that does not exist, or that the user cannot read, has no skills.
  const names = (await readdir(dir).catch(() => [])).toSorted()
  const all: ReadSkill[] = []
  for (const name of names.slice(0, MAX_FOLDER_SKILLS)) all.push(await readSkill(join(dir, name), root, owners))
  if (names.length > MAX_FOLDER_SKILLS) all.push({ problem: `${dir}: only ${MAX_FOLDER_SKILLS} of its ${names.length} skills are read` })
  return all
}

/** Reads a `SKILL.md`; null if it does not exist, or if its author reserves it for the user. */
async function readSkill(folder: string, root: string | null, owners: ReadonlySet<number>): Promise<ReadSkill> {
  const file = join(folder, 'SKILL.md')
  // A file that does not exist, or a link that leads nowhere, counts as none.
  const path = await realpath(file).catch(() => null)
  if (path === null) return null
  if (root !== null && !isBelow([root], path)) return { problem: `${file}: it is a link out of the repository, so it is not used` }
  try {
    const read = await readText(path, owners)
    return read && parseSkill(read.text, basename(folder), { path, ...(root === null ? {} : { file: relative(root, path) }) })
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    return { problem: error.message }
  }
}

/** Without a name in the front matter, the skill has the name of its folder. Unknown keys belong to other programs. */
function parseSkill(text: string, folderName: string, place: Pick<Skill, 'path' | 'file'>): ReadSkill {
  const fail = (message: string): ReadSkill => ({ problem: `${place.path}: ${message}, so the skill is not used` })
  const parts = splitFrontMatter(text)
  if (parts === null) return fail('it has no front matter')
  const yaml = parseYaml(parts.front, format, place.path, 2)
  const values = yaml.ok ? yaml.value : parseFrontMatterLines(parts.front)
  const { name: named, description: described, 'disable-model-invocation': isReserved } = values
  if (isReserved === true || isReserved === 'true') return null
  const name = named ?? folderName
  if (typeof name !== 'string' || !NAME.test(name))
    return fail('its name is not one of up to 64 letters, digits, dots, dashes and underscores')
  const description = typeof described === 'string' ? described.replaceAll(/\s+/g, ' ').trim() : ''
  if (description === '') return fail('it has no description')
  const sha256 = createHash('sha256').update(text).digest('hex')
  return { skill: { name, description: truncate(description, MAX_DESCRIPTION_CHARS, '…'), ...place, sha256 } }
}

/** The first skills whose names and descriptions fit into the limit. */
function fitList(skills: readonly Skill[]): { readonly fitting: readonly Skill[]; readonly leftOut: readonly string[] } {
  let left = MAX_SKILL_LIST_BYTES
  const end = skills.findIndex(({ name, description }) => {
    left -= Buffer.byteLength(name) + Buffer.byteLength(description)
    return left < 0
  })
  if (end < 0) return { fitting: skills, leftOut: [] }
  return { fitting: skills.slice(0, end), leftOut: skills.slice(end).map(({ name }) => name) }
}

function namesText(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMED_SKILLS).join(', ')
  return names.length > MAX_NAMED_SKILLS ? `${shown} and ${names.length - MAX_NAMED_SKILLS} more` : shown
}
