// A limit that is over at a known time, from end to end: real programs that end by it, agents that keep their turn, daemons that
// restart meanwhile. The daemon's clock is wound by hand and stands at the present, as agents tell real times.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HandClock } from '../support/clock.ts'
import { startCli } from '../support/cli.ts'
import { programThatPlays } from '../support/command.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { settled } from '../support/kernel/daemon-core.ts'
import type { ProcessView, SpawnBody } from '../../src/api/views.ts'
import type { Played } from '../support/programs/json-agent.ts'

const HOUR = 3_600_000
/** Who waits for the same limit wakes one after another, within this. */
const SPREAD = 30_000
const ACP = fileURLToPath(new URL('../support/programs/acp-agent.ts', import.meta.url))
const CLAUDE = ['-p', 'work', '--output-format', 'stream-json', '--verbose']

let daemon: LocalDaemon
let clock: HandClock

beforeEach(async () => {
  clock = new HandClock()
  clock.jump(Date.now() - clock.now().wall)
  daemon = await LocalDaemon.start({ clock })
})
afterEach(async () => {
  expect(daemon.errors).toEqual([])
  await daemon[Symbol.asyncDispose]()
})

const session = { line: { type: 'system', subtype: 'init', session_id: '6528ff20-b72b-4b73-ac46-b42cd138b7d7' } }
const inTwoHours = (): number => Math.ceil((Date.now() + 2 * HOUR) / 1_000)
const limitAt = (resetsAt: number): Played[] => [
  session, { line: { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt, rateLimitType: 'five_hour' } } },
  { line: { type: 'result', subtype: 'success', is_error: true, result: "You've hit your limit", session_id: session.line.session_id } }, { exit: 1 },
]
const success: Played[] = [session, { line: { type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: session.line.session_id } }]

async function claude(items: readonly Played[], body: Partial<SpawnBody> = {}): Promise<ProcessView> {
  return daemon.spawn({ argv: [await programThatPlays(daemon.work, 'claude', items), ...CLAUDE], ...body })
}

/** The moment after which it has woken, if it does. */
async function wind(ms: number): Promise<void> {
  clock.wind(ms)
  await settled()
}

describe('Claude Code as a command, which ends by its limit', () => {
  test('comes back suspended in its session, over a restart of the daemon, and goes on when a person says so', async () => {
    const resetsAt = inTwoHours()
    const { uuid, pid } = await claude(limitAt(resetsAt))
    const held = await daemon.until(uuid, 'suspended')
    expect(held).toMatchObject({ holds: [{ reason: 'rate-limit', by: 'system' }], sessionId: session.line.session_id, exit: null })
    expect(held.pid).toBeGreaterThan(pid)
    expect(Date.parse(held.resumeAt ?? '')).toBe(resetsAt * 1_000)
    expect(held.note).toMatch(/^paused: rate limit until (\d{4}-\d\d-\d\d )?\d\d:\d\d$/)
    expect((await daemon.history(uuid)).find(({ fact }) => fact === 'process.exited')).toMatchObject({ exit: { code: 1, cause: 'limit', reason: "You've hit your limit" } })
    await daemon.restart()
    await wind(3 * HOUR)
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', holds: [{ reason: 'rate-limit' }] })
    await programThatPlays(daemon.work, 'claude', success)
    await daemon.resume(uuid)
    expect(await daemon.ended(uuid)).toMatchObject({ status: 'completed' })
  })

  test('goes on by itself where that was asked for, also after a restart, and not before', async () => {
    const { uuid } = await claude(limitAt(inTwoHours()), { wake: true })
    expect((await daemon.until(uuid, 'suspended')).holds).toMatchObject([{ reason: 'rate-limit', wake: true }])
    await programThatPlays(daemon.work, 'claude', success)
    await daemon.restart()
    await wind(1.9 * HOUR)
    expect((await daemon.view(uuid)).status).toBe('suspended')
    await wind(0.1 * HOUR + SPREAD + 60_000)
    expect(await daemon.ended(uuid)).toMatchObject({ status: 'completed' })
  })

  test('is followed over it by `reeve run`, as it has not ended', async () => {
    const program = await programThatPlays(daemon.work, 'claude', limitAt(inTwoHours()))
    const running = startCli(daemon.home, ['run', '--name', 'limited', '--', program, ...CLAUDE], { cwd: daemon.work })
    await running.wrote('spawned')
    await daemon.until('limited', 'suspended')
    await programThatPlays(daemon.work, 'claude', success)
    await daemon.resume('limited')
    expect((await running.done).code).toBe(0)
  })
})

test('an agent that speaks ACP keeps its turn, and goes on with it', async () => {
  mkdirSync(daemon.paths.agentsDir, { recursive: true })
  writeFileSync(join(daemon.paths.agentsDir, 'fake.md'), `---\ndriver: acp\ncommand: ${JSON.stringify([process.execPath, ACP, `sessions=${daemon.work}`])}\nwake: true\n---\n`)
  const { uuid } = await daemon.spawn({ agent: 'fake', intent: "say a\nerror You've hit your usage limit. Try again in 2 hours 5 minutes." })
  const held = await daemon.until(uuid, 'suspended')
  expect(held).toMatchObject({ turn: 1, holds: [{ reason: 'rate-limit', wake: true }] })
  const inMs = Date.parse(held.resumeAt ?? '') - Date.now()
  expect(inMs).toBeGreaterThan(2 * HOUR)
  expect(inMs).toBeLessThanOrEqual(2 * HOUR + 5 * 60_000)
  await wind(3 * HOUR)
  expect(await daemon.ended(uuid)).toMatchObject({ status: 'completed', turn: 1 })
})
