// Credentials of processes: values in memory only, by process; looked for again where memory has none.
// Owns the values. Must never put one into a fact, a log or a message. Test: test/e2e/credentials.test.ts.
import { findKeys, locateKey, type FoundKeys, type KeySources } from '../config/credentials.ts'
import { mcpVariables } from '../config/mcp-start.ts'
import { keyNames, providerOf } from '../config/model-keys.ts'
import { isExternal, isPlainCommand } from '../kernel/capabilities.ts'
import { gatewayProviders } from './gateways.ts'
import { runProgram } from './run-program.ts'
import type { Paths } from '../config/paths.ts'
import type { Container } from '../drivers/contain/contain.ts'
import type { Process, ProcessSpec, Uuid } from '../kernel/types.ts'
import type { Settings } from './settings.ts'

type Values = Readonly<Record<string, string>>

export interface KeysParts {
  readonly paths: Paths
  readonly container: Container
  readonly settings: Settings
  readonly tmpDir: string
}

export class Keys {
  readonly #parts: KeysParts
  readonly #values = new Map<Uuid, Values>()

  constructor(parts: KeysParts) {
    this.#parts = parts
  }

  /** Where one key is: in what the client sent, in the user's file, with the user's command. Null if nobody has it. */
  locate(name: string, sent: Values): ReturnType<typeof locateKey> {
    return locateKey(name, this.#sources(sent))
  }

  #sources(secrets: Values): KeySources {
    const { paths, settings } = this.#parts
    return { secrets, paths, keyCommand: settings.now.keyCommand, run: (argv) => this.#run(argv) }
  }

  /** The keys that a process is to have, remembered; and the names of those that nobody has, of what it cannot begin without. */
  async of({ uuid, spec }: Pick<Process, 'uuid' | 'spec'>, sent: Values = {}): Promise<FoundKeys> {
    const names = [...new Set([...spec.credentials, ...this.#optional(spec)])]
    const { values, missing } = await findKeys(names, this.#sources({ ...this.#values.get(uuid), ...sent }))
    // A crew asks for none itself: what it was given is for its members.
    const kept = spec.crew ? this.#values.get(uuid) : {}
    this.#values.set(uuid, { ...kept, ...(await this.#forServers(spec, { ...this.#values.get(uuid), ...sent })), ...values })
    return { values, missing: missing.filter((name) => this.#isNeeded(name, spec)) }
  }

  /** A command has no need that we know of; of all that an agent of others was given, the keys of models are what it cannot go on without. */
  #isNeeded(name: string, spec: ProcessSpec): boolean {
    if (!spec.credentials.includes(name) || isPlainCommand(spec)) return false
    return !isExternal(spec) || keyNames(this.#parts.settings.now.providers).has(name)
  }

  /** Keys of models that are asked only when another one cannot answer: without theirs they are passed by. And those that the gateway would use. */
  #optional(spec: ProcessSpec): readonly string[] {
    const { providers } = this.#parts.settings.now
    const used = gatewayProviders(spec)
    const byGateway = providers.filter(({ name }) => used.includes(name)).flatMap(({ apiKeyEnv }) => apiKeyEnv ?? [])
    return [...(spec.fallback ?? []).flatMap((ref) => providerOf(ref, providers)?.apiKeyEnv ?? []), ...byGateway]
  }

  /** What its MCP servers name: one that nobody has keeps that server out, which says so then. */
  async #forServers(spec: ProcessSpec, known: Values): Promise<Values> {
    try {
      const names = await mcpVariables(spec, this.#parts.paths)
      return (await findKeys(names, this.#sources(known))).values
    } catch {
      return {}
    }
  }

  /** What is known already, for a process that has no spec of its own to look by. */
  keep(uuid: Uuid, values: Values): void {
    this.#values.set(uuid, values)
  }

  known(uuid: Uuid): Values {
    return this.#values.get(uuid) ?? {}
  }

  forget(uuid: Uuid): void {
    this.#values.delete(uuid)
  }

  #run(argv: readonly string[]): Promise<{ code: number; stdout: string }> {
    const { container, paths, tmpDir } = this.#parts
    return runProgram({ container, cwd: paths.config, tmpDir }, argv)
  }
}
