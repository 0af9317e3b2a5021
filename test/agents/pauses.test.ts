// Pauses of coding agents: soft and immediate, while the model streams and while a tool runs. All agents are paused at the
// same time: for 5 s, or with REEVE_LONG=1 for 330 s. That is longer than any agent's timeout for a model or a tool.
// The observed behaviour is printed; docs/external-agents.md lists what each agent cannot do.
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBench, poll, type Bench } from './bench.ts'
import { KINDS, type Known } from './kinds.ts'
import { conversations, RESULT, TASKS } from './model.ts'

const PAUSE_MS = process.env['REEVE_LONG'] === '1' ? 330_000 : 5_000
/** The number of concurrent starts: each takes a core for some seconds. */
const AT_ONCE = availableParallelism()
/** The time in ms for one agent to begin, to be paused, and to continue to its end. */
const CASE_MS = 180_000

interface Case {
  readonly kind: Known
  readonly where: 'a stream' | 'a tool'
  readonly how: 'softly' | 'at once'
}

/** A paused agent: the model requests until then, and its own clock. */
interface Paused {
  readonly bench: Bench
  readonly uuid: string
  readonly asked: number
  readonly elapsedMs: number
}

const CASES: readonly Case[] = KINDS.flatMap((kind) =>
  (['a stream', 'a tool'] as const).flatMap((where) => (['softly', 'at once'] as const).map((how) => ({ kind, where, how }))),
)

/** Pauses the agent in the middle of its turn. Pending work ends before the freeze (a soft pause of ACP), or during it. */
async function pause({ kind, where, how }: Case, bench: Bench): Promise<Paused> {
  const { uuid } = await bench.start(`${where === 'a tool' ? TASKS.gate : TASKS.pace} now`)
  const waits = join(bench.work, 'waits')
  await poll(() => (where === 'a tool' ? existsSync(waits) : conversations(bench.model).length > 0) || null, `${kind.name} is in ${where}`)
  await bench.cli('pause', ...(how === 'softly' ? [] : ['--now']), uuid)
  const isDrained = how === 'softly' && !kind.isCommand
  if (isDrained) bench.letGo()
  const facts = await bench.frozen(uuid)
  expect(facts.includes('process.drained')).toBe(isDrained)
  if (!isDrained) bench.letGo()
  // The message is kept until the process continues.
  if (!kind.isCommand) await bench.cli('send', uuid, `${TASKS.again} please`)
  const { status, elapsedMs, lastText } = await bench.inspect(uuid)
  expect(status).toBe('suspended')
  if (isDrained) expect(lastText).toBe(RESULT)
  return { bench, uuid, elapsedMs, asked: conversations(bench.model).length }
}

/** Checks that the agent did nothing meanwhile, and lets it continue to its end. */
async function checkAndResume({ kind, where, how }: Case, { bench, uuid, asked, elapsedMs }: Paused): Promise<void> {
  expect(await bench.inspect(uuid)).toMatchObject({ status: 'suspended', elapsedMs })
  expect(conversations(bench.model).length).toBe(asked)
  await bench.cli('resume', uuid)
  const view = await bench.ended(uuid)
  const { steps } = JSON.parse(await bench.cli('steps', '--json', uuid)) as { steps: { tools: { outcome: string; result: string }[] }[] }
  const tools = steps.flatMap((step) => step.tools.map(({ outcome, result }) => `${outcome} ${JSON.stringify(result?.slice(0, 80))}`))
  console.log(
    `${kind.name}, in ${where}, ${how}: ${view.status}, ${JSON.stringify(view.lastText)}, ${conversations(bench.model).length - asked} model calls after it${tools.length > 0 ? `, tool: ${tools.join(', ')}` : ''}`,
  )
  expect(view).toMatchObject({ status: 'completed', exit: { code: 0 }, lastText: kind.isCommand ? RESULT : 'asked 2 times' })
  await bench.nothingLeft()
}

describe(`paused for ${PAUSE_MS / 1_000} s`, () => {
  const benches: Bench[] = []
  const paused = new Map<Case, PromiseSettledResult<Paused>>()

  beforeAll(
    async () => {
      const queue = [...CASES]
      const worker = async (): Promise<void> => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
          const bench = await openBench(next.kind)
          benches.push(bench)
          const [result] = await Promise.allSettled([pause(next, bench)])
          paused.set(next, result)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker))
      await delay(PAUSE_MS)
    },
    PAUSE_MS + CASES.length * CASE_MS,
  )

  afterAll(async () => {
    for (const bench of benches) await bench[Symbol.asyncDispose]()
  }, CASE_MS)

  test.each(CASES)(
    '$kind.name goes on, paused $how in $where',
    async (each) => {
      const result = paused.get(each)
      if (result?.status !== 'fulfilled') throw result?.reason ?? new Error('it was not begun')
      await checkAndResume(each, result.value)
    },
    CASE_MS,
  )
})
