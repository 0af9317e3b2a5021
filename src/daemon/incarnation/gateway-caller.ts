// For an agent at the gateway that starts another process with the `reeve` command. The environment of such an agent contains its gateway
// access. A child that used this access would count for both processes, and lose it when the parent ends. So these functions remove the
// access from the child's environment, and find the provider keys for the child's own access. Must never put a key into an environment.
// Test: test/e2e/external/gateway.test.ts.
import type { SessionProvider } from '../../drivers/gateway/session.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

type Env = Readonly<Record<string, string>>

/** The process that calls, found by its gateway token, with the providers that it may use. */
export interface GatewayCaller {
  readonly uuid: Uuid
  readonly pid: number
  readonly token: string
  /** the gateway's address: `http://127.0.0.1:PORT` */
  readonly origin: string
  readonly providers: readonly SessionProvider[]
}

/**
 * Returns the environment without variables that contain the caller's gateway access. Such a variable gets its value in `original`, the
 * environment that the caller was started with, or is removed.
 */
export function withoutCallerAccess(env: Env, { uuid, pid, token, origin }: GatewayCaller, original: Env): Record<string, string> {
  // The last mark is the temporary folder of the caller's incarnation: some clients have their settings there.
  const marks = [token, `${origin}/`, `${uuid}.${pid}`]
  const containsMark = (value: string): boolean => marks.some((mark) => value.includes(mark))
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => {
      if (!containsMark(value)) return [[name, value]]
      const before = original[name]
      return before === undefined ? [] : [[name, before]]
    }),
  )
}

/** Returns the provider keys of the caller, by variable, that are among the wanted variables. */
export function providerKeysOf({ providers }: GatewayCaller, wanted: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    providers.flatMap(({ config: { apiKeyEnv }, key }) =>
      apiKeyEnv !== null && key !== null && wanted.includes(apiKeyEnv) ? [[apiKeyEnv, key]] : [],
    ),
  )
}
