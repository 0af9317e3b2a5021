// Follows a crew until it has ended or the user detaches. Prints its events, and below them a row for each worker. Test:
// test/e2e/cli/crew.test.ts.
import type { ProcessView } from '../../api/views/process.ts'
import type { Reeve } from '../../index.ts'
import { watchBlocks } from './block-notices.ts'
import { CrewPrinter } from './crew-printer.ts'
import { crewProcesses } from '../print/crew.ts'
import { followProcess } from './follow.ts'
import { Interrupts, READY_QUESTION } from '../input/interrupts.ts'
import type { Output } from '../print/output.ts'
import { JsonPrinter } from './plain-printers.ts'

/** Listens for interrupts; created before the crew starts. `detachOnly`: an interrupt only detaches. */
export function crewInterrupts(out: Output, detachOnly: boolean): Interrupts {
  return new Interrupts(out, { detachOnly, question: READY_QUESTION })
}

/** Resolves to the exit code of the crew, or to 0 after a detach. `after`: the seq of the last shown event; 0: none. */
export async function followCrew(
  process: ProcessView,
  { out, reeve, interrupts, after = 0 }: { out: Output; reeve: Reeve; interrupts: Interrupts; after?: number },
): Promise<number> {
  const printer = out.json ? new JsonPrinter(out) : new CrewPrinter(out, reeve)
  const options = { reeve, out, interrupts, after, reattachCommand: `reeve crew follow ${process.pid}`, notices: null }
  const stopWatching = new AbortController()
  const watching = watchBlocks({
    reeve,
    out,
    signal: stopWatching.signal,
    readStates: async () => crewProcesses(await reeve.crews.get(process.uuid)),
  })
  try {
    if (!out.isLively) return await followProcess(process, { ...options, printer })
    const { CrewRows } = await import('../live/crew-rows.ts')
    using rows = new CrewRows(process, { out, printer })
    return await followProcess(process, { ...options, printer: rows })
  } finally {
    stopWatching.abort()
    await watching
    await waitForWorktreeRemoval(process, reeve)
  }
}

/** After the end of the crew, waits until the worktrees of its members are removed. */
async function waitForWorktreeRemoval({ uuid }: ProcessView, reeve: Reeve): Promise<void> {
  const hasEnded = await reeve.get(uuid).then(
    ({ state }) => state === 'dead',
    () => false,
  )
  // The daemon sends the report when the worktrees are removed. The report itself is not used.
  if (hasEnded) await reeve.crews.report(uuid).catch(() => undefined)
}
