// `reeve pause`. Test: test/e2e/cli.test.ts.
import { called } from '../describe.ts'
import { forEach } from '../each.ts'
import { also, putOff, rest } from '../end.ts'
import { safe } from '../text.ts'
import type { Call } from '../verbs.ts'

export async function run(call: Call): Promise<number> {
  const { args, out, reeve } = call
  const options = { subtree: args.on('subtree'), now: args.on('now') }
  return forEach(call, async (ref) => {
    const answer = await reeve.pause(ref, options)
    const { process } = answer
    const mark = process.status === 'suspended' ? `${out.pauseMark} ` : ''
    return { words: safe(`${called(process)} ${mark}${process.status}${also(answer)}${putOff(process, 'SIGPAUSE')}`), fields: { affected: answer.affected, process, ...rest(answer) } }
  })
}
