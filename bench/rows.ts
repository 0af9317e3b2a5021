// Measures the CPU time of the daemon's stream of rows: 10,000 processes in 100 trees, 500 facts a second, 10 viewers. The same changes run
// without viewers and with them; the difference in CPU time is the cost of the rows. The bar is 5 % of a core. Also measured: the CPU time
// of the first snapshot, and the bytes that each viewer gets. Run: `npm run bench rows`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { EventLoopTurns } from '../src/drivers/common/event-loop-turns.ts'
import { systemClock } from '../src/daemon/loop/clock.ts'
import { Table } from '../src/daemon/loop/table.ts'
import { RowFeed } from '../src/daemon/rows/row-feed.ts'
import { fold } from '../src/kernel/state/fold.ts'
import { momentOf } from '../src/kernel/model/moment.ts'
import { inFolder } from './support/measure.ts'
import type { FactBody, StoredFact } from '../src/kernel/model/facts.ts'
import type { Process } from '../src/kernel/model/process.ts'
import type { NativeSpec } from '../src/kernel/model/process-spec.ts'

const TREES = 100
const CHILDREN = 99
const VIEWERS = 10
const FACTS_PER_SECOND = 500
const TICK_MS = 20
const SECONDS = 15

const SPEC: NativeSpec = {
  name: null,
  agent: 'bench',
  driver: 'native',
  intent: 'Find out why the tests of the parser fail, and mend them.',
  cwd: '/srv/app',
  interactive: true,
  model: 'anthropic/claude',
  system: null,
  tools: null,
  deny: [],
  argv: null,
  env: {},
  credentials: [],
  containment: 'auto',
  limits: { budgetUsd: 100 },
}
const USAGE = { inputTokens: 900, outputTokens: 100, cacheReadTokens: 8_000, cacheWriteTokens: 0, costUsd: 0.01 }

class Load {
  readonly table = new Table(20_000)
  readonly rows: RowFeed
  readonly #uuids: string[] = []
  #cursor = 0
  #next = 0

  constructor() {
    this.rows = new RowFeed({
      table: this.table,
      store: { dead: async () => [], process: async () => undefined },
      clock: systemClock,
      slices: new EventLoopTurns().newQueue(),
      cursor: () => this.#cursor,
      log: (message, error) => console.error(message, error),
    })
    for (let tree = 0; tree < TREES; tree += 1) {
      const root = this.#spawn(null)
      for (let child = 0; child < CHILDREN; child += 1) this.#spawn(root)
    }
  }

  /** Plays one step of the next process in four facts. */
  step(): void {
    this.#next = (this.#next + 7_919) % this.#uuids.length
    const uuid = this.#uuids[this.#next] ?? ''
    const step = (this.table.get(uuid)?.progress.step ?? 0) + 1
    this.#commit(uuid, { type: 'model.started', step, attempt: 1, model: 'm' })
    const call = { type: 'tool-call', callId: `c${step}`, name: 'bash', input: { command: 'npm test -- parser' } } as const
    this.#commit(uuid, { type: 'model.finished', step, message: [call], usage: USAGE, finish: 'tool-calls', durationMs: 900 })
    this.#commit(uuid, { type: 'tool.started', step, callId: call.callId, name: 'bash', effect: 'once' })
    this.#commit(uuid, { type: 'tool.finished', step, callId: call.callId, name: 'bash', outcome: 'ok', content: '', durationMs: 5 })
  }

  #spawn(parentUuid: string | null): string {
    const uuid = `01a20aa3-ccd7-71d2-bbfc-${String(this.#uuids.length).padStart(12, '0')}`
    const pid = this.#uuids.push(uuid)
    const spec = { ...SPEC, name: `worker-${pid}` }
    this.#commit(uuid, { type: 'process.spawned', pid, spec, parentUuid, depth: parentUuid === null ? 1 : 2, by: 'user' })
    this.#commit(uuid, { type: 'process.started', mono: 1, attached: true, containment: null })
    this.#commit(uuid, { type: 'process.working', turn: 1, message: null })
    return uuid
  }

  #commit(uuid: string, body: FactBody): void {
    const before = this.table.get(uuid)
    const fact = { uuid, seq: (before?.seq ?? 0) + 1, pid: before?.pid ?? this.#uuids.length, at: Date.now(), body }
    const process: Process = fold(before, fact)
    this.table.apply([process], this.#uuids.length)
    const stored: StoredFact = { ...fact, cursor: (this.#cursor += 1), moment: momentOf(process, undefined) }
    this.rows.onCommit([stored], [process])
  }
}

/** Runs the load for some seconds, and returns the share of a core that it takes, in percent. */
async function measureLoadPercent(load: Load): Promise<number> {
  let steps = 0
  const start = performance.now()
  const timer = setInterval(() => {
    for (const due = ((performance.now() - start) / 4_000) * FACTS_PER_SECOND; steps < due; steps += 1) load.step()
  }, TICK_MS)
  const before = process.cpuUsage()
  await delay(SECONDS * 1_000)
  const { user, system } = process.cpuUsage(before)
  clearInterval(timer)
  return ((user + system) / 1_000 / (performance.now() - start)) * 100
}

class Viewer {
  bytes = 0
  /** resolved when the first frame, which has all rows, is written */
  readonly snapshotSent = Promise.withResolvers<void>()

  async watch(load: Load, socket: Socket, signal: AbortSignal): Promise<void> {
    for await (const frame of load.rows.follow({ scope: { of: 'recent' }, shape: 'columns', signal })) {
      this.bytes += frame.length
      if (!socket.write(frame)) await once(socket, 'drain')
      this.snapshotSent.resolve()
    }
  }
}

async function bench(dir: string): Promise<void> {
  const path = join(dir, 'sink.sock')
  const program = `require('net').createServer((s) => s.resume()).listen(${JSON.stringify(path)}, () => process.stdout.write('x'))`
  using sink = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(sink.stdout, 'data')
  const load = new Load()
  const quiet = await measureLoadPercent(load)
  const abort = new AbortController()
  const beforeAll = process.cpuUsage()
  const viewers = Array.from({ length: VIEWERS }, () => new Viewer())
  const sockets = viewers.map(() => connect(path))
  const watching = viewers.map((viewer, index) => viewer.watch(load, sockets[index] as Socket, abort.signal))
  await Promise.all(viewers.map(({ snapshotSent }) => snapshotSent.promise))
  const allRows = process.cpuUsage(beforeAll)
  const snapshotBytes = viewers[0]?.bytes ?? 0
  const busy = await measureLoadPercent(load)
  abort.abort()
  await Promise.all(watching)
  for (const socket of sockets) socket.destroy()
  load.rows.close()
  console.log(`rows: 10,000 processes, ${FACTS_PER_SECOND} facts/s, ${VIEWERS} viewers`)
  console.log(`  without viewers      ${quiet.toFixed(2)} % of a core`)
  console.log(`  with viewers         ${busy.toFixed(2)} % of a core; the rows cost ${(busy - quiet).toFixed(2)} % (bar: 5 %)`)
  console.log(
    `  first snapshot       ${((allRows.user + allRows.system) / 1_000).toFixed(0)} ms of CPU time for all viewers together, ${(snapshotBytes / 1e6).toFixed(1)} MB each`,
  )
  const perSecond = ((viewers[0]?.bytes ?? 0) - snapshotBytes) / SECONDS / 1e3
  console.log(`  changes              ${perSecond.toFixed(1)} kB/s for each viewer`)
}

await inFolder(bench)
