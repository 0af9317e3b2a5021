// `reeve rename`: gives a process another name. Test: test/e2e/naming/rename.test.ts.
import { oneLine } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref = '', name = ''] = args.words
  const { process, note } = await reeve.rename(ref, name)
  if (out.json) await out.value({ process, ...(note === undefined ? {} : { note }) })
  else
    await out.message(
      note === undefined ? `PID ${process.pid} is now called ${oneLine(name)}` : `PID ${process.pid} is already called ${oneLine(name)}`,
    )
  return 0
}
