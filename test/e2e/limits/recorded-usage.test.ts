// Reported usage of Claude Code and Codex, without the gateway, in streams that were recorded with a model server on the same machine.
// The streams are a session with tools and a subagent, its resume, a fork of it, and the fork's resume. The charge of each process
// equals a sum of the server's answers that was made by hand.
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

const STREAMS = fileURLToPath(new URL('../../support/streams', import.meta.url))
const PARTS = ['first', 'resumed', 'forked', 'fork-resumed'] as const
const MILLION = 1_000_000

/** One answer of the model: uncached input, output, tokens read from the cache, tokens written to it. */
type Call = readonly [input: number, output: number, read: number, write: number]
type Part = (typeof PARTS)[number]

/** The calls in the order of their answers. */
const CLAUDE: Readonly<Record<Part, readonly Call[]>> = {
  first: [
    [1000, 50, 0, 5000], // prints "First." and calls Bash
    [20, 80, 5000, 300], // prints "Second." and calls Task, which continues in the background
    [15, 60, 5300, 200], // prints "Done."
    [700, 30, 0, 900], // the subagent calls Bash
    [10, 40, 900, 60], // the subagent prints "Sub done."
    [18, 44, 5500, 25], // notified of that, prints "Done at last."
  ],
  resumed: [
    [25, 20, 5500, 70],
    [12, 33, 5570, 11],
  ],
  forked: [[31, 45, 5600, 90]],
  'fork-resumed': [[9, 21, 5700, 13]],
}

const CODEX: Readonly<Record<Part, readonly Call[]>> = {
  first: [
    [1000, 50, 400, 200],
    [120, 60, 1500, 30],
  ],
  resumed: [
    [80, 20, 1700, 40],
    [33, 70, 1820, 5],
  ],
  forked: [[44, 25, 1900, 15]],
  'fork-resumed': [[51, 26, 1960, 7]],
}

/** USD for a million tokens, as the providers list them. OpenAI charges nothing more for tokens written to its cache. */
const SONNET: Call = [3, 15, 0.3, 3.75]
const GPT: Call = [1.25, 10, 0.125, 1.25]

/** A check by hand: the sums of all rows above, and their cost. */
const CLAUDE_BY_HAND = {
  inputTokens: 1763 + 37,
  outputTokens: 304 + 53,
  cacheReadTokens: 16_700 + 11_070,
  cacheWriteTokens: 6485 + 81,
  costUsd: 0.03917775 + 0.00453075,
}
const CODEX_BY_HAND: typeof CLAUDE_BY_HAND = {
  inputTokens: 1120 + 113,
  outputTokens: 110 + 90,
  cacheReadTokens: 1900 + 3520,
  cacheWriteTokens: 230 + 45,
  costUsd: 0.003025 + 0.0015375,
}

let daemon: LocalDaemon
beforeAll(async () => {
  daemon = await LocalDaemon.start()
})
afterAll(async () => {
  expect(daemon.errors).toEqual([])
  await daemon[Symbol.asyncDispose]()
})

interface Recorded {
  readonly name: 'claude' | 'codex'
  readonly args: readonly string[]
  /** changes the lines of a stream before it is played */
  readonly edit?: (line: Record<string, unknown>) => unknown
}

/** Writes a program that prints the recorded stream for its arguments: the beginning, a resume, a fork or the fork's resume. */
function writeProgram({ name, edit = (line) => line }: Recorded): string {
  const dir = mkdtempSync(join(daemon.work, `${name}-`))
  for (const part of PARTS) {
    const lines = readFileSync(join(STREAMS, `${name}-${part}.jsonl`), 'utf8')
      .trim()
      .split('\n')
    writeFileSync(join(dir, part), lines.map((line) => `${JSON.stringify(edit(JSON.parse(line) as Record<string, unknown>))}\n`).join(''))
  }
  const forkId = /"(?:session_id|thread_id)":"([^"]+)"/.exec(readFileSync(join(dir, 'forked'), 'utf8'))?.[1] ?? ''
  const file = join(dir, name)
  writeFileSync(
    file,
    `#!/bin/sh\ncase " $* " in\n*" --fork-session "*|*" fork "*) part=forked ;;\n*" ${forkId} "*) part=fork-resumed ;;\n*" --resume "*|*" resume "*) part=resumed ;;\n*) part=first ;;\nesac\nexec cat '${dir}'/$part\n`,
  )
  chmodSync(file, 0o755)
  return file
}

const runRecorded = async (recorded: Recorded): Promise<ProcessView> =>
  daemon.waitForEnd((await daemon.spawn({ argv: [writeProgram(recorded), ...recorded.args], gateway: 'off' })).uuid)
const resumeToEnd = async (uuid: string, fork = false): Promise<ProcessView> =>
  daemon.waitForEnd((await daemon.resume(uuid, { message: 'again', ...(fork ? { fork } : {}) })).process.uuid)

function sumOf(calls: readonly Call[], prices: Call): object {
  const sum = (bucket: 0 | 1 | 2 | 3): number => calls.reduce<number>((total, call) => total + call[bucket], 0)
  const cost = ([0, 1, 2, 3] as const).reduce<number>((total, bucket) => total + (sum(bucket) * prices[bucket]) / MILLION, 0)
  return {
    inputTokens: sum(0),
    outputTokens: sum(1),
    cacheReadTokens: sum(2),
    cacheWriteTokens: sum(3),
    costUsd: expect.closeTo(cost, 12),
    estimated: false,
  }
}

const ARGS = {
  claude: ['-p', 'MAIN-TASK one', '--output-format', 'stream-json', '--verbose'],
  codex: ['exec', '--json', '-m', 'gpt-5.1-codex', 'MAIN-TASK one'],
} as const

/** Removes the usage since the last result, as in older versions: only totals of the session are left. */
function withoutUsageSinceLastResult({ model_usage_since_last_result: _, ...line }: Record<string, unknown>): unknown {
  return line
}

type Case = readonly [title: string, recorded: Recorded, calls: typeof CLAUDE, prices: Call, byHand: typeof CLAUDE_BY_HAND]

describe.each<Case>([
  ['Claude Code', { name: 'claude', args: ARGS.claude }, CLAUDE, SONNET, CLAUDE_BY_HAND],
  [
    'Claude Code that reports only totals of the session',
    { name: 'claude', args: ARGS.claude, edit: withoutUsageSinceLastResult },
    CLAUDE,
    SONNET,
    CLAUDE_BY_HAND,
  ],
  ['Codex', { name: 'codex', args: ARGS.codex }, CODEX, GPT, CODEX_BY_HAND],
])('%s', (_, recorded, calls, prices, byHand) => {
  test("a session, its resume, a fork of it and the fork's resume are charged for their own calls", async () => {
    const first = await runRecorded(recorded)
    expect(first).toMatchObject({ status: 'completed', usage: sumOf(calls.first, prices) })
    const resumed = await resumeToEnd(first.uuid)
    expect(resumed.usage).toMatchObject(sumOf([...calls.first, ...calls.resumed], prices))
    expect(resumed.usage).toMatchObject({ ...byHand, costUsd: expect.closeTo(byHand.costUsd, 12) })
    const forked = await resumeToEnd(first.uuid, true)
    expect(forked).toMatchObject({ originUuid: first.uuid, usage: sumOf(calls.forked, prices) })
    const forkResumed = await resumeToEnd(forked.uuid)
    expect(forkResumed.usage).toMatchObject(sumOf([...calls.forked, ...calls['fork-resumed']], prices))
    expect((await daemon.view(first.uuid)).usage).toMatchObject(sumOf([...calls.first, ...calls.resumed], prices))
  })
})
