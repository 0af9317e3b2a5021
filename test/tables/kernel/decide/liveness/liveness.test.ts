// The liveness of a running process: each judgement, its time, and the action of the kernel.
import { describe, expect, test } from 'vitest'
import { DEFAULT_THRESHOLDS, judgeLiveness, thresholdsOf } from '../../../../../src/kernel/decide/liveness/liveness.ts'
import { statusOf } from '../../../../../src/kernel/model/status.ts'
import { TranscriptPlayer } from '../../../../support/kernel/transcript.ts'
import { kernelSpec } from '../../../../support/kernel/world.ts'
import type { Observations } from '../../../../../src/kernel/decide/liveness/liveness.ts'
import type { Process } from '../../../../../src/kernel/model/process.ts'
import type { LivenessPolicy, LivenessWord } from '../../../../../src/kernel/model/words.ts'
import type { ProcessSpec } from '../../../../../src/kernel/model/process-spec.ts'
import { changedSpec } from '../../../../support/spec-changes.ts'

const MINUTE_MS = 60_000
const SEEN: Observations = { outputAt: 0, progressAt: 0, waitingAt: null, stoppedAt: null, retryAt: null }

describe('the judgement', () => {
  const cases: readonly (readonly [what: string, seen: Partial<Observations>, at: number, word: LivenessWord, since: number | null])[] = [
    ['a process that has just written', { outputAt: 60 * MINUTE_MS, progressAt: 60 * MINUTE_MS }, 60 * MINUTE_MS, 'alive', null],
    ['no output for just under five minutes', {}, 5 * MINUTE_MS - 1, 'alive', null],
    ['no output for five minutes', {}, 5 * MINUTE_MS, 'silent', 0],
    ['no output, and so no progress, for fifteen minutes', {}, 15 * MINUTE_MS, 'stalled', 0],
    [
      'output, but no progress for fifteen minutes',
      { outputAt: 15 * MINUTE_MS, progressAt: MINUTE_MS },
      16 * MINUTE_MS,
      'stalled',
      MINUTE_MS,
    ],
    ['output, and recent progress', { outputAt: 15 * MINUTE_MS, progressAt: 2 * MINUTE_MS }, 16 * MINUTE_MS, 'alive', null],
    ['a slow model that streams', { outputAt: 59 * MINUTE_MS, progressAt: 59 * MINUTE_MS }, 60 * MINUTE_MS, 'alive', null],
    ['a retry that is due in ten minutes', { retryAt: 10 * MINUTE_MS }, 14 * MINUTE_MS, 'alive', null],
    ['an overdue retry', { retryAt: 10 * MINUTE_MS }, 15 * MINUTE_MS, 'silent', 10 * MINUTE_MS],
    ['the user was asked just now', { waitingAt: 60 * MINUTE_MS }, 61 * MINUTE_MS, 'alive', null],
    ['the user was asked ten minutes ago', { waitingAt: 60 * MINUTE_MS }, 70 * MINUTE_MS, 'waiting', 60 * MINUTE_MS],
    ['stopped by another program, just now', { stoppedAt: MINUTE_MS }, MINUTE_MS + 9_999, 'alive', null],
    ['stopped by another program', { stoppedAt: MINUTE_MS }, MINUTE_MS + 10_000, 'stopped', MINUTE_MS],
    ['stopped while the user is asked', { stoppedAt: MINUTE_MS, waitingAt: 0 }, 20 * MINUTE_MS, 'stopped', MINUTE_MS],
    [
      'a stopped program of a process that still writes',
      { stoppedAt: MINUTE_MS, outputAt: 2 * MINUTE_MS, progressAt: 2 * MINUTE_MS },
      3 * MINUTE_MS,
      'alive',
      null,
    ],
  ]

  test.each(cases)('for %s', (_, observations, nowMs, expectedWord, expectedSince) => {
    const judgement = judgeLiveness({ ...SEEN, ...observations }, DEFAULT_THRESHOLDS, nowMs)
    expect(judgement.word).toBe(expectedWord)
    if (expectedSince !== null) expect(judgement.since).toBe(expectedSince)
  })

  test('returns the time at which the judgement may change next', () => {
    for (const [, observations, at] of cases) {
      const judged = judgeLiveness({ ...SEEN, ...observations }, DEFAULT_THRESHOLDS, at)
      if (judged.dueAt === null) continue
      expect(judged.dueAt).toBeGreaterThan(at)
      expect(judgeLiveness({ ...SEEN, ...observations }, DEFAULT_THRESHOLDS, judged.dueAt - 1).word).toBe(judged.word)
      expect(judgeLiveness({ ...SEEN, ...observations }, DEFAULT_THRESHOLDS, judged.dueAt).word).not.toBe(judged.word)
    }
  })

  test('a disabled check never reports a problem', () => {
    const allOff = { ...DEFAULT_THRESHOLDS, silentMs: null, stalledMs: null, waitingMs: null, stoppedMs: null }
    for (const waitingAt of [null, 0])
      expect(judgeLiveness({ ...SEEN, waitingAt, stoppedAt: 0 }, allOff, 1e12)).toMatchObject({ word: 'alive', dueAt: null })
  })

  test('a supervisor has no checks', () => {
    expect(judgeLiveness({ ...SEEN, waitingAt: 0, stoppedAt: 0 }, thresholdsOf(kernelSpec({ driver: 'supervisor' })), 1e12).word).toBe(
      'alive',
    )
  })

  test('a plain command may be silent forever, unless its settings forbid that', () => {
    const spec: ProcessSpec = kernelSpec({ driver: 'command', argv: ['serve'] })
    expect(judgeLiveness(SEEN, thresholdsOf(spec), 1e12).word).toBe('alive')
    expect(judgeLiveness(SEEN, thresholdsOf({ ...spec, liveness: { silentMs: MINUTE_MS, stalledMs: MINUTE_MS } }), MINUTE_MS).word).toBe(
      'silent',
    )
    expect(judgeLiveness(SEEN, thresholdsOf({ ...spec, format: 'claude' }), 1e12).word).toBe('stalled')
  })
})

/** A working process with a liveness policy. */
function workingPlayer(policy: LivenessPolicy, options = ''): TranscriptPlayer {
  const player = new TranscriptPlayer()
  player.play(`.spawn a ${options}`)
  const row = player.world.row('a') as Process
  player.world.overlay.put({ ...row, spec: changedSpec(row.spec, { liveness: { policy } }) })
  player.play('.start a\n.report a up')
  return player
}

function judgeAs(player: TranscriptPlayer, word: LivenessWord, pid = 1): string[] {
  const { changes, effects } = player.world.step({
    type: 'liveness',
    uuid: 'a',
    pid,
    word,
    since: 5,
    evidence: 'in bash of step 1',
  })
  return [...changes.facts.map(({ body }) => body.type), ...effects.map(({ type }) => type)]
}

const rowOf = (player: TranscriptPlayer): Process => player.world.row('a') as Process

describe('the kernel', () => {
  test('records a change once, and clears it when the process is alive again', () => {
    const player = workingPlayer('warn')
    expect(judgeAs(player, 'silent')).toEqual(['liveness.changed'])
    expect(rowOf(player).liveness).toEqual({ word: 'silent', since: 5, evidence: 'in bash of step 1' })
    expect(judgeAs(player, 'silent')).toEqual([])
    expect(judgeAs(player, 'alive')).toEqual(['liveness.changed'])
    expect('liveness' in rowOf(player)).toBe(false)
    expect(judgeAs(player, 'alive')).toEqual([])
  })

  test('reports nothing about suspended and ending processes, or of another incarnation', () => {
    const player = workingPlayer('restart')
    expect(judgeAs(player, 'stalled', 7)).toEqual([])
    player.play('.signal SIGPAUSE a')
    expect(judgeAs(player, 'stalled')).toEqual([])
    player.play('.resume a\n.signal SIGTERM a')
    expect(judgeAs(player, 'stalled')).toEqual([])
  })

  test('a pause clears the liveness problem', () => {
    const player = workingPlayer('warn')
    judgeAs(player, 'silent')
    player.play('.signal SIGPAUSE a')
    expect(rowOf(player).liveness).toBeUndefined()
  })

  test('only warns by default; other policies act only on stalled processes', () => {
    expect(judgeAs(workingPlayer('warn'), 'stalled')).toEqual(['liveness.changed'])
    for (const word of ['silent', 'waiting', 'stopped'] as const) {
      for (const policy of ['interrupt', 'restart'] as const) expect(judgeAs(workingPlayer(policy), word)).toEqual(['liveness.changed'])
    }
  })

  test('interrupt ends the turn of a process that takes messages', () => {
    expect(judgeAs(workingPlayer('interrupt', 'interactive'), 'stalled')).toEqual(['liveness.changed', 'signal.sent', 'driver.interrupt'])
  })

  test('restart ends the process as failed, so that its restart policy decides', () => {
    const player = workingPlayer('restart')
    expect(judgeAs(player, 'stalled')).toEqual(['liveness.changed', 'process.stopping', 'driver.stop'])
    player.play('.report a exited 0\n.released a')
    const { life } = rowOf(player)
    expect(life).toMatchObject({ exit: { code: 1, reason: 'stalled in bash of step 1', cause: 'agent' } })
    expect(statusOf(rowOf(player))).toBe('failed')
  })
})
