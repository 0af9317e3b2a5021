// Loops and failing tools: the calls that count as a loop or as failing, and the action of the kernel.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DEFAULT_THRESHOLDS } from '../../../../../src/kernel/decide/liveness/liveness.ts'
import { LoopDetector } from '../../../../../src/kernel/decide/liveness/loops.ts'
import { TranscriptPlayer } from '../../../../support/kernel/transcript.ts'
import type { FactBody } from '../../../../../src/kernel/model/facts.ts'
import type { Process } from '../../../../../src/kernel/model/process.ts'
import type { LoopEvidence } from '../../../../../src/kernel/model/inputs.ts'

type Thresholds = ConstructorParameters<typeof LoopDetector>[0]
interface Call {
  readonly name?: string
  readonly input?: unknown
  readonly result?: string
  readonly outcome?: 'ok' | 'error' | 'denied' | 'interrupted'
  readonly exitCode?: number
  readonly ms?: number
}

const USAGE = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }

/** Plays steps with their calls. Returns the first finding that is not a warning. */
function firstHold(steps: readonly (readonly Call[])[], thresholds: Thresholds = DEFAULT_THRESHOLDS): Finding | null {
  return allFindings(steps, thresholds).find(({ evidence }) => evidence.told === undefined) ?? null
}

interface Finding {
  /** number of the step */
  readonly at: number
  readonly evidence: LoopEvidence
}

/** Returns all findings, including warnings. A step takes as long as its longest call. */
function allFindings(steps: readonly (readonly Call[])[], thresholds: Thresholds = DEFAULT_THRESHOLDS): Finding[] {
  const watch = new LoopDetector(thresholds)
  let wall = 0
  return steps.flatMap((calls, index) => {
    wall += Math.max(...calls.map(({ ms = 5 }) => ms))
    return factsOf(index + 1, calls)
      .flatMap((body) => watch.observe(body, wall) ?? [])
      .map((evidence) => ({ at: index + 1, evidence }))
  })
}

function factsOf(step: number, calls: readonly Call[]): FactBody[] {
  const message = calls.map(({ name = 'bash', input = {} }, index) => ({
    type: 'tool-call' as const,
    callId: `${step}-${index}`,
    name,
    input,
  }))
  return [
    {
      type: 'model.finished',
      step,
      message: [{ type: 'text', text: `let me try again (${step})` }, ...message],
      usage: USAGE,
      finish: 'tool-calls',
      durationMs: 5,
    },
    ...calls.map(({ name = 'bash', result = 'done', outcome = 'ok', exitCode, ms = 5 }, index): FactBody => ({
      type: 'tool.finished',
      step,
      callId: `${step}-${index}`,
      name,
      outcome,
      content: result,
      durationMs: ms,
      ...(exitCode === undefined ? {} : { exitCode }),
    })),
  ]
}

const repeat = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index))

describe('a loop', () => {
  test('is the same call with the same result: the model is warned after five in a row, and held after twelve', () => {
    const calls = [{ name: 'bash', input: '{"command":"ls"}', result: 'done' }]
    expect(allFindings(repeat(13, () => [{ input: { command: 'ls' } }]))).toEqual([
      { at: 5, evidence: { type: 'liveness.looping', times: 5, calls, told: 12 } },
      { at: 12, evidence: { type: 'liveness.looping', times: 12, calls } },
    ])
  })

  test('begins a new count after another call, so the model is warned again', () => {
    const steps = repeat(13, (index) => [{ input: index === 6 ? 'other' : 'same' }])
    expect(allFindings(steps).map(({ at, evidence }) => [at, evidence.told])).toEqual([
      [5, 12],
      [12, 12],
    ])
  })

  test.each([2, 3, 4])('is a cycle of %i calls that is repeated twelve times', (period) => {
    const steps = repeat(60, (index) => [{ input: index % period }])
    expect(firstHold(steps)).toMatchObject({ at: 12 * period, evidence: { times: 12 } })
    expect(firstHold(steps)?.evidence).toMatchObject({ calls: repeat(period, (index) => ({ input: `${index}` })) })
  })

  test('counts the calls of one step together, in whatever order they end', () => {
    const watch = new LoopDetector(DEFAULT_THRESHOLDS)
    const calls = [
      { input: 1, result: 'one' },
      { input: 2, result: 'two' },
    ]
    const findings = repeat(12, (index) => {
      const [asked, ...ended] = factsOf(index + 1, calls)
      return [asked as FactBody, ...(index % 2 === 0 ? ended : ended.toReversed())].map((body) => watch.observe(body, index)).at(-1)
    })
    expect(findings.map((finding) => finding !== null)).toEqual(repeat(12, (index) => index === 4 || index === 11))
  })

  test.each<readonly [string, readonly (readonly Call[])[]]>([
    ['the same call with a new result each time', repeat(50, (index) => [{ input: { url: '/status' }, result: `${index} %` }])],
    ['the same result of different calls', repeat(50, (index) => [{ input: { path: `f${index}` }, result: '' }])],
    ['another tool with the same input', repeat(50, (index) => [{ name: `tool${index % 7}`, input: 1 }])],
    ['a cycle of five', repeat(50, (index) => [{ input: index % 5 }])],
    ['eleven equal calls in a row, several times', repeat(90, (index) => [{ input: index % 12 === 0 ? index : 'same' }])],
    ['a repeated wait of ten seconds', repeat(50, () => [{ input: { command: 'sleep 10; status' }, result: 'pending', ms: 10_000 }])],
    ...['mcp__reeve__wait', 'mcp_reeve_wait', 'reeve_wait', 'reeve.wait', 'mcp.reeve.wait', 'wait (reeve MCP Server)'].map(
      (name) => [`reeve's own wait, as ${name}`, repeat(50, () => [{ name, input: { timeout_s: 2 }, result: 'call wait again' }])] as const,
    ),
    [
      'two calls of a step with exchanged texts',
      repeat(50, (index) => [
        { input: index % 2, result: `${index}` },
        { input: 1 - (index % 2), result: `${index + 1}` },
      ]),
    ],
  ])('is not %s', (_, steps) => {
    expect(firstHold(steps)).toBeNull()
  })

  test('is counted anew after a message and after a resume by the user', () => {
    for (const body of [
      { type: 'process.incoming', id: 'm', from: 'user', turn: 2, queuedAt: 9 },
      { type: 'process.released', holds: [], by: 'user', mono: 1 },
    ] as const) {
      const watch = new LoopDetector(DEFAULT_THRESHOLDS)
      const findings = repeat(22, (index) =>
        [...(index === 11 ? [body] : []), ...factsOf(index + 1, [{}])].map((loopBody) => watch.observe(loopBody, index)).at(-1),
      )
      expect(findings.every((finding) => finding === null || finding === undefined || finding.told !== undefined)).toBe(true)
      expect(
        factsOf(23, [{}])
          .map((loopBody) => watch.observe(loopBody, 23))
          .at(-1),
      ).toMatchObject({ times: 12 })
    }
  })

  test('is not counted anew after a warning', () => {
    const watch = new LoopDetector(DEFAULT_THRESHOLDS)
    const warningFact: FactBody = { type: 'process.incoming', id: 'notice-7', from: 'system', turn: 1, queuedAt: 9 }
    const findings = repeat(12, (index) =>
      [...(index === 5 ? [warningFact] : []), ...factsOf(index + 1, [{}])].map((body) => watch.observe(body, index)).at(-1),
    )
    expect(findings.at(-1)).toMatchObject({ times: 12 })
  })

  test('has thresholds that can be changed, and its check can be disabled', () => {
    expect(
      firstHold(
        repeat(50, () => [{}]),
        { ...DEFAULT_THRESHOLDS, loop: null },
      ),
    ).toBeNull()
    expect(
      firstHold(
        repeat(50, () => [{}]),
        { ...DEFAULT_THRESHOLDS, loop: 2 },
      )?.at,
    ).toBe(2)
  })

  test('is found exactly where a simple search in the whole history finds it', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2), { maxLength: 60 }), fc.integer({ min: 2, max: 5 }), (signs, loop) => {
        const endsLoop = (end: number, period: number): boolean =>
          end >= period * loop &&
          repeat(period * (loop - 1), (offset) => signs[end - 1 - offset] === signs[end - 1 - offset - period]).every(Boolean)
        const firstLoop = repeat(signs.length, (index) => index + 1).find((end) => [1, 2, 3, 4].some((period) => endsLoop(end, period)))
        expect(
          firstHold(
            signs.map((sign) => [{ input: sign }]),
            { ...DEFAULT_THRESHOLDS, loop, errors: null },
          )?.at,
        ).toBe(firstLoop)
      }),
    )
  })
})

describe('the breaker', () => {
  const failedCall = (name: string, index: number): Call => ({ name, input: index, result: `no ${index}`, outcome: 'error' })

  test('warns the model at eight errors among the last ten calls of any tools, and opens at eight more', () => {
    const evidence = {
      type: 'liveness.breaker',
      errors: 8,
      of: 8,
      tools: [
        { name: 'bash', errors: 4 },
        { name: 'edit', errors: 4 },
      ],
    }
    expect(allFindings(repeat(20, (index) => [failedCall(index % 2 === 0 ? 'bash' : 'edit', index)]))).toEqual([
      { at: 8, evidence: { ...evidence, last: 'no 7', told: 8 } },
      { at: 16, evidence: { ...evidence, last: 'no 15' } },
    ])
  })

  test('a model that reacts to the warning is warned again before it is held', () => {
    const steps = repeat(40, (index) => [index >= 8 && index < 18 ? { input: index } : failedCall('bash', index)])
    expect(allFindings(steps).map(({ at, evidence }) => [at, evidence.told])).toEqual([
      [8, 8],
      [26, 8],
      [34, undefined],
    ])
  })

  test('a few successes do not prevent it, but one in three does', () => {
    expect(firstHold(repeat(40, (index) => [index % 5 === 0 ? { input: index } : failedCall('bash', index)]))?.evidence).toMatchObject({
      errors: 8,
      of: 10,
    })
    expect(firstHold(repeat(90, (index) => [index % 3 === 0 ? { input: index } : failedCall('bash', index)]))).toBeNull()
  })

  test('a denied call counts, an interrupted one does not', () => {
    expect(allFindings(repeat(8, (index) => [{ input: index, outcome: 'denied' }]))[0]?.at).toBe(8)
    expect(firstHold(repeat(40, (index) => [{ input: index, outcome: 'interrupted' }]))).toBeNull()
  })

  test('a command that exits with an error counts, one that exits with 0 does not', () => {
    expect(allFindings(repeat(9, (index) => [{ input: index, result: `${index}`, exitCode: index + 1 }]))[0]?.evidence).toMatchObject({
      type: 'liveness.breaker',
      errors: 8,
      tools: [{ name: 'bash', errors: 8 }],
    })
    expect(firstHold(repeat(9, (index) => [{ input: index, result: `${index}`, exitCode: 0 }]))).toBeNull()
  })

  test('first warns exactly where a simple count over the whole history reaches the threshold', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 60 }), fc.integer({ min: 1, max: 6 }), fc.nat(4), (outcomes, errors, moreErrors) => {
        const firstBroken = repeat(outcomes.length, (index) => index + 1).find(
          (end) => outcomes[end - 1] && outcomes.slice(Math.max(0, end - errors - moreErrors), end).filter(Boolean).length >= errors,
        )
        expect(
          allFindings(
            outcomes.map((isError, index) => [isError ? failedCall('bash', index) : { input: index }]),
            { loop: null, errors, errorsOf: errors + moreErrors },
          )[0]?.at,
        ).toBe(firstBroken)
      }),
    )
  })
})

describe('the kernel', () => {
  const LOOP: LoopEvidence = { type: 'liveness.looping', times: 12, calls: [{ name: 'bash', input: '{}', result: 'x' }] }
  const BROKEN: LoopEvidence = {
    type: 'liveness.breaker',
    errors: 8,
    of: 10,
    tools: [
      { name: 'bash', errors: 6 },
      { name: 'edit', errors: 2 },
    ],
    last: 'no',
  }

  function decisionTypesOf(player: TranscriptPlayer, evidence: LoopEvidence, pid = 1): string[] {
    const { changes, effects } = player.world.step({ type: 'loop', uuid: 'a', pid, evidence })
    return [
      ...changes.facts.map(({ body }) => body.type),
      ...effects.map((effect) => (effect.type === 'driver.pause' ? `${effect.type} ${effect.freeze}` : effect.type)),
    ]
  }

  test.each([
    ['native', LOOP, 'loop', false],
    ['native', BROKEN, 'breaker', false],
    ['acp', LOOP, 'loop', true],
  ] as const)('%s: the evidence is a fact before the hold', (driver, evidence, reason, freeze) => {
    const player = new TranscriptPlayer()
    player.play(`.live a ${driver}`)
    expect(decisionTypesOf(player, evidence)).toEqual([evidence.type, 'process.note', 'process.held', `driver.pause ${freeze}`])
    const process = player.world.row('a') as Process
    expect(process.life).toMatchObject({ holds: [{ reason, by: 'system' }] })
    expect(process.note).toBe(
      reason === 'loop' ? 'repeated 12 times with the same results: bash {}' : '8 of the last 10 tool calls failed: bash 6, edit 2',
    )
    player.play('.resume a')
    expect(player.world.row('a')?.life).toMatchObject({ holds: [] })
  })

  test('a native agent is warned within its turn, once; an external one cannot be', () => {
    const player = new TranscriptPlayer()
    player.play('.live a\n.live b acp')
    expect(decisionTypesOf(player, { ...LOOP, times: 5, told: 12 })).toEqual(['liveness.looping', 'process.queue'])
    expect(player.world.row('a')?.queue).toMatchObject([{ from: 'system', urgent: true }])
    expect(player.play('report a model 1')).toContain('process.incoming notice-')
    expect(decisionTypesOf(player, { ...BROKEN, told: 8 })).toEqual(['liveness.breaker', 'process.queue'])
    player.play('.report a ended 1')
    expect(player.world.row('a')).toMatchObject({ queue: [], life: { exit: { reason: 'completed' } } })
    const otherDecision = player.world.step({ type: 'loop', uuid: 'b', pid: 2, evidence: { ...LOOP, times: 5, told: 12 } })
    expect(otherDecision.changes.facts).toEqual([])
  })

  test('ignores paused and ending processes, and other incarnations', () => {
    const player = new TranscriptPlayer()
    player.play('.live a')
    expect(decisionTypesOf(player, LOOP, 9)).toEqual([])
    player.play('.signal SIGPAUSE a')
    expect(decisionTypesOf(player, LOOP)).toEqual([])
    player.play('.resume a\n.signal SIGTERM a')
    expect(decisionTypesOf(player, LOOP)).toEqual([])
  })
})
