// What a starting daemon does with each row: by state, holds, stopping, driver and survivors, and which processes it resumes.
import { describe, expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'
import { statusOf } from '../../../../src/kernel/model/status.ts'

/** Each row: a script, then the status after a crash, the reason of the end, whether the PID is new, and the status if programs survive. */
const CASES: readonly {
  readonly was: string
  readonly script: string
  readonly status: string
  readonly reason?: string
  readonly newPid?: boolean
  readonly survived: string
}[] = [
  { was: 'created', script: '.spawn a DRIVER', status: 'interrupted', reason: 'interrupted', survived: 'zombie' },
  { was: 'starting', script: '.spawn a DRIVER\n.start a', status: 'interrupted', reason: 'interrupted', survived: 'zombie' },
  { was: 'working', script: '.live a DRIVER', status: 'interrupted', reason: 'interrupted', survived: 'zombie' },
  { was: 'stopping', script: '.live a DRIVER\n.signal SIGTERM a', status: 'stopped', reason: 'SIGTERM from user', survived: 'zombie' },
  {
    was: 'stopping by its time limit',
    script: '.live a DRIVER timeoutMs=5\n.wind 5',
    status: 'failed',
    reason: 'timed out',
    survived: 'zombie',
  },
  {
    was: 'suspended and stopping',
    script: '.live a DRIVER\n.signal SIGPAUSE a\n.signal SIGTERM a',
    status: 'stopped',
    reason: 'context cancelled while paused',
    survived: 'zombie',
  },
  {
    was: 'asked by the user to stop, which it blocks',
    script: '.live a DRIVER\n.mask a SIGTERM\n.signal SIGTERM a',
    status: 'stopped',
    reason: 'SIGTERM from user',
    survived: 'zombie',
  },
  {
    was: 'interrupted by the user, which it ignores',
    script: '.live a DRIVER\n.handle a SIGINT ignore\n.signal SIGINT a',
    status: 'stopped',
    reason: 'SIGINT from user',
    survived: 'zombie',
  },
  {
    was: 'paused before the start',
    script: '.spawn a DRIVER\n.signal SIGPAUSE a',
    status: 'suspended',
    newPid: true,
    survived: 'suspended',
  },
  { was: 'waiting for keys', script: '.spawn a DRIVER\n.start a missing=KEY', status: 'suspended', newPid: true, survived: 'suspended' },
  { was: 'zombie', script: '.live a DRIVER\n.report a exited 3', status: 'failed', reason: 'exit code 3', survived: 'zombie' },
  {
    was: 'dead',
    script: '.live a DRIVER\n.report a exited 0\n.released a',
    status: 'completed',
    reason: 'completed',
    survived: 'completed',
  },
]

const LOST = 'it has not run, and its input was lost with the daemon'

function bootOf(
  script: string,
  driver: string,
  survivors: string,
): { readonly status: string; readonly reason: string | undefined; readonly pid: number; readonly note: string | null } {
  const player = new TranscriptPlayer()
  player.play(script.replace('DRIVER', driver))
  player.play(`.boot a${survivors}`)
  const row = player.world.row('a')
  if (!row) throw new Error('the row is gone')
  const { life } = row
  return {
    status: statusOf(row),
    reason: life.state === 'zombie' || life.state === 'dead' ? life.exit.reason : undefined,
    pid: row.pid,
    note: row.note,
  }
}

describe.each(['native', 'acp', 'command'])('a process of the driver %s', (driver) => {
  test.each(CASES)('$was', ({ script, status, reason, newPid, survived }) => {
    expect(bootOf(script, driver, '')).toMatchObject({ status, reason, pid: newPid ? 2 : 1 })
    const stuck = bootOf(script, driver, ' survivors=77')
    expect(stuck.status).toBe(survived)
    if (survived === 'zombie' || survived === 'suspended') expect(stuck.note).toContain('77')
  })

  test('with a program that may still run has a note that says why the program was not signalled, unless it is native', () => {
    for (const [doubt, words] of [
      ['unowned', 'may still run'],
      ['stale', 'belongs to another program'],
    ] as const) {
      const player = new TranscriptPlayer()
      player.play(`.live a ${driver}\n.boot a doubt=${doubt}`)
      const notes = (player.world.journal.get('a') ?? []).flatMap(({ body }) => (body.type === 'process.note' ? [body.text] : []))
      expect(notes).toEqual(driver === 'native' ? [] : [expect.stringContaining(words)])
    }
  })

  test('that was suspended while it worked, without a session, is interrupted unless it is native', () => {
    const suspended = bootOf('.live a DRIVER\n.signal SIGPAUSE a', driver, '')
    if (driver === 'native') expect(suspended).toMatchObject({ status: 'suspended', pid: 2 })
    else expect(suspended).toMatchObject({ status: 'interrupted', pid: 1 })
  })

  test('that was suspended while it worked, after it reported its session, stays suspended unless it is a command', () => {
    const suspended = bootOf('.live a DRIVER\n.report a session s1\n.signal SIGPAUSE a', driver, '')
    if (driver === 'command') expect(suspended).toMatchObject({ status: 'interrupted', pid: 1 })
    else expect(suspended).toMatchObject({ status: 'suspended', pid: 2 })
  })
})

test.each([
  ['created', '.spawn a command input', 'interrupted', LOST],
  ['paused before the start', '.spawn a command input\n.signal SIGPAUSE a', 'interrupted', LOST],
  ['an agent that was paused before the start', '.spawn a command lines input\n.signal SIGPAUSE a', 'interrupted', LOST],
  ['running, so it has read its input', '.live a command input', 'interrupted', undefined],
  ['stopped by the user', '.spawn a command input\n.mask a SIGTERM\n.signal SIGTERM a', 'stopped', undefined],
  ['an agent with a session', '.live a command lines input\n.report a session s1\n.signal SIGPAUSE a', 'suspended', undefined],
])('a command with input, which no later incarnation has: %s', (_, script, status, error) => {
  const player = new TranscriptPlayer()
  player.play(`${script}\n.boot a`)
  const row = player.world.row('a')
  if (!row) throw new Error('the row is gone')
  expect([statusOf(row), row.life.state === 'dead' ? row.life.exit.error : undefined]).toEqual([status, error])
})

test('an interrupted process exits, and its suspended child gets a new PID', () => {
  expect(
    play(`
    .live a
    .live b under=a
    .report a model 1
    .signal SIGPAUSE b
    boot a
    boot b
  `),
  ).toMatchInlineSnapshot(`
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

test('an orderly stop holds running and starting processes; the next start wakes those without other holds', () => {
  expect(
    play(`
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
  `),
  ).toMatchInlineSnapshot(`
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

test('a deferred signal of the user acts at the boot, before any program of the process runs', () => {
  const player = new TranscriptPlayer()
  player.play(`
    .wind 1000000
    .live a
    .mask a SIGTERM SIGPAUSE
    .hold a daemon-shutdown
    .live b
    .mask b SIGPAUSE
    .hold b daemon-shutdown
    .signal SIGTERM a
    .signal SIGPAUSE b
  `)
  player.world.mono = 5
  expect(player.play('boot a\nboot b\nrelease all daemon-shutdown')).toMatchInlineSnapshot(`
    "
    > boot a
    a.11 process.rehydrated #3
    a.12 signal.unpended SIGTERM
    a.13 signal.sent SIGTERM by user: default
    a.14 process.exited 1 context cancelled while paused (person)
    a.15 process.reaped
      -> release channel a#3
      -> release context a#3
      -> release remove a#3
      == a stopped
    > boot b
    b.11 process.rehydrated #4
    b.12 signal.unpended SIGPAUSE
    b.13 signal.sent SIGPAUSE by user: default
    b.14 process.held user/user
    > release all daemon-shutdown
    b.15 process.released daemon-shutdown/system
    "
  `)
})

test('the active time of an interrupted process excludes pauses, and ends with its last activity', () => {
  const player = new TranscriptPlayer()
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
