// Compaction over random histories: the journal, its remaining parts and the context in use have the same messages at every
// step. Any part may be kept, and any message may arrive meanwhile.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Context, SUMMARY_HEADING, messageBytes } from '../../src/drivers/native/context/context.ts'
import type { ContextMessage } from '../../src/drivers/native/context/context.ts'
import { chooseKeptPart } from '../../src/drivers/native/context/kept-part.ts'
import { readNewFacts, loadContext } from '../../src/drivers/native/context/load-context.ts'
import { fold } from '../../src/kernel/state/fold.ts'
import { areValidRanges } from '../../src/kernel/model/context.ts'
import type { AssistantPart, FactBody, StoredFact } from '../../src/kernel/model/facts.ts'
import type { Process } from '../../src/kernel/model/process.ts'
import { kernelSpec } from '../support/kernel/world.ts'

interface PlannedStep {
  readonly text: string
  /** the number of bytes of the results of its calls */
  readonly results: readonly number[]
  readonly image: boolean
  /** the number of failed attempts before its answer */
  readonly failures: number
  /** a message that arrives while the model call (0), or the n-th tool, is open */
  readonly message: number | null
  /** a message that waits for a later turn */
  readonly queued: boolean
  /** the context is compacted after it: the number of kept bytes, and the limit for the last step */
  readonly compact: readonly [keepBytes: number, maxStepBytes: number] | null
}

const step: fc.Arbitrary<PlannedStep> = fc.record({
  text: fc.constantFrom('', 'some text', 'é'),
  results: fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 3 }),
  image: fc.nat(9).map((n) => n === 0),
  failures: fc.integer({ min: 0, max: 2 }),
  message: fc.option(fc.integer({ min: 0, max: 3 })),
  queued: fc.nat(5).map((n) => n === 0),
  compact: fc.option(fc.tuple(fc.constantFrom(0, 40, 150, 1_000), fc.constantFrom(0, 30, 10_000)), { freq: 3 }),
})
const steps = fc.array(step, { minLength: 1, maxLength: 14 })

const usage = { inputTokens: 50, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

/** A process with a growing journal. Its live context is updated by the calls that the loop makes, not from the facts. */
class Life {
  readonly facts: StoredFact[] = []
  live = new Context()
  process: Process | undefined
  compactions = 0
  #messages = 0
  #turn = 0
  #waiting: string[] = []

  constructor() {
    this.#emit({ type: 'process.spawned', pid: 1, spec: kernelSpec(), parentUuid: null, depth: 1, by: 'user' })
    this.#emit({ type: 'process.started', mono: 0, attached: true, containment: null })
    this.#addMessage()
  }

  pager =
    (pageSize: number) =>
    (after: number, limit: number): Promise<readonly StoredFact[]> =>
      Promise.resolve(this.facts.slice(after, after + Math.min(limit, pageSize)))

  /** Makes a step's model request, with its answer and results. */
  playStep(number: number, planned: PlannedStep): void {
    for (let attempt = 1; attempt <= planned.failures + 1; attempt += 1) {
      this.#emit({ type: 'model.started', step: number, attempt, model: 'm' })
      this.live.beginCall()
      if (attempt > planned.failures) break
      this.#emit({ type: 'model.failed', step: number, attempt, error: 'x', status: null, retryInMs: 1 })
      this.live.failCall()
    }
    if (planned.message === 0) this.#addMessage()
    const calls = planned.results.map((_, call): AssistantPart => ({ type: 'tool-call', callId: `c${call}`, name: 'ls', input: {} }))
    const message = [{ type: 'text' as const, text: planned.text }, ...calls]
    this.#emit({ type: 'model.finished', step: number, message, usage, finish: 'stop', durationMs: 1 })
    this.live.finishCall(number, message, usage)
    for (const [call, bytes] of planned.results.entries()) {
      if (planned.message === call + 1) this.#addMessage()
      const ended = {
        callId: `c${call}`,
        name: 'ls',
        outcome: 'ok' as const,
        content: `${number}.${call} ${'x'.repeat(bytes)}`,
        ...(planned.image ? { images: [{ mediaType: 'image/png', data: 'AAAA' }] } : {}),
      }
      this.#emit({ type: 'tool.finished', step: number, durationMs: 1, ...ended })
      this.live.addResult(ended)
    }
    if (planned.queued) this.#queue()
    if (calls.length === 0) this.#nextTurn()
  }

  /** Compacts as the loop does. The context that is read from the store must equal the live one. */
  async compact(number: number, [keepBytes, maxStepBytes]: readonly [number, number]): Promise<void> {
    const loaded = await loadContext(this.pager(500), this.live.ranges)
    expect(visibleState(loaded.context)).toEqual(visibleState(this.live))
    const keptPart = chooseKeptPart(loaded.context, { keepBytes, maxStepBytes, seq: loaded.seq })
    if (keptPart === null) return
    expect(areValidRanges(keptPart.ranges, loaded.seq)).toBe(true)
    this.#emit({ type: 'compaction.started', step: number, attempt: 1, model: 'm' })
    if (this.compactions % 2 === 0) this.#queue()
    const before = this.live.messages
    this.#emit({
      type: 'context.compacted',
      step: number,
      summary: `summary ${number}`,
      ranges: keptPart.ranges,
      before: 100,
      after: 40,
      usage,
      durationMs: 1,
    })
    await readNewFacts(loaded, this.pager(3))
    this.live.adopt(loaded.context)
    this.compactions += 1
    const sentMessages = this.live.messages.filter((_, index) => this.live.origins[index]?.facts.length !== 0)
    expect(sentMessages.reduce((sum, message) => sum + messageBytes(message), 0)).toBe(keptPart.bytes)
    checkKept(before, this.live)
  }

  #addMessage(): void {
    const id = this.#waiting.shift() ?? this.#queue()
    this.#waiting = this.#waiting.filter((otherId) => otherId !== id)
    this.#turn += 1
    this.#emit({ type: 'process.incoming', id, from: 'user', turn: this.#turn, queuedAt: 1 })
    this.#emit({ type: 'process.working', turn: this.#turn, message: id })
    this.live.takeMessage(id, `text ${id}`)
  }

  #nextTurn(): void {
    this.#emit({ type: 'process.ready', turn: this.#turn, outcome: 'ok' })
    this.#addMessage()
  }

  #queue(): string {
    const id = `m${(this.#messages += 1)}`
    this.#waiting.push(id)
    this.#emit({ type: 'process.queue', id, from: 'user', text: `text ${id}` })
    return id
  }

  #emit(body: FactBody): void {
    const seq = this.facts.length + 1
    const fact = { uuid: 'u', seq, pid: 1, at: 0, body }
    this.facts.push({ ...fact, cursor: seq })
    this.process = fold(this.process, fact)
  }
}

/** The part of a context that a loop can see. */
function visibleState(context: Context): object {
  const { messages, step, bytes, isAnswered: answered, openCalls, compactedStep, lastResult } = context
  return {
    messages,
    step,
    bytes,
    answered,
    openCalls,
    compactedStep,
    lastResult,
    tokens: context.estimateTokens(100),
    rate: context.tokensPerByte(100),
  }
}

/** Expects the first message, one summary, and then the last of the earlier messages without a gap, with all unanswered ones. */
function checkKept(before: readonly ContextMessage[], { messages }: Context): void {
  expect(messages[0]).toEqual(before[0])
  expect(messages[1]).toMatchObject({ role: 'user', text: expect.stringContaining(SUMMARY_HEADING) })
  const keptMessages = messages.slice(2)
  expect(keptMessages).toEqual(before.slice(before.length - keptMessages.length))
  expect(keptMessages[0]?.role).not.toBe('tool')
  expect(keptMessages.length).toBeGreaterThanOrEqual(before.length - 1 - before.findLastIndex(({ role }) => role !== 'user'))
  expect(messages.filter((message) => message.role === 'user' && message.text.startsWith(SUMMARY_HEADING))).toHaveLength(1)
}

async function playLife(planned: readonly PlannedStep[], checkStep: (life: Life) => Promise<void>): Promise<Life> {
  const life = new Life()
  for (const [index, plannedStep] of planned.entries()) {
    life.playStep(index + 1, plannedStep)
    await checkStep(life)
    if (plannedStep.compact === null || life.compactions === 4) continue
    await life.compact(index + 1, plannedStep.compact)
    await checkStep(life)
  }
  return life
}

describe('with any number of compactions', () => {
  test('the whole journal, its parts and the live context are the same at every step', async () => {
    let compactions = 0
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 7 }), async (planned, pageSize) => {
        const life = await playLife(planned, async ({ process, pager, live: context }) => {
          const ranges = process?.context?.ranges ?? null
          const [whole, parts] = await Promise.all([loadContext(pager(pageSize), null), loadContext(pager(pageSize), ranges)])
          expect(visibleState(whole.context)).toEqual(visibleState(context))
          expect(visibleState(parts.context)).toEqual(visibleState(context))
          expect(whole.context.ranges).toEqual(ranges)
          expect(parts.context.ranges).toEqual(ranges)
          expect(parts.seq).toBe(whole.seq)
        })
        compactions += life.compactions
      }),
      { numRuns: 400 },
    )
    expect(compactions).toBeGreaterThan(200)
  })

  test('messages that wait during the compaction are read after it, in order, and none is lost', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (planned) => {
        const { facts, live: context, process } = await playLife(planned, () => Promise.resolve())
        const lastCompaction = facts.findLastIndex(({ body }) => body.type === 'context.compacted')
        const laterMessages = facts
          .slice(lastCompaction + 1)
          .flatMap(({ body }) => (body.type === 'process.incoming' ? [`text ${body.id}`] : []))
        context.beginCall()
        const contextTexts = context.messages.flatMap((message) => (message.role === 'user' ? [message.text] : []))
        expect(contextTexts.slice(contextTexts.length - laterMessages.length)).toEqual(laterMessages)
        expect(process?.queue.length).toBe(
          facts.filter(({ body }) => body.type === 'process.queue').length -
            facts.filter(({ body }) => body.type === 'process.incoming').length,
        )
      }),
    )
  })
})

describe('the kept part is', () => {
  const plannedStep = (changes: Partial<PlannedStep>): PlannedStep => ({
    text: 'said',
    results: [20],
    image: false,
    failures: 0,
    message: null,
    queued: false,
    compact: null,
    ...changes,
  })
  const roleLetters = ({ messages }: Context): string => messages.map(({ role }) => role[0]).join('')

  test('the last step, of any size up to the limit', async () => {
    const life = await playLife([plannedStep({}), plannedStep({}), plannedStep({ results: [500], compact: [40, 1_000] })], () =>
      Promise.resolve(),
    )
    expect(roleLetters(life.live)).toBe('uuat')
  })

  test('nothing of a last step above the limit', async () => {
    const life = await playLife([plannedStep({}), plannedStep({ results: [500], compact: [40, 100] })], () => Promise.resolve())
    expect(roleLetters(life.live)).toBe('uu')
    expect(life.live.lastResult).toBe('')
  })

  test('as many of the newest steps as fit', async () => {
    const life = await playLife([...Array.from({ length: 9 }, () => plannedStep({})), plannedStep({ compact: [100, 100] })], () =>
      Promise.resolve(),
    )
    expect(roleLetters(life.live)).toBe('uuatatat')
  })

  test('an unanswered message, though nothing of the step before it', async () => {
    const life = await playLife(
      [plannedStep({}), plannedStep({ results: [400] }), plannedStep({ results: [], text: 'x'.repeat(300), compact: [10, 50] })],
      () => Promise.resolve(),
    )
    expect(roleLetters(life.live)).toBe('uuu')
    expect(life.live.messages[2]).toEqual({ role: 'user', text: 'text m2' })
  })

  test('the whole of a context that cannot be shortened', async () => {
    const life = await playLife([plannedStep({ compact: [10_000, 10_000] })], () => Promise.resolve())
    expect(life.compactions).toBe(0)
  })
})
