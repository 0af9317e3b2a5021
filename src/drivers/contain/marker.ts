// The names of things that belong to one incarnation: its marker, its cgroup's directory, its environment.
// Pure. A marker is `<uuid>.<pid>.<daemon>.<boot>`; daemon is a hash of the home and the daemon's id.
// Tests: test/processes/contain.test.ts, test/tables/recovery.test.ts.
import { createHash } from 'node:crypto'
import { MARKER } from './proc.ts'

const HASH_DIGITS = 12

/** Names a home: the same for each of its daemons. */
export function homeTag(stateDir: string): string {
  return hash(stateDir)
}

/** Names one run of one home's daemon. */
export function daemonTag(stateDir: string, daemonId: string): string {
  return hash(`${stateDir}\0${daemonId}`)
}

export interface MarkerParts {
  readonly uuid: string
  readonly pid: string
  readonly daemon: string
  readonly boot: string
}

export function markerOf(parts: MarkerParts): string {
  return [parts.uuid, parts.pid, parts.daemon, parts.boot].join('.')
}

export function partsOf(marker: string): MarkerParts | null {
  const [uuid, pid, daemon, boot, ...more] = marker.split('.')
  if (uuid === undefined || pid === undefined || daemon === undefined || boot === undefined || more.length > 0) return null
  return { uuid, pid, daemon, boot }
}

/** What each program of the incarnation finds in its environment. */
export function environmentOf(marker: string): Record<string, string> {
  const parts = partsOf(marker)
  return { [MARKER]: marker, REEVE_UUID: parts?.uuid ?? '', REEVE_PID: parts?.pid ?? '' }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_DIGITS)
}
