// Reads a skill in a worker thread. Returns the text of its `SKILL.md` without the front matter, and the names of other files below its
// folder. Both are cut at limits. Refuses a path that has become a link since the skill was found. Test:
// test/tables/drivers/native/tools/skill.test.ts.
import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { splitFrontMatter } from '../../../kernel/util/front-matter.ts'
import type { FileContext, SkillInput } from './file-inputs.ts'
import { readText } from './text-files.ts'
import { ToolError } from './tool-error.ts'
import { MAX_RESULT_BYTES, truncateMiddle } from '../../common/truncate-middle.ts'
import { listEntries, SKIPPED_DIRS } from './walk-files.ts'

/** The largest `SKILL.md` that is loaded, in bytes. */
const MAX_FILE_BYTES = 256 * 1024
/** The maximum number of listed files of the folder. */
const MAX_LISTED_FILES = 100
/** The maximum number of searched directories of the folder. */
const MAX_DIRECTORIES = 50
/** The part of the result for the list of files and the notes, in bytes. */
const LIST_BYTES = 8 * 1024

export async function loadSkill({ name, places, sha256 }: SkillInput, { paths }: FileContext): Promise<string> {
  const file = await findFile(name, places)
  const text = (await readText(file, MAX_FILE_BYTES, paths)).replace(/^\uFEFF/, '')
  const body = splitFrontMatter(text)?.body ?? text.trim()
  const shown = truncateMiddle(body, MAX_RESULT_BYTES - LIST_BYTES)
  const dir = path.dirname(file)
  const notes = [
    ...(shown === body ? [] : [`A part of the text is left out. Read ${file} for it.`]),
    ...(createHash('sha256').update(text).digest('hex') === sha256 ? [] : ['This skill has changed since this process began.']),
  ]
  return [`Skill ${name}, in ${dir}:`, shown || '(no text)', ...notes, filesText(await findOtherFiles(dir, paths))].join('\n\n')
}

/** Returns the first of these files that exists. Errors: `ToolError` if none exists, or if its path has become a link. */
async function findFile(name: string, places: SkillInput['places']): Promise<string> {
  for (const { base, file } of places) {
    // A directory that does not exist keeps its name, and the next lines skip it.
    const expected = path.join(await realpath(base).catch(() => base), file)
    // A place that does not exist is skipped.
    const real = await realpath(expected).catch(() => null)
    if (real === null) continue
    if (real !== expected) throw new ToolError(`${expected} has become a link, so the skill is not loaded`)
    return real
  }
  throw new ToolError(`the file of the skill ${name} does not exist any more`)
}

interface OtherFiles {
  readonly files: readonly string[]
  /** whether all directories were searched */
  readonly isWhole: boolean
}

/** Finds the files below the folder, except its `SKILL.md`, by their relative paths. Follows no links. */
async function findOtherFiles(dir: string, paths: FileContext['paths']): Promise<OtherFiles> {
  const files: string[] = []
  const pending = [dir]
  for (let count = 0; count < MAX_DIRECTORIES && files.length <= MAX_LISTED_FILES; count += 1) {
    const current = pending.shift()
    if (current === undefined) break
    // An unreadable directory is skipped.
    for (const entry of await listEntries(current, paths).catch(() => [])) {
      const found = path.join(current, entry.name)
      if (entry.isFile() && !(current === dir && entry.name === 'SKILL.md')) files.push(path.relative(dir, found))
      else if (entry.isDirectory() && !SKIPPED_DIRS.has(entry.name)) pending.push(found)
    }
  }
  return { files, isWhole: pending.length === 0 }
}

function filesText({ files, isWhole }: OtherFiles): string {
  if (files.length === 0 && isWhole) return 'Its folder has no other files.'
  const listed = truncateMiddle(files.slice(0, MAX_LISTED_FILES).join('\n'), LIST_BYTES / 2)
  return `Other files in its folder:\n${listed}${isWhole && files.length <= MAX_LISTED_FILES ? '' : '\n[… and more …]'}`
}
