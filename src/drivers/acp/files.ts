// Files that an agent reads and writes through its client: in the working directory, or where its places say, and elsewhere
// only where the rules allow it. Owns that no link leads out. Tests: test/processes/acp-client.test.ts.
import { RequestError } from '@agentclientprotocol/sdk'
import type { ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest } from '@agentclientprotocol/sdk'
import { realpath } from 'node:fs/promises'
import path from 'node:path'
import type { CapabilityName } from '../../kernel/facts.ts'
import type { Places } from '../../kernel/permits.ts'
import { readText, writeText } from '../native/tools/files.ts'
import { RefusedError } from '../native/tools/reach.ts'
import { verdictOn } from './policy.ts'
import type { Rules } from './policy.ts'
import type { Refused } from './refusals.ts'

const MIB = 1024 * 1024
const MAX_FILE_BYTES = 16 * MIB

export class Files {
  readonly #cwd: string
  readonly #rules: Rules
  readonly #refused: Refused

  constructor(cwd: string, rules: Rules, refused: Refused) {
    this.#cwd = cwd
    this.#rules = rules
    this.#refused = refused
  }

  /** Errors: `RequestError`, in words for the agent. */
  async read({ path: file, line, limit }: ReadTextFileRequest): Promise<ReadTextFileResponse> {
    const text = await this.#reach(file, 'read', (places) => readText(file, MAX_FILE_BYTES, places))
    const [from, count] = [Math.max(0, (line ?? 1) - 1), limit ?? Infinity]
    return { content: text.split('\n').slice(from, from + count).join('\n') }
  }

  async write({ path: file, content }: WriteTextFileRequest): Promise<Record<string, never>> {
    await this.#reach(file, 'edit', (places) => writeText(file, content, places))
    return {}
  }

  async #reach<T>(file: string, kind: 'read' | 'edit', work: (places: Places | undefined) => Promise<T>): Promise<T> {
    if (!path.isAbsolute(file)) throw RequestError.invalidParams(undefined, `${file} is not an absolute path`)
    const verdict = verdictOn({ title: null, name: null, kind }, this.#rules)
    const word = kind === 'read' ? 'read' : 'written'
    if (verdict === 'deny') throw this.#refusal('tools', `files may not be ${word} here`)
    const { capabilities: { paths } = {} } = this.#rules
    const limited = verdict === 'allow' ? paths : await this.#orHere(paths)
    try {
      return await inWords(work(limited))
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error
      const isOwn = (kind === 'read' ? paths?.read : paths?.write) === undefined
      throw this.#refusal('paths', isOwn && error.message.includes('only what is below') ? `${file} is outside of the working directory and may not be ${word}` : error.message)
    }
  }

  /** Its working directory, for what has no places of its own. */
  async #orHere(paths: Places | undefined): Promise<Places> {
    const here = [await realpath(this.#cwd)]
    return { read: paths?.read ?? here, write: paths?.write ?? here }
  }

  #refusal(what: CapabilityName, detail: string): RequestError {
    this.#refused(what, detail)
    return RequestError.invalidParams(undefined, detail)
  }
}

async function inWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof RefusedError) throw error
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') throw RequestError.resourceNotFound((error as { path?: string }).path)
    throw RequestError.internalError(undefined, error instanceof Error ? error.message : String(error))
  }
}
