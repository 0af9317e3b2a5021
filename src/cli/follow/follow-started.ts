// Follows a process that this command has started or resumed. On a terminal the user can answer its questions and send messages. The
// last lines name the place of its work. Tests: test/e2e/cli/run.test.ts, test/e2e/cli/live.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import { CAPABILITIES } from '../../kernel/model/capabilities.ts'
import { isPlainCommandView } from '../print/process-text.ts'
import { followProcess, type FollowPrinter } from './follow.ts'
import { printWorkLocation } from './work-location.ts'
import type { Interrupts } from '../input/interrupts.ts'
import type { Output } from '../print/output.ts'
import type { CommandContext } from '../table/verb.ts'

export interface FollowStartedOptions extends CommandContext {
  readonly interrupts: Interrupts
  /** only events after this cursor are shown */
  readonly after: number
}

/** Follows the process, and resolves to its exit code. */
export async function followStarted(started: ProcessView, options: FollowStartedOptions): Promise<number> {
  const code = await followWithRows(started, options)
  if (started.worktree) await printWorkLocation(started.uuid, options)
  return code
}

async function followWithRows(started: ProcessView, { out, reeve, interrupts, after }: FollowStartedOptions): Promise<number> {
  const printer = await createPrinter(started, out)
  if (isPlainCommandView(started) || !out.isLively) return await followProcess(started, { reeve, out, printer, interrupts, after })
  // The user answers questions of the agent on this terminal.
  if ((started.interactive || CAPABILITIES[started.driver].enforcement === 'asked') && process.stdin.isTTY) {
    interrupts[Symbol.dispose]()
    const { attachTerminal } = await import('../live/attach.ts')
    return await attachTerminal(started, { reeve, out, printer, from: { after } })
  }
  const { ProcessRows } = await import('../live/process-rows.ts')
  using rows = new ProcessRows(started, { out, printer })
  return await followProcess(started, { reeve, out, printer: rows, interrupts, after })
}

async function createPrinter(started: ProcessView, out: Output): Promise<FollowPrinter> {
  if (!out.json && !isPlainCommandView(started)) return new (await import('./live-printer.ts')).LivePrinter(out)
  const { CommandPrinter, JsonPrinter } = await import('./plain-printers.ts')
  return out.json ? new JsonPrinter(out) : new CommandPrinter(out)
}
