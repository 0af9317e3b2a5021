// The words for what is seen of a running process: which one, when, and what the kernel makes of it.
import { describe, expect, test } from 'vitest'
import { LIVENESS, judge, thresholdsOf } from '../../src/kernel/liveness.ts'
import { statusOf } from '../../src/kernel/status.ts'
import { Player } from '../support/kernel/transcript.ts'
import { kernelSpec } from '../support/kernel/world.ts'
import type { LivenessPolicy, LivenessWord, Seen } from '../../src/kernel/liveness.ts'
import type { Process, ProcessSpec } from '../../src/kernel/types.ts'

const MIN = 60_000
const SEEN: Seen = { outputAt: 0, progressAt: 0, waitingAt: null, stoppedAt: null, retryAt: null }

describe('the word', () => {
  const cases: readonly (readonly [what: string, seen: Partial<Seen>, at: number, word: LivenessWord, since: number | null])[] = [
    ['it has just written', { outputAt: 60 * MIN, progressAt: 60 * MIN }, 60 * MIN, 'alive', null],
    ['no byte for just under five minutes', {}, 5 * MIN - 1, 'alive', null],
    ['no byte for five minutes', {}, 5 * MIN, 'silent', 0],
    ['no byte for fifteen minutes: nothing can have got on', {}, 15 * MIN, 'stalled', 0],
    ['it prints, and no step ends', { outputAt: 15 * MIN, progressAt: MIN }, 16 * MIN, 'stalled', MIN],
    ['it prints, and the step is young', { outputAt: 15 * MIN, progressAt: 2 * MIN }, 16 * MIN, 'alive', null],
    ['a slow model that streams', { outputAt: 59 * MIN, progressAt: 59 * MIN }, 60 * MIN, 'alive', null],
    ['it said that it tries again in ten minutes', { retryAt: 10 * MIN }, 14 * MIN, 'alive', null],
    ['it said so, and did not', { retryAt: 10 * MIN }, 15 * MIN, 'silent', 10 * MIN],
    ['a person was asked just now', { waitingAt: 60 * MIN }, 61 * MIN, 'alive', null],
    ['a person was asked ten minutes ago', { waitingAt: 60 * MIN }, 70 * MIN, 'waiting', 60 * MIN],
    ['stopped by somebody, just now', { stoppedAt: MIN }, MIN + 9_999, 'alive', null],
    ['stopped by somebody', { stoppedAt: MIN }, MIN + 10_000, 'stopped', MIN],
    ['stopped while a person is asked', { stoppedAt: MIN, waitingAt: 0 }, 20 * MIN, 'stopped', MIN],
    ['a program of it is stopped, and it writes all the same', { stoppedAt: MIN, outputAt: 2 * MIN, progressAt: 2 * MIN }, 3 * MIN, 'alive', null],
  ]

  test.each(cases)('%s', (_, seen, at, word, since) => {
    const judged = judge({ ...SEEN, ...seen }, LIVENESS, at)
    expect(judged.word).toBe(word)
    if (since !== null) expect(judged.since).toBe(since)
  })

  test('it says when to look again, and is another one then', () => {
    for (const [, seen, at] of cases) {
      const judged = judge({ ...SEEN, ...seen }, LIVENESS, at)
      if (judged.dueAt === null) continue
      expect(judged.dueAt).toBeGreaterThan(at)
      expect(judge({ ...SEEN, ...seen }, LIVENESS, judged.dueAt - 1).word).toBe(judged.word)
      expect(judge({ ...SEEN, ...seen }, LIVENESS, judged.dueAt).word).not.toBe(judged.word)
    }
  })

  test('what is switched off is never said', () => {
    const off = { ...LIVENESS, silentMs: null, stalledMs: null, waitingMs: null, stoppedMs: null }
    for (const waitingAt of [null, 0]) expect(judge({ ...SEEN, waitingAt, stoppedAt: 0 }, off, 1e12)).toMatchObject({ word: 'alive', dueAt: null })
  })

  test('a supervisor has no program and nothing to say', () => {
    expect(judge({ ...SEEN, waitingAt: 0, stoppedAt: 0 }, thresholdsOf(kernelSpec({ driver: 'supervisor' })), 1e12).word).toBe('alive')
  })

  test('a plain command may be silent for ever, unless somebody says otherwise', () => {
    const spec: ProcessSpec = kernelSpec({ driver: 'command', argv: ['serve'] })
    expect(judge(SEEN, thresholdsOf(spec), 1e12).word).toBe('alive')
    expect(judge(SEEN, thresholdsOf({ ...spec, liveness: { silentMs: MIN, stalledMs: MIN } }), MIN).word).toBe('silent')
    expect(judge(SEEN, thresholdsOf({ ...spec, format: 'claude' }), 1e12).word).toBe('stalled')
  })
})

/** A process that is at work, with a policy. */
function working(policy: LivenessPolicy, options = ''): Player {
  const player = new Player()
  player.play(`.spawn a ${options}`)
  const row = player.world.row('a') as Process
  player.world.overlay.put({ ...row, spec: { ...row.spec, liveness: { policy } } })
  player.play('.start a\n.report a up')
  return player
}

function judged(player: Player, word: LivenessWord, pid = 1): string[] {
  const { changes, effects } = player.world.step({ type: 'liveness', uuid: 'a', pid, word, since: 5, evidence: 'in bash of step 1' })
  return [...changes.facts.map(({ body }) => body.type), ...effects.map(({ type }) => type)]
}

const row = (player: Player): Process => player.world.row('a') as Process

describe('the kernel', () => {
  test('records a change once, and takes it back when it is alive again', () => {
    const player = working('warn')
    expect(judged(player, 'silent')).toEqual(['liveness.changed'])
    expect(row(player).liveness).toEqual({ word: 'silent', since: 5, evidence: 'in bash of step 1' })
    expect(judged(player, 'silent')).toEqual([])
    expect(judged(player, 'alive')).toEqual(['liveness.changed'])
    expect('liveness' in row(player)).toBe(false)
    expect(judged(player, 'alive')).toEqual([])
  })

  test('says nothing of what is suspended, is ending, or was another incarnation', () => {
    const player = working('restart')
    expect(judged(player, 'stalled', 7)).toEqual([])
    player.play('.signal SIGPAUSE a')
    expect(judged(player, 'stalled')).toEqual([])
    player.play('.resume a\n.signal SIGTERM a')
    expect(judged(player, 'stalled')).toEqual([])
  })

  test('a pause takes the word away', () => {
    const player = working('warn')
    judged(player, 'silent')
    player.play('.signal SIGPAUSE a')
    expect(row(player).liveness).toBeUndefined()
  })

  test('warning is all that it does, unless a policy says more; and that acts on what is stalled alone', () => {
    expect(judged(working('warn'), 'stalled')).toEqual(['liveness.changed'])
    for (const word of ['silent', 'waiting', 'stopped'] as const) {
      for (const policy of ['interrupt', 'restart'] as const) expect(judged(working(policy), word)).toEqual(['liveness.changed'])
    }
  })

  test('interrupt ends the turn of what takes messages', () => {
    expect(judged(working('interrupt', 'interactive'), 'stalled')).toEqual(['liveness.changed', 'signal.sent', 'driver.interrupt'])
  })

  test('restart ends it as failed, so that its restart policy decides', () => {
    const player = working('restart')
    expect(judged(player, 'stalled')).toEqual(['liveness.changed', 'process.stopping', 'driver.stop'])
    player.play('.report a exited 0\n.released a')
    const { life } = row(player)
    expect(life).toMatchObject({ exit: { code: 1, reason: 'stalled in bash of step 1', cause: 'agent' } })
    expect(statusOf(row(player))).toBe('failed')
  })
})
