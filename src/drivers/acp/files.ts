// Files that an agent reads and writes through its client: in the working directory, and elsewhere only where the rules
// allow it. Owns that no link leads out. Tests: test/processes/acp-client.test.ts.
import { RequestError } from '@agentclientprotocol/sdk'
import type { ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest } from '@agentclientprotocol/sdk'
import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { readText, writeText } from '../native/tools/files.ts'
import { verdictOn } from './policy.ts'
import type { Rules } from './policy.ts'

const MIB = 1024 * 1024
const MAX_FILE_BYTES = 16 * MIB

export class Files {
  readonly #cwd: string
  readonly #rules: Rules

  constructor(cwd: string, rules: Rules) {
    this.#cwd = cwd
    this.#rules = rules
  }

  /** Errors: `RequestError`, in words for the agent. */
  async read({ path: file, line, limit }: ReadTextFileRequest): Promise<ReadTextFileResponse> {
    await this.#check(file, 'read')
    const text = await inWords(readText(file, MAX_FILE_BYTES))
    const [from, count] = [Math.max(0, (line ?? 1) - 1), limit ?? Infinity]
    return { content: text.split('\n').slice(from, from + count).join('\n') }
  }

  async write({ path: file, content }: WriteTextFileRequest): Promise<Record<string, never>> {
    await this.#check(file, 'edit')
    await inWords(writeText(file, content))
    return {}
  }

  async #check(file: string, kind: 'read' | 'edit'): Promise<void> {
    if (!path.isAbsolute(file)) throw RequestError.invalidParams(undefined, `${file} is not an absolute path`)
    const verdict = verdictOn({ title: null, name: null, kind }, this.#rules)
    const word = kind === 'read' ? 'read' : 'written'
    if (verdict === 'deny') throw RequestError.invalidParams(undefined, `files may not be ${word} here`)
    if (verdict !== 'allow' && !(await isWithin(this.#cwd, file))) {
      throw RequestError.invalidParams(undefined, `${file} is outside of the working directory and may not be ${word}`)
    }
  }
}

/** By where it really is: the nearest part of it that is there decides. */
async function isWithin(dir: string, file: string): Promise<boolean> {
  const [base, target] = await Promise.all([realpath(dir), nearest(path.resolve(file))])
  const way = path.relative(base, target)
  return way === '' || (way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way))
}

async function nearest(file: string): Promise<string> {
  const missing: string[] = []
  for (let at = file; ; at = path.dirname(at)) {
    const found = await realpath(at).catch(() => null)
    if (found !== null) return path.join(found, ...missing)
    if (path.dirname(at) === at) return file
    missing.unshift(path.basename(at))
  }
}

async function inWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') throw RequestError.resourceNotFound((error as { path?: string }).path)
    throw RequestError.internalError(undefined, error instanceof Error ? error.message : String(error))
  }
}
