// The context of native agents over random valid histories. A prefix of any length gives a valid context, and the page size makes no
// difference. A loop that is interrupted anywhere continues to the same messages.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Context, foldFact } from '../../src/drivers/native/context/context.ts'
import { loadContext } from '../../src/drivers/native/context/load-context.ts'
import type { ReadPage } from '../../src/drivers/native/context/load-context.ts'
import { filterPage } from '../support/store/reference-page-filter.ts'
import type { ContextMessage } from '../../src/drivers/native/context/context.ts'
import type { AssistantPart, FactBody, StoredFact, ToolOutcome } from '../../src/kernel/model/facts.ts'
import { openNativeHarness } from '../support/models/native-harness.ts'

interface PlannedStep {
  readonly text: string
  readonly outcomes: readonly (ToolOutcome | 'lost')[]
  /** the number of failed attempts before its answer */
  readonly failures: number
  /** a message that arrives while the model call (0), or the n-th tool, is open */
  readonly message: number | null
}

const outcome = fc.constantFrom('ok', 'error', 'denied', 'interrupted', 'lost') satisfies fc.Arbitrary<ToolOutcome | 'lost'>
const step: fc.Arbitrary<PlannedStep> = fc.record({
  text: fc.constantFrom('', 'some text', 'é'),
  outcomes: fc.array(outcome, { maxLength: 3 }),
  failures: fc.integer({ min: 0, max: 2 }),
  message: fc.option(fc.integer({ min: 0, max: 3 })),
})
const history = fc.array(step, { maxLength: 12 }).map(toFacts)

const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

function toFacts(steps: readonly PlannedStep[]): readonly StoredFact[] {
  const bodies: FactBody[] = []
  let messages = 0
  const addMessage = (): void => {
    const id = `m${(messages += 1)}`
    bodies.push(
      { type: 'process.queue', id, from: 'user', text: `text ${id}` },
      { type: 'process.incoming', id, from: 'user', turn: messages, queuedAt: 1 },
    )
  }
  addMessage()
  for (const [index, planned] of steps.entries()) {
    const number = index + 1
    for (let attempt = 1; attempt <= planned.failures; attempt += 1) {
      bodies.push(
        { type: 'model.started', step: number, attempt, model: 'm' },
        { type: 'model.failed', step: number, attempt, error: 'x', status: null, retryInMs: 1, partial: 'half' },
      )
    }
    bodies.push({ type: 'model.started', step: number, attempt: planned.failures + 1, model: 'm' })
    if (planned.message === 0) addMessage()
    const calls = planned.outcomes.map((_, call): AssistantPart => ({ type: 'tool-call', callId: `c${call}`, name: 'ls', input: {} }))
    bodies.push({
      type: 'model.finished',
      step: number,
      message: [{ type: 'text', text: planned.text }, ...calls],
      usage,
      finish: 'stop',
      durationMs: 1,
    })
    for (const [call, ended] of planned.outcomes.entries()) {
      if (planned.message === call + 1) addMessage()
      if (ended !== 'lost')
        bodies.push({
          type: 'tool.finished',
          step: number,
          callId: `c${call}`,
          name: 'ls',
          outcome: ended,
          content: `${number}.${call}`,
          durationMs: 1,
        })
    }
    if (calls.length === 0) addMessage()
  }
  return bodies.map((body, index) => ({ uuid: 'u', seq: index + 1, pid: 1, at: 0, cursor: index + 1, body }))
}

function foldContext(facts: readonly StoredFact[]): Context {
  const context = new Context()
  for (const fact of facts) foldFact(context, fact)
  return context
}

const readPages =
  (facts: readonly StoredFact[], pageSize: number) =>
  (after: number, limit: number): Promise<readonly StoredFact[]> =>
    Promise.resolve(facts.filter(({ seq }) => seq > after).slice(0, Math.min(limit, pageSize)))

/** The same pages without the bodies that `skim` excludes, as the store gives them. */
const readPagesWithoutBodies =
  (facts: readonly StoredFact[], pageSize: number): ReadPage =>
  async (after, limit, skim) =>
    filterPage(await readPages(facts, pageSize)(after, limit), skim)

/**
 * Whether the messages keep the providers' rules: the results of exactly its calls follow each answer with calls, and no result is
 * elsewhere.
 */
function isWellFormed(messages: readonly ContextMessage[]): boolean {
  return messages.every((message, index) => {
    const calls = message.role === 'assistant' ? message.parts.filter((part) => part.type === 'tool-call').map((part) => part.callId) : []
    const nextMessage = messages[index + 1]
    if (calls.length > 0)
      return nextMessage?.role === 'tool' && JSON.stringify(nextMessage.results.map((result) => result.callId)) === JSON.stringify(calls)
    const before = messages[index - 1]
    if (message.role === 'tool') return before?.role === 'assistant' && before.parts.some((part) => part.type === 'tool-call')
    return message.role === 'user' || message.parts.length > 0
  })
}

describe('the fold', () => {
  test('any prefix of any history gives a well-formed context, now and at the next model request', () => {
    fc.assert(
      fc.property(history, fc.nat(), (facts, length) => {
        const context = foldContext(facts.slice(0, length % (facts.length + 1)))
        const before = isWellFormed(context.messages)
        context.beginCall()
        return before && isWellFormed(context.messages) && context.openCalls.length === 0 && !context.hasUnreadMessages
      }),
    )
  })

  test('no message is lost or doubled, and all are in order', () => {
    fc.assert(
      fc.property(history, (facts) => {
        const context = foldContext(facts)
        context.beginCall()
        const texts = context.messages.filter((message) => message.role === 'user').map((message) => message.text)
        expect(texts).toEqual(facts.flatMap(({ body }) => (body.type === 'process.incoming' ? [`text ${body.id}`] : [])))
      }),
    )
  })

  test('every result follows its call, and a missing result is reported as unknown', () => {
    fc.assert(
      fc.property(history, (facts) => {
        const context = foldContext(facts)
        context.beginCall()
        const finished = facts.flatMap(({ body }) => (body.type === 'tool.finished' ? [body] : []))
        const results = context.messages.flatMap((message) => (message.role === 'tool' ? message.results : []))
        for (const result of results.filter(({ outcome: ended }) => ended === 'interrupted'))
          expect(result.content).toMatch(/^interrupted; it may or may not have happened/)
        const knownResults = results.filter(({ content }) => content !== 'interrupted; it may or may not have happened')
        expect(knownResults.map(({ content }) => content.split('\n').at(-1))).toEqual(finished.map(({ content }) => content))
      }),
    )
  })

  test('the page size makes no difference', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.integer({ min: 1, max: 7 }), async (facts, pageSize) => {
        const { context: wholeContext } = await loadContext(readPages(facts, Number.MAX_SAFE_INTEGER), null)
        for (const pages of [readPages(facts, pageSize), readPagesWithoutBodies(facts, pageSize)]) {
          const { context: paged } = await loadContext(pages, null)
          expect(paged.messages).toEqual(wholeContext.messages)
          expect(paged.origins).toEqual(wholeContext.origins)
          expect([paged.bytes, paged.step, paged.openCalls]).toEqual([wholeContext.bytes, wholeContext.step, wholeContext.openCalls])
        }
      }),
    )
  })

  test('the number of bytes is that of the messages', () => {
    fc.assert(
      fc.property(history, (facts) => {
        const context = foldContext(facts)
        context.beginCall()
        const sizes = context.messages.flatMap((message) => {
          if (message.role === 'user') return [message.text]
          if (message.role === 'tool') return message.results.map(({ content }) => content)
          return message.parts.map((part) => (part.type === 'tool-call' ? `${part.name}${JSON.stringify(part.input)}` : part.text))
        })
        expect(context.bytes).toBe(Buffer.byteLength(sizes.join('')))
      }),
    )
  })
})

describe('the loop', () => {
  const script = `
- text: looking
  tools: [{ name: ls, input: { path: nowhere } }, { name: glob, input: { pattern: '*.none' } }]
- { tools: [{ name: write, input: { path: a, content: b } }, { name: read, input: { path: a } }], error: busy }
- tools: [{ name: bash, input: { command: 'true' } }, { name: ls, input: { path: nowhere } }]
- text: done
`

  test('the loop reaches the same end if it is interrupted after any commit and resumed', async () => {
    await using harness = await openNativeHarness()
    const uninterrupted = await harness.run({ script })
    await uninterrupted.runTurn('go')
    const { facts } = uninterrupted.kernel
    const messagesOf = (journal: readonly StoredFact[]): readonly ContextMessage[] => foldContext(journal).messages
    const firstCut = facts.findIndex(({ body }) => body.type === 'process.working') + 1
    for (let length = firstCut; length < facts.length; length += 1) {
      if (facts[length]?.body.type === 'tool.started') continue // in the same commit as the answer before it
      const resumed = await harness.run({ spec: { model: 'script:1.yaml' }, earlierFacts: facts.slice(0, length) })
      await resumed.agent.proceed(resumed.kernel.turn)
      await resumed.kernel.waitForTurnEnd()
      const [expected, got] = [messagesOf(facts), messagesOf(resumed.kernel.facts)]
      expect(isWellFormed(got)).toBe(true)
      expect(withoutUnknown(got), `cut after ${length}`).toEqual(withoutUnknown(expected))
      expect(resumed.kernel.factsOf('process.ready').at(-1)).toMatchObject({ outcome: 'ok', result: 'done' })
    }
  })
})

/** The messages without the results of `bash`: an interrupted `once` call has no known result. */
function withoutUnknown(messages: readonly ContextMessage[]): readonly unknown[] {
  return messages.map((message) =>
    message.role === 'tool'
      ? message.results.map(({ callId, name, content }) => ({ callId, content: name === 'bash' ? null : content }))
      : message,
  )
}
