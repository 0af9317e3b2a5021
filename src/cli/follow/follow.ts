// Follows one process to its end: prints its events, sends the actions of the user, and returns the exit code. Must not return before
// all resources of the process are released, unless that takes too long. Tests: test/e2e/cli/run.test.ts,
// test/processes/crew/follow.test.ts.
import type { EventView } from '../../api/views/daemon.ts'
import type { ProcessView } from '../../api/views/process.ts'
import type { Reeve } from '../../index.ts'
import type { FactBody } from '../../kernel/model/facts.ts'
import { BlockNotices, mayChangeBlock } from './block-notices.ts'
import { blockText } from '../print/blocked.ts'
import { SlowCallReminder } from './slow-call-reminder.ts'
import { processTitle } from '../print/process-text.ts'
import { exitCode, Failure } from '../errors.ts'
import { toFact } from './event-to-fact.ts'
import type { UserAction } from '../input/interrupts.ts'
import { errorText, type Output } from '../print/output.ts'
import { STOP_GRACE_MS } from '../../kernel/model/signals.ts'

/** Prints the events of a followed process. */
export interface FollowPrinter {
  /** whether the printer also receives live events: text while the model writes it, which is not stored */
  readonly receivesLiveEvents: boolean
  /** prints an event; `fact` is undefined for a live event */
  printEvent(event: EventView, fact: FactBody | undefined): Promise<void>
  /** called when the user can press Ctrl+O, which calls `unfold` */
  enableUnfold?(): void
  /** prints the whole last result of which only the beginning was printed; the next call prints the one before it */
  unfold?(): Promise<void>
  /** called after the last event, with the final state of the process */
  printEnd(process: ProcessView): Promise<void>
}

/** the longest wait for the release of resources after an exit */
const RELEASE_MS = 6_000

export interface FollowOptions {
  readonly reeve: Reeve
  readonly out: Output
  readonly printer: FollowPrinter
  /** the source of the actions of the user */
  readonly interrupts: { onAction(handler: (action: UserAction) => void): void }
  /** the seq of the last shown event; 0 for none */
  readonly after?: number
  /** the command to follow the process again after a detach; default: `reeve attach PID` */
  readonly reattachCommand?: string
  /** prints why the process does not continue; absent: `followProcess` creates it; null: the caller prints the reason */
  readonly notices?: BlockNotices | null
}

/** Resolves to the exit code of the process, or to 0 after a detach. Errors: exit 125 if the events end before the process. */
export async function followProcess(process: ProcessView, options: FollowOptions): Promise<number> {
  const { reeve, out, printer, interrupts, notices = new BlockNotices(out) } = options
  const sentActions: Promise<void>[] = []
  const stopFollowing = new AbortController()
  interrupts.onAction((action) => {
    if (action === 'detach') stopFollowing.abort()
    else sentActions.push(sendAction(reeve, out, process.uuid, action))
  })
  const code = await printUntilEnd(process, { ...options, notices }, stopFollowing)
  await Promise.all(sentActions)
  if (code !== null) {
    await printer.printEnd(await reeve.get(process.uuid))
    // The user has read the end on the terminal. If that cannot be recorded, `reeve needs` lists the end.
    if (out.isLively) await reeve.markSeen(process.uuid).catch(() => undefined)
    return code
  }
  if (!stopFollowing.signal.aborted) throw new Failure(125, `the events of ${processTitle(process)} ended before it did`)
  const command = options.reattachCommand ?? `reeve attach ${process.pid}`
  await out.message(`detached: ${await describeState(process, reeve, notices)}; \`${command}\` follows it again`)
  return 0
}

/** Describes whether the process keeps running, or why it does not. A question that `notices` has printed is not repeated. */
async function describeState(process: ProcessView, reeve: Reeve, notices: BlockNotices | null): Promise<string> {
  // Without a daemon, the text describes the last known state.
  const current = await reeve.get(process.uuid).catch(() => process)
  if (current.status === 'waiting' && notices?.hasReported(current)) return `${processTitle(current)} waits for your answer`
  return blockText(current) ?? `${processTitle(current)} goes on`
}

/** Prints events until the process has ended. Resolves to the exit code, or to null if the user detached or the events stopped early. */
async function printUntilEnd(
  process: ProcessView,
  { reeve, out, printer, after = 0, notices }: FollowOptions & { readonly notices: BlockNotices | null },
  stopFollowing: AbortController,
): Promise<number | null> {
  const { uuid } = process
  let code: number | null = null
  let releaseTimer: NodeJS.Timeout | undefined
  const linkReports: Promise<void>[] = []
  // Without a report, the last printed state would look current.
  const onLink = (isUp: boolean): void => {
    linkReports.push(
      out.message(
        out.paintMessage(
          isUp ? 'dim' : 'yellow',
          isUp ? '  the daemon answers again' : '  the daemon does not answer; any `reeve` command starts it again',
        ),
      ),
    )
  }
  try {
    await using slowCall = new SlowCallReminder(out, () => reeve.get(uuid))
    const report = async (current: ProcessView): Promise<void> => notices?.report([current])
    await report(process)
    for await (const event of reeve.events({
      process: uuid,
      after,
      follow: true,
      live: printer.receivesLiveEvents,
      signal: stopFollowing.signal,
      onLink,
    })) {
      const fact = toFact(event)
      await printer.printEvent(event, fact)
      slowCall.onFact(fact?.type)
      // Without an answer, the next event triggers another request.
      if (notices && mayChangeBlock(event)) await reeve.get(uuid).then(report, () => undefined)
      if (fact?.type === 'process.exited') {
        code = fact.exit.code
        releaseTimer = setTimeout(() => stopFollowing.abort(), RELEASE_MS)
      }
      if (fact?.type === 'process.resumed') code = null
      // A crew may resume at once after a crash. Otherwise the daemon ends the stream here.
      if (fact?.type === 'process.reaped') clearTimeout(releaseTimer)
    }
  } finally {
    await notices?.[Symbol.asyncDispose]()
    clearTimeout(releaseTimer)
    await Promise.all(linkReports)
  }
  return code
}

/** Sends the action. An error is reported, unless the process has just ended; following then continues. */
async function sendAction(reeve: Reeve, out: Output, uuid: string, action: Exclude<UserAction, 'detach'>): Promise<void> {
  try {
    if (action === 'interrupt') await reeve.signal(uuid, 'SIGINT')
    else if (action === 'kill') await reeve.signal(uuid, 'SIGKILL')
    else await reeve.signal(uuid, 'SIGTERM', { leastGraceMs: STOP_GRACE_MS })
  } catch (error) {
    if (exitCode(error, false) !== 3) await out.raw('stderr', `${errorText(error, false)}\n`)
  }
}
