// `reeve stop`: SIGTERM with time to clean up. Test: test/e2e/cli.test.ts.
import { forEach } from '../each.ts'
import { end } from '../end.ts'
import type { Call } from '../verbs.ts'

const GRACE_MS = 10_000

export async function run(call: Call): Promise<number> {
  return forEach(call, (ref) => end(call.reeve, ref, { signal: 'SIGTERM', leastGraceMs: GRACE_MS, subtree: false }))
}
