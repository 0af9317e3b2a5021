// Builds and parses markers, and builds the environment variables of an incarnation's programs. A marker names the incarnation to which
// a program belongs. It is `<uuid>.<pid>.<daemon>.<boot>`; `daemon` is a hash of the home and the daemon's id. Pure.
// Tests: test/processes/contain/containment.test.ts, test/processes/contain/recover.test.ts.
import { createHash } from 'node:crypto'

/** The environment variable with the marker of the incarnation to which a program belongs. */
export const MARKER_VARIABLE = 'REEVE_PROC'

const HASH_DIGITS = 12

/** Returns a tag of the home, which is the same for all its daemons. */
export function homeTag(stateDir: string): string {
  return hash(stateDir)
}

/** Returns a tag of one run of the home's daemon. */
export function daemonTag(stateDir: string, daemonId: string): string {
  return hash(`${stateDir}\0${daemonId}`)
}

export interface MarkerParts {
  readonly uuid: string
  /** the PID of the incarnation, which is not one of the operating system */
  readonly pid: string
  /** the tag of one run of the daemon */
  readonly daemon: string
  /** the id of the boot of the system */
  readonly boot: string
}

export function markerOf(parts: MarkerParts): string {
  return [parts.uuid, parts.pid, parts.daemon, parts.boot].join('.')
}

export function parseMarker(marker: string): MarkerParts | null {
  const [uuid, pid, daemon, boot, ...more] = marker.split('.')
  if (uuid === undefined || pid === undefined || daemon === undefined || boot === undefined || more.length > 0) return null
  return { uuid, pid, daemon, boot }
}

/** Returns the environment variables for each program of the incarnation. */
export function markerEnvironment(marker: string): Record<string, string> {
  const parts = parseMarker(marker)
  return { [MARKER_VARIABLE]: marker, REEVE_UUID: parts?.uuid ?? '', REEVE_PID: parts?.pid ?? '' }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_DIGITS)
}
