// A rate limit whose end is known, from end to end. Real programs exit at the limit, ACP agents keep their turn, and the daemon restarts
// meanwhile. The daemon's manual clock starts at the present, because agents report real times.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../support/clock.ts'
import { startCli } from '../../support/daemon/cli.ts'
import { writeScriptedProgram } from '../../support/programs/scripted-program.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { waitUntilSettled } from '../../support/kernel/daemon-core.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'
import type { ScriptedAct } from '../../support/programs/json-agent.ts'

const HOUR_MS = 3_600_000
/** Processes that wait for the same limit wake one after another, within this time in ms. */
const WAKE_SPREAD_MS = 30_000
const ACP_PROGRAM = fileURLToPath(new URL('../../support/programs/acp-agent.ts', import.meta.url))
const CLAUDE_ARGS = ['-p', 'work', '--output-format', 'stream-json', '--verbose']

let daemon: LocalDaemon
let clock: ManualClock

beforeEach(async () => {
  clock = new ManualClock()
  clock.jump(Date.now() - clock.now().wall)
  daemon = await LocalDaemon.start({ clock })
})
afterEach(async () => {
  expect(daemon.errors).toEqual([])
  await daemon[Symbol.asyncDispose]()
})

const session = { line: { type: 'system', subtype: 'init', session_id: '6528ff20-b72b-4b73-ac46-b42cd138b7d7' } }
const inTwoHours = (): number => Math.ceil((Date.now() + 2 * HOUR_MS) / 1_000)
const limitAt = (resetsAt: number): ScriptedAct[] => [
  session,
  { line: { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt, rateLimitType: 'five_hour' } } },
  { line: { type: 'result', subtype: 'success', is_error: true, result: "You've hit your limit", session_id: session.line.session_id } },
  { exit: 1 },
]
const success: ScriptedAct[] = [
  session,
  { line: { type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: session.line.session_id } },
]

async function runClaude(items: readonly ScriptedAct[], body: Partial<SpawnBody> = {}): Promise<ProcessView> {
  return daemon.spawn({ argv: [await writeScriptedProgram(daemon.work, 'claude', items), ...CLAUDE_ARGS], ...body })
}

/** Advances the clock, and waits until the daemon has handled it. */
async function advanceClock(ms: number): Promise<void> {
  clock.wind(ms)
  await waitUntilSettled()
}

describe('Claude Code as a command, which exits at its limit', () => {
  test('is suspended in its session, also after a restart of the daemon, and continues when the user resumes it', async () => {
    const resetsAt = inTwoHours()
    const { uuid, pid } = await runClaude(limitAt(resetsAt))
    const heldView = await daemon.waitForStatus(uuid, 'suspended')
    expect(heldView).toMatchObject({ holds: [{ reason: 'rate-limit', by: 'system' }], sessionId: session.line.session_id, exit: null })
    expect(heldView.pid).toBeGreaterThan(pid)
    expect(Date.parse(heldView.resumeAt ?? '')).toBe(resetsAt * 1_000)
    expect(heldView.note).toMatch(/^paused: rate limit until (\d{4}-\d\d-\d\d )?\d\d:\d\d$/)
    expect((await daemon.readHistory(uuid)).find(({ fact }) => fact === 'process.exited')).toMatchObject({
      exit: { code: 1, cause: 'limit', reason: "You've hit your limit" },
    })
    await daemon.restart()
    await advanceClock(3 * HOUR_MS)
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', holds: [{ reason: 'rate-limit' }] })
    await writeScriptedProgram(daemon.work, 'claude', success)
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
  })

  test('continues by itself at the end of the limit with `wake`, also after a restart, and not before', async () => {
    const { uuid } = await runClaude(limitAt(inTwoHours()), { wake: true })
    expect((await daemon.waitForStatus(uuid, 'suspended')).holds).toMatchObject([{ reason: 'rate-limit', wake: true }])
    await writeScriptedProgram(daemon.work, 'claude', success)
    await daemon.restart()
    await advanceClock(1.9 * HOUR_MS)
    expect((await daemon.view(uuid)).status).toBe('suspended')
    await advanceClock(0.1 * HOUR_MS + WAKE_SPREAD_MS + 60_000)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed' })
  })

  test('is still followed by `reeve run` while it is suspended, as it has not ended', async () => {
    const program = await writeScriptedProgram(daemon.work, 'claude', limitAt(inTwoHours()))
    const followedRun = startCli(daemon.home, ['run', '--name', 'limited', '--', program, ...CLAUDE_ARGS], { cwd: daemon.work })
    await followedRun.waitForText('spawned')
    await daemon.waitForStatus('limited', 'suspended')
    await writeScriptedProgram(daemon.work, 'claude', success)
    await daemon.resume('limited')
    expect((await followedRun.result).code).toBe(0)
  })
})

test('an ACP agent at its limit keeps its turn, and continues it after the end of the limit', async () => {
  mkdirSync(daemon.paths.agentsDir, { recursive: true })
  writeFileSync(
    join(daemon.paths.agentsDir, 'fake.md'),
    `---\ndriver: acp\ncommand: ${JSON.stringify([process.execPath, ACP_PROGRAM, `sessions=${daemon.work}`])}\nwake: true\n---\n`,
  )
  const { uuid } = await daemon.spawn({
    agent: 'fake',
    intent: "say a\nerror You've hit your usage limit. Try again in 2 hours 5 minutes.",
  })
  const heldView = await daemon.waitForStatus(uuid, 'suspended')
  expect(heldView).toMatchObject({ turn: 1, holds: [{ reason: 'rate-limit', wake: true }] })
  const inMs = Date.parse(heldView.resumeAt ?? '') - Date.now()
  expect(inMs).toBeGreaterThan(2 * HOUR_MS)
  expect(inMs).toBeLessThanOrEqual(2 * HOUR_MS + 5 * 60_000)
  await advanceClock(3 * HOUR_MS)
  expect(await daemon.waitForEnd(uuid)).toMatchObject({ status: 'completed', turn: 1 })
})
