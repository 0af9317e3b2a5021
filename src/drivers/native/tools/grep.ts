// The tool `grep`: finds the lines that match a regular expression. The number of files, their sizes, the number of matches, and the length
// of a shown line are limited. The time per file is limited, too, because a model's expression may backtrack without end.
// Test: test/tables/drivers/native/tools/file-tools.test.ts.
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { withTimeLimit } from '../regex-time-limit.ts'
import type { FileContext, GrepInput } from './file-inputs.ts'
import { isBinary, openRegularFile } from './text-files.ts'
import { matchesPath, parseGlob } from './glob-pattern.ts'
import { checkPath } from './path-guard.ts'
import { ToolError } from './tool-error.ts'
import { walkFiles } from './walk-files.ts'
import type { PathAccess } from '../../../kernel/model/spec-parts.ts'
import { truncate } from '../../../kernel/util/truncate.ts'

/** The maximum number of matching lines in a result. */
const MAX_MATCHES = 200
/** The maximum number of files that one call searches. */
const MAX_FILES = 20_000
/** The largest file that is searched, in bytes. */
const MAX_FILE_BYTES = 4 * 1024 * 1024
/** The longest part of a line that is shown, in characters. */
const MAX_LINE_CHARS = 300
/** The longest matching time of one file, in ms. */
const MAX_FILE_MS = 1_000

interface Search {
  /** the matching lines, as they are shown */
  readonly matches: string[]
  readonly expression: RegExp
  readonly paths: PathAccess | undefined
  /** the number of files so far */
  fileCount: number
}

export async function grepFiles(input: GrepInput, { cwd, paths }: FileContext): Promise<string> {
  const root = path.resolve(cwd, input.path)
  const fileGlob = input.glob === undefined ? null : parseGlob(input.glob)
  const search: Search = { matches: [], expression: compilePattern(input), paths, fileCount: 0 }
  const isFile = (await stat(paths ? await checkPath(root, 'read', paths) : root)).isFile()
  for await (const file of isFile ? [root] : walkFiles(root, paths)) {
    const name = isFile ? input.path : path.relative(root, file)
    if (fileGlob !== null && !matchesPath(fileGlob, name)) continue
    search.fileCount += 1
    if (search.fileCount > MAX_FILES) return `${search.matches.join('\n')}\n[… stopped after searching ${MAX_FILES} files …]`
    await searchFile(search, file, name)
    if (search.matches.length >= MAX_MATCHES)
      return `${search.matches.slice(0, MAX_MATCHES).join('\n')}\n[… stopped at ${MAX_MATCHES} matches; there may be more …]`
  }
  return search.matches.length === 0 ? 'no lines match' : search.matches.join('\n')
}

function compilePattern(input: GrepInput): RegExp {
  try {
    return new RegExp(input.pattern, input.ignore_case ? 'i' : '')
  } catch (error) {
    throw new ToolError(`the pattern cannot be used: ${(error as Error).message}`)
  }
}

/** Skips a file that is missing, unreadable, binary or too large. */
async function searchFile(search: Search, file: string, name: string): Promise<void> {
  // A missing or unreadable file is skipped.
  const bytes = await readIfSmall(file, search.paths).catch(() => Buffer.alloc(0))
  if (bytes.length === 0 || isBinary(bytes)) return
  const lines = bytes.toString('utf8').split('\n')
  const matchesLeft = MAX_MATCHES - search.matches.length
  const result = withTimeLimit(MAX_FILE_MS, () => findMatchingLines(lines, search.expression, matchesLeft))
  if (result === null) throw new ToolError('the pattern takes too long; make it simpler')
  for (const index of result.value) {
    search.matches.push(`${name}:${index + 1}: ${truncate((lines[index] ?? '').trimEnd(), MAX_LINE_CHARS)}`)
  }
}

/** Reads a file. Returns no bytes for a file that is too large. */
async function readIfSmall(file: string, paths: PathAccess | undefined): Promise<Buffer> {
  const { handle, size } = await openRegularFile(file, paths)
  try {
    return size > MAX_FILE_BYTES ? Buffer.alloc(0) : await handle.readFile()
  } finally {
    await handle.close()
  }
}

/** The indexes of the first matching lines. */
function findMatchingLines(lines: readonly string[], expression: RegExp, matchesLeft: number): readonly number[] {
  const indexes: number[] = []
  for (const [index, line] of lines.entries()) {
    if (indexes.length === matchesLeft) break
    if (expression.test(line)) indexes.push(index)
  }
  return indexes
}
