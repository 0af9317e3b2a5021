// Rate limits with a known end: a process is held until then, and wakes automatically only if that was requested. The clock may
// jump and the daemon may restart meanwhile. The timer of the daemon runs on a manual clock.
import { describe, expect, test } from 'vitest'
import { Deadlines } from '../../../../../src/daemon/loop/deadlines.ts'
import { wallDeadlineOf } from '../../../../../src/kernel/decide/next-deadline.ts'
import { wakeTimeOf } from '../../../../../src/kernel/decide/limits/rate-limits.ts'
import { statusOf } from '../../../../../src/kernel/model/status.ts'
import { ManualClock } from '../../../../support/clock.ts'
import { Player } from '../../../../support/kernel/transcript.ts'
import { WALL } from '../../../../support/kernel/world.ts'
import type { Report } from '../../../../../src/kernel/model/reports.ts'
import type { Hold, Process } from '../../../../../src/kernel/model/process.ts'
import { changedSpec } from '../../../../support/spec-changes.ts'

const HOUR = 3_600_000
const SPREAD = 30_000
const UNTIL = WALL + 2 * HOUR

function player(script: string, wake = true): Player {
  const made = new Player()
  const [spawn = '', ...rest] = script
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  made.play(`.${spawn}`)
  const row = made.world.row('a') as Process
  if (wake) made.world.overlay.put({ ...row, spec: changedSpec(row.spec, { wake: true }) })
  made.play(rest.map((line) => `.${line}`).join('\n'))
  return made
}

function report(made: Player, body: Report): unknown {
  const { effects } = made.world.step({ type: 'report', reply: 1, uuid: 'a', pid: row(made).pid, report: body })
  return effects.find((effect) => effect.type === 'reply')?.value
}

const row = (made: Player): Process => made.world.row('a') as Process
const holds = (made: Player): readonly Hold[] => (row(made).life as { holds?: readonly Hold[] }).holds ?? []
const LIMITED: Report = { type: 'model.failed', step: 1, attempt: 1, error: '429', status: 429, retryInMs: null, resumeAt: UNTIL }

describe('a native agent', () => {
  const WITH_OPEN_CALL = 'spawn a\nstart a\nreport a up\nreport a model 1'

  test('is held until the limit is over, while its driver waits', () => {
    const made = player(WITH_OPEN_CALL, false)
    expect(report(made, LIMITED)).toEqual({ type: 'ack', ack: 'held' })
    expect(holds(made)).toEqual([{ reason: 'rate-limit', by: 'system', at: WALL, until: UNTIL }])
    expect(statusOf(row(made))).toBe('suspended')
    expect(JSON.stringify(made.world.journal.get('a')?.find(({ body }) => body.type === 'model.failed'))).not.toContain('resumeAt')
  })

  test('is also held during a compaction, and requests it again later', () => {
    const made = player(
      'spawn a\nstart a\nreport a up\nreport a model 1\nreport a answer 1 calls=c1\nreport a tool c1\nreport a compacting 1',
      false,
    )
    expect(
      report(made, { type: 'compaction.failed', step: 1, attempt: 1, error: '429', status: 429, retryInMs: null, resumeAt: UNTIL }),
    ).toEqual({ type: 'ack', ack: 'held' })
    expect(holds(made)).toMatchObject([{ reason: 'rate-limit', until: UNTIL }])
    made.play('.resume a')
    expect(made.play('report a compacting 1')).toContain('ack go')
  })

  test('does not wake automatically unless that was requested', () => {
    const made = player(WITH_OPEN_CALL, false)
    report(made, LIMITED)
    expect(wallDeadlineOf(row(made))).toBeNull()
    made.world.wind(100 * HOUR)
    made.play('.tick a')
    expect(statusOf(row(made))).toBe('suspended')
  })

  test('can be resumed by the user at any time', () => {
    const made = player(WITH_OPEN_CALL, false)
    report(made, LIMITED)
    expect(made.play('resume a')).toContain('driver.unpause a#1')
    expect(statusOf(row(made))).toBe('working')
  })

  test('wakes shortly after the limit is over, and not before', () => {
    const made = player(WITH_OPEN_CALL)
    report(made, LIMITED)
    const at = wallDeadlineOf(row(made)) ?? 0
    expect(at).toBeGreaterThanOrEqual(UNTIL)
    expect(at).toBeLessThanOrEqual(UNTIL + SPREAD)
    made.world.wind(at - WALL - 1)
    expect(made.play('tick a')).not.toContain('process.released')
    made.world.wind(1)
    expect(made.play('tick a')).toContain('process.released')
    expect(statusOf(row(made))).toBe('working')
  })

  test('stays paused after the limit if the user paused it meanwhile', () => {
    const made = player(WITH_OPEN_CALL)
    report(made, LIMITED)
    made.play('.signal SIGPAUSE a')
    made.world.wind(3 * HOUR)
    made.play('.tick a')
    expect(holds(made).map(({ reason }) => reason)).toEqual(['user'])
  })

  test('a daemon that starts before the end of the limit wakes it in time; one that starts later wakes it at once', () => {
    for (const slept of [HOUR, 5 * HOUR]) {
      const made = player(WITH_OPEN_CALL)
      report(made, LIMITED)
      made.play('.report a drained')
      made.world.restart(5)
      made.world.wall += slept
      made.play('.boot a\n.tick a')
      expect(holds(made)).toHaveLength(slept === HOUR ? 1 : 0)
      made.world.wind(2 * HOUR)
      expect(made.play('tick a').includes('-> start a#2')).toBe(slept === HOUR)
    }
  })

  test('a process that wraps up does not wait for the limit', () => {
    const made = player(
      'spawn a interactive\nstart a\nreport a up\nhandle a SIGTERM message\nreport a model 1\nsignal SIGTERM a grace=5000',
    )
    expect(report(made, LIMITED)).toEqual({ type: 'ack', ack: 'stop' })
    expect(row(made).life).toMatchObject({ state: 'zombie', exit: { signal: 'SIGTERM', cause: 'person' } })
  })
})

describe('an external agent', () => {
  test('continues its turn when the limit is over', () => {
    const made = player('spawn a acp\nstart a\nreport a up session=s')
    expect(report(made, { type: 'turn.ended', turn: 1, outcome: 'error', error: 'limit', resumeAt: UNTIL })).toEqual({
      type: 'ack',
      ack: 'held',
    })
    expect(row(made)).toMatchObject({ progress: { turn: 1, turnOpen: true }, life: { drained: true } })
    made.world.wind(3 * HOUR)
    expect(made.play('tick a')).toContain('driver.proceed a#1')
  })

  test('that ended restarts suspended with its session, after its release', () => {
    const made = player('spawn a command lines\nstart a\nreport a up\nreport a session s')
    report(made, { type: 'exited', code: 1, osSignal: null, error: 'limit', resumeAt: UNTIL })
    expect(row(made).life).toMatchObject({ state: 'zombie', exit: { cause: 'limit', code: 1, resumeAt: UNTIL } })
    made.play('.released a')
    expect(row(made)).toMatchObject({
      pid: 2,
      sessionId: 's',
      life: { state: 'running', attached: false, holds: [{ reason: 'rate-limit', until: UNTIL, wake: true }] },
    })
    made.world.wind(3 * HOUR)
    expect(made.play('tick a')).toContain('-> start a#2')
  })

  test('that ended because its key was refused restarts suspended, until the user resumes it', () => {
    const made = player('spawn a command lines\nstart a\nreport a up\nreport a session s')
    report(made, { type: 'exited', code: 1, osSignal: null, error: 'not logged in', account: true })
    expect(row(made).life).toMatchObject({ state: 'zombie', exit: { cause: 'agent', code: 1, account: true } })
    made.play('.released a')
    expect(row(made)).toMatchObject({
      pid: 2,
      sessionId: 's',
      note: 'the account was refused: not logged in',
      life: { state: 'running', attached: false, holds: [{ reason: 'credentials', by: 'system' }] },
    })
    made.world.wind(3 * HOUR)
    made.play('.tick a')
    expect(statusOf(row(made))).toBe('suspended')
  })

  test.each([
    ['has no session', 'spawn a command lines\nstart a\nreport a up', 'failed'],
    ['was stopped by the user', 'spawn a command lines\nstart a\nreport a up\nreport a session s\nsignal SIGTERM a', 'stopped'],
  ])('that %s does not restart', (_, script, status) => {
    const made = player(script)
    report(made, { type: 'exited', code: 1, osSignal: null, error: 'limit', resumeAt: UNTIL })
    made.play('.released a')
    expect(statusOf(row(made))).toBe(status)
  })

  test('that was paused by the user when it ended stays paused after the limit', () => {
    const made = player('spawn a command lines\nstart a\nreport a up\nreport a session s\nsignal SIGPAUSE a')
    report(made, { type: 'exited', code: 1, osSignal: null, error: 'limit', resumeAt: UNTIL })
    made.play('.released a')
    expect(holds(made).map(({ reason }) => reason)).toEqual(['user', 'rate-limit'])
    made.world.wind(3 * HOUR)
    expect(made.play('tick a')).not.toContain('-> start')
    expect(holds(made).map(({ reason }) => reason)).toEqual(['user'])
  })

  test('that is killed while it waits does not restart', () => {
    const made = player('spawn a command lines\nstart a\nreport a up\nreport a session s')
    report(made, { type: 'exited', code: 1, osSignal: null, error: 'limit', resumeAt: UNTIL })
    made.play('.released a\n.signal SIGKILL a')
    made.world.wind(3 * HOUR)
    made.play('.tick a')
    expect(statusOf(row(made))).toBe('stopped')
  })
})

test('processes that wait for the same limit wake one after another', () => {
  const hold: Hold = { reason: 'rate-limit', by: 'system', at: 0, until: 1_000, wake: true }
  const times = ['000000', '7fffff', 'ffffff'].map((end) => wakeTimeOf(`01960000-0000-7000-8000-000000${end}`, hold))
  expect(times).toEqual([1_000, 1_000 + SPREAD / 2 - 1, 1_000 + SPREAD])
})

describe('the timer of the daemon', () => {
  function watching(): { clock: ManualClock; due: string[]; deadlines: Deadlines; at: number } {
    const made = player('spawn a\nstart a\nreport a up\nreport a model 1')
    report(made, LIMITED)
    made.play('.report a drained')
    const clock = new ManualClock()
    const due: string[] = []
    const deadlines = new Deadlines(clock, (uuid) => due.push(uuid))
    deadlines.update('a', row(made))
    return { clock, due, deadlines, at: (wallDeadlineOf(row(made)) ?? 0) - clock.now().wall }
  }

  test('reports a deadline on the wall clock when it is due', () => {
    const { clock, due, at } = watching()
    clock.wind(at - 1)
    expect(due).toEqual([])
    clock.wind(1)
    expect(due).toEqual(['a'])
    expect(clock.timers).toBe(0)
  })

  test('notices within a minute that the clock was set forward, and waits longer if it was set back', () => {
    const forward = watching()
    forward.clock.jump(3 * HOUR)
    forward.clock.wind(60_000)
    expect(forward.due).toEqual(['a'])
    const back = watching()
    back.clock.jump(-HOUR)
    back.clock.wind(back.at)
    expect(back.due).toEqual([])
    back.clock.wind(HOUR)
    expect(back.due).toEqual(['a'])
  })

  test('is not set without a waiting process', () => {
    const { clock, deadlines } = watching()
    deadlines.update('a', undefined)
    clock.wind(60_000)
    expect(clock.timers).toBe(0)
  })
})
