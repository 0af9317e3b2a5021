// Follows a run to its end: prints changes of its nodes, sends the actions of the user, and returns the exit code. While no daemon
// runs, waits for one. Must never start a daemon. Test: test/e2e/cli/compose.test.ts.
import type { NodeView, RunView } from '../../api/views/compose.ts'
import { ApiError, type Reeve } from '../../index.ts'
import { nodeLine, nodeTable, runProcesses, runSummary, shownState } from '../print/compose-table.ts'
import { BlockNotices } from './block-notices.ts'
import { printWorkOfNodes } from './work-location.ts'
import { blockText } from '../print/blocked.ts'
import { exitCode, Failure } from '../errors.ts'
import type { UserAction } from '../input/interrupts.ts'
import { Throttle } from '../screen/throttle.ts'
import { errorText, type Output } from '../print/output.ts'
import { STOP_GRACE_MS } from '../../kernel/model/signals.ts'

/** the shortest time between two requests for the run */
const MIN_INTERVAL_MS = 100
/** The statuses that end a run. `interrupted` is not one of them: the next daemon continues such a run. */
const FINAL_STATUSES: ReadonlySet<string> = new Set(['completed', 'failed', 'stopped'])

export interface ComposeFollowOptions {
  readonly reeve: Reeve
  readonly out: Output
  /** the cursor before the first event */
  readonly after: number
  readonly interrupts: { onAction(handler: (action: UserAction) => void): void }
}

/** Resolves to the exit code of the run, or to 0 after a detach. Errors: exit 125 if the events end before the run. */
export async function followRun(started: RunView, options: ComposeFollowOptions): Promise<number> {
  const { reeve, out, after, interrupts } = options
  const stopFollowing = new AbortController()
  const sentActions: Promise<void>[] = []
  let isDetached = false
  interrupts.onAction((action) => {
    if (action === 'stop' || action === 'kill') sentActions.push(sendStop(reeve, out, started.uuid, action))
    isDetached ||= action === 'detach'
    if (action === 'detach') stopFollowing.abort()
  })
  const printer = await createPrinter(started, out)
  try {
    await printUntilEnd(started, { reeve, out, after, stopFollowing }, printer)
  } finally {
    printer.end()
  }
  await Promise.all(sentActions)
  const run = await reeve.compose.get(started.uuid)
  await printer.show(run)
  if (isDetached) {
    const blocks = runProcesses(run).flatMap((process) => blockText(process) ?? [])
    await out.message(
      `detached: ${blocks.length === 0 ? `run ${run.name ?? run.pid} keeps running` : blocks.join('; ')}; \`reeve compose ps\` shows it`,
    )
    return 0
  }
  if (!FINAL_STATUSES.has(run.status)) throw new Failure(125, `the events of run ${run.name ?? run.pid} ended before it did`)
  if (!out.json) await out.message(runSummary(run))
  await printWorkOfNodes(run, { reeve, out })
  return run.exit?.code ?? 1
}

async function printUntilEnd(
  { uuid }: RunView,
  {
    reeve,
    out,
    after,
    stopFollowing,
  }: { readonly reeve: Reeve; readonly out: Output; readonly after: number; readonly stopFollowing: AbortController },
  printer: RunPrinter,
): Promise<void> {
  let watchedUuids: ReadonlySet<string> = new Set([uuid])
  let pendingUpdate: Promise<void> = Promise.resolve()
  await using notices = new BlockNotices(out)
  const update = async (): Promise<void> => {
    // Without an answer, the next event triggers another request.
    const run = await reeve.compose.get(uuid, { signal: stopFollowing.signal }).catch((error: unknown) => {
      if (stopFollowing.signal.aborted || (error instanceof ApiError && error.code === 'UNAVAILABLE')) return null
      throw error
    })
    if (!run) return
    watchedUuids = new Set([uuid, ...run.nodes.flatMap(({ process }) => process?.uuid ?? [])])
    await printer.show(run)
    await notices.report(runProcesses(run))
    if (FINAL_STATUSES.has(run.status)) stopFollowing.abort()
  }
  using throttle = new Throttle(MIN_INTERVAL_MS, () => {
    pendingUpdate = pendingUpdate.then(update)
  })
  throttle.request()
  for await (const event of reeve.events({ after, follow: true, signal: stopFollowing.signal }))
    if (watchedUuids.has(event.uuid)) throttle.request()
  await pendingUpdate
}

/** Stops or kills the run. An error is reported, unless the run has just ended; following then continues. */
async function sendStop(reeve: Reeve, out: Output, uuid: string, action: 'stop' | 'kill'): Promise<void> {
  try {
    if (action === 'kill') await reeve.signal(uuid, 'SIGKILL')
    else await reeve.signal(uuid, 'SIGTERM', { leastGraceMs: STOP_GRACE_MS })
  } catch (error) {
    if (exitCode(error, false) !== 3) await out.raw('stderr', `${errorText(error, false)}\n`)
  }
}

interface RunPrinter {
  show(run: RunView): Promise<void>
  end(): void
}

async function createPrinter(run: RunView, out: Output): Promise<RunPrinter> {
  if (out.json) return new RunJsonPrinter(out)
  const lines = new NodeLinePrinter(out)
  if (!out.isLively) return lines
  const { Footer } = await import('../screen/footer.ts')
  let last = { run, at: performance.now() }
  const footer = new Footer({
    out,
    stream: process.stderr,
    input: null,
    rows: (style, now) =>
      nodeTable(
        last.run,
        { columns: style.columns - 1, ellipsis: style.ellipsis, paint: (colour, text) => style.paintMessage(colour, text) },
        now - last.at,
      ),
  })
  return {
    show: async (next) => {
      last = { run: next, at: performance.now() }
      await lines.show(next)
      footer.requestRedraw()
    },
    end: () => footer[Symbol.dispose](),
  }
}

/** Prints a line whenever a node has changed. */
class NodeLinePrinter implements RunPrinter {
  readonly #out: Output
  /** the last printed state, by the name of the node */
  readonly #printed = new Map<string, string>()

  constructor(out: Output) {
    this.#out = out
  }

  async show({ nodes }: RunView): Promise<void> {
    const width = Math.max(...nodes.map(({ name }) => name.length))
    for (const node of nodes) if (this.#hasChanged(node)) await this.#out.message(nodeLine(node, width))
  }

  end(): void {}

  #hasChanged(node: NodeView): boolean {
    const current = `${shownState(node)} ${node.attempts} ${node.process?.uuid ?? ''}`
    const before = this.#printed.get(node.name)
    this.#printed.set(node.name, current)
    return before !== current && !(before === undefined && node.state === 'waiting') && node.state !== 'starting'
  }
}

/** Prints the run as a JSON object after each change; the last object has the final state. */
class RunJsonPrinter implements RunPrinter {
  readonly #out: Output
  #last = ''

  constructor(out: Output) {
    this.#out = out
  }

  async show(run: RunView): Promise<void> {
    const state = JSON.stringify([run.status, ...run.nodes.map((node) => [shownState(node), node.attempts, node.process?.uuid])])
    if (state === this.#last) return
    this.#last = state
    await this.#out.record({ version: 1, run })
  }

  end(): void {}
}
