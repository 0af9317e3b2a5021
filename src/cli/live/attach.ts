// A process that runs, on a terminal: what it did last, then what it does, with a line to talk to it. Also what
// `run --interactive` is on a terminal. Leaves the process as it is. Test: test/e2e/cli-attach.test.ts.
import type { ProcessView } from '../../api/views.ts'
import type { Reeve } from '../../index.ts'
import { hasEnded, holders } from '../describe.ts'
import { follow, type View } from '../follow.ts'
import { Interrupts, type Wish } from '../interrupts.ts'
import type { Output } from '../output.ts'
import { past } from '../past.ts'
import { Console } from './console.ts'
import { Keyboard } from './keyboard.ts'
import { LiveRows } from './live-rows.ts'

export interface AttachOptions {
  readonly reeve: Reeve
  readonly out: Output
  readonly view: View
  /** which events of its past are shown */
  readonly from: { readonly tail: number } | { readonly after: number }
}

/** Gives the process's exit code, or 0 when the person has left. */
export async function attachTerminal(process: ProcessView, { reeve, out, view, from }: AttachOptions): Promise<number> {
  using interrupts = new Interrupts(out, { leaves: true })
  const typed = new Console()
  // Before anything is shown: what is typed on it must not be echoed by the terminal.
  using _keyboard = new Keyboard(typed.key, typed.gone)
  using rows = new LiveRows(process, { out, view, typed })
  typed.attach({ reeve, out, uuid: process.uuid, process: () => rows.process, redraw: rows.redraw })
  const after = await past(reeve, process.uuid, from, rows)
  const now = await reeve.get(process.uuid)
  if (hasEnded(now)) {
    await past(reeve, process.uuid, { after }, rows)
    await rows.end(now)
    return now.exit?.code ?? 0
  }
  if (now.status === 'suspended') await out.words(out.paintWords('yellow', `  ${out.pauseMark} ${holders(now)}; /resume lets it go on`))
  const pass = (handler: (wish: Wish) => void): void => {
    typed.pass(handler)
    interrupts.pass(handler)
  }
  const code = await follow(process, { reeve, out, view: rows, after, interrupts: { pass } })
  await typed.settled
  return code
}
