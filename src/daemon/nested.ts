// What an agent at the gateway hands on when it starts another process by the command line: its environment leads to its own seat,
// so that what the other one uses would be counted for both, and end with it. The other one gets what its parent was
// started with, and a seat of its own. Must never put a key where a program could read it. Test: test/e2e/gateway.test.ts.
import type { SeatProvider } from '../drivers/gateway/seat.ts'
import type { Uuid } from '../kernel/types.ts'

type Env = Readonly<Record<string, string>>

/** Whose token it is, and what stands behind it. */
export interface SeatHolder {
  readonly uuid: Uuid
  readonly pid: number
  readonly token: string
  /** of the gateway: `http://127.0.0.1:PORT` */
  readonly origin: string
  readonly providers: readonly SeatProvider[]
}

/** The environment without what leads to that seat; `original` is what its process was started with. */
export function withoutSeat(env: Env, { uuid, pid, token, origin }: SeatHolder, original: Env): Record<string, string> {
  // Settings of some clients are files in the folder of that incarnation, which goes with it.
  const marks = [token, `${origin}/`, `${uuid}.${pid}`]
  const isLed = (value: string): boolean => marks.some((mark) => value.includes(mark))
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => {
    if (!isLed(value)) return [[name, value]]
    const before = original[name]
    return before === undefined ? [] : [[name, before]]
  }))
}

/** The keys behind that seat which the other one wants by name. */
export function keysBehind({ providers }: SeatHolder, wanted: readonly string[]): Record<string, string> {
  return Object.fromEntries(providers.flatMap(({ config: { apiKeyEnv }, key }) => (apiKeyEnv !== null && key !== null && wanted.includes(apiKeyEnv) ? [[apiKeyEnv, key]] : [])))
}
