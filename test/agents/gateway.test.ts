// Coding agents through the gateway, as users run them: with a key and an address in their environment. The metered usage equals
// the model server's, whatever became of single calls. No tool of theirs sees a key. A budget and a pause hold at the next call.
// docs/external-agents.md lists what each agent cannot do.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { EventView } from '../../src/api/views/daemon.ts'
import type { ProcessView } from '../../src/api/views/process.ts'
import { openBench, poll, type Bench } from './bench.ts'
import { andNewest, GATED, KEY } from './kinds.ts'
import { conversations, RESULT, TASKS, type Fault, type Sent, type Served, type Setting } from './model.ts'

const USAGE: Served = { input: 100, output: 7, cacheRead: 40 }
/** More than any agent's estimate for its first request. */
const BUDGET_TOKENS = 200_000

describe.each(andNewest(GATED))('$name', (kind) => {
  let bench: Bench
  afterEach(async () => {
    await bench?.[Symbol.asyncDispose]()
  })

  const open = async (served: Pick<Setting, 'usage' | 'fault'> = { usage: USAGE }): Promise<void> => {
    bench = await openBench(kind, served)
  }

  const calls = async (uuid: string): Promise<readonly EventView[]> =>
    (await bench.daemon.events()).filter((event) => event.uuid === uuid && event['fact'] === 'call.finished')

  /** Compares only answers that came whole; the view has the totals of all. */
  const isMetered = async (uuid: string, view: ProcessView): Promise<void> => {
    const whole = bench.model.sent.filter(({ how }) => how === 'whole')
    const reported = (await calls(uuid)).map((event) => event['usage'] as ProcessView['usage'] & { estimated?: true })
    const exact = reported.filter(({ estimated }) => !estimated)
    expect(sum(exact.map(bucketsOf))).toEqual(sum(whole.map(({ used }) => used)))
    expect(sum([view.usage].map(bucketsOf))).toEqual(sum(reported.map(bucketsOf)))
    const { total } = JSON.parse(await bench.cli('usage', '--json')) as { total: ProcessView['usage'] }
    expect(bucketsOf(total)).toEqual(bucketsOf(view.usage))
  }

  test("the metered usage is the model server's, with refusals, a cut stream and a resume; its tools see no key", async () => {
    const faults: readonly Fault[] = [{ status: 429 }, { status: 500 }, ...(kind.survivesCut ? ['cut' as const] : [])]
    await open({ usage: USAGE, fault: (question) => faults[question] ?? null })
    const { uuid } = await bench.start(`${TASKS.env} now`)
    const view = await bench.ended(uuid)
    expect(view).toMatchObject({ status: 'completed', gateway: { on: true } })
    if (kind.isUnderstood) expect(view.lastText).toBe(RESULT)
    await isMetered(uuid, view)
    const cut = (await calls(uuid)).filter((event) => (event['usage'] as { estimated?: true }).estimated)
    expect(cut.length).toBe(kind.survivesCut ? 1 : 0)
    for (const event of cut)
      expect(event['usage']).toMatchObject({ outputTokens: expect.toSatisfy((tokens: number) => tokens > 0 && tokens < 100) })
    const env = readFileSync(join(bench.work, 'env.txt'), 'utf8')
    expect(env).toContain(`REEVE_UUID=${uuid}`)
    expect(env).not.toContain(KEY)
    expect(env).not.toContain(bench.model.url)
    expect(keysSeen(bench.model.requests.map(({ headers }) => headers))).toEqual([KEY])
    await bench.nothingLeft()
    if (!kind.isUnderstood) return
    const before = bench.model.sent.length
    await bench.daemon.resume(uuid, { message: `${TASKS.again} please`, env: bench.env })
    const again = await bench.ended(uuid)
    expect(again).toMatchObject({ status: 'completed', lastText: 'asked 2 times' })
    expect(bench.model.sent.length).toBeGreaterThan(before)
    await isMetered(uuid, again)
    await bench.nothingLeft()
  })

  test('a budget holds before the call, and a larger one lets the agent continue', async () => {
    const budget = kind.isPriced ? { budgetUsd: 0.5 } : { budgetTokens: BUDGET_TOKENS }
    await open({ usage: { ...USAGE, input: BUDGET_TOKENS } })
    const { uuid } = await bench.start(`${TASKS.work} write a file`, { limits: budget })
    const held = await poll(async () => {
      const view = await bench.daemon.view(uuid)
      return view.status === 'suspended' ? view : null
    }, 'its budget holds it')
    expect(held.holds.map(({ reason }) => reason)).toEqual(['budget'])
    expect(held.note).toMatch(
      kind.isPriced ? /^paused: budget .*\$\d\.\d+ of \$0\.5 are spent/ : /^paused: budget .*\d+ of \d+ tokens are used/,
    )
    // Requests beside the work, as for a title, may have used it up before.
    expect(conversations(bench.model).length).toBeLessThanOrEqual(1)
    await bench.cli('resume', ...(kind.isPriced ? ['--budget-usd', '+50'] : ['--budget-tokens', '+1000000']), uuid)
    const view = await bench.ended(uuid)
    expect(view).toMatchObject({
      status: 'completed',
      limits: kind.isPriced ? { budgetUsd: 50.5 } : { budgetTokens: BUDGET_TOKENS + 1_000_000 },
    })
    if (kind.isUnderstood) expect(view.lastText).toBe(RESULT)
    await isMetered(uuid, view)
    await bench.nothingLeft()
  })

  // Any pause freezes a command at once.
  test.skipIf(kind.isCommand)('a pause in mid-turn holds at the next call, and the turn continues', async () => {
    await open()
    const { uuid } = await bench.start(`${TASKS.gate} now`)
    await poll(() => existsSync(join(bench.work, 'waits')) || null, 'it is in its tool')
    const asked = conversations(bench.model).length
    await bench.cli('pause', uuid)
    bench.letGo()
    await bench.frozen(uuid)
    expect(await bench.inspect(uuid)).toMatchObject({ status: 'suspended' })
    expect(conversations(bench.model).length).toBe(asked)
    await bench.cli('resume', uuid)
    const view = await bench.ended(uuid)
    expect(view).toMatchObject({ status: 'completed', lastText: RESULT })
    await isMetered(uuid, view)
    await bench.nothingLeft()
  })
})

function bucketsOf({
  inputTokens,
  outputTokens,
  cacheReadTokens,
  cacheWriteTokens,
}: Pick<ProcessView['usage'], 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'>): Sent['used'] {
  return { input: inputTokens + cacheWriteTokens, output: outputTokens, cacheRead: cacheReadTokens }
}

function sum(all: readonly Served[]): Served {
  return all.reduce(
    (one, other) => ({ input: one.input + other.input, output: one.output + other.output, cacheRead: one.cacheRead + other.cacheRead }),
    { input: 0, output: 0, cacheRead: 0 },
  )
}

/** The headers by which the provider identifies the client. */
function keysSeen(all: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  const keys = all
    .flatMap((headers) => [headers['x-api-key'], headers['x-goog-api-key'], headers['authorization']])
    .filter((value) => value !== undefined)
  return [...new Set(keys.map((value) => String(value).replace(/^Bearer /, '')))]
}
