// `reeve pause`: pauses processes. Tests: test/e2e/cli/cli.test.ts, test/e2e/cli/several-processes.test.ts.
import { CAPABILITIES } from '../../kernel/model/capabilities.ts'
import { processTitle } from '../print/process-text.ts'
import { forEachSelected } from '../actions/for-each-process.ts'
import { deferralNote, outcomeFields, outcomeSuffix } from '../actions/signal-outcome.ts'
import { stripControls } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run(call: VerbCall): Promise<number> {
  const { args, out, reeve } = call
  const all = args.on('all')
  return forEachSelected(call, {
    // A process that is being stopped cannot be paused.
    rules: { canActOn: ({ status }) => status !== 'stopping', adjective: 'living', leavesChildrenToOwner: all },
    question: 'Pause',
    outcome: 'paused',
    act: async (ref, { selected }) => {
      const ownsChildren = selected !== undefined && CAPABILITIES[selected.driver].supervisesChildren
      const answer = await reeve.pause(ref, { subtree: args.on('subtree') || (all && ownsChildren), now: args.on('now') })
      const { process } = answer
      const mark = process.status === 'suspended' ? `${out.pauseMark} ` : ''
      return {
        message: stripControls(
          `${processTitle(process)} ${mark}${process.status}${outcomeSuffix(answer)}${deferralNote(process, 'SIGPAUSE')}`,
        ),
        fields: { affected: answer.affected, process, ...outcomeFields(answer) },
      }
    },
  })
}
