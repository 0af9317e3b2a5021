// Measures the durable step with the store in PostgreSQL, as bench/step.ts does with the file. The reference makes plain inserts of the
// same texts on the same server with the same driver. Needs a PostgreSQL (scripts/need-postgres); the newest that is found is used, alone
// and with a synchronous standby. Run: `npm run bench store-postgres`.
import { Client } from 'pg'
import { openPostgresStore } from '../src/store/postgres/postgres.ts'
import { availablePostgres, type PostgresProgram } from '../test/support/postgres/programs.ts'
import { startPostgres, type PostgresOptions } from '../test/support/postgres/server.ts'
import { ROUNDS, interleave, median, printTable, timed, type Row, type Samples } from './support/measure.ts'
import { TEXT, openStepBench, reportsOf, uuidOf, type StepReports } from './support/step-bench.ts'

const STEPS = 1_000
const AGENTS = 50
const AGENT_STEPS = 50
/** A step may take this many times as long as two plain inserts, and this many ms more. */
const [MAX_RATIO, MORE_MS] = [2.5, 0.6]
const MIN_SHARE = 0.6

/** Inserts of texts on a connection of its own, each call in one round trip. */
class PlainInserts implements AsyncDisposable {
  readonly #client: Client

  private constructor(client: Client) {
    this.#client = client
  }

  static async open(url: string): Promise<PlainInserts> {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query('create table plain (id bigint generated always as identity primary key, body text)')
    return new PlainInserts(client)
  }

  async insert(rows: number): Promise<void> {
    await this.#client.query({
      name: 'plain',
      text: 'insert into plain (body) select unnest($1::text[])',
      values: [Array.from({ length: rows }, () => TEXT)],
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end()
  }
}

async function measureOneAgent(url: string): Promise<Samples> {
  await using inserts = await PlainInserts.open(url)
  await using bench = openStepBench(await openPostgresStore({ url, durability: 'single' }))
  const agent = await bench.begin(uuidOf(1))
  const insertTwice = async (): Promise<void> => {
    await inserts.insert(1)
    await inserts.insert(1)
  }
  return await interleave<StepReports>(
    STEPS,
    insertTwice,
    (reports) => agent.step(reports),
    (index) => reportsOf(index + 1),
  )
}

/** Steps per second of the reference, which inserts 50 rows at once, and of 50 agents that run independently. */
async function measureAgentsAtOnce(url: string): Promise<{ readonly floor: number; readonly ours: number }> {
  await using inserts = await PlainInserts.open(url)
  await using bench = openStepBench(await openPostgresStore({ url, durability: 'single' }))
  const agents = await Promise.all(Array.from({ length: AGENTS }, (_, index) => bench.begin(uuidOf(index + 1))))
  const bare = await timed(async () => {
    for (let number = 0; number < AGENT_STEPS * 2; number += 1) await inserts.insert(AGENTS)
  })
  const ours = await timed(() =>
    Promise.all(
      agents.map(async (agent) => {
        for (let number = 1; number <= AGENT_STEPS; number += 1) await agent.step(reportsOf(number))
      }),
    ),
  )
  const total = AGENTS * AGENT_STEPS
  return { floor: (total / bare) * 1_000, ours: (total / ours) * 1_000 }
}

async function measureServer(program: PostgresProgram, what: string, options: PostgresOptions): Promise<void> {
  await using server = await startPostgres(program, options)
  const one = await measureOneAgent(await server.createDatabase())
  const many: { readonly floor: number; readonly ours: number }[] = []
  while (many.length < ROUNDS) many.push(await measureAgentsAtOnce(await server.createDatabase()))
  const [floor, ours] = [median(one.floor), median(one.ours)]
  const [floorRate, rate] = [median(many.map((round) => round.floor)), median(many.map((round) => round.ours))]
  const rows: readonly Row[] = [
    {
      what: 'step of one agent, p50, against two inserts',
      floor: `${floor.toFixed(2)} ms`,
      ours: `${ours.toFixed(2)} ms`,
      ratio: ours / floor,
      bar: `<= ${(MAX_RATIO + MORE_MS / floor).toFixed(2)}`,
      ok: ours <= MAX_RATIO * floor + MORE_MS,
    },
    {
      what: `${AGENTS} agents, against inserts of ${AGENTS} rows`,
      floor: `${Math.round(floorRate)}/s`,
      ours: `${Math.round(rate)}/s`,
      ratio: rate / floorRate,
      bar: `>= ${MIN_SHARE}`,
      ok: rate / floorRate >= MIN_SHARE,
    },
  ]
  printTable(`durable step in PostgreSQL ${program.version}, ${what}`, rows)
}

const program = availablePostgres().at(-1)
if (program === undefined) process.exit(0)
await measureServer(program, 'one server', {})
await measureServer(program, 'with a synchronous standby', { standby: 'synchronous' })
