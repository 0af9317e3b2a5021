// What there is to know about one agent of others and the gateway: whose models it would call by itself, and how it is told
// another address and a token. The rows are the other files of this folder; ../clients.ts finds them. Pure: what a row wants to
// know of files it asks for. What is seen with the agents themselves stands in docs/gateway.md.
// Test: test/tables/gateway-clients.test.ts.
import type { Command, Options } from '../../command/formats/args.ts'

/** An agent as it would run by itself. */
export interface Own {
  readonly command: Command
  /** what is recorded of its environment; no secret */
  readonly env: Readonly<Record<string, string>>
  /** names of the secrets in its environment */
  readonly credentials: readonly string[]
  readonly cwd: string
  /** in the agent's own words; null: its own */
  readonly model: string | null
  /** a text file of the user's; null: there is none, or it is too large */
  read(path: string): string | null
}

/** Whose models it calls by itself. */
export interface Calls {
  /** names of providers */
  readonly providers: readonly string[]
  /** it cannot be led through the gateway, in words for people */
  readonly elsewhere?: string | undefined
  /** it would use a login of its own, in words for people: it goes through the gateway if that is asked for */
  readonly login?: string | undefined
  /** addresses that its own settings name, by provider */
  readonly bases?: Readonly<Record<string, string>>
}

/** What it is given to go through the gateway. */
export interface Way extends Own {
  /** the base URL as baseOf makes it; null: this provider is not to be called */
  url(provider: string): string | null
  readonly token: string
  /** of the providers that it may call */
  readonly providers: readonly string[]
  /** a folder of this incarnation's own, which is gone with it */
  readonly dir: string
  /** names in a folder of the user's; none where there is no such folder */
  list(path: string): readonly string[]
}

/** How it is told. */
export interface Told {
  readonly env: Readonly<Record<string, string>>
  /** right after the program */
  readonly args?: readonly string[]
  /** texts by path */
  readonly files?: Readonly<Record<string, string>>
  /** links by path: what of the user's own stays where it is */
  readonly links?: Readonly<Record<string, string>>
}

export interface Client {
  readonly title: string
  /** programs, and packages that have them */
  readonly names: readonly string[]
  readonly options: Options
  calls(own: Own): Calls
  told(way: Way): Told
}

export type Json = Readonly<Record<string, unknown>>

export function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

export function string(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A text of JSON; what is none says nothing. */
export function jsonOf(text: string | null | undefined): Json {
  try {
    return object(JSON.parse(text || '{}'))
  } catch {
    return {}
  }
}

/** The first of these variables that is set to something. */
export function firstSet(env: Own['env'], names: readonly string[]): string | undefined {
  return names.find((name) => (env[name] ?? '') !== '')
}

/** Under the user's home, as the agent sees it. */
export function homeOf({ env }: Pick<Own, 'env'>): string {
  return env['HOME'] ?? '/nonexistent'
}
