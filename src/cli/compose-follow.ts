// Follows a run to its end: says what has become of its nodes, and passes on what the person wants. Gives the exit code. The daemon may
// end meanwhile: it is waited for, and never started. Test: test/e2e/cli-compose.test.ts.
import type { NodeView, RunView } from '../api/compose-views.ts'
import { ApiError, type Reeve } from '../index.ts'
import { nodeLine, nodeTable, runSummary, stateOf } from './compose-table.ts'
import { exitCode, Failure } from './errors.ts'
import type { Wish } from './interrupts.ts'
import { Throttle } from './live/throttle.ts'
import { errorText, type Output } from './output.ts'

/** Between two looks at the run. */
const EVERY_MS = 100
const STOP_GRACE_MS = 10_000
/** One that is interrupted comes back with the next daemon. */
const OVER: ReadonlySet<string> = new Set(['completed', 'failed', 'stopped'])

export interface Following {
  readonly reeve: Reeve
  readonly out: Output
  /** the cursor before its first event */
  readonly after: number
  readonly interrupts: { pass(handler: (wish: Wish) => void): void }
}

export async function followRun(started: RunView, following: Following): Promise<number> {
  const { reeve, out, after, interrupts } = following
  const leave = new AbortController()
  const asked: Promise<void>[] = []
  let detached = false
  interrupts.pass((wish) => {
    if (wish === 'stop' || wish === 'kill') asked.push(stop(reeve, out, started.uuid, wish))
    detached ||= wish === 'detach'
    if (wish === 'detach') leave.abort()
  })
  const shown = await viewOf(started, out)
  try {
    await untilEnd(started, { reeve, after, leave }, shown)
  } finally {
    shown.end()
  }
  await Promise.all(asked)
  const run = await reeve.compose.get(started.uuid)
  await shown.show(run)
  if (detached) {
    await out.words(`detached: run ${run.name ?? run.pid} goes on; \`reeve compose ps\` shows it`)
    return 0
  }
  if (!OVER.has(run.status)) throw new Failure(125, `the events of run ${run.name ?? run.pid} ended before it did`)
  if (!out.json) await out.words(runSummary(run))
  return run.exit?.code ?? 1
}

async function untilEnd({ uuid }: RunView, { reeve, after, leave }: { readonly reeve: Reeve; readonly after: number; readonly leave: AbortController }, shown: Shown): Promise<void> {
  let ours: ReadonlySet<string> = new Set([uuid])
  let looking: Promise<void> = Promise.resolve()
  const look = async (): Promise<void> => {
    // A daemon that does not answer now is asked at the next event.
    const run = await reeve.compose.get(uuid, { signal: leave.signal }).catch((error: unknown) => {
      if (leave.signal.aborted || (error instanceof ApiError && error.code === 'UNAVAILABLE')) return null
      throw error
    })
    if (!run) return
    ours = new Set([uuid, ...run.nodes.flatMap(({ process }) => process?.uuid ?? [])])
    await shown.show(run)
    if (OVER.has(run.status)) leave.abort()
  }
  using asking = new Throttle(EVERY_MS, () => { looking = looking.then(look) })
  asking.ask()
  for await (const event of reeve.events({ after, follow: true, signal: leave.signal })) if (ours.has(event.uuid)) asking.ask()
  await looking
}

/** That it cannot be done (it has just ended, say) is told, and the following goes on. */
async function stop(reeve: Reeve, out: Output, uuid: string, wish: 'stop' | 'kill'): Promise<void> {
  try {
    if (wish === 'kill') await reeve.signal(uuid, 'SIGKILL')
    else await reeve.signal(uuid, 'SIGTERM', { leastGraceMs: STOP_GRACE_MS })
  } catch (error) {
    if (exitCode(error, false) !== 3) await out.raw('stderr', `${errorText(error, false)}\n`)
  }
}

interface Shown {
  show(run: RunView): Promise<void>
  end(): void
}

async function viewOf(run: RunView, out: Output): Promise<Shown> {
  if (out.json) return new Records(out)
  const lines = new Lines(out)
  if (!out.isLively) return lines
  const { Footer } = await import('./live/footer.ts')
  let last = { run, at: performance.now() }
  const footer = new Footer({
    out, stream: process.stderr, typed: null, tick: () => {},
    rows: (look, now) => nodeTable(last.run, { columns: look.columns - 1, ellipsis: look.ellipsis, paint: (colour, text) => look.paintWords(colour, text) }, now - last.at),
  })
  return {
    show: async (next) => {
      last = { run: next, at: performance.now() }
      await lines.show(next)
      footer.changed()
    },
    end: () => footer[Symbol.dispose](),
  }
}

/** A line for each node of which something has become. */
class Lines implements Shown {
  readonly #out: Output
  readonly #said = new Map<string, string>()

  constructor(out: Output) {
    this.#out = out
  }

  async show({ nodes }: RunView): Promise<void> {
    const width = Math.max(...nodes.map(({ name }) => name.length))
    for (const node of nodes) if (this.#isNews(node)) await this.#out.words(nodeLine(node, width))
  }

  end(): void {}

  #isNews(node: NodeView): boolean {
    const now = `${stateOf(node)} ${node.attempts} ${node.process?.uuid ?? ''}`
    const before = this.#said.get(node.name)
    this.#said.set(node.name, now)
    return before !== now && !(before === undefined && node.state === 'waiting') && node.state !== 'starting'
  }
}

/** An object for each change, the last of which is how it ended. */
class Records implements Shown {
  readonly #out: Output
  #last = ''

  constructor(out: Output) {
    this.#out = out
  }

  async show(run: RunView): Promise<void> {
    const essence = JSON.stringify([run.status, ...run.nodes.map((node) => [stateOf(node), node.attempts, node.process?.uuid])])
    if (essence === this.#last) return
    this.#last = essence
    await this.#out.record({ version: 1, run })
  }

  end(): void {}
}
