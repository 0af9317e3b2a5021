// `reeve crew stop`: stops the members gracefully, then the crew. With --now it kills the crew, whose end kills the members. Must never
// stop a member itself: a member that the user has stopped would not continue when the crew is resumed. Tests: test/e2e/cli/crew.test.ts,
// test/e2e/crew/stopping.test.ts.
import { resolveLivingCrew } from '../../input/which-crew.ts'
import { stopAndWait } from '../../actions/stop-and-wait.ts'
import type { VerbCall } from '../../table/verb.ts'
import { STOP_GRACE_MS } from '../../../kernel/model/signals.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const { uuid } = await resolveLivingCrew(reeve, args.words[0])
  const result = await stopAndWait(
    { out, reeve },
    uuid,
    args.on('now') ? { signal: 'SIGKILL', subtree: false } : { signal: 'SIGTERM', minGraceMs: STOP_GRACE_MS, subtree: false },
  )
  if (out.json) await out.value(result.fields)
  else await out.message(result.message)
  return result.exit ?? 0
}
