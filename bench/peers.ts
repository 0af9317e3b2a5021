// Compares reeve with LangGraph and DBOS, which `node scripts/install-peers.ts` installs. Each run has its own process and a new database.
// The order changes with every round, and the results are medians of the rounds. All store the same texts (2 KiB of random characters) with
// the same durability: SQLite's WAL with synchronous=FULL, PostgreSQL with fsync. With whole checkpoints, LangGraph's data grows with the
// square of the steps. That variant makes fewer steps, as the table shows. Run: `npm run bench peers`; quick:
// `node bench/peers.ts --steps 100 --rounds 1`.
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { PEERS, installedPeer } from '../scripts/install-peers.ts'
import { dbos } from './peers/dbos.ts'
import { langgraph } from './peers/langgraph.ts'
import { performInSubprocess, perform } from './peers/peer.ts'
import { startPostgres } from './peers/postgres.ts'
import { reeve } from './peers/reeve.ts'
import { ROUNDS, inFolder, median } from './support/measure.ts'
import type { Peer, Place, Session, Work } from './peers/peer.ts'
import type { Postgres } from './peers/postgres.ts'

const NAMES = ['reeve', 'LangGraph', 'LangGraph, deltas', 'DBOS'] as const
type Name = (typeof NAMES)[number]
const PEER_OF: Readonly<Record<Name, Peer>> = {
  reeve: reeve,
  LangGraph: langgraph(false),
  'LangGraph, deltas': langgraph(true),
  DBOS: dbos,
}

const AGENTS = 50
const AGENT_STEPS = 10
const FORKS = 20
const SESSION: Session = { turns: 200, stepsPerTurn: 3, messageBytes: 512 }
/** Steps of LangGraph with whole checkpoints: 1,000 steps of 4 KiB would take 4 GB and minutes. */
const WHOLE_STEPS = 200

interface PeersBench {
  readonly dir: string
  readonly names: readonly Name[]
  readonly rounds: number
  readonly postgres: Postgres | null
}

type Results = Map<Name, number[]>
const noResults = (): Results => new Map()

let placeCount = 0

function placeOf({ dir, postgres }: PeersBench): Place {
  const name = `p${++placeCount}`
  mkdirSync(join(dir, name))
  return { dir: join(dir, name), url: postgres?.url(name) ?? '' }
}

const run = (name: Name, place: Place, work: Work): number[] => performInSubprocess(import.meta.filename, name, place, work)

/** The bytes on disk, once every process has closed the database. */
async function bytesOf({ postgres }: PeersBench, name: Name, { dir }: Place): Promise<number> {
  if (name === 'DBOS') return (await postgres?.bytes(dir.split('/').at(-1) ?? '')) ?? Number.NaN
  return readdirSync(dir, { withFileTypes: true })
    .filter((file) => file.isFile() && file.name.includes('.db') && !file.name.startsWith('lock'))
    .reduce((sum, file) => sum + statSync(join(dir, file.name)).size, 0)
}

const stepsOf = (name: Name, steps: number): number => (name === 'LangGraph' ? Math.min(steps, WHOLE_STEPS) : steps)
const stepsNote = (steps: number): string => (steps > WHOLE_STEPS ? ` (LangGraph: ${WHOLE_STEPS})` : '')

/** Does the work for each name in turn. Each round begins with the next name, so that no name always runs first. */
async function inTurns(bench: PeersBench, rounds: number, work: (name: Name) => Promise<void>): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const index of bench.names.keys()) await work(bench.names[(index + round) % bench.names.length] ?? 'reeve')
  }
}

interface Bar {
  readonly better: 'less' | 'more'
  readonly of: number
}

class Rows {
  readonly #names: readonly Name[]
  readonly #rows: string[][] = []

  constructor(names: readonly Name[]) {
    this.#names = names
  }

  /**
   * Adds a row. reeve's value, divided by that of the best peer, is compared with `bar`. A peer that made fewer steps than `steps` is
   * shown, but not compared.
   */
  add(
    what: string,
    results: Results,
    show: (value: number) => string,
    { bar, steps = 0 }: { readonly bar?: Bar; readonly steps?: number } = {},
  ): void {
    const values = this.#names.map((name) => median(results.get(name) ?? []))
    const [ours = Number.NaN] = values
    const comparedValues = values.filter(
      (value, index) => index > 0 && !Number.isNaN(value) && stepsOf(this.#names[index] ?? 'reeve', steps) === steps,
    )
    const ratio = ours / (bar?.better === 'more' ? Math.max(...comparedValues) : Math.min(...comparedValues))
    const isOk = bar !== undefined && (bar.better === 'less' ? ratio <= bar.of : ratio >= bar.of)
    const wanted = bar === undefined ? '' : `${bar.better === 'less' ? '<=' : '>='} ${bar.of}`
    this.#rows.push([
      what,
      ...values.map((value) => (Number.isNaN(value) ? '-' : show(value))),
      ratio.toFixed(3),
      wanted,
      bar === undefined ? '' : isOk ? 'yes' : 'NO',
    ])
  }

  print(): void {
    const table = [['what', ...this.#names, 'reeve / best peer', 'bar', 'reached'], ...this.#rows]
    const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
    for (const row of table)
      console.log(
        row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
      )
    this.#rows.length = 0
  }
}

const ms = (value: number): string => (value < 100 ? `${value.toFixed(2)} ms` : `${value.toFixed(0)} ms`)
const times = (value: number): string => value.toFixed(2)
const perSecond = (value: number): string => `${value.toFixed(0)}/s`
const kib = (value: number): string => `${(value / 1_024).toFixed(1)} KiB`
const addResult = (results: Results, name: Name, value: number): void => {
  results.set(name, [...(results.get(name) ?? []), value])
}

async function benchSteps(bench: PeersBench, rows: Rows, steps: number): Promise<void> {
  const [p50, slowdown, worst, bytes] = [noResults(), noResults(), noResults(), noResults()]
  const tail = Math.max(1, Math.min(100, Math.floor(steps / 10)))
  await inTurns(bench, bench.rounds, async (name) => {
    const place = placeOf(bench)
    const stepTimes = run(name, place, { type: 'runSteps', steps: stepsOf(name, steps) })
    addResult(p50, name, median(stepTimes))
    addResult(slowdown, name, median(stepTimes.slice(-tail)) / median(stepTimes.slice(tail, 2 * tail)))
    addResult(worst, name, Math.max(...stepTimes.slice(-tail)))
    addResult(bytes, name, (await bytesOf(bench, name, place)) / (stepTimes.length * 2 * 2_048))
    rmSync(place.dir, { recursive: true })
  })
  rows.add(`durable step, p50 of ${steps}${stepsNote(steps)}`, p50, ms, { bar: { better: 'less', of: 0.4 }, steps })
  rows.add(`last ${tail} against steps ${tail}-${2 * tail}`, slowdown, times, { steps })
  rows.add(`worst of the last ${tail}`, worst, ms, { steps })
  rows.add('bytes on disk / bytes of messages', bytes, times, { steps })
}

async function benchParallelAgents(bench: PeersBench, rows: Rows): Promise<void> {
  const results = noResults()
  await inTurns(bench, bench.rounds, async (name) => {
    const place = placeOf(bench)
    const [took = Number.NaN] = run(name, place, { type: 'runInParallel', agents: AGENTS, steps: AGENT_STEPS })
    addResult(results, name, (AGENTS * AGENT_STEPS * 1_000) / took)
    rmSync(place.dir, { recursive: true })
  })
  rows.add(`${AGENTS} agents at once, ${AGENT_STEPS} steps each`, results, perSecond, { bar: { better: 'more', of: 4 } })
}

/** Runs one agent, then resumes and forks it in turns. */
async function benchHistory(bench: PeersBench, rows: Rows, steps: number): Promise<void> {
  const [slowdown, resume, fork, forkBytes] = [noResults(), noResults(), noResults(), noResults()]
  const placeByName = new Map<Name, Place>()
  for (const name of bench.names) {
    const place = placeOf(bench)
    const stepTimes = run(name, place, { type: 'runSteps', steps: stepsOf(name, steps) })
    if (stepsOf(name, steps) > 1_100) addResult(slowdown, name, median(stepTimes.slice(-100)) / median(stepTimes.slice(1_000, 1_100)))
    placeByName.set(name, place)
  }
  const agentPlace = (name: Name): Place => placeByName.get(name) ?? placeOf(bench)
  await inTurns(bench, bench.rounds, async (name) =>
    addResult(resume, name, run(name, agentPlace(name), { type: 'resume', steps: stepsOf(name, steps) })[0] ?? Number.NaN),
  )
  await inTurns(bench, bench.rounds, async (name) => {
    const bytesBefore = await bytesOf(bench, name, agentPlace(name))
    for (const took of run(name, agentPlace(name), { type: 'fork', steps: stepsOf(name, steps), forks: FORKS })) addResult(fork, name, took)
    addResult(forkBytes, name, ((await bytesOf(bench, name, agentPlace(name))) - bytesBefore) / FORKS)
  })
  if (steps > 1_100) rows.add(`last 100 of ${steps} against steps 1,000-1,100, one process`, slowdown, times, { steps })
  rows.add(`resume of ${steps} steps${stepsNote(steps)}, context ready`, resume, ms, { bar: { better: 'less', of: 0.25 }, steps })
  rows.add(`fork at the middle of ${steps}${stepsNote(steps)}`, fork, ms, { steps })
  rows.add('bytes of a fork', forkBytes, kib, { steps })
  for (const { dir } of placeByName.values()) rmSync(dir, { recursive: true })
}

async function benchSession(bench: PeersBench, rows: Rows, session: Session): Promise<void> {
  const results = noResults()
  const bytes = session.turns * (2 + 2 * session.stepsPerTurn) * session.messageBytes
  await inTurns(bench, 1, async (name) => {
    const place = placeOf(bench)
    run(name, place, { type: 'session', session })
    addResult(results, name, (await bytesOf(bench, name, place)) / bytes)
    rmSync(place.dir, { recursive: true })
  })
  rows.add(`session of ${session.turns} turns, ${(bytes / 1e6).toFixed(1)} MB: bytes on disk / of messages`, results, times)
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '1000' },
      history: { type: 'string', default: '5000' },
      rounds: { type: 'string', default: String(ROUNDS) },
      only: { type: 'string' },
    },
  })
  const [steps, historySteps, rounds] = [Number(values.steps), Number(values.history), Number(values.rounds)]
  const parts = values.only?.split(',') ?? ['steps', 'parallel', 'history', 'session']
  await inFolder(async (dir) => {
    await using postgres = await startPostgres(dir)
    const names = NAMES.filter((name) => name === 'reeve' || (name === 'DBOS' ? postgres !== null : installedPeer('langgraph') !== null))
    if (names.length < NAMES.length)
      console.log(
        `not installed, so left out: ${NAMES.filter((name) => !names.includes(name)).join('; ')} (node scripts/install-peers.ts --postgres)`,
      )
    if (names.length === 1) return
    const bench: PeersBench = { dir, names, rounds, postgres }
    const rows = new Rows(names)
    console.log(
      `reeve and its peers, median of ${rounds} rounds; LangGraph ${PEERS.langgraph.version}, DBOS ${PEERS.dbos.version} on PostgreSQL ${postgres?.version ?? '-'}, Node ${process.version}`,
    )
    if (parts.includes('steps')) await benchSteps(bench, rows, steps)
    if (parts.includes('parallel')) await benchParallelAgents(bench, rows)
    if (parts.includes('history')) await benchHistory(bench, rows, historySteps)
    if (parts.includes('session')) await benchSession(bench, rows, steps < 1_000 ? { ...SESSION, turns: Math.ceil(steps / 5) } : SESSION)
    rows.print()
  })
}

const [verb, name, place, work] = process.argv.slice(2)
if (verb === 'do') {
  const result = await perform(PEER_OF[name as Name], JSON.parse(place ?? '') as Place, JSON.parse(work ?? '') as Work)
  console.log(JSON.stringify(result))
  // The agents of DBOS are still in the middle of their work.
  process.exit(0)
} else await main()
