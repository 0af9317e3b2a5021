// `reeve pause`: pauses processes. Test: test/e2e/cli/cli.test.ts.
import { processTitle } from '../print/describe.ts'
import { forEachProcess } from '../actions/for-each-process.ts'
import { outcomeSuffix, deferralNote, optionalFields } from '../actions/stop-and-wait.ts'
import { stripControls } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args, out, reeve } = call
  const options = { subtree: args.on('subtree'), now: args.on('now') }
  return forEachProcess(call, async (ref) => {
    const answer = await reeve.pause(ref, options)
    const { process } = answer
    const mark = process.status === 'suspended' ? `${out.pauseMark} ` : ''
    return {
      message: stripControls(
        `${processTitle(process)} ${mark}${process.status}${outcomeSuffix(answer)}${deferralNote(process, 'SIGPAUSE')}`,
      ),
      fields: { affected: answer.affected, process, ...optionalFields(answer) },
    }
  })
}
