// Loops and failing tools: what is one, what is honest work, and what the kernel makes of it.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIVENESS } from '../../src/kernel/liveness.ts'
import { LoopWatch } from '../../src/kernel/loops.ts'
import { Player } from '../support/kernel/transcript.ts'
import type { FactBody } from '../../src/kernel/facts.ts'
import type { LoopEvidence } from '../../src/kernel/loops.ts'
import type { Process } from '../../src/kernel/types.ts'

type Limits = ConstructorParameters<typeof LoopWatch>[0]
interface Call { readonly name?: string; readonly input?: unknown; readonly result?: string; readonly outcome?: 'ok' | 'error' | 'denied' | 'interrupted'; readonly ms?: number }

const USAGE = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

/** Plays steps, each with its calls; gives the number of the step at which something was found, and what. */
function found(steps: readonly (readonly Call[])[], limits: Limits = LIVENESS): { readonly at: number; readonly evidence: LoopEvidence } | null {
  const watch = new LoopWatch(limits)
  for (const [index, calls] of steps.entries()) {
    const evidence = factsOf(index + 1, calls).map((body) => watch.see(body)).find((one) => one !== null)
    if (evidence) return { at: index + 1, evidence }
  }
  return null
}

function factsOf(step: number, calls: readonly Call[]): FactBody[] {
  const message = calls.map(({ name = 'bash', input = {} }, index) => ({ type: 'tool-call' as const, callId: `${step}-${index}`, name, input }))
  return [
    { type: 'model.finished', step, message: [{ type: 'text', text: `let me try again (${step})` }, ...message], usage: USAGE, finish: 'tool-calls', durationMs: 5 },
    ...calls.map(({ name = 'bash', result = 'done', outcome = 'ok', ms = 5 }, index): FactBody => ({ type: 'tool.finished', step, callId: `${step}-${index}`, name, outcome, content: result, durationMs: ms })),
  ]
}

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index))

describe('a loop', () => {
  test('the same call with the same result, five times in a row', () => {
    expect(found(times(9, () => [{ input: { command: 'ls' } }]))).toEqual({
      at: 5, evidence: { type: 'liveness.looping', times: 5, calls: [{ name: 'bash', input: '{"command":"ls"}', result: 'done' }] },
    })
  })

  test.each([2, 3, 4])('a cycle of %i, five times over', (period) => {
    const steps = times(40, (index) => [{ input: index % period }])
    expect(found(steps)).toMatchObject({ at: 5 * period, evidence: { times: 5 } })
    expect(found(steps)?.evidence).toMatchObject({ calls: times(period, (index) => ({ input: `${index}` })) })
  })

  test('several calls of one step are one round, in whatever order they end', () => {
    const watch = new LoopWatch(LIVENESS)
    const calls = [{ input: 1, result: 'one' }, { input: 2, result: 'two' }]
    const rounds = times(5, (index) => {
      const [asked, ...ended] = factsOf(index + 1, calls)
      return [asked as FactBody, ...(index % 2 === 0 ? ended : ended.toReversed())].map((body) => watch.see(body)).at(-1)
    })
    expect(rounds.map((one) => one !== null)).toEqual([false, false, false, false, true])
  })

  test.each<readonly [string, readonly (readonly Call[])[]]>([
    ['looking again at something that changes', times(50, (index) => [{ input: { url: '/status' }, result: `${index} %` }])],
    ['the same result of different calls', times(50, (index) => [{ input: { path: `f${index}` }, result: '' }])],
    ['another tool with the same input', times(50, (index) => [{ name: `tool${index % 7}`, input: 1 }])],
    ['a cycle of five', times(50, (index) => [{ input: index % 5 }])],
    ['four in a row, again and again', times(50, (index) => [{ input: index % 5 === 0 ? index : 'same' }])],
    ['waiting for something for half a minute each time', times(50, () => [{ input: { command: 'sleep 60; status' }, result: 'pending', ms: 60_000 }])],
    ['two calls of a step whose texts change places', times(50, (index) => [{ input: index % 2, result: `${index}` }, { input: 1 - (index % 2), result: `${index + 1}` }])],
  ])('none: %s', (_, steps) => {
    expect(found(steps)).toBeNull()
  })

  test('a message, and a person who lets it go on, begin a new count', () => {
    for (const body of [{ type: 'process.incoming', id: 'm', from: 'user', turn: 2, queuedAt: 9 }, { type: 'process.released', holds: [], by: 'user', mono: 1 }] as const) {
      const watch = new LoopWatch(LIVENESS)
      const seen = times(8, (index) => [...(index === 4 ? [body] : []), ...factsOf(index + 1, [{}])].map((each) => watch.see(each)).at(-1))
      expect(seen.every((one) => one === null)).toBe(true)
      expect(factsOf(9, [{}]).map((each) => watch.see(each)).at(-1)).not.toBeNull()
    }
  })

  test('off is off, and other numbers hold', () => {
    expect(found(times(50, () => [{}]), { ...LIVENESS, loop: null })).toBeNull()
    expect(found(times(50, () => [{}]), { ...LIVENESS, loop: 2 })?.at).toBe(2)
  })

  test('is what a dumb search in all of the history finds', () => {
    fc.assert(fc.property(fc.array(fc.nat(2), { maxLength: 60 }), fc.integer({ min: 2, max: 5 }), (signs, loop) => {
      const isLoop = (end: number, period: number): boolean => end >= period * loop && times(period * (loop - 1), (back) => signs[end - 1 - back] === signs[end - 1 - back - period]).every(Boolean)
      const first = times(signs.length, (index) => index + 1).find((end) => [1, 2, 3, 4].some((period) => isLoop(end, period)))
      expect(found(signs.map((sign) => [{ input: sign }]), { ...LIVENESS, loop, errors: null })?.at).toBe(first)
    }))
  })
})

describe('the breaker', () => {
  const failed = (name: string, index: number): Call => ({ name, input: index, result: `no ${index}`, outcome: 'error' })

  test('opens at the eighth error of the last ten calls, over all tools', () => {
    expect(found(times(20, (index) => [failed(index % 2 === 0 ? 'bash' : 'edit', index)]))).toEqual({
      at: 8, evidence: { type: 'liveness.breaker', errors: 8, of: 8, tools: [{ name: 'bash', errors: 4 }, { name: 'edit', errors: 4 }], last: 'no 7' },
    })
  })

  test('a success now and then does not get round it; every third does', () => {
    expect(found(times(40, (index) => [index % 5 === 0 ? { input: index } : failed('bash', index)]))?.evidence).toMatchObject({ errors: 8, of: 10 })
    expect(found(times(90, (index) => [index % 3 === 0 ? { input: index } : failed('bash', index)]))).toBeNull()
  })

  test('what was denied counts, what was cut off does not', () => {
    expect(found(times(8, (index) => [{ input: index, outcome: 'denied' }]))?.at).toBe(8)
    expect(found(times(40, (index) => [{ input: index, outcome: 'interrupted' }]))).toBeNull()
  })

  test('is what a dumb count of all of the history finds', () => {
    fc.assert(fc.property(fc.array(fc.boolean(), { maxLength: 60 }), fc.integer({ min: 1, max: 6 }), fc.nat(4), (bad, errors, more) => {
      const first = times(bad.length, (index) => index + 1).find((end) => bad[end - 1] && bad.slice(Math.max(0, end - errors - more), end).filter(Boolean).length >= errors)
      expect(found(bad.map((one, index) => [one ? failed('bash', index) : { input: index }]), { loop: null, errors, errorsOf: errors + more })?.at).toBe(first)
    }))
  })
})

describe('the kernel', () => {
  const LOOP: LoopEvidence = { type: 'liveness.looping', times: 5, calls: [{ name: 'bash', input: '{}', result: 'x' }] }
  const BROKEN: LoopEvidence = { type: 'liveness.breaker', errors: 8, of: 10, tools: [{ name: 'bash', errors: 6 }, { name: 'edit', errors: 2 }], last: 'no' }

  function told(player: Player, evidence: LoopEvidence, pid = 1): string[] {
    const { changes, effects } = player.world.step({ type: 'loop', uuid: 'a', pid, evidence })
    return [...changes.facts.map(({ body }) => body.type), ...effects.map((effect) => (effect.type === 'driver.pause' ? `${effect.type} ${effect.freeze}` : effect.type))]
  }

  test.each([['native', LOOP, 'loop', false], ['native', BROKEN, 'breaker', false], ['acp', LOOP, 'loop', true]] as const)('%s: the evidence is a fact before the hold', (driver, evidence, reason, freeze) => {
    const player = new Player()
    player.play(`.live a ${driver}`)
    expect(told(player, evidence)).toEqual([evidence.type, 'process.note', 'process.held', `driver.pause ${freeze}`])
    const process = player.world.row('a') as Process
    expect(process.life).toMatchObject({ holds: [{ reason, by: 'system' }] })
    expect(process.note).toBe(reason === 'loop' ? '5 times the same, with the same results: bash' : '8 of the last 10 tool calls failed: bash 6, edit 2')
    player.play('.resume a')
    expect(player.world.row('a')?.life).toMatchObject({ holds: [] })
  })

  test('nothing is done about what is paused, is ending, or was another incarnation', () => {
    const player = new Player()
    player.play('.live a')
    expect(told(player, LOOP, 9)).toEqual([])
    player.play('.signal SIGPAUSE a')
    expect(told(player, LOOP)).toEqual([])
    player.play('.resume a\n.signal SIGTERM a')
    expect(told(player, LOOP)).toEqual([])
  })
})
