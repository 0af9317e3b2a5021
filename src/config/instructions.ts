// Reads the instructions that a repository has for agents: `AGENTS.md`, or else `CLAUDE.md`, in the working directory and above it, up to
// the root of the repository. A link must not lead out of the repository, because the text is sent to a model.
// Test: test/tables/config/instructions.test.ts.
import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { KernelError } from '../kernel/model/errors.ts'
import type { InstructionFile, Instructions } from '../kernel/model/spec-parts.ts'
import { isBelow } from '../kernel/state/permissions.ts'
import { repositoryDirectories } from './repository-directories.ts'
import { readText, trustedOwners } from './untrusted-files.ts'

/** The names of files with instructions. In each directory the first one that exists counts. */
const FILE_NAMES = ['AGENTS.md', 'CLAUDE.md'] as const
/** The limit of all texts together, in bytes. */
export const MAX_INSTRUCTION_BYTES = 32 * 1024

export interface FoundInstructions {
  readonly instructions: Instructions | null
  /** why files were left out */
  readonly problems: readonly string[]
}

/** Reads the instructions for a working directory, the nearest file first. */
export async function readInstructions(cwd: string): Promise<FoundInstructions> {
  const start = await realpath(cwd)
  const dirs = await repositoryDirectories(start)
  const root = dirs.at(-1) ?? start
  const owners = await trustedOwners(start)
  const files: InstructionFile[] = []
  const problems: string[] = []
  let left = MAX_INSTRUCTION_BYTES
  for (const dir of dirs) {
    const found = await readFirst(dir, root, owners)
    if (found === null) continue
    if ('problem' in found) problems.push(found.problem)
    else if (left === 0) problems.push(`${found.path}: it is left out, because the nearer files have ${MAX_INSTRUCTION_BYTES / 1024} KiB`)
    else {
      const text = firstLines(found.text, left)
      left -= Math.min(left, Buffer.byteLength(found.text))
      if (text === '') continue
      const sha256 = createHash('sha256').update(found.text).digest('hex')
      files.push({ path: found.path, name: relative(root, found.path), sha256, text, ...(text === found.text ? {} : { isCut: true }) })
    }
  }
  return { instructions: files.length === 0 ? null : { files }, problems }
}

async function readFirst(
  dir: string,
  root: string,
  owners: ReadonlySet<number>,
): Promise<{ readonly path: string; readonly text: string } | { readonly problem: string } | null> {
  for (const name of FILE_NAMES) {
    const file = join(dir, name)
    // A file that does not exist, or a link that leads nowhere, counts as none.
    const path = await realpath(file).catch(() => null)
    if (path === null) continue
    if (!isBelow([root], path)) return { problem: `${file}: it is a link out of the repository, so it is not used` }
    try {
      const found = await readText(path, owners)
      if (found) return { path, text: found.text.replace(/^\uFEFF/, '').trim() }
    } catch (error) {
      if (!(error instanceof KernelError)) throw error
      return { problem: error.message }
    }
  }
  return null
}

/** The whole lines at the beginning of a text that fit into a number of bytes. */
function firstLines(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  return bytes
    .subarray(0, bytes.subarray(0, maxBytes).lastIndexOf('\n') + 1)
    .toString()
    .trimEnd()
}
