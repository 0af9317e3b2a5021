// `reeve crew follow`: what happens in a crew from now on, until it has ended. Test: test/e2e/cli-crew.test.ts.
import { crewInterrupts, followCrew } from '../crew-follow.ts'
import { crewOf } from '../crew-ref.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  using interrupts = crewInterrupts(out, true)
  const { uuid } = await crewOf(reeve, args.words[0])
  const { cursor: after } = await reeve.daemon()
  return await followCrew(await reeve.get(uuid), { out, reeve, interrupts, after: args.on('all') ? 0 : after })
}
