// Measures the soft and the immediate pause of a tree of 100 working agents. The values are the times until no call starts any more, until
// each agent is drained, and until all are frozen. They come from the journal. Also measures a daemon with 10,000 suspended processes: its
// start, its memory, and `reeve ps` of all of them. Run: `npm run bench pause` (it needs the build).
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { EventView } from '../src/api/views/daemon.ts'
import type { ProcessView } from '../src/api/views/process.ts'
import { openSqliteStore } from '../src/store/sqlite.ts'
import { CommitMaker, specOf, uuidOf } from '../test/support/store/facts.ts'
import { startDaemon, statusKb } from './support/daemon.ts'
import type { Running } from './support/daemon.ts'
import { ROUNDS, inFolder, median, percentile, printTable } from './support/measure.ts'
import type { Row } from './support/measure.ts'

const REEVE = resolve(import.meta.dirname, '../bin/reeve')
const TREE_AGENTS = 100
const STEP_MS = 1_000
const SCRIPTS = 20
const SUSPENDED = 10_000
const ENV = { PATH: '/usr/bin:/bin' }
const BEGIN_FACTS = new Set(['model.started', 'process.working'])
const END_FACTS = new Set(['model.finished', 'tool.finished'])

/** Starts a hundred agents below one process. The model of each takes a second and calls a tool. */
async function growTree({ client }: Running, dir: string): Promise<string[]> {
  // The delays differ: otherwise all agents would act at the same moment.
  const scripts = Array.from({ length: SCRIPTS }, (_, number) => {
    const file = join(dir, `busy-${number}.yaml`)
    // Equal calls would count as a loop.
    const step = (index: number): string =>
      `- { delay_ms: ${STEP_MS + 37 * number}, tools: [{ name: glob, input: { pattern: "${index}" } }] }\n`
    writeFileSync(file, Array.from({ length: 2_000 }, (_, index) => step(index)).join(''))
    return file
  })
  const spawn = async (parent?: string): Promise<string> => {
    const script = scripts[uuids.length % SCRIPTS]
    const body = { intent: 'work', cwd: dir, model: `script:${script}`, env: ENV, ...(parent === undefined ? {} : { parent }) }
    return (await client.post<{ process: ProcessView }>('/v1/processes', body)).process.uuid
  }
  const uuids: string[] = []
  uuids.push(await spawn())
  while (uuids.length < TREE_AGENTS) uuids.push(await spawn(uuids[Math.floor((uuids.length - 1) / 3)]))
  return uuids
}

/** Returns when a call began. `tool.started` cannot be used: it is written with the model's answer, before the call runs. */
function beganAt({ fact, at, durationMs }: EventView): number | null {
  if (BEGIN_FACTS.has(String(fact))) return Date.parse(at)
  return fact === 'tool.finished' ? Date.parse(at) - Number(durationMs) : null
}

async function eventsAfter({ client }: Running, afterSeq: number): Promise<EventView[]> {
  const events: EventView[] = []
  for await (const event of client.events('/v1/events', { query: { after: afterSeq } })) events.push(event)
  return events
}

interface Paused {
  readonly answeredMs: number
  /** from the pause request until the last call started; 0 if none did */
  readonly lastBeginMs: number
  /** the longest time from the end of an agent's last call until it was drained or frozen */
  readonly drainMs: number
  /** from the pause request until the last agent was drained or frozen */
  readonly allMs: number
}

async function pauseTree(daemon: Running, root: string, isImmediate: boolean): Promise<Paused> {
  const cursorBefore = (await eventsAfter(daemon, 0)).at(-1)?.seq ?? 0
  const requestedAt = Date.now()
  await daemon.client.post(`/v1/processes/${root}/pause`, { subtree: true, now: isImmediate })
  const answeredMs = Date.now() - requestedAt
  for (;;) {
    const events = await eventsAfter(daemon, cursorBefore)
    const stopped = events.filter(({ fact }) => fact === (isImmediate ? 'process.frozen' : 'process.drained'))
    if (stopped.length < TREE_AGENTS) {
      await delay(50)
      continue
    }
    const timeOf = (event: EventView): number => Date.parse(event.at)
    const drains = stopped.map(
      (event) =>
        timeOf(event) -
        Math.max(
          requestedAt,
          ...events.filter(({ uuid, fact, seq }) => uuid === event.uuid && seq < event.seq && END_FACTS.has(String(fact))).map(timeOf),
        ),
    )
    const beginTimes = events.map((event) => beganAt(event) ?? requestedAt).map((begin) => begin - requestedAt)
    return {
      answeredMs,
      lastBeginMs: Math.max(0, ...beginTimes),
      drainMs: Math.max(...drains),
      allMs: Math.max(...stopped.map(timeOf)) - requestedAt,
    }
  }
}

async function treeRows(dir: string): Promise<Row[]> {
  await using daemon = await startDaemon(join(dir, 'tree'))
  const [root = ''] = await growTree(daemon, dir)
  const soft: Paused[] = []
  const hard: Paused[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [isImmediate, results] of [
      [false, soft],
      [true, hard],
    ] as const) {
      await delay(5 * STEP_MS + round * 77)
      results.push(await pauseTree(daemon, root, isImmediate))
      await daemon.client.post(`/v1/processes/${root}/resume`, { subtree: true })
    }
  }
  const row = (what: string, times: readonly number[], mostMs: number): Row => {
    const ratio = median(times) / mostMs
    return {
      what,
      floor: `${mostMs} ms`,
      ours: `${median(times)} ms (worst ${percentile(times, 1)})`,
      ratio,
      bar: '<= 1',
      ok: ratio <= 1,
    }
  }
  return [
    row(
      'soft: answered',
      soft.map(({ answeredMs }) => answeredMs),
      100,
    ),
    row(
      'soft: the last call began',
      soft.map(({ lastBeginMs }) => lastBeginMs),
      100,
    ),
    row(
      'soft: drained after its last call',
      soft.map(({ drainMs }) => drainMs),
      100,
    ),
    row(
      '--now: the last one is frozen',
      hard.map(({ allMs }) => allMs),
      1_000,
    ),
  ]
}

/** Paused agents that wait for messages, as left by a killed daemon. */
async function writeSuspended(stateDir: string): Promise<void> {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  await using store = await openSqliteStore({ dir: stateDir })
  const commitMaker = new CommitMaker()
  const hold = { reason: 'user', by: 'user', at: 1_700_000_000_000 } as const
  for (let number = 1; number <= SUSPENDED; number += 1) {
    const spec = specOf({ interactive: true, intent: '', cwd: '/' })
    await store.commit(
      commitMaker.spawn(
        uuidOf(number),
        spec,
        { type: 'process.ready', turn: 0 },
        { type: 'process.held', hold, mono: 6 },
        { type: 'process.drained', inFlight: null },
      ),
    )
  }
}

async function suspendedRows(dir: string): Promise<Row[]> {
  const home = join(dir, 'suspended')
  await writeSuspended(home)
  const startedAt = performance.now()
  await using daemon = await startDaemon(home)
  const startMs = performance.now() - startedAt
  const mb = statusKb(daemon.pid, 'VmRSS') / 1_024
  const times = Array.from({ length: ROUNDS }, () => {
    const since = performance.now()
    const { status, stdout } = spawnSync(REEVE, ['ps'], { env: daemon.env, encoding: 'utf8', maxBuffer: 2 ** 26 })
    const rows = stdout.split('\n').length - 2
    if (status !== 0 || rows !== SUSPENDED) throw new Error(`reeve ps ended with ${status} and ${rows} rows`)
    return performance.now() - since
  })
  return [
    { what: `start with ${SUSPENDED} suspended`, floor: '-', ours: `${startMs.toFixed(0)} ms`, ratio: Number.NaN, bar: '', ok: true },
    { what: 'resident', floor: '-', ours: `${mb.toFixed(0)} MB`, ratio: Number.NaN, bar: '', ok: true },
    { what: 'reeve ps of all of them', floor: '-', ours: `${median(times).toFixed(0)} ms`, ratio: Number.NaN, bar: '', ok: true },
  ]
}

await inFolder(async (dir) => {
  printTable(`a tree of ${TREE_AGENTS} agents is paused, ${ROUNDS} rounds`, await treeRows(dir))
  printTable(`${SUSPENDED} suspended processes`, await suspendedRows(dir))
})
