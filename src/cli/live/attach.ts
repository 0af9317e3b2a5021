// Attaches the terminal to a running process: prints its latest activity, then its events, above a line for messages. `reeve attach` uses
// it, and so do `run` and `resume` for a process that takes messages or may ask. A detach does not change the process. Test:
// test/e2e/cli/attach.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import type { Reeve } from '../../index.ts'
import { BlockNotices } from '../follow/block-notices.ts'
import { hasEnded } from '../print/process-text.ts'
import { followProcess, type FollowPrinter } from '../follow/follow.ts'
import { Interrupts, type UserAction } from '../input/interrupts.ts'
import type { Output } from '../print/output.ts'
import { replayEvents } from '../follow/replay-events.ts'
import { AttachedInput } from './attached-input.ts'
import { Keyboard } from '../screen/keyboard.ts'
import { ProcessRows } from './process-rows.ts'

/** The commands that notices name: they are typed into the message line, not into a shell. */
const INPUT_COMMANDS = { resume: '/resume', answer: 'ANSWER' }

export interface AttachOptions {
  readonly reeve: Reeve
  readonly out: Output
  readonly printer: FollowPrinter
  /** the past events to show */
  readonly from: { readonly tail: number } | { readonly after: number }
}

/** Resolves to the exit code of the process, or to 0 after a detach. */
export async function attachTerminal(process: ProcessView, { reeve, out, printer, from }: AttachOptions): Promise<number> {
  using interrupts = new Interrupts(out, { detachOnly: true })
  const input = new AttachedInput()
  // Before the first request, because the terminal must not echo what the user types.
  using _keyboard = new Keyboard(input.onKey, input.onInputClosed)
  using rows = new ProcessRows(process, { out, printer, input })
  input.attach({
    reeve,
    out,
    uuid: process.uuid,
    interactive: process.interactive,
    row: () => rows.row,
    redraw: rows.redraw,
    unfold: printer.unfold?.bind(printer),
  })
  printer.enableUnfold?.()
  const after = await replayEvents(reeve, process.uuid, from, rows)
  const current = await reeve.get(process.uuid)
  if (hasEnded(current)) {
    await replayEvents(reeve, process.uuid, { after }, rows)
    await rows.printEnd(current)
    return current.exit?.code ?? 0
  }
  const onAction = (handler: (action: UserAction) => void): void => {
    input.onAction(handler)
    interrupts.onAction(handler)
  }
  const code = await followProcess(current, {
    reeve,
    out,
    printer: rows,
    after,
    interrupts: { onAction },
    notices: new BlockNotices(out, INPUT_COMMANDS),
  })
  await input.settled
  return code
}
