// Forks of external agents, through the daemon. The agent forks its session if it can; otherwise the fork is refused with the reason.
// A fork is never charged for the usage of its origin, also not after a resume.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView, ResumeBody } from '../../../src/api/views/process.ts'
import { CODEX_RESUMED, CODEX_TOOLS, GEMINI_TOOLS, CLAUDE_TOOLS } from '../../support/agents/agent-lines.ts'
import { writeScriptedProgram } from '../../support/programs/scripted-program.ts'
import { killRemaining, findProcessesWith, newToken } from '../../support/living-processes.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import type { ScriptedAct } from '../../support/programs/json-agent.ts'

const PROGRAM = fileURLToPath(new URL('../../support/programs/acp-agent.ts', import.meta.url))

let daemon: LocalDaemon
let token: string

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  token = newToken()
})
afterEach(async () => {
  try {
    await daemon[Symbol.asyncDispose]()
    expect(findProcessesWith(token)).toEqual([])
    expect(daemon.errors).toEqual([])
  } finally {
    killRemaining(token)
  }
})

const fork = async (ref: string, body: ResumeBody = {}): Promise<ProcessView> => (await daemon.resume(ref, { fork: true, ...body })).process

describe('a fork by ACP', () => {
  const readLogLines = (): string[] => readFileSync(join(daemon.work, 'agent.log'), 'utf8').split('\n').filter(Boolean)

  async function runToEnd(intent: string, options: readonly string[]): Promise<ProcessView> {
    const argv = [process.execPath, PROGRAM, token, `log=${join(daemon.work, 'agent.log')}`, `sessions=${daemon.work}`, ...options]
    mkdirSync(daemon.paths.agentsDir, { recursive: true })
    writeFileSync(
      join(daemon.paths.agentsDir, 'fake.md'),
      `---\nname: fake\ndescription: A scripted agent.\ndriver: acp\ncommand: ${JSON.stringify(argv)}\n---\n`,
    )
    return daemon.waitForEnd((await daemon.spawn({ agent: 'fake', intent })).uuid)
  }

  test.each([[['fork', 'resume']], [['fork', 'load']]])(
    'its session is forked once; then the fork continues its own session (%j)',
    async (options) => {
      const origin = await runToEnd('usage 10 100 0.5\nsay one', options)
      expect(origin).toMatchObject({ status: 'completed', usage: { costUsd: 0.5 } })
      const forkView = await daemon.waitForEnd((await fork(origin.uuid, { message: 'usage 20 100 0.25\nsay two' })).uuid)
      expect(forkView).toMatchObject({
        status: 'completed',
        lastText: 'two',
        originUuid: origin.uuid,
        step: 2,
        usage: { steps: 1, costUsd: 0.25 },
      })
      expect(forkView.sessionId).toMatch(/^f\d+$/)
      const storedSession = JSON.parse(await readFile(join(daemon.work, `session-${forkView.sessionId}.json`), 'utf8')) as {
        prompts: string[]
      }
      expect(storedSession.prompts).toHaveLength(2)
      await daemon.resume(forkView.uuid, { message: 'usage 30 100 0.3\nsay three' })
      expect(await daemon.waitForEnd(forkView.uuid)).toMatchObject({
        lastText: 'three',
        sessionId: forkView.sessionId,
        usage: { costUsd: 0.55 },
      })
      expect(readLogLines().filter((line) => line.startsWith('fork '))).toHaveLength(1)
      expect(await daemon.view(origin.uuid)).toMatchObject({ sessionId: origin.sessionId, usage: { costUsd: 0.5 } })
    },
  )

  test('of Gemini CLI, which cannot fork, is refused at once', async () => {
    const gemini = join(daemon.work, 'gemini')
    writeFileSync(gemini, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' sessions='${daemon.work}' load modes "$@"\n`, { mode: 0o755 })
    mkdirSync(daemon.paths.agentsDir, { recursive: true })
    writeFileSync(join(daemon.paths.agentsDir, 'gem.md'), `---\nname: gem\ndriver: acp\ncommand: ${JSON.stringify([gemini])}\n---\n`)
    const { uuid } = await daemon.waitForEnd((await daemon.spawn({ agent: 'gem', intent: 'say one' })).uuid)
    await expect(fork(uuid, { message: 'say two' })).rejects.toMatchObject({
      code: 'NOT_RESUMABLE',
      message: 'Gemini CLI cannot fork its sessions; it can be resumed',
    })
  })

  test('an agent that cannot fork reports that, and the origin can be resumed', async () => {
    const origin = await runToEnd('say one', ['resume'])
    const forkView = await daemon.waitForEnd((await fork(origin.uuid, { message: 'say two' })).uuid)
    expect(forkView).toMatchObject({
      status: 'failed',
      exit: { reason: 'the agent cannot be used: it cannot fork its sessions; its origin can be resumed (NOT_RESUMABLE)' },
    })
  })

  test('a step that is not the last is refused with the reason', async () => {
    const origin = await runToEnd('say one', ['fork', 'resume'])
    await expect(fork(origin.uuid, { fromStep: 0 })).rejects.toMatchObject({
      code: 'NOT_RESUMABLE',
      message: 'agent fake can only be forked as it is now, after step 1: reeve cannot cut the history in its session',
    })
    expect(await fork(origin.uuid, { fromStep: 1, message: 'say two' })).toMatchObject({ originStep: 1 })
  })
})

describe('forks of commands', () => {
  const asLines = (items: readonly object[]): ScriptedAct[] => items.map((line) => ({ line }))
  /** The same lines as another session would print them. */
  const inSession = (items: readonly object[], oldSession: string, newSession: string): ScriptedAct[] =>
    asLines(JSON.parse(JSON.stringify(items).replaceAll(oldSession, newSession)) as object[])

  async function runToEnd(
    name: string,
    args: readonly string[],
    items: readonly ScriptedAct[],
  ): Promise<{ view: ProcessView; args: () => Promise<unknown>; plays: (items: readonly ScriptedAct[]) => Promise<void> }> {
    const dir = await mkdtemp(join(daemon.work, `${name}-`))
    const program = await writeScriptedProgram(dir, name, items)
    const view = await daemon.waitForEnd((await daemon.spawn({ argv: [program, ...args] })).uuid)
    return {
      view,
      args: async () => JSON.parse(await readFile(join(dir, 'script.json.args'), 'utf8')) as unknown,
      plays: async (next) => {
        await writeScriptedProgram(dir, name, next)
      },
    }
  }

  test('Claude Code forks with --fork-session', async () => {
    const agent = await runToEnd('claude', ['-p', 'say hello', '--output-format', 'stream-json', '--verbose'], asLines(CLAUDE_TOOLS))
    const { uuid, sessionId } = agent.view
    await agent.plays(inSession(CLAUDE_TOOLS, sessionId ?? '', '00000000-0000-4000-8000-000000000001'))
    const forkView = await daemon.waitForEnd((await fork(uuid, { message: 'and now?' })).uuid)
    expect(await agent.args()).toEqual([
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--resume',
      sessionId,
      '--fork-session',
      '--',
      'and now?',
    ])
    expect(forkView).toMatchObject({
      status: 'completed',
      originUuid: uuid,
      sessionId: '00000000-0000-4000-8000-000000000001',
      usage: { steps: 2 },
    })
  })

  test("the totals of Codex include the origin's usage, which is not charged again, also not after a resume", async () => {
    const agent = await runToEnd('codex', ['exec', '--json', 'say hello'], [...asLines(CODEX_TOOLS), { exit: 0 }])
    const { uuid, sessionId, usage } = agent.view
    expect(usage.inputTokens).toBe(2_000)
    await agent.plays([...inSession(CODEX_RESUMED, sessionId ?? '', 'thread-2'), { exit: 0 }])
    const forkView = await daemon.waitForEnd((await fork(uuid, { message: 'go' })).uuid)
    expect(await agent.args()).toEqual(['exec', '--json', 'fork', sessionId, '--', 'go'])
    expect(forkView).toMatchObject({ sessionId: 'thread-2', usage: { inputTokens: 1_000, outputTokens: 50 } })
    await daemon.resume(forkView.uuid, { message: 'again' })
    expect(await daemon.waitForEnd(forkView.uuid)).toMatchObject({ usage: { inputTokens: 1_000, outputTokens: 50 } })
    expect(await agent.args()).toEqual(['exec', '--json', 'resume', 'thread-2', '--', 'again'])
  })

  test('Gemini CLI cannot fork, and the refusal says so', async () => {
    const {
      view: { uuid },
    } = await runToEnd('gemini', ['-p', 'hello', '-o', 'stream-json'], asLines(GEMINI_TOOLS))
    await expect(fork(uuid)).rejects.toMatchObject({
      code: 'NOT_RESUMABLE',
      message: 'Gemini CLI cannot fork its sessions; it can be resumed',
    })
  })
})
