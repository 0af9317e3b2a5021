// The step that each model call at the gateway belongs to.
import { expect, test } from 'vitest'
import { GatewayCalls } from '../../../../src/daemon/steps/gateway-calls.ts'
import type { BodyOf, FactBody } from '../../../../src/kernel/model/facts.ts'

const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
const RESERVE: BodyOf<'call.started'>['reserve'] = { inputTokens: 1, maxOutputTokens: 1, usd: null }
const started = (call: string): FactBody => ({ type: 'call.started', call, model: 'm', provider: 'p', reserve: RESERVE })
const finished = (call: string, outputTokens: number): FactBody => ({
  type: 'call.finished',
  call,
  usage: { ...NO_TOKENS, outputTokens },
  status: 200,
})
const step = (number: number): FactBody => ({ type: 'model.started', step: number, attempt: 1, model: 'm' })

const ready: FactBody = { type: 'process.ready', turn: 1, outcome: 'ok' }

/** The output tokens by step. */
function tokensByStep(...facts: readonly FactBody[]): Record<number, number> {
  const calls = new GatewayCalls()
  const sums: Record<number, number> = {}
  for (const fact of facts) for (const { step: number, usage } of calls.apply(fact)) sums[number] = (sums[number] ?? 0) + usage.outputTokens
  return sums
}

test.each<[string, readonly FactBody[], Record<number, number>]>([
  ['a call that ends after its step has begun counts for that step', [started('a'), step(1), finished('a', 5)], { 1: 5 }],
  ['a call that ends before its step begins counts for that step', [started('a'), finished('a', 5), step(1)], { 1: 5 }],
  [
    'each call of three steps counts for its own step',
    [started('a'), step(1), finished('a', 1), started('b'), step(2), finished('b', 10), started('c'), finished('c', 100), step(3)],
    { 1: 1, 2: 10, 3: 100 },
  ],
  [
    'the call of a subagent counts for the next step',
    [started('a'), step(1), finished('a', 1), started('s'), finished('s', 7), started('b'), step(2), finished('b', 10)],
    { 1: 1, 2: 17 },
  ],
  [
    'a call after the last step of a turn counts for that step',
    [started('a'), step(1), finished('a', 1), started('b'), finished('b', 9), ready, started('c'), step(2), finished('c', 4)],
    { 1: 10, 2: 4 },
  ],
  [
    'a call after the newest step counts for no step until the next one begins or the turn ends',
    [started('a'), step(1), finished('a', 1), started('b'), finished('b', 9)],
    { 1: 1 },
  ],
  ['a call that began before the facts that were read counts for no step', [finished('z', 3), step(2)], {}],
])('%s', (_, facts, expected) => {
  expect(tokensByStep(...facts)).toEqual(expected)
})
