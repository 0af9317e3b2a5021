// What a daemon's start makes of each row: state × holds × stopping × driver × survivors, and what it wakes by itself.
import { describe, expect, test } from 'vitest'
import { Player, play } from '../support/kernel/transcript.ts'
import { statusOf } from '../../src/kernel/status.ts'

/** How a row came to be, and what it is after a crash: status, cause of the end, and whether its PID is new. */
const CASES: readonly { readonly was: string; readonly script: string; readonly status: string; readonly reason?: string; readonly newPid?: boolean; readonly survived: string }[] = [
  { was: 'created', script: '.spawn a DRIVER', status: 'interrupted', reason: 'interrupted', survived: 'zombie' },
  { was: 'starting', script: '.spawn a DRIVER\n.start a', status: 'interrupted', reason: 'interrupted', survived: 'zombie' },
  { was: 'working', script: '.live a DRIVER', status: 'interrupted', reason: 'interrupted', survived: 'zombie' },
  { was: 'stopping', script: '.live a DRIVER\n.signal SIGTERM a', status: 'stopped', reason: 'SIGTERM from user', survived: 'zombie' },
  { was: 'stopping by its time limit', script: '.live a DRIVER timeoutMs=5\n.wind 5', status: 'failed', reason: 'timed out', survived: 'zombie' },
  { was: 'suspended and stopping', script: '.live a DRIVER\n.signal SIGPAUSE a\n.signal SIGTERM a', status: 'stopped', reason: 'context cancelled while paused', survived: 'zombie' },
  { was: 'asked by a person to stop, which it blocks', script: '.live a DRIVER\n.mask a SIGTERM\n.signal SIGTERM a', status: 'stopped', reason: 'SIGTERM from user', survived: 'zombie' },
  { was: 'interrupted by a person, which it ignores', script: '.live a DRIVER\n.handle a SIGINT ignore\n.signal SIGINT a', status: 'stopped', reason: 'SIGINT from user', survived: 'zombie' },
  { was: 'paused before the start', script: '.spawn a DRIVER\n.signal SIGPAUSE a', status: 'suspended', newPid: true, survived: 'suspended' },
  { was: 'waiting for keys', script: '.spawn a DRIVER\n.start a missing=KEY', status: 'suspended', newPid: true, survived: 'suspended' },
  { was: 'zombie', script: '.live a DRIVER\n.report a exited 3', status: 'failed', reason: 'exit code 3', survived: 'zombie' },
  { was: 'dead', script: '.live a DRIVER\n.report a exited 0\n.released a', status: 'completed', reason: 'completed', survived: 'completed' },
]

function bootOf(script: string, driver: string, survivors: string): { readonly status: string; readonly reason: string | undefined; readonly pid: number; readonly note: string | null } {
  const player = new Player()
  player.play(script.replace('DRIVER', driver))
  player.play(`.boot a${survivors}`)
  const row = player.world.row('a')
  if (!row) throw new Error('the row is gone')
  const { life } = row
  return { status: statusOf(row), reason: life.state === 'zombie' || life.state === 'dead' ? life.exit.reason : undefined, pid: row.pid, note: row.note }
}

describe.each(['native', 'acp', 'command'])('a %s that was', (driver) => {
  test.each(CASES)('$was', ({ script, status, reason, newPid, survived }) => {
    expect(bootOf(script, driver, '')).toMatchObject({ status, reason, pid: newPid ? 2 : 1 })
    const stuck = bootOf(script, driver, ' survivors=77')
    expect(stuck.status).toBe(survived)
    if (survived === 'zombie' || survived === 'suspended') expect(stuck.note).toContain('77')
  })

  test('suspended while it worked', () => {
    const suspended = bootOf('.live a DRIVER\n.signal SIGPAUSE a', driver, '')
    if (driver === 'native') expect(suspended).toMatchObject({ status: 'suspended', pid: 2 })
    else expect(suspended).toMatchObject({ status: 'interrupted', pid: 1 })
  })

  test('suspended while it worked, and had told its session', () => {
    const suspended = bootOf('.live a DRIVER\n.report a session s1\n.signal SIGPAUSE a', driver, '')
    if (driver === 'command') expect(suspended).toMatchObject({ status: 'interrupted', pid: 1 })
    else expect(suspended).toMatchObject({ status: 'suspended', pid: 2 })
  })
})

test('the kinds of end keep their words: nothing of a driver is asked at a boot', () => {
  expect(play(`
    .live a
    .live b under=a
    .report a model 1
    .signal SIGPAUSE b
    boot a
    boot b
  `)).toMatchInlineSnapshot(`
    "
    > boot a
    a.10 child.spent b turns 1
    b.9 process.reparented to PID 0
    a.11 process.exited 1 interrupted (daemon)
    a.12 process.reaped
      -> release channel a#1
      -> release context a#1
      -> release remove a#1
      == a interrupted
    > boot b
    b.10 process.rehydrated #3
    "
  `)
})

test('a graceful stop holds what runs and what is about to; the next start wakes what had just that hold', () => {
  expect(play(`
    .live a
    .live b
    .signal SIGPAUSE b
    .spawn c
    .live d
    .signal SIGTERM d
    hold all daemon-shutdown
    start c
    boot a
    boot b
    boot c
    boot d
    release all daemon-shutdown
    start a
    start c
    report a up
  `)).toMatchInlineSnapshot(`
    "
    > hold all daemon-shutdown
    a.7 process.held daemon-shutdown/system
    b.9 process.held daemon-shutdown/system
    c.3 process.started unattached
    c.4 process.held daemon-shutdown/system
      -> driver.pause a#1
      == a suspended
      == c suspended
    > start c
    > boot a
    a.8 process.rehydrated #5
    > boot b
    b.10 process.rehydrated #6
    > boot c
    c.5 process.rehydrated #7
    > boot d
    d.9 process.exited 143 SIGTERM from user (person)
    d.10 process.reaped
      -> release channel d#4
      -> release context d#4
      -> release remove d#4
      == d stopped
    > release all daemon-shutdown
    a.9 process.released daemon-shutdown/system
    b.11 process.released daemon-shutdown/system
    c.6 process.released daemon-shutdown/system
      -> start a#5
      -> start c#7
      == a starting
      == c starting
    > start a
    a.10 process.attached
      -> driver.start a#5
    > start c
    c.7 process.attached
      -> driver.start c#7
    > report a up
    a.11 process.ready turn 1
    a.12 process.working turn 1
      -> driver.proceed a#5 turn 1
      -> ack ok
      == a working
    "
  `)
})

test('a signal of a person that was put off is due at once after a restart', () => {
  const player = new Player()
  player.play(`
    .wind 1000000
    .live a
    .mask a SIGTERM
    .signal SIGPAUSE a
    .signal SIGTERM a
    .boot a
  `)
  player.world.mono = 5
  expect(player.play('wind 0')).toMatchInlineSnapshot(`
    "
    > wind 0
    tick a
    a.13 signal.unpended SIGTERM
    a.14 signal.sent SIGTERM by user: default
    a.15 process.exited 1 context cancelled while paused (person)
    a.16 process.reaped
      -> release channel a#2
      -> release context a#2
      -> release remove a#2
      == a stopped
    "
  `)
})

test('the active time of an interrupted process does not count its pauses, and ends with its last activity', () => {
  const player = new Player()
  player.play(`
    .live a
    .wind 1000
    .signal SIGPAUSE a
    .wind 3600000
    .resume a
    .wind 500
    .report a model 1
    .wind 90000
  `)
  player.world.mono = 5
  player.play('.boot a')
  expect(player.world.row('a')?.clock.elapsedMs).toBe(1500)
})
