// The release order, in the facts and effects of every way to end: each step runs once, whichever cause comes first.
import { describe, expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'
import { RELEASE_ORDER } from '../../../../src/kernel/model/effects.ts'

/** The steps of the release order that a transcript shows, in the order of their occurrence. */
function stepsIn(transcript: string): string[] {
  const marks: readonly (readonly [RegExp, string])[] = [
    [/process\.reparented to PID 0/, 'orphans'],
    [/release cancel/, 'cancel'],
    [/release await/, 'await'],
    [/release channel/, 'channel'],
    [/release context/, 'context'],
    [/process\.reaped/, 'reap'],
    [/release remove/, 'remove'],
  ]
  const found = transcript.split('\n').flatMap((line) => marks.filter(([mark]) => mark.test(line)).map(([, name]) => name))
  return found
}

const SUBTREE = '.live a\n.live b under=a\n.live c under=a\n.report c exited 0'

describe('each step of the release order runs once after', () => {
  const ENDS: readonly (readonly [string, string])[] = [
    ['an exit of the agent', 'report a exited 0\nreport a exited 1\nreleased a\nreleased a'],
    ['an exit of the agent during a stop', 'signal SIGTERM a\nreport a exited 0\nsignal SIGKILL a\nreleased a'],
    ['two kills', 'signal SIGKILL a\nsignal SIGKILL a\nreport a exited SIGKILL\nreleased a\nboot a'],
    ['a stop of a suspended process', 'signal SIGPAUSE a\nsignal SIGTERM a\nreport a exited SIGKILL\nreleased a'],
    ['a failure of the driver to start', 'report a exited none error=boom\nreleased a'],
    ['the end of the last turn', 'report a ended 1\nreport a exited 0\nreleased a'],
    ['a release that first leaves surviving programs', 'report a exited 0\nreleased a survivors=7\nreleased a survivors=7\nreleased a'],
  ]

  test.each(ENDS)('%s', (_, script) => {
    const found = stepsIn(play(`${SUBTREE}\n${script}`))
    expect(found.filter((step) => step === 'orphans')).toHaveLength(2)
    expect(found.filter((step) => step !== 'orphans' && step !== 'reap')).toEqual(
      RELEASE_ORDER.filter((step) => step !== 'orphans' && step !== 'reap'),
    )
    expect(found.filter((step) => step === 'reap')).toHaveLength(1)
    expect(found.lastIndexOf('orphans')).toBeLessThan(found.indexOf('cancel'))
    expect(found.indexOf('await')).toBeLessThan(found.indexOf('reap'))
    expect(found.indexOf('reap')).toBeLessThan(found.indexOf('remove'))
  })

  test('a time limit that ends the process', () => {
    const found = stepsIn(play('.live a timeoutMs=50\n.live b under=a\nwind 60\nwind 60\nreport a exited SIGTERM\nreleased a'))
    expect(found).toEqual(['orphans', 'cancel', 'await', 'reap', 'channel', 'context', 'remove'])
  })

  test('a kill before the start, which has no program to cancel', () => {
    expect(stepsIn(play('.spawn a\nsignal SIGKILL a\nstart a'))).toEqual(['reap', 'channel', 'context', 'remove'])
  })
})

test('orphans move to PID 0 before the end of their parent is recorded, and the payer of the parent pays for them', () => {
  expect(
    play(`
    .live a
    .live b under=a
    .live c under=b
    .report c exited 0
    report b exited 3
    released c
    released b
  `),
  ).toMatchInlineSnapshot(`
    "
    > report b exited 3
    c.8 process.reparented to PID 0, paid by a
    a.8 child.spent b turns 2
    b.10 process.exited 3 exit code 3 (agent)
    a.9 child.exited b 3 exit code 3
      -> release cancel b#2
      -> release await b#2
      -> ack ok
      == b zombie
    > released c
    c.9 process.reaped
      -> release channel c#3
      -> release context c#3
      -> release remove c#3
      == c completed
    > released b
    b.11 process.reaped
      -> release channel b#2
      -> release context b#2
      -> release remove b#2
      == b failed
    "
  `)
})

test('a surviving program keeps the row a zombie', () => {
  expect(
    play(`
    .live a
    .report a exited 0
    released a survivors=4711,4712
    released a
  `),
  ).toMatchInlineSnapshot(`
    "
    > released a survivors=4711,4712
    a.8 process.error still alive after the kill: PID 4711, 4712
    > released a
    a.9 process.reaped
      -> release channel a#1
      -> release context a#1
      -> release remove a#1
      == a completed
    "
  `)
})

test('a signal to a zombie with surviving programs is refused with their PIDs and a hint', () => {
  const player = new TranscriptPlayer()
  player.play('.live a command\n.signal SIGKILL a\n.report a exited SIGKILL\n.released a survivors=4711,4712,4711')
  expect(player.world.row('a')?.note).toBe('still alive after the kill: PID 4711, 4712')
  const [refused] = player.world.step({
    type: 'signal',
    reply: 1,
    by: 'user',
    uuid: 'a',
    signal: 'SIGKILL',
    subtree: false,
    graceMs: null,
    freeze: false,
  }).effects
  expect(refused).toMatchObject({
    type: 'refuse',
    code: 'NOT_FOUND',
    message: 'process 1 has ended; still alive after the kill: PID 4711, 4712',
    hint: expect.stringContaining('free it by hand') as string,
  })
})
