// `reeve pin`: protects processes from collection. Test: test/e2e/cli/gc-pin-archive.test.ts.
import { processTitle } from '../print/process-text.ts'
import { forEachProcess } from '../actions/for-each-process.ts'
import { stripControls } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const pinned = !call.args.on('remove')
  return forEachProcess(call, async (ref) => {
    const { process, note } = await call.reeve.pin(ref, { pinned })
    const outcome =
      note === undefined ? (pinned ? 'is pinned: it is not collected' : 'is no longer pinned') : note.replace(/^the process /, '')
    return {
      message: stripControls(`${processTitle(process)} ${outcome}`),
      fields: { uuid: process.uuid, pid: process.pid, name: process.name, pinned: process.pinned },
    }
  })
}
