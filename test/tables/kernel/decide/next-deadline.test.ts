// The next deadline of a process: every kind, and its removal after its action.
import { describe, expect, test } from 'vitest'
import { DRAIN_MS, deadlineOf } from '../../../../src/kernel/decide/next-deadline.ts'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'

const DEADLINES: readonly { readonly what: string; readonly script: string; readonly at: number | null }[] = [
  { what: 'created', script: '.spawn a timeoutMs=50', at: null },
  { what: 'no limit', script: '.live a', at: null },
  { what: 'a partly used time limit', script: '.live a timeoutMs=50', at: 1_040 },
  { what: 'a time limit that was warned of', script: '.live a timeoutMs=50\n.wind 40\n.tick a', at: 1_050 },
  { what: 'a time limit, suspended and drained', script: '.live a timeoutMs=50\n.signal SIGPAUSE a\n.report a drained', at: null },
  {
    what: 'a time limit after a pause of 100 ms',
    script: '.live a timeoutMs=50 warnAt=1\n.wind 20\n.signal SIGPAUSE a\n.wind 100\n.resume a',
    at: 1_150,
  },
  { what: 'a drain', script: '.live a\n.signal SIGPAUSE a', at: 1_000 + DRAIN_MS },
  {
    what: 'a drain that began with the first of two holds',
    script: '.live a\n.signal SIGPAUSE a\n.wind 10\n.hold a loop',
    at: 1_000 + DRAIN_MS,
  },
  { what: 'a drain that is over', script: '.live a\n.signal SIGPAUSE a\n.report a frozen', at: null },
  { what: 'a drain before the daemon stops', script: '.live a\n.hold a daemon-shutdown', at: null },
  { what: 'held without a driver', script: '.spawn a\n.signal SIGPAUSE a', at: null },
  { what: 'a signal that waits', script: '.live a\n.mask a SIGTERM\n.signal SIGTERM a', at: 11_000 },
  { what: 'the nearest of three', script: '.live a timeoutMs=60000\n.mask a SIGTERM\n.signal SIGTERM a', at: 11_000 },
  { what: 'an answer that can be taken back', script: '.live a\n.report a asks q1\n.answer a text=42 undo=50', at: 1_050 },
  {
    what: 'such an answer in a pause',
    script: '.live a\n.report a asks q1\n.answer a text=42 undo=50\n.signal SIGPAUSE a\n.report a frozen',
    at: null,
  },
  { what: 'stopping', script: '.live a timeoutMs=50\n.signal SIGTERM a', at: null },
  { what: 'zombie', script: '.live a timeoutMs=50\n.report a exited 0', at: null },
]

function rowOf(player: TranscriptPlayer): Process {
  const row = player.world.row('a')
  if (!row) throw new Error('no row')
  return row
}

describe('the deadline of a process', () => {
  test.each(DEADLINES)('$what', ({ script, at }) => {
    const player = new TranscriptPlayer()
    player.play(script)
    expect(deadlineOf(rowOf(player))).toBe(at)
  })

  test.each(DEADLINES.filter(({ at }) => at !== null))('$what: the action removes the deadline', ({ script, at }) => {
    const player = new TranscriptPlayer()
    player.play(script)
    player.world.wind((at ?? 0) - player.world.mono)
    player.play('.tick a')
    expect(deadlineOf(rowOf(player)) ?? Infinity).toBeGreaterThan(player.world.mono)
  })

  test('a tick before the time changes nothing', () => {
    expect(play('.live a timeoutMs=50 warnAt=1\n.wind 49\ntick a\ntick nobody')).toMatchInlineSnapshot(`
      "
      > tick a
      > tick nobody
      "
    `)
  })

  test('a time limit ends a process without a driver at once', () => {
    expect(
      play(`
      .spawn a timeoutMs=50
      .signal SIGPAUSE a
      .resume a
      wind 50
      start a
    `),
    ).toMatchInlineSnapshot(`
      "
      > wind 50
      tick a
      a.7 process.exited 1 timed out (limit)
      a.8 process.reaped
        -> release channel a#1
        -> release context a#1
        -> release remove a#1
        == a failed
      > start a
      "
    `)
  })
})
