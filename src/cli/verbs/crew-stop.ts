// `reeve crew stop`: its members end with time to clean up, then the crew; with --now by the crew's own end. Must never end a member by a
// person's word, which would be final: it is to go on with its crew. Tests: test/e2e/cli-crew.test.ts, test/e2e/crew-stopping.test.ts.
import { crewOf } from '../crew-ref.ts'
import { end } from '../end.ts'
import type { Call } from '../verbs.ts'

const GRACE_MS = 10_000

export async function run({ args, out, reeve }: Call): Promise<number> {
  const { uuid } = await crewOf(reeve, args.words[0])
  const done = await end(reeve, uuid, args.on('now') ? { signal: 'SIGKILL', subtree: false } : { signal: 'SIGTERM', leastGraceMs: GRACE_MS, subtree: false })
  if (out.json) await out.value(done.fields)
  else await out.words(done.words)
  return done.exit ?? 0
}
