// `reeve compose down`: stops a run with its nodes. Test: test/e2e/cli-compose.test.ts.
import { pickLiving } from '../compose-pick.ts'
import { end } from '../end.ts'
import type { Call } from '../verbs.ts'

const GRACE_MS = 10_000

export async function run({ args, out, reeve }: Call): Promise<number> {
  const [ref] = args.words
  const { uuid } = ref === undefined ? pickLiving(await reeve.compose.list(), process.cwd()) : await reeve.compose.get(ref)
  const { words, fields, exit = 0 } = await end(reeve, uuid, { ...(args.on('now') ? { signal: 'SIGKILL' } : { signal: 'SIGTERM', leastGraceMs: GRACE_MS }), subtree: false })
  if (out.json) await out.value({ ...fields, run: await reeve.compose.get(uuid) })
  else await out.words(words)
  return exit
}
