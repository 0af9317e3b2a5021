// Reads and writes files for an agent, only in its allowed paths. If none are set, only the working directory is allowed, unless a rule
// allows the call. Guarantees that no symbolic link leads out of these directories. Tests: test/processes/acp/client.test.ts.
import { RequestError } from '@agentclientprotocol/sdk'
import type { ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest } from '@agentclientprotocol/sdk'
import { realpath } from 'node:fs/promises'
import path from 'node:path'
import type { CapabilityName } from '../../kernel/model/facts.ts'
import { readText, writeText } from '../native/tools/text-files.ts'
import { OutsidePathsError } from '../native/tools/path-guard.ts'
import { RefusedError } from '../native/tools/tool-error.ts'
import { decideAction } from './policy.ts'
import type { Rules } from './policy.ts'
import type { ReportRefusal } from './refusals.ts'
import type { PathAccess } from '../../kernel/model/spec-parts.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import { MIB } from '../../kernel/util/mib.ts'

const MAX_FILE_BYTES = 16 * MIB

export class ClientFiles {
  readonly #cwd: string
  readonly #rules: Rules
  readonly #reportRefusal: ReportRefusal

  constructor(cwd: string, rules: Rules, reportRefusal: ReportRefusal) {
    this.#cwd = cwd
    this.#rules = rules
    this.#reportRefusal = reportRefusal
  }

  /** Reads a text file. Errors: `RequestError` with a message for the agent. */
  async read({ path: file, line, limit }: ReadTextFileRequest): Promise<ReadTextFileResponse> {
    const text = await this.#access(file, 'read', (allowedPaths) => readText(file, MAX_FILE_BYTES, allowedPaths))
    const [from, count] = [Math.max(0, (line ?? 1) - 1), limit ?? Infinity]
    return {
      content: text
        .split('\n')
        .slice(from, from + count)
        .join('\n'),
    }
  }

  /** Writes a text file. Errors: `RequestError` with a message for the agent. */
  async write({ path: file, content }: WriteTextFileRequest): Promise<Record<string, never>> {
    await this.#access(file, 'edit', (allowedPaths) => writeText(file, content, allowedPaths))
    return {}
  }

  async #access<T>(file: string, kind: 'read' | 'edit', work: (allowedPaths: PathAccess | undefined) => Promise<T>): Promise<T> {
    if (!path.isAbsolute(file)) throw RequestError.invalidParams(undefined, `${file} is not an absolute path`)
    const decision = decideAction({ title: null, name: null, kind }, this.#rules)
    const participle = kind === 'read' ? 'read' : 'written'
    if (decision === 'deny') throw this.#refusal('tools', `files may not be ${participle} here`)
    const { capabilities: { paths } = {} } = this.#rules
    const allowedPaths = decision === 'allow' ? paths : await this.#pathsOrCwd(paths)
    try {
      return await withRequestErrors(work(allowedPaths))
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error
      const hasDefaultPaths = (kind === 'read' ? paths?.read : paths?.write) === undefined
      throw this.#refusal(
        'paths',
        hasDefaultPaths && error instanceof OutsidePathsError
          ? `${file} is outside of the working directory and may not be ${participle}`
          : error.message,
      )
    }
  }

  /** Returns the allowed paths. If none are set, only the working directory is allowed. */
  async #pathsOrCwd(paths: PathAccess | undefined): Promise<PathAccess> {
    const cwd = [await realpath(this.#cwd)]
    return { read: paths?.read ?? cwd, write: paths?.write ?? cwd }
  }

  #refusal(what: CapabilityName, detail: string): RequestError {
    this.#reportRefusal(what, detail)
    return RequestError.invalidParams(undefined, detail)
  }
}

async function withRequestErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof RefusedError) throw error
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw RequestError.resourceNotFound((error as { path?: string }).path)
    throw RequestError.internalError(undefined, errorText(error))
  }
}
