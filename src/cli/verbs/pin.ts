// `reeve pin`: processes that the collector leaves alone. Test: test/e2e/cli-history.test.ts.
import { called } from '../describe.ts'
import { forEach } from '../each.ts'
import { safe } from '../text.ts'
import type { Call } from '../verbs.ts'

export async function run(call: Call): Promise<number> {
  const pinned = !call.args.on('remove')
  return forEach(call, async (ref) => {
    const { process, note } = await call.reeve.pin(ref, { pinned })
    const words = note === undefined ? (pinned ? 'is pinned: it is not collected' : 'is not pinned any more') : note.replace(/^it /, '')
    return { words: safe(`${called(process)} ${words}`), fields: { uuid: process.uuid, pid: process.pid, name: process.name, pinned: process.pinned } }
  })
}
