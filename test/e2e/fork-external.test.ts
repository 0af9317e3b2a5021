// Forks of agents that others wrote, through the daemon: their session is forked where they can, and where they cannot it is
// said so; nothing that the origin has paid is charged to a fork again, nor when that is resumed.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProcessView, ResumeBody } from '../../src/api/views.ts'
import { CODEX_RESUMED, CODEX_TOOLS, GEMINI_TOOLS, CLAUDE_TOOLS } from '../support/agent-lines.ts'
import { programThatPlays } from '../support/command.ts'
import { killLeft, livingWith, newToken } from '../support/living.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import type { Played } from '../support/programs/json-agent.ts'

const PROGRAM = fileURLToPath(new URL('../support/programs/acp-agent.ts', import.meta.url))

let daemon: LocalDaemon
let token: string

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  token = newToken()
})
afterEach(async () => {
  try {
    await daemon[Symbol.asyncDispose]()
    expect(livingWith(token)).toEqual([])
    expect(daemon.errors).toEqual([])
  } finally {
    killLeft(token)
  }
})

const fork = async (ref: string, body: ResumeBody = {}): Promise<ProcessView> => (await daemon.resume(ref, { fork: true, ...body })).process

describe('by ACP', () => {
  const noted = (): string[] => readFileSync(join(daemon.work, 'agent.log'), 'utf8').split('\n').filter(Boolean)

  async function ran(intent: string, as: readonly string[]): Promise<ProcessView> {
    const argv = [process.execPath, PROGRAM, token, `log=${join(daemon.work, 'agent.log')}`, `sessions=${daemon.work}`, ...as]
    mkdirSync(daemon.paths.agentsDir, { recursive: true })
    writeFileSync(join(daemon.paths.agentsDir, 'fake.md'), `---\nname: fake\ndescription: A scripted agent.\ndriver: acp\ncommand: ${JSON.stringify(argv)}\n---\n`)
    return daemon.ended((await daemon.spawn({ agent: 'fake', intent })).uuid)
  }

  test.each([[['fork', 'resume']], [['fork', 'load']]])('its session is forked, once; after that it goes on with its own (%j)', async (as) => {
    const origin = await ran('usage 10 100 0.5\nsay one', as)
    expect(origin).toMatchObject({ status: 'completed', usage: { costUsd: 0.5 } })
    const made = await daemon.ended((await fork(origin.uuid, { message: 'usage 20 100 0.25\nsay two' })).uuid)
    expect(made).toMatchObject({ status: 'completed', lastText: 'two', originUuid: origin.uuid, step: 2, usage: { steps: 1, costUsd: 0.25 } })
    expect(made.sessionId).toMatch(/^f\d+$/)
    const kept = JSON.parse(await readFile(join(daemon.work, `session-${made.sessionId}.json`), 'utf8')) as { prompts: string[] }
    expect(kept.prompts).toHaveLength(2)
    await daemon.resume(made.uuid, { message: 'usage 30 100 0.3\nsay three' })
    expect(await daemon.ended(made.uuid)).toMatchObject({ lastText: 'three', sessionId: made.sessionId, usage: { costUsd: 0.55 } })
    expect(noted().filter((line) => line.startsWith('fork '))).toHaveLength(1)
    expect(await daemon.view(origin.uuid)).toMatchObject({ sessionId: origin.sessionId, usage: { costUsd: 0.5 } })
  })

  test('an agent that cannot says so, and the origin can be resumed', async () => {
    const origin = await ran('say one', ['resume'])
    const made = await daemon.ended((await fork(origin.uuid, { message: 'say two' })).uuid)
    expect(made).toMatchObject({ status: 'failed', exit: { reason: 'the agent cannot be used: it cannot fork its sessions; its origin can be resumed (NOT_RESUMABLE)' } })
  })

  test('a step that is not the last is refused with the reason', async () => {
    const origin = await ran('say one', ['fork', 'resume'])
    await expect(fork(origin.uuid, { fromStep: 0 })).rejects.toMatchObject({ code: 'NOT_RESUMABLE', message: "agent fake can only be forked as it is now, after step 1: its history is its session's, which reeve cannot cut" })
    expect(await fork(origin.uuid, { fromStep: 1, message: 'say two' })).toMatchObject({ originStep: 1 })
  })
})

describe('as commands', () => {
  const played = (all: readonly object[]): Played[] => all.map((line) => ({ line }))
  /** The same lines as they would come of another session. */
  const inSession = (all: readonly object[], from: string, to: string): Played[] => played(JSON.parse(JSON.stringify(all).replaceAll(from, to)) as object[])

  async function ran(name: string, args: readonly string[], items: readonly Played[]): Promise<{ view: ProcessView; args: () => Promise<unknown>; plays: (items: readonly Played[]) => Promise<void> }> {
    const dir = await mkdtemp(join(daemon.work, `${name}-`))
    const program = await programThatPlays(dir, name, items)
    const view = await daemon.ended((await daemon.spawn({ argv: [program, ...args] })).uuid)
    return { view, args: async () => JSON.parse(await readFile(join(dir, 'played.json.args'), 'utf8')) as unknown, plays: async (next) => { await programThatPlays(dir, name, next) } }
  }

  test('Claude Code: with --fork-session', async () => {
    const agent = await ran('claude', ['-p', 'say hello', '--output-format', 'stream-json', '--verbose'], played(CLAUDE_TOOLS))
    const { uuid, sessionId } = agent.view
    await agent.plays(inSession(CLAUDE_TOOLS, sessionId ?? '', '00000000-0000-4000-8000-000000000001'))
    const made = await daemon.ended((await fork(uuid, { message: 'and now?' })).uuid)
    expect(await agent.args()).toEqual(['-p', '--output-format', 'stream-json', '--verbose', '--resume', sessionId, '--fork-session', '--', 'and now?'])
    expect(made).toMatchObject({ status: 'completed', originUuid: uuid, sessionId: '00000000-0000-4000-8000-000000000001', usage: { steps: 2 } })
  })

  test('Codex: its totals count the origin\'s, which is not charged again, nor after a resume', async () => {
    const agent = await ran('codex', ['exec', '--json', 'say hello'], [...played(CODEX_TOOLS), { exit: 0 }])
    const { uuid, sessionId, usage } = agent.view
    expect(usage.inputTokens).toBe(2_000)
    await agent.plays([...inSession(CODEX_RESUMED, sessionId ?? '', 'thread-2'), { exit: 0 }])
    const made = await daemon.ended((await fork(uuid, { message: 'go' })).uuid)
    expect(await agent.args()).toEqual(['exec', '--json', 'fork', sessionId, '--', 'go'])
    expect(made).toMatchObject({ sessionId: 'thread-2', usage: { inputTokens: 1_000, outputTokens: 50 } })
    await daemon.resume(made.uuid, { message: 'again' })
    expect(await daemon.ended(made.uuid)).toMatchObject({ usage: { inputTokens: 1_000, outputTokens: 50 } })
    expect(await agent.args()).toEqual(['exec', '--json', 'resume', 'thread-2', '--', 'again'])
  })

  test('Gemini CLI cannot', async () => {
    const { view: { uuid } } = await ran('gemini', ['-p', 'hello', '-o', 'stream-json'], played(GEMINI_TOOLS))
    await expect(fork(uuid)).rejects.toMatchObject({ code: 'NOT_RESUMABLE', message: 'Gemini CLI cannot fork its sessions; it can be resumed' })
  })
})
