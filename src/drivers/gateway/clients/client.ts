// The interface of an adapter for an external agent. An adapter finds the providers that the agent calls, and configures the
// agent to call them through the gateway. Each other file in this folder is the adapter of one agent; ../clients.ts chooses
// between them. Pure: an adapter reads files only through functions in its parameters. docs/reference/gateway.md describes the observed
// behavior of the agents.
// Test: test/tables/drivers/gateway/clients.test.ts.
import type { ParsedCommand, Options } from '../../command/formats/args.ts'

/** An agent's setup without the gateway. */
export interface AgentSetup {
  readonly command: ParsedCommand
  /** the recorded part of its environment, which contains no secrets */
  readonly env: Readonly<Record<string, string>>
  /** the names of the secrets in its environment */
  readonly credentials: readonly string[]
  readonly cwd: string
  /** the requested model in the agent's own notation; null for the agent's default */
  readonly model: string | null
  /** Reads a text file of the user. Null if it is missing, unreadable or too large. */
  read(path: string): string | null
}

/** The providers that an agent calls without the gateway. */
export interface ProviderUse {
  /** the names of the providers */
  readonly providers: readonly string[]
  /** why the agent cannot use the gateway, as text for the user */
  readonly bypass?: string | undefined
  /** the agent's own login, as text for the user; an agent with a login uses the gateway only on request */
  readonly login?: string | undefined
  /** the base URLs in the agent's own settings, by provider */
  readonly bases?: Readonly<Record<string, string>>
}

/** An agent's setup, and its access to the gateway. */
export interface GatewayTarget extends AgentSetup {
  /** The gateway's base URL for this provider; null if the agent may not call the provider. */
  url(provider: string): string | null
  readonly token: string
  /** the names of the providers that the agent may call */
  readonly providers: readonly string[]
  /** the temporary folder of the incarnation */
  readonly dir: string
  /** The names in a folder of the user; empty if it is missing. */
  list(path: string): readonly string[]
}

/** An agent's configuration for the gateway. */
export interface ClientConfig {
  readonly env: Readonly<Record<string, string>>
  /** the arguments to insert directly after the program */
  readonly args?: readonly string[]
  /** the files to write: texts by path */
  readonly files?: Readonly<Record<string, string>>
  /** the links to create: targets by path. The agent uses these files of the user unchanged. */
  readonly links?: Readonly<Record<string, string>>
}

/** The two ways for a user to authorize an agent to call its models: a login command, or a key. */
export interface Login {
  /** the login command, which the user runs once */
  readonly command: string
  /** the environment variable with the key, for use without a login; null if the variable depends on the model */
  readonly key: string | null
}

/** The adapter of one external agent. */
export interface ClientAdapter {
  /** the name of the agent, as text for the user */
  readonly title: string
  /** the names of its programs, and of the packages that contain them */
  readonly names: readonly string[]
  /** the options of its command line */
  readonly options: Options
  readonly login: Login
  /** Finds the providers that the agent calls without the gateway. */
  providerUse(setup: AgentSetup): ProviderUse
  /** Configures the agent to use the gateway. */
  configure(target: GatewayTarget): ClientConfig
}

export type Json = Readonly<Record<string, unknown>>

/** The value if it is an object, or else an empty object. */
export function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

/** The value if it is a text, or else an empty text. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Parses a JSON object. Any other text gives an empty object. */
export function parseObject(text: string | null | undefined): Json {
  try {
    return asObject(JSON.parse(text || '{}'))
  } catch {
    // The agent itself reports an invalid file.
    return {}
  }
}

/** The name of the first variable that is set and not empty. */
export function firstSetVariable(env: AgentSetup['env'], names: readonly string[]): string | undefined {
  return names.find((name) => (env[name] ?? '') !== '')
}

/** The user's home directory, as the agent sees it. */
export function homeOf({ env }: Pick<AgentSetup, 'env'>): string {
  return env['HOME'] ?? '/nonexistent'
}
