// Identifies the build of this program by a hash of its sources. The command line compares its build with that of the daemon: after an
// upgrade of reeve, a running daemon still has the old build. Test: test/e2e/daemon/upgrade.test.ts.

/** set by scripts/build.mjs */
declare const REEVE_BUILD: string | undefined

/** The hash of this build; null if the sources run directly. */
export const BUILD: string | null = typeof REEVE_BUILD === 'string' ? REEVE_BUILD : null

/** The response header with the build of the daemon. */
export const BUILD_HEADER = 'x-reeve-build'

/** Whether the daemon has another build than this program. `reported`: the build in its header; an older daemon sends no header. */
export function isOtherBuild(reported: string | null | undefined): boolean {
  return BUILD !== null && reported !== BUILD
}
