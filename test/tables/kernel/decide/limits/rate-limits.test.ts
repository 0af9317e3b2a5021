// Rate limits with a known end: a process is held until then, and wakes automatically only if that was requested. The clock may
// jump and the daemon may restart meanwhile. The timer of the daemon runs on a manual clock.
import { describe, expect, test } from 'vitest'
import { Deadlines } from '../../../../../src/daemon/loop/deadlines.ts'
import { wallDeadlineOf } from '../../../../../src/kernel/decide/next-deadline.ts'
import { wakeTimeOf } from '../../../../../src/kernel/decide/limits/rate-limits.ts'
import { statusOf } from '../../../../../src/kernel/model/status.ts'
import { ManualClock } from '../../../../support/clock.ts'
import { TranscriptPlayer } from '../../../../support/kernel/transcript.ts'
import { START_WALL_MS } from '../../../../support/kernel/world.ts'
import type { Report } from '../../../../../src/kernel/model/reports.ts'
import type { Hold, Process } from '../../../../../src/kernel/model/process.ts'
import { changedSpec } from '../../../../support/spec-changes.ts'

const HOUR_MS = 3_600_000
const SPREAD_MS = 30_000
const UNTIL = START_WALL_MS + 2 * HOUR_MS

function newPlayer(script: string, wake = true): TranscriptPlayer {
  const player = new TranscriptPlayer()
  const [spawn = '', ...rest] = script
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  player.play(`.${spawn}`)
  const row = player.world.row('a') as Process
  if (wake) player.world.overlay.put({ ...row, spec: changedSpec(row.spec, { wake: true }) })
  player.play(rest.map((line) => `.${line}`).join('\n'))
  return player
}

function submitReport(player: TranscriptPlayer, body: Report): unknown {
  const { effects } = player.world.step({ type: 'report', reply: 1, uuid: 'a', pid: rowOf(player).pid, report: body })
  return effects.find((effect) => effect.type === 'reply')?.value
}

const rowOf = (player: TranscriptPlayer): Process => player.world.row('a') as Process
const holdsOf = (player: TranscriptPlayer): readonly Hold[] => (rowOf(player).life as { holds?: readonly Hold[] }).holds ?? []
const LIMITED: Report = { type: 'model.failed', step: 1, attempt: 1, error: '429', status: 429, retryInMs: null, resumeAt: UNTIL }

describe('a native agent', () => {
  const WITH_OPEN_CALL = 'spawn a\nstart a\nreport a up\nreport a model 1'

  test('is held until the limit is over, while its driver waits', () => {
    const player = newPlayer(WITH_OPEN_CALL, false)
    expect(submitReport(player, LIMITED)).toEqual({ type: 'ack', ack: 'held' })
    expect(holdsOf(player)).toEqual([{ reason: 'rate-limit', by: 'system', at: START_WALL_MS, until: UNTIL }])
    expect(statusOf(rowOf(player))).toBe('suspended')
    expect(JSON.stringify(player.world.journal.get('a')?.find(({ body }) => body.type === 'model.failed'))).not.toContain('resumeAt')
  })

  test('is also held during a compaction, and requests it again later', () => {
    const player = newPlayer(
      'spawn a\nstart a\nreport a up\nreport a model 1\nreport a answer 1 calls=c1\nreport a tool c1\nreport a compacting 1',
      false,
    )
    expect(
      submitReport(player, { type: 'compaction.failed', step: 1, attempt: 1, error: '429', status: 429, retryInMs: null, resumeAt: UNTIL }),
    ).toEqual({ type: 'ack', ack: 'held' })
    expect(holdsOf(player)).toMatchObject([{ reason: 'rate-limit', until: UNTIL }])
    player.play('.resume a')
    expect(player.play('report a compacting 1')).toContain('ack go')
  })

  test('does not wake automatically unless that was requested', () => {
    const player = newPlayer(WITH_OPEN_CALL, false)
    submitReport(player, LIMITED)
    expect(wallDeadlineOf(rowOf(player))).toBeNull()
    player.world.wind(100 * HOUR_MS)
    player.play('.tick a')
    expect(statusOf(rowOf(player))).toBe('suspended')
  })

  test('can be resumed by the user at any time', () => {
    const player = newPlayer(WITH_OPEN_CALL, false)
    submitReport(player, LIMITED)
    expect(player.play('resume a')).toContain('driver.unpause a#1')
    expect(statusOf(rowOf(player))).toBe('working')
  })

  test('wakes shortly after the limit is over, and not before', () => {
    const player = newPlayer(WITH_OPEN_CALL)
    submitReport(player, LIMITED)
    const deadline = wallDeadlineOf(rowOf(player)) ?? 0
    expect(deadline).toBeGreaterThanOrEqual(UNTIL)
    expect(deadline).toBeLessThanOrEqual(UNTIL + SPREAD_MS)
    player.world.wind(deadline - START_WALL_MS - 1)
    expect(player.play('tick a')).not.toContain('process.released')
    player.world.wind(1)
    expect(player.play('tick a')).toContain('process.released')
    expect(statusOf(rowOf(player))).toBe('working')
  })

  test('stays paused after the limit if the user paused it meanwhile', () => {
    const player = newPlayer(WITH_OPEN_CALL)
    submitReport(player, LIMITED)
    player.play('.signal SIGPAUSE a')
    player.world.wind(3 * HOUR_MS)
    player.play('.tick a')
    expect(holdsOf(player).map(({ reason }) => reason)).toEqual(['user'])
  })

  test('a daemon that starts before the end of the limit wakes it in time; one that starts later wakes it at once', () => {
    for (const sleepMs of [HOUR_MS, 5 * HOUR_MS]) {
      const player = newPlayer(WITH_OPEN_CALL)
      submitReport(player, LIMITED)
      player.play('.report a drained')
      player.world.restart(5)
      player.world.wall += sleepMs
      player.play('.boot a\n.tick a')
      expect(holdsOf(player)).toHaveLength(sleepMs === HOUR_MS ? 1 : 0)
      player.world.wind(2 * HOUR_MS)
      expect(player.play('tick a').includes('-> start a#2')).toBe(sleepMs === HOUR_MS)
    }
  })

  test('a process that wraps up does not wait for the limit', () => {
    const player = newPlayer(
      'spawn a interactive\nstart a\nreport a up\nhandle a SIGTERM message\nreport a model 1\nsignal SIGTERM a grace=5000',
    )
    expect(submitReport(player, LIMITED)).toEqual({ type: 'ack', ack: 'stop' })
    expect(rowOf(player).life).toMatchObject({ state: 'zombie', exit: { signal: 'SIGTERM', cause: 'person' } })
  })
})

describe('an external agent', () => {
  test('continues its turn when the limit is over', () => {
    const player = newPlayer('spawn a acp\nstart a\nreport a up session=s')
    expect(submitReport(player, { type: 'turn.ended', turn: 1, outcome: 'error', error: 'limit', resumeAt: UNTIL })).toEqual({
      type: 'ack',
      ack: 'held',
    })
    expect(rowOf(player)).toMatchObject({ progress: { turn: 1, turnOpen: true }, life: { drained: true } })
    player.world.wind(3 * HOUR_MS)
    expect(player.play('tick a')).toContain('driver.proceed a#1')
  })

  test('that ended restarts suspended with its session, after its release', () => {
    const player = newPlayer('spawn a command lines\nstart a\nreport a up\nreport a session s')
    submitReport(player, { type: 'exited', code: 1, osSignal: null, error: 'limit', resumeAt: UNTIL })
    expect(rowOf(player).life).toMatchObject({ state: 'zombie', exit: { cause: 'limit', code: 1, resumeAt: UNTIL } })
    player.play('.released a')
    expect(rowOf(player)).toMatchObject({
      pid: 2,
      sessionId: 's',
      life: { state: 'running', attached: false, holds: [{ reason: 'rate-limit', until: UNTIL, wake: true }] },
    })
    player.world.wind(3 * HOUR_MS)
    expect(player.play('tick a')).toContain('-> start a#2')
  })

  test('that ended because its key was refused restarts suspended, until the user resumes it', () => {
    const player = newPlayer('spawn a command lines\nstart a\nreport a up\nreport a session s')
    submitReport(player, { type: 'exited', code: 1, osSignal: null, error: 'not logged in', account: true })
    expect(rowOf(player).life).toMatchObject({ state: 'zombie', exit: { cause: 'agent', code: 1, account: true } })
    player.play('.released a')
    expect(rowOf(player)).toMatchObject({
      pid: 2,
      sessionId: 's',
      note: 'the account was refused: not logged in',
      life: { state: 'running', attached: false, holds: [{ reason: 'credentials', by: 'system' }] },
    })
    player.world.wind(3 * HOUR_MS)
    player.play('.tick a')
    expect(statusOf(rowOf(player))).toBe('suspended')
  })

  test.each([
    ['has no session', 'spawn a command lines\nstart a\nreport a up', 'failed'],
    ['was stopped by the user', 'spawn a command lines\nstart a\nreport a up\nreport a session s\nsignal SIGTERM a', 'stopped'],
  ])('that %s does not restart', (_, script, status) => {
    const player = newPlayer(script)
    submitReport(player, { type: 'exited', code: 1, osSignal: null, error: 'limit', resumeAt: UNTIL })
    player.play('.released a')
    expect(statusOf(rowOf(player))).toBe(status)
  })

  test('that was paused by the user when it ended stays paused after the limit', () => {
    const player = newPlayer('spawn a command lines\nstart a\nreport a up\nreport a session s\nsignal SIGPAUSE a')
    submitReport(player, { type: 'exited', code: 1, osSignal: null, error: 'limit', resumeAt: UNTIL })
    player.play('.released a')
    expect(holdsOf(player).map(({ reason }) => reason)).toEqual(['user', 'rate-limit'])
    player.world.wind(3 * HOUR_MS)
    expect(player.play('tick a')).not.toContain('-> start')
    expect(holdsOf(player).map(({ reason }) => reason)).toEqual(['user'])
  })

  test('that is killed while it waits does not restart', () => {
    const player = newPlayer('spawn a command lines\nstart a\nreport a up\nreport a session s')
    submitReport(player, { type: 'exited', code: 1, osSignal: null, error: 'limit', resumeAt: UNTIL })
    player.play('.released a\n.signal SIGKILL a')
    player.world.wind(3 * HOUR_MS)
    player.play('.tick a')
    expect(statusOf(rowOf(player))).toBe('stopped')
  })
})

test('processes that wait for the same limit wake one after another', () => {
  const hold: Hold = { reason: 'rate-limit', by: 'system', at: 0, until: 1_000, wake: true }
  const wakeTimes = ['000000', '7fffff', 'ffffff'].map((suffix) => wakeTimeOf(`01960000-0000-7000-8000-000000${suffix}`, hold))
  expect(wakeTimes).toEqual([1_000, 1_000 + SPREAD_MS / 2 - 1, 1_000 + SPREAD_MS])
})

describe('the timer of the daemon', () => {
  function watchDeadline(): { clock: ManualClock; due: string[]; deadlines: Deadlines; at: number } {
    const player = newPlayer('spawn a\nstart a\nreport a up\nreport a model 1')
    submitReport(player, LIMITED)
    player.play('.report a drained')
    const clock = new ManualClock()
    const due: string[] = []
    const deadlines = new Deadlines(clock, (uuid) => due.push(uuid))
    deadlines.update('a', rowOf(player))
    return { clock, due, deadlines, at: (wallDeadlineOf(rowOf(player)) ?? 0) - clock.now().wall }
  }

  test('reports a deadline on the wall clock when it is due', () => {
    const { clock, due, at } = watchDeadline()
    clock.wind(at - 1)
    expect(due).toEqual([])
    clock.wind(1)
    expect(due).toEqual(['a'])
    expect(clock.timers).toBe(0)
  })

  test('notices within a minute that the clock was set forward, and waits longer if it was set back', () => {
    const setForward = watchDeadline()
    setForward.clock.jump(3 * HOUR_MS)
    setForward.clock.wind(60_000)
    expect(setForward.due).toEqual(['a'])
    const setBack = watchDeadline()
    setBack.clock.jump(-HOUR_MS)
    setBack.clock.wind(setBack.at)
    expect(setBack.due).toEqual([])
    setBack.clock.wind(HOUR_MS)
    expect(setBack.due).toEqual(['a'])
  })

  test('is not set without a waiting process', () => {
    const { clock, deadlines } = watchDeadline()
    deadlines.update('a', undefined)
    clock.wind(60_000)
    expect(clock.timers).toBe(0)
  })
})
