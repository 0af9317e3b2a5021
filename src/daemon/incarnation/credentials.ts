// The keys of processes: stored in memory only, by process. Keys that are not in memory, for example after a restart, are looked up again.
// Also holds the inputs of commands, which are forgotten with the keys. Must never put a value into a fact, a log or a message.
// Test: test/e2e/models/credentials.test.ts.
import { findKeys, locateKey, type FoundKeys, type KeySources } from '../../config/credentials/find-keys.ts'
import { looksSecret } from '../../config/credentials/secret-variables.ts'
import { mcpVariableNames } from '../../config/mcp/resolve-servers.ts'
import { keyVariableNames, findProvider } from '../../config/credentials/model-keys.ts'
import { isExternal, isPlainCommand } from '../../kernel/model/capabilities.ts'
import { runProgram } from '../host/run-program.ts'
import { StartInputs } from './start-inputs.ts'
import type { Paths } from '../../config/paths.ts'
import type { ContainmentManager } from '../../drivers/contain/containment-contract.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Settings } from '../host/settings.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { ProcessSpec } from '../../kernel/model/process-spec.ts'
import { gatewayProviders } from './gateway-providers.ts'

type Values = Readonly<Record<string, string>>

export interface CredentialsDeps {
  readonly paths: Paths
  readonly containments: ContainmentManager
  readonly settings: Settings
  readonly tmpDir: string
}

export class Credentials {
  /** the inputs of commands that have not started */
  readonly inputs = new StartInputs()
  readonly #deps: CredentialsDeps
  readonly #values = new Map<Uuid, Values>()

  constructor(deps: CredentialsDeps) {
    this.#deps = deps
  }

  /** Looks up one key: among the keys that the client sent, in the user's file, with the user's command. Null if none of them has it. */
  locate(name: string, sent: Values): ReturnType<typeof locateKey> {
    return locateKey(name, this.#sources(sent))
  }

  #sources(secrets: Values): KeySources {
    const { paths, settings } = this.#deps
    return { secrets, paths, keyCommand: settings.now.keyCommand, run: (argv) => this.#run(argv) }
  }

  /**
   * Looks up the keys of a process and keeps them in memory. `sent` has the keys that the client sent with its request.
   * Returns the found keys, and the names of missing keys without which the process cannot start.
   */
  async resolveAndKeep({ uuid, spec }: Pick<Process, 'uuid' | 'spec'>, sent?: Values): Promise<FoundKeys> {
    const names = [...new Set([...spec.credentials, ...this.#optionalNames(spec)])]
    const known = { ...(this.#values.get(uuid) ?? (sent === undefined ? this.#inheritedKeys(spec) : {})), ...sent }
    const { values, missing } = await findKeys(names, this.#sources(known))
    // A crew uses no keys itself: the keys that it received are for its members.
    const forMembers = spec.crew ? known : {}
    this.#values.set(uuid, { ...forMembers, ...(await this.#mcpServerKeys(spec, known)), ...values })
    return { values, missing: missing.filter((name) => this.#isRequired(name, spec)) }
  }

  /** Finds keys for a process that started under an earlier daemon: in the environment of this daemon, and among the keys of its crew. */
  #inheritedKeys({ member }: ProcessSpec): Values {
    const names = keyVariableNames(this.#deps.settings.now.providers)
    const inherited = Object.entries(process.env).flatMap(([name, value = '']) =>
      value !== '' && (names.has(name) || looksSecret(name, value)) ? [[name, value]] : [],
    )
    return { ...(Object.fromEntries(inherited) as Values), ...(member && this.#values.get(member.crew)) }
  }

  /** True if the process cannot start without the key. Plain commands need none; external agents need only the keys of model providers. */
  #isRequired(name: string, spec: ProcessSpec): boolean {
    if (!spec.credentials.includes(name) || isPlainCommand(spec)) return false
    return !isExternal(spec) || keyVariableNames(this.#deps.settings.now.providers).has(name)
  }

  /** Returns the names of keys without which the process can start: those of fallback models, and those that the gateway would use. */
  #optionalNames(spec: ProcessSpec): readonly string[] {
    const { providers } = this.#deps.settings.now
    const gatewayNames = gatewayProviders(spec)
    const gatewayKeys = providers.filter(({ name }) => gatewayNames.includes(name)).flatMap(({ apiKeyEnv }) => apiKeyEnv ?? [])
    return [...(spec.fallback ?? []).flatMap((ref) => findProvider(ref, providers)?.apiKeyEnv ?? []), ...gatewayKeys]
  }

  /** The keys that the MCP servers of a spec need. A server without its key does not start, and reports that itself. */
  async #mcpServerKeys(spec: ProcessSpec, known: Values): Promise<Values> {
    try {
      const names = await mcpVariableNames(spec, this.#deps.paths)
      return (await findKeys(names, this.#sources(known))).values
    } catch {
      // The keys count as missing, and each server reports that.
      return {}
    }
  }

  /** Stores keys for a process whose spec names none. */
  keep(uuid: Uuid, values: Values): void {
    this.#values.set(uuid, values)
  }

  /** Returns the keys of a process that are in memory. */
  storedKeys(uuid: Uuid): Values {
    return this.#values.get(uuid) ?? {}
  }

  /** Forgets the keys of a process, and its input. */
  forget(uuid: Uuid): void {
    this.#values.delete(uuid)
    this.inputs.forget(uuid)
  }

  #run(argv: readonly string[]): Promise<{ code: number; stdout: string }> {
    const { containments, paths, tmpDir } = this.#deps
    return runProgram({ containments, cwd: paths.config, tmpDir }, argv)
  }
}
