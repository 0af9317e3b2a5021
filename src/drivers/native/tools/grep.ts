// The tool `grep`: lines that fit a regular expression. Everything is bounded: files, their size, matches, the length of
// a line, and the time that one file's matching may take, as an expression of a model may backtrack for ever.
// Test: test/tables/native-tools.test.ts.
import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import vm from 'node:vm'
import { z } from 'zod'
import type { Places } from '../../../kernel/permits.ts'
import { isBinary, openText } from './files.ts'
import { checkPlace } from './reach.ts'
import { ToolError, defineTool } from './tool.ts'
import { walk } from './walk.ts'

const MAX_MATCHES = 200
const MAX_FILES = 20_000
const MAX_FILE_BYTES = 4 * 1024 * 1024
const MAX_LINE_CHARS = 300
/** Longest time that the matching of one file may hold up the daemon, in ms. */
const MAX_FILE_MS = 250

const SCRIPT = new vm.Script('work()')

const input = z.strictObject({
  pattern: z.string().min(1).describe('a JavaScript regular expression'),
  path: z.string().min(1).default('.').describe('a file or directory; relative to the working directory, or absolute'),
  glob: z.string().min(1).optional().describe('only files whose path below `path` fits, such as **/*.ts'),
  ignore_case: z.boolean().default(false),
})

interface Search {
  readonly found: string[]
  readonly expression: RegExp
  readonly box: vm.Context
  readonly places: Places | undefined
  files: number
}

export const grep = defineTool({
  name: 'grep',
  description: 'Searches text files for a regular expression, line by line; binary files, .git and node_modules are passed over.',
  effect: 'read',
  input,
  async run(asked, at) {
    const root = path.resolve(at.cwd, asked.path)
    const { places } = at
    const search: Search = { found: [], expression: compile(asked), box: vm.createContext({}), places, files: 0 }
    const isFile = (await stat(places ? await checkPlace(root, 'read', places) : root)).isFile()
    for await (const file of isFile ? [root] : walk(root, at.signal, places)) {
      const name = isFile ? asked.path : path.relative(root, file)
      if (asked.glob !== undefined && !path.matchesGlob(name, asked.glob)) continue
      search.files += 1
      if (search.files > MAX_FILES) return `${search.found.join('\n')}\n[… stopped after ${MAX_FILES} files …]`
      await searchFile(search, file, name)
      if (search.found.length >= MAX_MATCHES) return `${search.found.slice(0, MAX_MATCHES).join('\n')}\n[… there may be more than ${MAX_MATCHES} …]`
    }
    return search.found.length === 0 ? 'no line fits' : search.found.join('\n')
  },
})

function compile(asked: z.output<typeof input>): RegExp {
  try {
    return new RegExp(asked.pattern, asked.ignore_case ? 'i' : '')
  } catch (error) {
    throw new ToolError(`the pattern cannot be used: ${(error as Error).message}`)
  }
}

/** A file that is gone, closed to us, binary or too large is passed over. */
async function searchFile(search: Search, file: string, name: string): Promise<void> {
  const size = (await stat(file).catch(() => null))?.size ?? 0
  if (size === 0 || size > MAX_FILE_BYTES) return
  const bytes = await (search.places ? bytesWithin(file, search.places) : readFile(file)).catch(() => Buffer.alloc(0))
  if (isBinary(bytes)) return
  const lines = bytes.toString('utf8').split('\n')
  const room = MAX_MATCHES - search.found.length
  for (const index of inTime(search.box, () => matching(lines, search.expression, room))) {
    search.found.push(`${name}:${index + 1}: ${(lines[index] ?? '').trimEnd().slice(0, MAX_LINE_CHARS)}`)
  }
}

async function bytesWithin(file: string, places: Places): Promise<Buffer> {
  const { handle, size } = await openText(file, places)
  try {
    return size > MAX_FILE_BYTES ? Buffer.alloc(0) : await handle.readFile()
  } finally {
    await handle.close()
  }
}

function matching(lines: readonly string[], expression: RegExp, room: number): readonly number[] {
  const found: number[] = []
  for (const [index, line] of lines.entries()) {
    if (found.length === room) break
    if (expression.test(line)) found.push(index)
  }
  return found
}

/** V8 can stop an expression that backtracks, but only from a script with a time limit. Its error is of another realm. */
function inTime<T>(box: vm.Context, work: () => T): T {
  let result: { readonly value: T } | undefined
  box['work'] = () => { result = { value: work() } }
  try {
    SCRIPT.runInContext(box, { timeout: MAX_FILE_MS })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw new ToolError('the pattern takes too long; make it simpler')
    throw error
  }
  if (result === undefined) throw new ToolError('the search gave no result')
  return result.value
}
