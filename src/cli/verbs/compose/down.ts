// `reeve compose down`: stops a run with its nodes. Test: test/e2e/cli/compose.test.ts.
import { pickLivingRun } from '../../input/which-run.ts'
import { stopAndWait } from '../../actions/stop-and-wait.ts'
import { resolveForEnd } from '../../input/which-process.ts'
import type { VerbCall } from '../../table/verb.ts'
import { STOP_GRACE_MS } from '../../../kernel/model/signals.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref] = args.words
  const { uuid } =
    ref === undefined
      ? pickLivingRun(await reeve.compose.list(), process.cwd())
      : await resolveForEnd(ref, (resolvedRef) => reeve.compose.get(resolvedRef))
  const {
    message,
    fields,
    exit = 0,
  } = await stopAndWait({ out, reeve }, uuid, {
    ...(args.on('now') ? { signal: 'SIGKILL' } : { signal: 'SIGTERM', minGraceMs: STOP_GRACE_MS }),
    subtree: false,
  })
  if (out.json) await out.value({ ...fields, run: await reeve.compose.get(uuid) })
  else await out.message(message)
  return exit
}
