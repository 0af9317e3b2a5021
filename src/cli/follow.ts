// Follows one process from its first event to its end, shows it through a view, and passes on what the person wants.
// Gives the exit code. Must return only when all of the process is gone, as far as the kernel says so in time.
// Tests: test/e2e/cli-run.test.ts, test/processes/crew-follow.test.ts.
import type { EventView, ProcessView } from '../api/views.ts'
import type { Reeve } from '../index.ts'
import type { FactBody } from '../kernel/facts.ts'
import { called } from './describe.ts'
import { exitCode, Failure } from './errors.ts'
import { factOf } from './facts.ts'
import type { Wish } from './interrupts.ts'
import { errorText, type Output } from './output.ts'

/** How a process is shown while it runs. */
export interface View {
  /** wants what is not kept, too: text while it is written */
  readonly live: boolean
  event(event: EventView, fact: FactBody | undefined): Promise<void>
  /** nothing more will come; `process` is as it ended */
  end(process: ProcessView): Promise<void>
}

/** As for `reeve stop`. */
const STOP_GRACE_MS = 10_000
/** How long after its exit a process may take to be released. */
const RELEASE_MS = 6_000

export interface Following {
  readonly reeve: Reeve
  readonly out: Output
  readonly view: View
  /** where the person's wishes come from, from now on */
  readonly interrupts: { pass(handler: (wish: Wish) => void): void }
  /** the event that was the last to be shown; 0 when none was */
  readonly after?: number
  /** what comes back to it when it was left; default: attach */
  readonly comeBack?: string
}

export async function follow(process: ProcessView, following: Following): Promise<number> {
  const { reeve, out, view, interrupts } = following
  const asked: Promise<void>[] = []
  const leave = new AbortController()
  interrupts.pass((wish) => {
    if (wish === 'detach') leave.abort()
    else asked.push(steer(reeve, out, process.uuid, wish))
  })
  const code = await untilEnd(process, following, leave)
  await Promise.all(asked)
  if (code !== null) {
    await view.end(await reeve.get(process.uuid))
    return code
  }
  if (!leave.signal.aborted) throw new Failure(125, `the events of ${called(process)} ended before it did`)
  await out.words(`detached: ${called(process)} goes on; \`${following.comeBack ?? `reeve attach ${process.pid}`}\` comes back`)
  return 0
}

/** The exit code; null if it was left before. */
async function untilEnd({ uuid }: Pick<ProcessView, 'uuid'>, { reeve, out, view, after = 0 }: Following, leave: AbortController): Promise<number | null> {
  let code: number | null = null
  let release: NodeJS.Timeout | undefined
  // What is shown would be taken for the present.
  const told: Promise<void>[] = []
  const onLink = (isUp: boolean): void => {
    told.push(out.words(out.paintWords(isUp ? 'dim' : 'yellow', isUp ? '  the daemon answers again' : '  the daemon does not answer any more; any `reeve` command starts it again')))
  }
  try {
    for await (const event of reeve.events({ process: uuid, after, follow: true, live: view.live, signal: leave.signal, onLink })) {
      const fact = factOf(event)
      await view.event(event, fact)
      if (fact?.type === 'process.exited') {
        code = fact.exit.code
        release = setTimeout(() => leave.abort(), RELEASE_MS)
      }
      if (fact?.type === 'process.resumed') code = null
      // It may come back in the same breath, as a crew does after a crash; else the daemon, which knows that, ends the stream here.
      if (fact?.type === 'process.reaped') clearTimeout(release)
    }
  } finally {
    clearTimeout(release)
    await Promise.all(told)
  }
  return code
}

/** That it cannot be done (it has just ended, say) is told, and the following goes on. */
async function steer(reeve: Reeve, out: Output, uuid: string, wish: Exclude<Wish, 'detach'>): Promise<void> {
  try {
    if (wish === 'interrupt') await reeve.signal(uuid, 'SIGINT')
    else if (wish === 'kill') await reeve.signal(uuid, 'SIGKILL')
    else await reeve.signal(uuid, 'SIGTERM', { leastGraceMs: STOP_GRACE_MS })
  } catch (error) {
    if (exitCode(error, false) !== 3) await out.raw('stderr', `${errorText(error, false)}\n`)
  }
}
