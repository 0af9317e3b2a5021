// What reeve promises for every coding agent, as tests that each agent's file runs: a task with a file and programs that
// stay, a normal end, a kill, the death of the daemon, a pause of both sorts, the resume of the session. 0 left each time.
// What an agent cannot do is said in `Expected`, and stands in docs/external-agents.md.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView } from '../../src/api/views.ts'
import { eventually, livingWith } from '../support/living.ts'
import { openBench, letGo, type Bench, type Kind } from './bench.ts'
import { conversations, RESULT, TASKS, USAGE, WRITTEN } from './model.ts'

/** How long the pauses last that are seen to hold. */
const PAUSE_MS = 5_000
const FREEZE_MS = 20_000
const LOOK_MS = 50

export interface Expected {
  /** names of the two tools as reeve tells them */
  readonly tools: readonly [RegExp, RegExp]
  /** steps of the task: some agents tell of what the model says and does as one */
  readonly steps: number
  /** calls of the model whose tokens it tells, of the three */
  readonly counted: number
  /** it tells what its tools gave back */
  readonly tellsResults: boolean
  /** what it says instead of going on with its session; absent: it goes on */
  readonly resumeError?: RegExp
  /** a soft pause lets the turn end first */
  readonly isSoftPauseDrained: boolean
}

export function keepsItsPromises(kind: Kind, expected: Expected): void {
  describe(`${kind.name}`, () => {
    const does = expected.resumeError ? 'is not found, and that is said' : 'goes on'
    let bench: Bench
    beforeEach(async () => { bench = await openBench(kind) })
    afterEach(async () => { await bench[Symbol.asyncDispose]() })

    /** The programs of the tool are there. */
    const started = (): Promise<unknown> => eventually(() => livingWith(bench.token).filter(({ argv }) => argv[0] === 'sleep').length === 2, 'the tool has started its programs')

    const frozen = async (uuid: string): Promise<string[]> => {
      const deadline = performance.now() + FREEZE_MS
      for (;;) {
        const facts = (await bench.daemon.events()).filter((event) => event.uuid === uuid).map(({ fact }) => String(fact))
        if (facts.includes('process.frozen')) return facts
        if (performance.now() > deadline) throw new Error(`it was not frozen: ${facts.join(' ')}`)
        await delay(LOOK_MS)
      }
    }

    /** Resumed with a second prompt, it knows the first one; or it says that it cannot. */
    const goesOn = async (uuid: string, sessionId: string | null): Promise<ProcessView> => {
      expect(sessionId).not.toBeNull()
      await bench.daemon.resume(uuid, { message: `${TASKS.again} please`, env: bench.env })
      const view = await bench.daemon.ended(uuid)
      if (expected.resumeError) {
        expect(view.status).toBe('failed')
        expect(view.exit?.error).toMatch(expected.resumeError)
      } else expect(view).toMatchObject({ status: 'completed', lastText: 'asked 2 times', sessionId })
      return view
    }

    test('a task: steps, tools, tokens and result are shown, and a normal end leaves nothing', async () => {
      const { uuid } = await bench.start(`${TASKS.work} write a file`)
      const view = await bench.daemon.ended(uuid)
      await bench.nothingLeft()
      expect(await bench.inspect(uuid)).toMatchObject({ status: 'completed', exit: { code: 0 }, lastText: RESULT, step: expected.steps, turn: 1 })
      expect(readFileSync(join(bench.work, 'made.txt'), 'utf8')).toBe(WRITTEN)
      expect(view.usage).toMatchObject({ toolCalls: 2, inputTokens: expected.counted * USAGE.input, outputTokens: expected.counted * USAGE.output })
      const { steps } = JSON.parse(await bench.cli('steps', '--json', uuid)) as { steps: { tools: { name: string; outcome: string; result: string }[] }[] }
      const tools = steps.flatMap((step) => step.tools)
      expect(tools.map(({ outcome }) => outcome)).toEqual(['ok', 'ok'])
      expect(JSON.stringify(conversations(bench.model).at(-1)?.body)).toMatch(/started(?! > )/)
      expect(tools[1]?.result?.includes('started')).toBe(expected.tellsResults)
      for (const [index, name] of expected.tools.entries()) expect(tools[index]?.name).toMatch(name)
    })

    test('a kill in mid-turn leaves nothing', async () => {
      const { uuid } = await bench.start(`${TASKS.hang} now`)
      await started()
      await bench.cli('kill', uuid)
      expect(await bench.daemon.ended(uuid)).toMatchObject({ status: 'stopped' })
      await bench.nothingLeft()
    })

    test(`kill -9 of the daemon leaves nothing, and the session ${does}`, async () => {
      const { uuid } = await bench.start(`${TASKS.hang} now`)
      await started()
      await bench.daemon.kill()
      await bench.daemon.nothingLeft()
      await bench.nothingLeft()
      await bench.daemon.start()
      const { sessionId } = await bench.daemon.view(uuid)
      await goesOn(uuid, sessionId)
      await bench.nothingLeft()
    })

    test(`the session of one that has ended ${does}`, async () => {
      const { uuid } = await bench.start(`${TASKS.work} first`)
      const { sessionId, usage } = await bench.daemon.ended(uuid)
      const second = await goesOn(uuid, sessionId)
      expect(second.usage.inputTokens).toBe(usage.inputTokens + (expected.resumeError ? 0 : USAGE.input))
      await bench.nothingLeft()
    })

    test('pause --now in a tool stands still for 5 s with all that it started, and goes on', async () => {
      const { uuid } = await bench.start(`${TASKS.gate} now`)
      await eventually(() => existsSync(join(bench.work, 'waits')), 'the tool waits')
      await bench.cli('pause', '--now', uuid)
      await frozen(uuid)
      letGo(bench)
      const asked = conversations(bench.model).length
      await delay(PAUSE_MS)
      expect(conversations(bench.model).length).toBe(asked)
      await bench.cli('resume', uuid)
      expect(await bench.daemon.ended(uuid)).toMatchObject({ status: 'completed', lastText: RESULT })
      await bench.nothingLeft()
    })

    test('pause --now in a stream of the model, and a kill while it is frozen', async () => {
      const { uuid } = await bench.start(`${TASKS.stall} now`)
      await eventually(() => conversations(bench.model).length === 2, 'the stream has begun')
      await bench.cli('pause', '--now', uuid)
      await frozen(uuid)
      await delay(PAUSE_MS)
      expect(await bench.inspect(uuid)).toMatchObject({ status: 'suspended' })
      await bench.cli('kill', uuid)
      expect(await bench.daemon.ended(uuid)).toMatchObject({ status: 'stopped' })
      await bench.nothingLeft()
    })

    test(`a soft pause ${expected.isSoftPauseDrained ? 'lets the turn end' : 'freezes'}, holds for 5 s, and goes on`, async () => {
      const { uuid } = await bench.start(`${TASKS.gate} now`)
      await eventually(() => existsSync(join(bench.work, 'waits')), 'the tool waits')
      await bench.cli('pause', uuid)
      if (!expected.isSoftPauseDrained) await frozen(uuid)
      letGo(bench)
      expect((await frozen(uuid)).includes('process.drained')).toBe(expected.isSoftPauseDrained)
      const asked = conversations(bench.model).length
      expect(await bench.inspect(uuid)).toMatchObject({ status: 'suspended', lastText: expected.isSoftPauseDrained ? RESULT : 'Next.' })
      await delay(PAUSE_MS)
      expect(conversations(bench.model).length).toBe(asked)
      await bench.cli('resume', uuid)
      expect(await bench.daemon.ended(uuid)).toMatchObject({ status: 'completed', lastText: RESULT })
      await bench.nothingLeft()
    })
  })
}
