// The command driver with agents that write JSON lines: recordings of real agents, played by a real program. Failures that no
// recording has: a cut line, a wrong exit code, a program that hangs, and one that leaves a child.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { MAX_JSON_LINE_BYTES, JsonLineSplitter, MAX_LINE_BYTES } from '../../../src/drivers/command/output-splitters.ts'
import * as lines from '../../support/agents/agent-lines.ts'
import { startCommand, type RunningCommand } from '../../support/agents/command-harness.ts'
import { writeScriptArgv, writeScriptedProgram } from '../../support/programs/scripted-program.ts'
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
const playLines = (items: readonly object[]): ScriptedAct[] => items.map((line) => ({ line }))

async function playAgent(
  contained: ContainmentHarness,
  format: OutputFormat,
  items: readonly ScriptedAct[],
  changes: SpecChanges = {},
  more: Partial<Launch<CommandSpec>> = {},
): Promise<RunningCommand> {
  return startCommand(contained, await writeScriptArgv(contained.dir, items), { format, ...changes }, more)
}

async function waitForReports(command: RunningCommand): Promise<Report[]> {
  await waitUntil(() => command.kernel.firstReport('exited'))
  return command.kernel.reports
}

const readArgs = async (contained: ContainmentHarness): Promise<unknown> =>
  JSON.parse(await readFile(join(contained.dir, 'script.json.args'), 'utf8'))

describe.each(kinds)('%s', (containment) => {
  test.each([
    ['claude', lines.CLAUDE_TOOLS, 2],
    ['codex', lines.CODEX_TOOLS, 1],
    ['gemini', lines.GEMINI_TOOLS, 1],
    ['opencode', lines.OPENCODE_TOOLS, 1],
  ] as const)(
    '%s: session, steps, calls, usage, result and exit are reported, and no line is also output',
    async (format, agentLines, calls) => {
      await using contained = await openContainmentHarness()
      await using running = await playAgent(contained, format, playLines(agentLines), { containment }, { step: 3, turn: 2 })
      const reports = await waitForReports(running)
      const { kernel } = running
      expect(kernel.reportsOf('session').length).toBe(1)
      expect(kernel.reportsOf('model.started').map(({ step }) => step)).toEqual([4, 5])
      expect(kernel.reportsOf('model.finished').map(({ finish }) => finish)).toEqual(['tool-calls', 'stop'])
      expect(kernel.reportsOf('tool.finished').length).toBe(calls)
      expect(reports.slice(-2)).toEqual([
        { type: 'turn.ended', turn: 3, outcome: 'ok', result: 'It is done.' },
        { type: 'exited', code: 0, osSignal: null },
      ])
      expect(kernel.outputText('stdout')).toBe('')
      expect(kernel.firstReport('note')?.text).toMatch(/^reeve reads its output in the format of /)
    },
  )

  test('a program that hangs after its result is ended and counts as completed', async () => {
    await using contained = await openContainmentHarness()
    await using running = await playAgent(contained, 'claude', [...playLines(lines.CLAUDE_TOOLS), { hang: true }], { containment })
    const reports = await waitForReports(running)
    expect(reports.slice(-2)).toEqual([
      { type: 'turn.ended', turn: 1, outcome: 'ok', result: 'It is done.' },
      { type: 'exited', code: 0, osSignal: null },
    ])
    expect(running.kernel.reportsOf('note').map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/^did not end after its result: /),
    )
  })

  test('a program that hangs after its result is not ended while it is paused', async () => {
    await using contained = await openContainmentHarness()
    const goFile = join(contained.dir, 'go')
    await using running = await playAgent(contained, 'claude', [...playLines(lines.CLAUDE_TOOLS), { until: goFile }, { hang: true }], {
      containment,
    })
    await waitUntil(() => running.kernel.reportsOf('model.finished').length === 2)
    await running.agent.pause(true)
    writeFileSync(goFile, '')
    // The other program is not paused.
    await using other = await openContainmentHarness()
    await using twin = await playAgent(other, 'claude', [...playLines(lines.CLAUDE_TOOLS), { hang: true }], { containment })
    await waitForReports(twin)
    expect(running.kernel.firstReport('exited')).toBeNull()
    await running.agent.unpause()
    await waitForReports(running)
  })

  test('a program that writes on after its SIGTERM is killed, with one note', async () => {
    await using contained = await openContainmentHarness()
    const result = join(contained.dir, 'result')
    writeFileSync(result, lines.CLAUDE_TOOLS.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const script = `cat ${result}; trap loud=1 TERM; while :; do [ -z "$loud" ] || echo again; sleep 0.05; done`
    await using running = await startCommand(contained, ['sh', '-c', script], { format: 'claude', containment })
    const reports = await waitForReports(running)
    expect(reports).toContainEqual(expect.objectContaining({ type: 'turn.ended', outcome: 'ok', result: 'It is done.' }))
    expect(running.kernel.reportsOf('note').filter(({ text }) => text.startsWith('did not end after its result')).length).toBe(1)
  })

  test('a call is reported while it runs', async () => {
    await using contained = await openContainmentHarness()
    const goFile = join(contained.dir, 'go')
    await using running = await playAgent(
      contained,
      'claude',
      [...playLines(lines.CLAUDE_TOOLS.slice(0, 4)), { until: goFile }, ...playLines(lines.CLAUDE_TOOLS.slice(4))],
      { containment },
    )
    await waitUntil(() => running.kernel.firstReport('model.finished'))
    expect(running.kernel.firstReport('model.finished')?.calls.map(({ callId }) => callId)).toEqual(['toolu_0', 'toolu_1'])
    expect(running.kernel.firstReport('tool.finished')).toBeNull()
    writeFileSync(goFile, '')
    await waitForReports(running)
    expect(running.kernel.reportsOf('tool.finished').length).toBe(2)
    expect(running.kernel.reportsOf('model.finished').length).toBe(2)
  })

  test('a program that hangs is stopped, and its earlier output is reported', async () => {
    await using contained = await openContainmentHarness()
    await using running = await playAgent(contained, 'codex', [...playLines(lines.CODEX_TOOLS.slice(0, 4)), { hang: true }], {
      containment,
    })
    await waitUntil(() => running.kernel.firstReport('model.finished'))
    await running.agent.stop({ signal: 'SIGTERM', graceMs: 5_000 })
    const reports = await waitForReports(running)
    expect(reports.at(-1)).toEqual({ type: 'exited', code: null, osSignal: 'SIGTERM' })
    expect(running.kernel.firstReport('turn.ended')).toBeNull()
  })

  test('a child that keeps its output open does not delay its end, and is ended with it', async () => {
    await using contained = await openContainmentHarness()
    const command = await playAgent(contained, 'gemini', [{ leave: `3600.${contained.token}` }, ...playLines(lines.GEMINI_TOOLS)], {
      containment,
    })
    const reports = await waitForReports(command)
    expect(reports.at(-2)).toMatchObject({ type: 'turn.ended', outcome: 'ok' })
    await command[Symbol.asyncDispose]()
    expect(findProcessesWith(contained.token)).toEqual([])
  })
})

describe('the exit', () => {
  test.each([
    [
      'claude',
      lines.CLAUDE_NOT_LOGGED_IN,
      1,
      1,
      'Not logged in · Please run /login. Log in with `claude /login`, or set ANTHROPIC_API_KEY in the environment',
    ],
    [
      'claude',
      lines.CLAUDE_NOT_LOGGED_IN,
      0,
      0,
      'Not logged in · Please run /login. Log in with `claude /login`, or set ANTHROPIC_API_KEY in the environment',
    ],
    ['claude', lines.CLAUDE_TOOLS.slice(0, -1), 0, 0, 'Claude Code ended without a result'],
    ['codex', lines.CODEX_REFUSED, 1, 1, 'bad thing'],
    ['gemini', lines.GEMINI_REFUSED, 144, 144, 'bad thing'],
    ['gemini', [], 53, 53, 'its turn limit is reached'],
    ['opencode', lines.OPENCODE_REFUSED, 0, 0, 'bad thing'],
    ['opencode', lines.OPENCODE_TOOLS.slice(0, 4), 0, 0, 'OpenCode ended without a result'],
  ] as const)('of %s follows its events, not its exit code (case %#)', async (format, agentLines, exit, code, error) => {
    await using contained = await openContainmentHarness()
    await using running = await playAgent(contained, format, [...playLines(agentLines), { exit }])
    expect((await waitForReports(running)).at(-1)).toEqual({ type: 'exited', code, osSignal: null, error })
    expect(running.kernel.firstReport('turn.ended')).toBeNull()
  })

  test('remains a success after a later failure of its program', async () => {
    await using contained = await openContainmentHarness()
    await using running = await playAgent(contained, 'claude', [...playLines(lines.CLAUDE_TOOLS), { signal: 'SIGKILL' }])
    expect((await waitForReports(running)).slice(-3)).toEqual([
      { type: 'note', text: 'after its result it ended by SIGKILL' },
      { type: 'turn.ended', turn: 1, outcome: 'ok', result: 'It is done.' },
      { type: 'exited', code: 0, osSignal: null },
    ])
  })

  test('without any event has the last line of stderr as its error', async () => {
    await using contained = await openContainmentHarness()
    await using running = await playAgent(contained, 'claude', [{ raw: 'warming up\nerror: unknown option\n', to: 'stderr' }, { exit: 1 }])
    expect((await waitForReports(running)).at(-1)).toEqual({ type: 'exited', code: 1, osSignal: null, error: 'error: unknown option' })
    expect(running.kernel.outputText('stderr')).toBe('warming up\nerror: unknown option\n')
  })
})

describe('the command line of an agent', () => {
  const AGENT = { agent: 'mine', intent: '-write the tests' }

  test('from an agent file has the intent as the program expects it', async () => {
    await using contained = await openContainmentHarness()
    const argv = [...(await writeScriptArgv(contained.dir, [])), '--verbose', AGENT.intent]
    await using running = await startCommand(contained, argv, { format: 'claude', ...AGENT })
    await waitForReports(running)
    expect(await readArgs(contained)).toEqual(['--verbose', '--', AGENT.intent])
  })

  test('on a resume has the session, with the message or a request to continue; usage counts from there', async () => {
    await using contained = await openContainmentHarness()
    const commits = new CommitMaker()
    const usage = { inputTokens: 2000, outputTokens: 100, cacheReadTokens: 600, cacheWriteTokens: 40, costUsd: null }
    const sessionId = '01a1f964-3c13-7d42-a935-af7e68a221bf'
    const { facts } = commits.spawn(
      uuidOf(1),
      undefined,
      { type: 'process.handle', handle: null, sessionId },
      { type: 'usage.reported', usage },
    )
    const resumedLaunch: Partial<Launch<CommandSpec>> = {
      sessionId,
      resumed: true,
      step: 2,
      turn: 1,
      history: async (afterSeq) => facts.filter(({ seq }) => seq > afterSeq),
    }
    const argv = [await writeScriptedProgram(contained.dir, 'codex', playLines(lines.CODEX_RESUMED)), 'exec', '--json', 'write the tests']
    await using continued = await startCommand(
      contained,
      argv,
      { format: 'codex' },
      { ...resumedLaunch, resumeMessage: async () => 'and now the docs' },
    )
    await waitForReports(continued)
    expect(await readArgs(contained)).toEqual(['exec', '--json', 'resume', sessionId, '--', 'and now the docs'])
    expect(continued.kernel.reportsOf('session')).toEqual([])
    expect(continued.kernel.firstReport('usage')?.usage).toEqual({
      inputTokens: 1000,
      outputTokens: 50,
      cacheReadTokens: 300,
      cacheWriteTokens: 20,
      costUsd: null,
    })
    expect(continued.kernel.firstReport('turn.ended')).toMatchObject({ turn: 2 })
    await using silent = await startCommand(contained, argv, { format: 'codex' }, resumedLaunch)
    await waitForReports(silent)
    expect(await readArgs(contained)).toEqual(['exec', '--json', 'resume', sessionId, '--', 'Continue where you were interrupted.'])
  })
})

describe('hostile lines', () => {
  const HOSTILE_TEXT = '\0\x1b[31mé\u2028x\u2029\x85\r'

  test('unknown lines are output, in their order', async () => {
    await using contained = await openContainmentHarness()
    const [first, ...rest] = playLines(lines.CLAUDE_TOOLS)
    await using running = await playAgent(contained, 'claude', [
      { raw: `${HOSTILE_TEXT}\n` },
      first ?? { hang: true },
      { raw: '{"type":"what.is.new"}\n{"cut": \n[1]\n' },
      ...rest.slice(0, -1),
      { bytes: Buffer.from([0x7b, 0xff, 0x7d, 0x0a]).toString('base64') },
      ...rest.slice(-1),
      { raw: '{"type":"resu' },
    ])
    await waitForReports(running)
    expect(running.kernel.outputText('stdout')).toBe(`${HOSTILE_TEXT}\n{"type":"what.is.new"}\n{"cut": \n[1]\n{\ufffd}\n{"type":"resu`)
    expect(running.kernel.firstReport('turn.ended')?.result).toBe('It is done.')
  })

  test('separators other than LF stay inside a line; a last line needs no LF', async () => {
    await using contained = await openContainmentHarness()
    const line = { type: 'item.completed', item: { id: 'i', type: 'agent_message', text: HOSTILE_TEXT } }
    await using running = await playAgent(contained, 'codex', [{ raw: JSON.stringify(line) }])
    await waitForReports(running)
    expect(running.kernel.firstReport('model.finished')?.message).toEqual([{ type: 'text', text: HOSTILE_TEXT }])
    expect(running.kernel.outputText('stdout')).toBe('')
  })

  test('an overlong line of JSON is output in pieces, and the next line is read', async () => {
    await using contained = await openContainmentHarness()
    const overlongLine = `{"type":"text","part":{"text":"${'x'.repeat(1024 * 1024)}`
    await using running = await playAgent(contained, 'opencode', [
      { raw: overlongLine },
      { repeat: 'y'.repeat(1024 * 1024), count: 8 },
      { raw: '"}}\n' },
      ...playLines(lines.OPENCODE_TOOLS),
    ])
    await waitForReports(running)
    expect(running.kernel.outputText('stdout').length).toBe(overlongLine.length + MAX_JSON_LINE_BYTES + 4)
    for (const { text } of running.kernel.reportsOf('output'))
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_JSON_LINE_BYTES + 2 * MAX_LINE_BYTES)
    expect(running.kernel.firstReport('turn.ended')?.result).toBe('It is done.')
  })

  test('a refused report is noted, and later reports are sent', async () => {
    await using contained = await openContainmentHarness()
    const goFile = join(contained.dir, 'go')
    await using running = await playAgent(contained, 'codex', [{ until: goFile }, ...playLines(lines.CODEX_TOOLS)])
    running.kernel.refusedReport = 'tool.finished'
    writeFileSync(goFile, '')
    await waitForReports(running)
    expect(running.kernel.reportsOf('note').map(({ text }) => text)).toContain('not recorded: the store is damaged')
    expect(running.kernel.firstReport('turn.ended')?.outcome).toBe('ok')
  })
})

describe('lines of JSON', () => {
  const cutIntoLines = (chunks: readonly Buffer[]): string[] => {
    const splitter = new JsonLineSplitter()
    return [...chunks.flatMap((chunk) => splitter.feed(chunk)), splitter.end()].filter((piece) => piece !== '')
  }

  test('stay whole at any cut of the chunks; other output is cut as usual', () => {
    const overlongLine = `{"a":"${'é'.repeat(MAX_LINE_BYTES)}"}\n`
    const bytes = Buffer.from(`one\n${overlongLine}${'b'.repeat(MAX_LINE_BYTES + 1)}\n{"c":1}`)
    for (const size of [1, 7, 4096, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size))
      const pieces = cutIntoLines(chunks)
      expect(pieces.join('')).toBe(bytes.toString())
      expect(pieces).toContain(overlongLine)
      expect(pieces.at(-1)).toBe('{"c":1}')
    }
  })

  test('are not shown before their end, but other lines are', () => {
    const splitter = new JsonLineSplitter()
    splitter.feed(Buffer.from('{"a"'))
    expect([splitter.bufferedBytes, splitter.flush()]).toEqual([0, ''])
    splitter.feed(Buffer.from(':1}\nPassword: '))
    expect([splitter.bufferedBytes, splitter.flush()]).toEqual([10, 'Password: '])
  })
})
