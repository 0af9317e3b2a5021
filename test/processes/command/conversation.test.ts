// A conversation with an agent whose program answers once and exits: its turns, the prompt and charge of each program, interruption,
// pause and continuation. The programs play recordings of real agents.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import * as lines from '../../support/agents/agent-lines.ts'
import { startCommand, type RunningCommand } from '../../support/agents/command-harness.ts'
import { writeProgramOfTurns } from '../../support/programs/scripted-program.ts'
import { openContainmentHarness, findWorkingKinds, type ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { findProcessesWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { CommitMaker, uuidOf } from '../../support/store/facts.ts'
import type { Launch } from '../../../src/drivers/port.ts'
import type { Report } from '../../../src/kernel/model/reports.ts'
import type { ScriptedAct } from '../../support/programs/json-agent.ts'
import type { OutputFormat } from '../../../src/kernel/model/words.ts'
import type { SpecChanges } from '../../support/spec-changes.ts'
import type { CommandSpec } from '../../../src/kernel/model/process-spec.ts'

const kinds = await findWorkingKinds()
const CLAUDE = ['-p', '--output-format', 'stream-json', '--verbose']
const CODEX = ['exec', '--json']
const SESSION = '6528ff20-b72b-4b73-ac46-b42cd138b7d7'
const THREAD = '01a1f964-3c13-7d42-a935-af7e68a221bf'
const CUT_OFF = /^Your last turn was cut off\./
const playLines = (items: readonly object[]): ScriptedAct[] => items.map((line) => ({ line }))

interface Conversation extends RunningCommand {
  /** the command lines of its programs */
  readCommandLines(): Promise<string[][]>
  sendMessage(turn: number, text: string): Promise<void>
  /** sends a message, and waits for the end of its turn */
  runTurn(turn: number, text: string): Promise<Extract<Report, { type: 'turn.ended' }>>
  waitForTurnEnd(turn: number): Promise<Extract<Report, { type: 'turn.ended' }>>
}

async function startConversation(
  contained: ContainmentHarness,
  format: OutputFormat,
  turns: readonly (readonly ScriptedAct[])[],
  changes: SpecChanges = {},
  more: Partial<Launch<CommandSpec>> = {},
): Promise<Conversation> {
  const { program, readCalls } = await writeProgramOfTurns(contained.dir, format, turns)
  const command = await startCommand(
    contained,
    [program, ...(format === 'codex' ? CODEX : CLAUDE)],
    { agent: 'mine', intent: 'begin', interactive: true, system: null, format, ...changes },
    more,
  )
  const waitForTurnEnd: Conversation['waitForTurnEnd'] = async (turn) => {
    const findTurnEnd = (): Extract<Report, { type: 'turn.ended' }> | undefined =>
      command.kernel.reportsOf('turn.ended').find((report) => report.turn === turn)
    await waitUntil(() => findTurnEnd() !== undefined, `the end of turn ${turn}`)
    const report = findTurnEnd()
    if (!report) throw new Error(`the end of turn ${turn} is no longer there`)
    return report
  }
  const sendMessage: Conversation['sendMessage'] = (turn, text) => command.agent.deliver({ id: `m${turn}`, from: 'user', text, turn })
  return {
    ...command,
    readCommandLines: readCalls,
    sendMessage,
    waitForTurnEnd,
    runTurn: async (turn, text) => {
      await sendMessage(turn, text)
      return waitForTurnEnd(turn)
    },
    [Symbol.asyncDispose]: () => command[Symbol.asyncDispose](),
  }
}

/** A turn that reports the total usage of a Codex thread after `calls` model calls. */
const codexTurn = (calls: number): ScriptedAct[] =>
  playLines([
    ...lines.CODEX_RESUMED.slice(0, -1),
    {
      type: 'turn.completed',
      usage: {
        input_tokens: calls * 1320,
        cached_input_tokens: calls * 300,
        cache_write_input_tokens: calls * 20,
        output_tokens: calls * 50,
      },
    },
  ])
const ONE_CALL = { inputTokens: 1000, outputTokens: 50, cacheReadTokens: 300, cacheWriteTokens: 20 }

describe('three turns', () => {
  test.each(kinds)('of Codex in %s share a session, continue the step numbers, and charge totals once', async (containment) => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(contained, 'codex', [playLines(lines.CODEX_TOOLS), codexTurn(3), codexTurn(4)], {
      containment,
    })
    expect(await conversation.runTurn(1, 'one')).toMatchObject({ outcome: 'ok', result: 'It is done.' })
    expect(await conversation.runTurn(2, '-two')).toMatchObject({ outcome: 'ok' })
    expect(await conversation.runTurn(3, 'three')).toMatchObject({ outcome: 'ok' })
    expect(await conversation.readCommandLines()).toEqual([
      ['exec', '--json', '--', 'one'],
      ['exec', '--json', 'resume', THREAD, '--', '-two'],
      ['exec', '--json', 'resume', THREAD, '--', 'three'],
    ])
    const { kernel } = conversation
    expect(kernel.reports[0]).toEqual({ type: 'up' })
    expect(kernel.reportsOf('session')).toEqual([{ type: 'session', sessionId: THREAD }])
    expect(kernel.reportsOf('model.started').map(({ step }) => step)).toEqual([1, 2, 3, 4])
    expect(kernel.reportsOf('usage').map(({ usage }) => usage)).toEqual([
      { inputTokens: 2000, outputTokens: 100, cacheReadTokens: 600, cacheWriteTokens: 40, costUsd: null },
      { ...ONE_CALL, costUsd: null },
      { ...ONE_CALL, costUsd: null },
    ])
    expect(kernel.firstReport('exited')).toBeNull()
  })

  test('of Claude Code charge the usage of each turn once', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(contained, 'claude', [
      playLines(lines.CLAUDE_TOOLS),
      playLines(lines.CLAUDE_RESUMED),
    ])
    for (const turn of [1, 2, 3]) await conversation.runTurn(turn, `turn ${turn}`)
    expect(await conversation.readCommandLines()).toEqual([
      [...CLAUDE, '--', 'turn 1'],
      ...[2, 3].map((turn) => [...CLAUDE, '--resume', SESSION, '--', `turn ${turn}`]),
    ])
    const { kernel } = conversation
    expect(kernel.reportsOf('model.started').map(({ step }) => step)).toEqual([1, 2, 3, 4])
    const usages = [...kernel.reportsOf('model.finished'), ...kernel.reportsOf('usage')].map(({ usage }) => usage)
    expect(usages.reduce((sum, usage) => sum + usage.inputTokens, 0)).toBe(4_000)
    expect(usages.reduce((sum, usage) => sum + usage.outputTokens, 0)).toBe(200)
    expect(usages.reduce((sum, usage) => sum + (usage.costUsd ?? 0), 0)).toBeCloseTo(4 * 0.00516, 10)
  })
})

describe('the first prompt', () => {
  test('has the role, once per session', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(contained, 'codex', [playLines(lines.CODEX_TOOLS), codexTurn(3)], {
      system: 'You are a worker.',
    })
    await conversation.runTurn(1, 'one')
    await conversation.runTurn(2, 'two')
    expect((await conversation.readCommandLines()).map((args) => args.at(-1))).toEqual(['You are a worker.\n\none', 'two'])
  })

  test('of a fork goes to a copy of the session, later prompts to the copy itself', async () => {
    await using contained = await openContainmentHarness()
    const copy = '926592e8-edd5-429a-af35-2cdc32fc6989'
    await using conversation = await startConversation(
      contained,
      'claude',
      [playLines(lines.CLAUDE_FORKED)],
      {},
      { forkOf: SESSION, turn: 1, step: 2 },
    )
    await conversation.runTurn(2, 'one')
    await conversation.runTurn(3, 'two')
    expect(await conversation.readCommandLines()).toEqual([
      [...CLAUDE, '--resume', SESSION, '--fork-session', '--', 'one'],
      [...CLAUDE, '--resume', copy, '--', 'two'],
    ])
    expect(conversation.kernel.reportsOf('session')).toEqual([{ type: 'session', sessionId: copy }])
    expect(conversation.kernel.reportsOf('model.started').map(({ step }) => step)).toEqual([3, 4])
  })

  test('fails the turn if it is too long for a command line', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(contained, 'codex', [playLines(lines.CODEX_TOOLS)])
    expect(await conversation.runTurn(1, 'é'.repeat(66_000))).toEqual({
      type: 'turn.ended',
      turn: 1,
      outcome: 'error',
      error: 'the prompt is longer than a command line allows (128 KiB)',
    })
    expect(await conversation.runTurn(2, 'é'.repeat(60_000))).toMatchObject({ outcome: 'ok' })
  })
})

describe('a failed turn', () => {
  test('has the error that the agent reported, and the next turn works', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(contained, 'claude', [
      playLines(lines.CLAUDE_TOOLS),
      [...playLines(lines.CLAUDE_REFUSED.slice(1)), { exit: 1 }],
      playLines(lines.CLAUDE_RESUMED),
    ])
    await conversation.runTurn(1, 'one')
    expect(await conversation.runTurn(2, 'two')).toEqual({
      type: 'turn.ended',
      turn: 2,
      outcome: 'error',
      error: 'API Error: 400 bad thing',
    })
    expect(await conversation.runTurn(3, 'three')).toMatchObject({ outcome: 'ok' })
  })

  test('reports the exit of its program if nothing else is known', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(contained, 'codex', [
      [{ signal: 'SIGKILL' }],
      [{ exit: 3 }],
      [{ raw: 'no such option\n', to: 'stderr' }, { exit: 2 }],
    ])
    for (const [turn, error] of [
      [1, 'Codex ended by SIGKILL'],
      [2, 'Codex ended with exit code 3'],
      [3, 'no such option'],
    ] as const)
      expect(await conversation.runTurn(turn, 'go')).toMatchObject({ outcome: 'error', error })
    // No session was reported, so each program began one.
    expect((await conversation.readCommandLines()).map((args) => args.length)).toEqual([4, 4, 4])
  })

  test('at a rate limit reports the reset time; the next one gets the same prompt', async () => {
    await using contained = await openContainmentHarness()
    const limit = { type: 'turn.failed', error: { message: 'usage limit reached: try again in 2 hours' } }
    await using conversation = await startConversation(contained, 'codex', [
      playLines([...lines.CODEX_RESUMED.slice(0, 2), limit]),
      codexTurn(3),
    ])
    expect(await conversation.runTurn(1, 'one')).toMatchObject({ outcome: 'error', resumeAt: expect.any(Number) as number })
    await conversation.agent.proceed(1)
    await waitUntil(() => conversation.kernel.reportsOf('turn.ended').length === 2)
    expect((await conversation.readCommandLines()).map((args) => args.at(-1))).toEqual(['one', 'one'])
  })

  test('whose program does not exist names the program, and the process continues', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(contained, 'codex', [codexTurn(1)], {
      argv: [join(contained.dir, 'nosuch'), ...CODEX],
    })
    expect(await conversation.runTurn(1, 'one')).toMatchObject({ outcome: 'error', error: expect.stringContaining('nosuch') as string })
    expect(conversation.kernel.firstReport('exited')).toBeNull()
  })
})

describe('a turn that was cut off', () => {
  async function startResumed(contained: ContainmentHarness, hasBegun: boolean): Promise<Conversation> {
    const usage = { inputTokens: 1000, outputTokens: 50, cacheReadTokens: 300, cacheWriteTokens: 20, costUsd: null }
    const { facts } = new CommitMaker().spawn(
      uuidOf(1),
      undefined,
      { type: 'process.handle', handle: null, sessionId: THREAD },
      { type: 'process.queue', id: 'm', from: 'user', text: 'write the tests' },
      { type: 'process.incoming', id: 'm', from: 'user', turn: 1, queuedAt: 3 },
      ...(hasBegun
        ? [{ type: 'model.started', step: 1, attempt: 1, model: 'm' } as const, { type: 'usage.reported', usage } as const]
        : []),
    )
    return startConversation(
      contained,
      'codex',
      [codexTurn(3)],
      { system: 'You are a worker.' },
      {
        sessionId: THREAD,
        resumed: true,
        turn: 1,
        step: hasBegun ? 1 : 0,
        history: async (afterSeq) => facts.filter(({ seq }) => seq > afterSeq),
      },
    )
  }

  test.each([
    [true, CUT_OFF, 2_000],
    [false, /^Your last turn was cut off\. You may have begun .*\n\nwrite the tests$/, 3_000],
  ])(
    'continues its session: its message is sent again only if it had not begun, and earlier usage is not charged again (begun: %s)',
    async (hasBegun, prompt, charged) => {
      await using contained = await openContainmentHarness()
      await using conversation = await startResumed(contained, hasBegun)
      await conversation.agent.proceed(1)
      await conversation.waitForTurnEnd(1)
      const [args = []] = await conversation.readCommandLines()
      expect(args.slice(0, 4)).toEqual(['exec', '--json', 'resume', THREAD])
      expect(args.at(-1)).toMatch(prompt)
      expect(conversation.kernel.firstReport('usage')?.usage.inputTokens).toBe(charged)
    },
  )

  test('gets the notice of the cut first, and then the later messages', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startResumed(contained, true)
    await conversation.runTurn(1, 'and the docs')
    const [args = []] = await conversation.readCommandLines()
    expect(args.at(-1)).toMatch(new RegExp(`${CUT_OFF.source}[^]*\n\nand the docs$`))
  })
})

const hangingTurn: ScriptedAct[] = [...playLines(lines.CLAUDE_TOOLS.slice(0, 4)), { hang: true }]

describe.each(kinds)('in %s', (containment) => {
  test('an interrupted turn ends, and the next one continues the session', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(contained, 'claude', [hangingTurn, playLines(lines.CLAUDE_RESUMED)], { containment })
    await conversation.sendMessage(1, 'one')
    await waitUntil(() => conversation.kernel.firstReport('model.finished'))
    await conversation.agent.interrupt()
    expect(await conversation.waitForTurnEnd(1)).toEqual({ type: 'turn.ended', turn: 1, outcome: 'interrupted' })
    expect(await conversation.runTurn(2, 'two')).toMatchObject({ outcome: 'ok' })
    expect((await conversation.readCommandLines())[1]).toEqual([...CLAUDE, '--resume', SESSION, '--', 'two'])
  })

  test('a program that ignores the interruption is killed, and its background programs are ended at the end', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(
      contained,
      'claude',
      [[{ leave: `3600.${contained.token}` }, { deaf: true }, ...hangingTurn]],
      {
        containment,
      },
    )
    await conversation.sendMessage(1, 'one')
    await waitUntil(() => conversation.kernel.firstReport('model.finished'))
    await conversation.agent.interrupt()
    expect(await conversation.waitForTurnEnd(1)).toMatchObject({ outcome: 'interrupted' })
    expect(findProcessesWith(contained.token).length).toBe(1)
    await conversation.agent.stop({ signal: 'SIGTERM', graceMs: 5_000 })
    expect(conversation.kernel.reports.at(-1)).toMatchObject({ type: 'exited' })
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test('a pause in a turn freezes the program, and the turn continues later', async () => {
    await using contained = await openContainmentHarness()
    const goFile = join(contained.dir, 'go')
    await using conversation = await startConversation(
      contained,
      'claude',
      [[...playLines(lines.CLAUDE_TOOLS.slice(0, 4)), { until: goFile }, ...playLines(lines.CLAUDE_TOOLS.slice(4))]],
      { containment },
    )
    await conversation.sendMessage(1, 'one')
    await waitUntil(() => conversation.kernel.firstReport('model.finished'))
    await conversation.agent.pause(true)
    expect(conversation.kernel.firstReport('frozen')).toEqual({ type: 'frozen', inFlight: 'a turn of the agent' })
    writeFileSync(goFile, '')
    await conversation.agent.unpause()
    expect(await conversation.waitForTurnEnd(1)).toMatchObject({ outcome: 'ok' })
  })
})

describe('pauses and stops', () => {
  test('no turn begins during a pause, and a waiting turn can be interrupted', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(contained, 'codex', [codexTurn(1)])
    await conversation.agent.pause(true)
    expect(conversation.kernel.firstReport('frozen')).toEqual({ type: 'frozen', inFlight: null })
    await conversation.sendMessage(1, 'one')
    await conversation.agent.interrupt()
    expect(await conversation.waitForTurnEnd(1)).toMatchObject({ outcome: 'interrupted' })
    await conversation.sendMessage(2, 'two')
    await conversation.agent.unpause()
    expect(await conversation.waitForTurnEnd(2)).toMatchObject({ outcome: 'ok' })
    expect((await conversation.readCommandLines()).map((args) => args.at(-1))).toEqual(['two'])
  })

  test('a stop in a turn reports the exit, and no end of the turn', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(contained, 'claude', [hangingTurn])
    await conversation.sendMessage(1, 'one')
    await waitUntil(() => conversation.kernel.firstReport('model.finished'))
    await conversation.agent.stop({ signal: 'SIGTERM', graceMs: 5_000 })
    expect(conversation.kernel.reports.at(-1)).toMatchObject({ type: 'exited' })
    expect(conversation.kernel.firstReport('turn.ended')).toBeNull()
  })

  test('after a stop between two turns, a message begins no turn', async () => {
    await using contained = await openContainmentHarness()
    await using conversation = await startConversation(contained, 'codex', [codexTurn(1)])
    await conversation.runTurn(1, 'one')
    await conversation.agent.stop({ signal: 'SIGTERM', graceMs: 5_000 })
    await conversation.sendMessage(2, 'two')
    expect(conversation.kernel.reports.at(-1)).toMatchObject({ type: 'exited' })
    expect((await conversation.readCommandLines()).length).toBe(1)
  })
})
