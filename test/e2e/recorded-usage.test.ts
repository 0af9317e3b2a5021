// What Claude Code and Codex said of their usage, in streams that were recorded while a model server on the same machine answered
// them, without the gateway: a session with tools and a subagent, its resume, a fork of it, and the fork's resume. What each
// process is charged equals what is added up by hand here from what that server sent.
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../src/api/views.ts'
import { LocalDaemon } from '../support/local-daemon.ts'

const STREAMS = fileURLToPath(new URL('../support/streams', import.meta.url))
const PARTS = ['first', 'resumed', 'forked', 'fork-resumed'] as const
const MILLION = 1_000_000

/** One answer of the model: input that was not cached, output, read from the cache, written to it. */
type Call = readonly [input: number, output: number, read: number, write: number]
type Part = (typeof PARTS)[number]

/** In the order in which they were answered. */
const CLAUDE: Readonly<Record<Part, readonly Call[]>> = {
  first: [
    [1000, 50, 0, 5000], // says "First." and calls Bash
    [20, 80, 5000, 300], // says "Second." and calls Task, which goes on in the background
    [15, 60, 5300, 200], // says "Done."
    [700, 30, 0, 900], // the subagent calls Bash
    [10, 40, 900, 60], // the subagent says "Sub done."
    [18, 44, 5500, 25], // told of that, says "Done at last."
  ],
  resumed: [[25, 20, 5500, 70], [12, 33, 5570, 11]],
  forked: [[31, 45, 5600, 90]],
  'fork-resumed': [[9, 21, 5700, 13]],
}

const CODEX: Readonly<Record<Part, readonly Call[]>> = {
  first: [[1000, 50, 400, 200], [120, 60, 1500, 30]],
  resumed: [[80, 20, 1700, 40], [33, 70, 1820, 5]],
  forked: [[44, 25, 1900, 15]],
  'fork-resumed': [[51, 26, 1960, 7]],
}

/** USD for a million tokens, as the providers list them. OpenAI takes nothing more for what it writes to its cache. */
const SONNET: Call = [3, 15, 0.3, 3.75]
const GPT: Call = [1.25, 10, 0.125, 1.25]

/** The same by hand, as a second look: the sums of all rows above, and what they cost. */
const CLAUDE_BY_HAND = { inputTokens: 1763 + 37, outputTokens: 304 + 53, cacheReadTokens: 16_700 + 11_070, cacheWriteTokens: 6485 + 81, costUsd: 0.03917775 + 0.00453075 }
const CODEX_BY_HAND: typeof CLAUDE_BY_HAND = { inputTokens: 1120 + 113, outputTokens: 110 + 90, cacheReadTokens: 1900 + 3520, cacheWriteTokens: 230 + 45, costUsd: 0.003025 + 0.0015375 }

let daemon: LocalDaemon
beforeAll(async () => {
  daemon = await LocalDaemon.start()
}, 30_000)
afterAll(async () => {
  expect(daemon.errors).toEqual([])
  await daemon[Symbol.asyncDispose]()
}, 30_000)

interface Recorded {
  readonly name: 'claude' | 'codex'
  readonly args: readonly string[]
  /** how a stream is changed before it is played */
  readonly edit?: (line: Record<string, unknown>) => unknown
}

/** A program that says what the real one said, by what it is asked for: the beginning, a resume, a fork, the fork's resume. */
function program({ name, edit = (line) => line }: Recorded): string {
  const dir = mkdtempSync(join(daemon.work, `${name}-`))
  for (const part of PARTS) {
    const lines = readFileSync(join(STREAMS, `${name}-${part}.jsonl`), 'utf8').trim().split('\n')
    writeFileSync(join(dir, part), lines.map((line) => `${JSON.stringify(edit(JSON.parse(line) as Record<string, unknown>))}\n`).join(''))
  }
  const forkId = /"(?:session_id|thread_id)":"([^"]+)"/.exec(readFileSync(join(dir, 'forked'), 'utf8'))?.[1] ?? ''
  const file = join(dir, name)
  writeFileSync(file, `#!/bin/sh\ncase " $* " in\n*" --fork-session "*|*" fork "*) part=forked ;;\n*" ${forkId} "*) part=fork-resumed ;;\n*" --resume "*|*" resume "*) part=resumed ;;\n*) part=first ;;\nesac\nexec cat '${dir}'/$part\n`)
  chmodSync(file, 0o755)
  return file
}

const ran = async (recorded: Recorded): Promise<ProcessView> => daemon.ended((await daemon.spawn({ argv: [program(recorded), ...recorded.args], gateway: 'off' })).uuid)
const again = async (uuid: string, fork = false): Promise<ProcessView> => daemon.ended((await daemon.resume(uuid, { message: 'again', ...(fork ? { fork } : {}) })).process.uuid)

function added(calls: readonly Call[], prices: Call): object {
  const sum = (bucket: 0 | 1 | 2 | 3): number => calls.reduce<number>((total, call) => total + call[bucket], 0)
  const cost = ([0, 1, 2, 3] as const).reduce<number>((total, bucket) => total + (sum(bucket) * prices[bucket]) / MILLION, 0)
  return { inputTokens: sum(0), outputTokens: sum(1), cacheReadTokens: sum(2), cacheWriteTokens: sum(3), costUsd: expect.closeTo(cost, 12), estimated: false }
}

const ARGS = {
  claude: ['-p', 'MAIN-TASK one', '--output-format', 'stream-json', '--verbose'],
  codex: ['exec', '--json', '-m', 'gpt-5.1-codex', 'MAIN-TASK one'],
} as const

/** As it was before it told what was used since its last result: totals of the session alone. */
function asOnce({ model_usage_since_last_result: _, ...line }: Record<string, unknown>): unknown {
  return line
}

type Case = readonly [title: string, recorded: Recorded, calls: typeof CLAUDE, prices: Call, byHand: typeof CLAUDE_BY_HAND]

describe.each<Case>([
  ['Claude Code', { name: 'claude', args: ARGS.claude }, CLAUDE, SONNET, CLAUDE_BY_HAND],
  ['Claude Code that tells totals of the session alone', { name: 'claude', args: ARGS.claude, edit: asOnce }, CLAUDE, SONNET, CLAUDE_BY_HAND],
  ['Codex', { name: 'codex', args: ARGS.codex }, CODEX, GPT, CODEX_BY_HAND],
])('%s', (_, recorded, calls, prices, byHand) => {
  test('a session, its resume, a fork of it and the resume of that are charged for their own calls', async () => {
    const first = await ran(recorded)
    expect(first).toMatchObject({ status: 'completed', usage: added(calls.first, prices) })
    const resumed = await again(first.uuid)
    expect(resumed.usage).toMatchObject(added([...calls.first, ...calls.resumed], prices))
    expect(resumed.usage).toMatchObject({ ...byHand, costUsd: expect.closeTo(byHand.costUsd, 12) })
    const forked = await again(first.uuid, true)
    expect(forked).toMatchObject({ originUuid: first.uuid, usage: added(calls.forked, prices) })
    const forkResumed = await again(forked.uuid)
    expect(forkResumed.usage).toMatchObject(added([...calls.forked, ...calls['fork-resumed']], prices))
    expect((await daemon.view(first.uuid)).usage).toMatchObject(added([...calls.first, ...calls.resumed], prices))
  })
})
