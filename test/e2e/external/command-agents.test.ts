// Coding agents as commands through the daemon: `inspect`, `steps` and `events` show their lines, a resume
// continues their session, and a budget holds at each report. The agents are played from recorded output of real ones.
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as lines from '../../support/agents/agent-lines.ts'
import { writeScriptedProgram } from '../../support/programs/scripted-program.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import type { ScriptedAct } from '../../support/programs/json-agent.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'

let daemon: LocalDaemon
beforeAll(async () => {
  daemon = await LocalDaemon.start()
})
afterAll(async () => {
  expect(daemon.errors).toEqual([])
  await daemon[Symbol.asyncDispose]()
})

const asLines = (items: readonly object[]): ScriptedAct[] => items.map((line) => ({ line }))

interface Agent {
  readonly view: ProcessView
  /** its arguments at the last start */
  args(): Promise<unknown>
  /** sets its next output */
  plays(items: readonly ScriptedAct[]): Promise<void>
}

async function start(name: string, args: readonly string[], items: readonly ScriptedAct[], body: Partial<SpawnBody> = {}): Promise<Agent> {
  const dir = await mkdtemp(join(daemon.work, `${name}-`))
  const program = await writeScriptedProgram(dir, name, items)
  const view = await daemon.spawn({ argv: [program, ...args], ...body })
  return {
    view,
    args: async () => JSON.parse(await readFile(join(dir, 'script.json.args'), 'utf8')) as unknown,
    plays: async (next) => {
      await writeScriptedProgram(dir, name, next)
    },
  }
}

const CLAUDE_ARGS = ['-p', 'say hello', '--output-format', 'stream-json', '--verbose']
const CODEX_ARGS = ['exec', '--json', 'say hello']

describe('an agent that is started as a command', () => {
  test('is recognised, and its steps, calls, tokens and cost are shown', async () => {
    const {
      view: { uuid },
    } = await start('claude', CLAUDE_ARGS, asLines(lines.CLAUDE_TOOLS))
    const view = await daemon.waitForEnd(uuid)
    expect(view).toMatchObject({
      status: 'completed',
      step: 2,
      turn: 1,
      sessionId: '6528ff20-b72b-4b73-ac46-b42cd138b7d7',
      exit: { code: 0, reason: 'completed' },
    })
    expect(view.usage).toMatchObject({
      steps: 2,
      turns: 1,
      toolCalls: 2,
      inputTokens: 2000,
      outputTokens: 100,
      cacheReadTokens: 600,
      cacheWriteTokens: 40,
      contextWindow: 1_000_000,
    })
    expect(view.usage.costUsd).toBeCloseTo(0.01032, 10)
    const { note } = await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.note').then((event) => ({ note: event['text'] }))
    expect(note).toBe('reeve reads its output in the format of Claude Code')
    expect(await daemon.waitForEvent(uuid, ({ fact }) => fact === 'tool.finished')).toMatchObject({ name: 'Bash', outcome: 'error' })
    await expect(daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.output')).rejects.toThrow('no event matched')
  })

  test('that reports an error has failed, though its program exits 0', async () => {
    const {
      view: { uuid },
    } = await start('claude', CLAUDE_ARGS, [...asLines(lines.CLAUDE_NOT_LOGGED_IN), { exit: 0 }])
    expect(await daemon.waitForEnd(uuid)).toMatchObject({
      status: 'failed',
      exit: {
        code: 1,
        reason: 'Not logged in · Please run /login. Log in with `claude /login`, or set ANTHROPIC_API_KEY in the environment',
      },
    })
  })

  test('an unknown program stays a plain command', async () => {
    const {
      view: { uuid },
    } = await start('claude', ['-p', 'say hello'], asLines(lines.CLAUDE_TOOLS))
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', step: 0, sessionId: null })
    expect(await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.output')).toMatchObject({ stream: 'stdout' })
  })
})

describe('a resume', () => {
  test('continues the session, sends only new messages, and charges only new usage', async () => {
    const agent = await start('codex', CODEX_ARGS, [...asLines(lines.CODEX_TOOLS), { exit: 0 }])
    const { uuid } = agent.view
    const first = await daemon.waitForEnd(uuid)
    expect(first.usage).toMatchObject({ inputTokens: 2000, outputTokens: 100, cacheReadTokens: 600, cacheWriteTokens: 40 })
    await agent.plays(asLines(lines.CODEX_RESUMED))
    await daemon.resume(uuid, { message: 'and now the docs' })
    const second = await daemon.waitForEnd(uuid)
    expect(await agent.args()).toEqual(['exec', '--json', 'resume', first.sessionId, '--', 'and now the docs'])
    expect(second).toMatchObject({ status: 'completed', step: 3, turn: 2, sessionId: first.sessionId })
    expect(second.usage).toMatchObject({ inputTokens: 3000, outputTokens: 150, cacheReadTokens: 900, cacheWriteTokens: 60 })
  })

  test('after a kill in the middle of a tool closes the call, and continues', async () => {
    const agent = await start('claude', CLAUDE_ARGS, [...asLines(lines.CLAUDE_TOOLS.slice(0, 4)), { hang: true }])
    const { uuid } = agent.view
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'tool.started')
    await daemon.signal(uuid, 'SIGKILL')
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'stopped', exit: { code: 137 } })
    await agent.plays(asLines(lines.CLAUDE_RESUMED))
    await daemon.resume(uuid)
    const view = await daemon.waitForEnd(uuid)
    expect(view).toMatchObject({ status: 'completed', step: 2 })
    expect(await agent.args()).toEqual([
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--resume',
      view.sessionId,
      '--',
      'Continue where you were interrupted.',
    ])
    expect(await daemon.waitForEvent(uuid, ({ fact }) => fact === 'tool.finished')).toMatchObject({ outcome: 'interrupted' })
  })

  test('without a session id is refused, and the process can be run again', async () => {
    const agent = await start('gemini', ['-p', 'hello', '-o', 'stream-json'], [{ exit: 42 }])
    const { uuid } = agent.view
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ exit: { code: 42, reason: 'it refused its input' } })
    await expect(daemon.resume(uuid)).rejects.toMatchObject({ code: 'NOT_RESUMABLE' })
    await agent.plays(asLines(lines.GEMINI_TOOLS))
    await daemon.resume(uuid, { rerun: true })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', step: 2 })
    expect(await agent.args()).toEqual(['-p', 'hello', '-o', 'stream-json'])
  })
})

describe('limits', () => {
  test('a budget is checked at each report of usage, and a used-up one holds the agent at once', async () => {
    const {
      view: { uuid },
    } = await start('claude', CLAUDE_ARGS, [...asLines(lines.CLAUDE_TOOLS.slice(0, 6)), { hang: true }], {
      limits: { budgetTokens: 1_000 },
    })
    await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.frozen')
    const view = await daemon.view(uuid)
    expect(view).toMatchObject({ status: 'suspended', holds: [{ reason: 'budget' }] })
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
  })

  test('an agent with more steps than allowed is ended', async () => {
    const {
      view: { uuid },
    } = await start('opencode', ['run', '--format', 'json', 'hello'], [...asLines(lines.OPENCODE_TOOLS), { hang: true }], {
      limits: { maxSteps: 1 },
    })
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ step: 1, exit: { code: 1, reason: 'max steps exceeded' } })
  })
})

test('a kill of the daemon in the middle of a call leaves no program, and the agent continues its session', async () => {
  await using home = await DaemonHome.create()
  await home.start()
  const program = await writeScriptedProgram(home.work, 'claude', [...asLines(lines.CLAUDE_TOOLS.slice(0, 4)), { hang: true }])
  const { uuid } = await home.spawn({ argv: [program, ...CLAUDE_ARGS] })
  await home.waitForView(uuid, ({ step }) => step === 1)
  await home.kill()
  await home.waitUntilNothingIsLeft()
  await home.start()
  expect(await home.view(uuid)).toMatchObject({ status: 'interrupted', step: 1 })
  await writeScriptedProgram(home.work, 'claude', asLines(lines.CLAUDE_RESUMED))
  await home.resume(uuid)
  expect(await home.waitForEnd(uuid)).toMatchObject({ status: 'completed', step: 2, usage: { inputTokens: 2000, toolCalls: 2 } })
  expect(await readFile(join(home.work, 'script.json.args'), 'utf8')).toContain('"--resume"')
  await home.stop()
  await home.waitUntilNothingIsLeft()
}, 300_000)
