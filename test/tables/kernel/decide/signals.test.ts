// Signals, as transcripts: the processes that a signal reaches, default actions, masks, handlers, deferral, and the cause that counts.
import { describe, expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'

describe('the end by a signal', () => {
  test('is recorded before it happens, and SIGTERM is the cause of the exit even if the program exits with 0', () => {
    expect(
      play(`
      .live a
      signal SIGTERM a grace=10000
      report a exited 0
      released a
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a grace=10000
      a.7 signal.sent SIGTERM by user: default
      a.8 process.stopping SIGTERM by user -> 143 SIGTERM from user
        -> driver.stop a#1 SIGTERM 10000
        -> done, 1 affected
        == a stopping
      > report a exited 0
      a.9 process.exited 143 SIGTERM from user (person)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      > released a
      a.10 process.reaped
        -> release channel a#1
        -> release context a#1
        -> release remove a#1
        == a stopped
      "
    `)
  })

  // The agent's grace × the sender's grace → the grace of the stop sequence.
  test.each([
    ['', '', 300],
    ['', 'least=10000', 10_000],
    ['', 'grace=5', 5],
    ['cleans=6000', '', 6_000],
    ['cleans=6000', 'least=10000', 10_000],
    ['cleans=60000', 'least=10000', 60_000],
    ['cleans=6000', 'grace=5', 5],
    ['cleans=100', '', 300],
  ])('a process with `%s` has after `signal SIGTERM %s` a grace of %i ms', (spec, graceOption, ms) => {
    for (const name of ['SIGTERM', 'SIGINT']) {
      expect(play(`.live a ${spec}\nsignal ${name} a ${graceOption}`)).toContain(`-> driver.stop a#1 ${name} ${ms}\n`)
    }
    expect(play(`.live a ${spec}\nsignal SIGKILL a ${graceOption}`)).toContain('-> driver.stop a#1 SIGKILL 0\n')
  })

  test('each process of a subtree has its own grace, also behind a mask', () => {
    const lines = play(`
      .live a
      .live b under=a cleans=60000
      .live c under=b
      .mask b SIGTERM
      signal SIGTERM a subtree least=10000
      mask b
    `)
      .split('\n')
      .filter((line) => line.includes('driver.stop'))
    expect(lines).toEqual([
      '  -> driver.stop a#1 SIGTERM 10000',
      '  -> driver.stop c#3 SIGTERM 10000',
      '  -> driver.stop b#2 SIGTERM 60000',
    ])
  })

  test('a process whose time limit is over gets its grace', () => {
    expect(play('.live a cleans=60000 timeoutMs=50\nwind 50')).toContain('-> driver.stop a#1 SIGTERM 60000\n')
    expect(play('.live a cleans=6000 timeoutMs=50\nwind 50')).toContain('-> driver.stop a#1 SIGTERM 10000\n')
  })

  test('SIGKILL after SIGTERM ends the grace and keeps the first cause', () => {
    expect(
      play(`
      .live a
      signal SIGTERM a by=agent:a
      signal SIGKILL a
      report a exited SIGKILL
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a by=agent:a
      a.7 signal.sent SIGTERM by agent:a: default
      a.8 process.stopping SIGTERM by agent:a -> 143 SIGTERM from agent:a
        -> driver.stop a#1 SIGTERM 300
        -> done, 1 affected
        == a stopping
      > signal SIGKILL a
      a.9 signal.sent SIGKILL by user: default
        -> driver.stop a#1 SIGKILL 0
        -> done, 1 affected
      > report a exited SIGKILL
      a.10 process.exited 143 SIGTERM from agent:a (parent)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      "
    `)
  })

  test('SIGTERM ends a suspended process at once, with code 1 and the status stopped', () => {
    expect(
      play(`
      .live a
      .signal SIGPAUSE a
      signal SIGTERM a grace=10000
      report a exited SIGKILL
      released a
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a grace=10000
      a.9 signal.sent SIGTERM by user: default
      a.10 process.stopping SIGTERM by user -> 1 context cancelled while paused
        -> driver.stop a#1 SIGKILL 0
        -> done, 1 affected
        == a stopping
      > report a exited SIGKILL
      a.11 process.exited 1 context cancelled while paused (person)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      > released a
      a.12 process.reaped
        -> release channel a#1
        -> release context a#1
        -> release remove a#1
        == a stopped
      "
    `)
  })

  test('SIGTERM before the start takes the process through running to dead in one commit, and the later start does nothing', () => {
    expect(
      play(`
      .spawn a
      signal SIGTERM a
      start a
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a
      a.3 signal.sent SIGTERM by user: default
      a.4 process.started unattached
      a.5 process.exited 143 SIGTERM from user (person)
      a.6 process.reaped
        -> release channel a#1
        -> release context a#1
        -> release remove a#1
        -> done, 1 affected
        == a stopped
      > start a
      "
    `)
  })

  test('a process that is held without a driver ends at once', () => {
    expect(
      play(`
      .spawn a
      .signal SIGPAUSE a
      signal SIGKILL a
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGKILL a
      a.6 signal.sent SIGKILL by user: default
      a.7 process.exited 1 context cancelled while paused (person)
      a.8 process.reaped
        -> release channel a#1
        -> release context a#1
        -> release remove a#1
        -> done, 1 affected
        == a stopped
      "
    `)
  })

  test('ended processes cannot be signalled', () => {
    expect(
      play(`
      .live a
      .report a exited 0
      signal SIGTERM a
      .released a
      signal SIGKILL a
      signal SIGRESUME nobody
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a
        -> refused NOT_FOUND: process 1 has ended
      > signal SIGKILL a
        -> refused NOT_FOUND: process a has ended
      > signal SIGRESUME nobody
        -> refused NOT_FOUND: process nobody has ended
      "
    `)
  })

  test('children of a killed process continue under PID 0, and the reply has their number', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .live c under=a
      signal SIGKILL a
      report a exited SIGKILL
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGKILL a
      a.9 signal.sent SIGKILL by user: default
      a.10 process.stopping SIGKILL by user -> 137 SIGKILL from user
        -> driver.stop a#1 SIGKILL 0
        -> done, 1 affected, 2 children go on
        == a stopping
      > report a exited SIGKILL
      a.11 child.spent c turns 1
      c.7 process.reparented to PID 0
      a.12 child.spent b turns 1
      b.7 process.reparented to PID 0
      a.13 process.exited 137 SIGKILL from user (person)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      "
    `)
  })
})

describe('SIGINT', () => {
  test('ends the turn of an interactive process, which continues', () => {
    expect(
      play(`
      .live a interactive
      signal SIGINT a
      report a ended 1 interrupted
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGINT a
      a.7 signal.sent SIGINT by user: default
        -> driver.interrupt a#1
        -> done, 1 affected
      > report a ended 1 interrupted
      a.8 process.ready turn 1 interrupted
        -> ack ok
        == a ready
      "
    `)
  })

  test('counts no children if their parent continues', () => {
    expect(play('.live a interactive\n.live b under=a\nsignal SIGINT a')).toContain('-> done, 1 affected\n')
    expect(play('.live a\n.live b under=a\nsignal SIGINT a')).toContain('-> done, 1 affected, 1 children go on\n')
  })

  test('ends a process that is not interactive with 130', () => {
    expect(
      play(`
      .live a
      signal SIGINT a
      report a exited SIGINT
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGINT a
      a.7 signal.sent SIGINT by user: default
      a.8 process.stopping SIGINT by user -> 130 SIGINT from user
        -> driver.stop a#1 SIGINT 300
        -> done, 1 affected
        == a stopping
      > report a exited SIGINT
      a.9 process.exited 130 SIGINT from user (person)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      "
    `)
  })

  test('has no effect without a driver', () => {
    expect(
      play(`
      .spawn a interactive
      .signal SIGPAUSE a
      signal SIGINT a
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGINT a
      a.6 signal.sent SIGINT by user: default
        -> done, 1 affected
      "
    `)
  })
})

describe('a subtree', () => {
  test('is the process and its living descendants: zombies and dead processes are skipped', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .live c under=b
      .live d under=a
      .live e under=a
      .report d exited 0
      .report e exited 0
      .released e
      signal SIGTERM a subtree
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a subtree
      a.14 signal.sent SIGTERM by user root a: default
      a.15 process.stopping SIGTERM by user -> 143 SIGTERM from user
      b.8 signal.sent SIGTERM by user root a: default
      b.9 process.stopping SIGTERM by user -> 143 SIGTERM from user
      c.7 signal.sent SIGTERM by user root a: default
      c.8 process.stopping SIGTERM by user -> 143 SIGTERM from user
        -> driver.stop a#1 SIGTERM 300
        -> driver.stop b#2 SIGTERM 300
        -> driver.stop c#3 SIGTERM 300
        -> done, 3 affected
        == a stopping
        == b stopping
        == c stopping
      "
    `)
  })

  test('includes a child that is being spawned; a stopping parent gets no new child', () => {
    expect(
      play(`
      .live a
      .spawn b under=a
      signal SIGTERM a subtree
      start b
      spawn c under=a
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a subtree
      a.8 signal.sent SIGTERM by user root a: default
      a.9 process.stopping SIGTERM by user -> 143 SIGTERM from user
      b.3 signal.sent SIGTERM by user root a: default
      b.4 process.started unattached
      b.5 process.exited 143 SIGTERM from user (person)
      a.10 child.exited b 143 SIGTERM from user
      b.6 process.reaped
        -> driver.stop a#1 SIGTERM 300
        -> release channel b#2
        -> release context b#2
        -> release remove b#2
        -> done, 2 affected
        == a stopping
        == b stopped
      > start b
      > spawn c under=a
        -> refused INVALID: parent 1 is stopping
      "
    `)
  })

  test.each([
    [
      'after a SIGRESUME of an agent for a process that the user paused',
      'signal SIGPAUSE b',
      'signal SIGRESUME b by=agent:a',
      '-> done, 0 affected: still suspended: user',
    ],
    [
      'after a SIGRESUME of an agent for a process that it paused itself',
      'signal SIGPAUSE b by=agent:a',
      'signal SIGRESUME b by=agent:a',
      '-> done, 1 affected\n',
    ],
    [
      'after a SIGRESUME of the user for a process that the user paused',
      'signal SIGPAUSE b',
      'signal SIGRESUME b',
      '-> done, 1 affected\n',
    ],
    [
      'after a SIGRESUME of an agent for a subtree that the user paused',
      'signal SIGPAUSE a subtree',
      'signal SIGRESUME a subtree by=agent:a',
      '-> done, 0 affected: still suspended: 3 processes',
    ],
    ['after a SIGRESUME for a running process', '', 'signal SIGRESUME b', '-> done, 1 affected\n'],
    [
      'after a SIGRESUME for a process that has blocked it',
      'signal SIGPAUSE b by=agent:a\n.mask b SIGRESUME',
      'signal SIGRESUME b by=agent:a',
      '-> done, 1 affected\n',
    ],
  ])('the reply has the number of affected processes %s', (_, before, resume, answer) => {
    expect(
      play(`
      .live a
      .live b under=a
      .live c under=b
      .${before === '' ? 'tick a' : before}
      ${resume}
    `),
    ).toContain(answer)
  })

  test('agents signal themselves and their descendants', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .live c
      signal SIGPAUSE b by=agent:a
      signal SIGKILL a by=agent:b
      signal SIGKILL c by=agent:a
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE b by=agent:a
      b.7 signal.sent SIGPAUSE by agent:a: default
      b.8 process.held user/agent:a
      a.8 child.suspended b user/agent:a
        -> driver.pause b#2
        -> done, 1 affected
        == b suspended
      > signal SIGKILL a by=agent:b
      b.9 capability.refused signals: agent:b may signal itself and its descendants only
        -> refused PERMISSION: agent:b may signal itself and its descendants only
      > signal SIGKILL c by=agent:a
      a.9 capability.refused signals: agent:a may signal itself and its descendants only
        -> refused PERMISSION: agent:a may signal itself and its descendants only
      "
    `)
  })
})

describe('masks and handlers', () => {
  test('a blocked signal is pending once, and delivered when it is unblocked', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .mask b SIGTERM SIGPAUSE
      signal SIGTERM b by=agent:a
      signal SIGTERM b by=agent:a
      mask b SIGPAUSE
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM b by=agent:a
      b.8 signal.sent SIGTERM by agent:a: pending
      b.9 signal.pended SIGTERM by agent:a
        -> done, 1 affected
      > signal SIGTERM b by=agent:a
      b.10 signal.sent SIGTERM by agent:a: pending
        -> done, 1 affected
      > mask b SIGPAUSE
      b.11 signal.masked SIGPAUSE
      b.12 signal.unpended SIGTERM
      b.13 signal.sent SIGTERM by agent:a: default
      b.14 process.stopping SIGTERM by agent:a -> 143 SIGTERM from agent:a
        -> driver.stop b#2 SIGTERM 300
        -> done, 1 affected
        == b stopping
      "
    `)
  })

  test('a signal of the user is deferred for at most 10 s, and no process can extend that', () => {
    const player = new TranscriptPlayer()
    player.play('.live a\n.mask a SIGTERM')
    expect(
      player.play(`
      signal SIGTERM a grace=500
      wind 9000
      signal SIGTERM a by=agent:a
      signal SIGTERM a
      wind 999
      wind 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a grace=500
      a.8 signal.sent SIGTERM by user: pending
      a.9 signal.pended SIGTERM by user due 11000
        -> done, 1 affected
      > wind 9000
      > signal SIGTERM a by=agent:a
      a.10 signal.sent SIGTERM by agent:a: pending
        -> done, 1 affected
      > signal SIGTERM a
      a.11 signal.sent SIGTERM by user: pending
        -> done, 1 affected
      > wind 999
      > wind 1
      tick a
      a.12 signal.unpended SIGTERM
      a.13 signal.sent SIGTERM by user: default
      a.14 process.stopping SIGTERM by user -> 143 SIGTERM from user
        -> driver.stop a#1 SIGTERM 500
        == a stopping
      "
    `)
  })

  test('a signal of an agent may wait forever', () => {
    expect(
      play(`
      .live a
      .mask a SIGTERM
      .signal SIGTERM a by=agent:a
      wind 100000
    `),
    ).toMatchInlineSnapshot(`
      "
      > wind 100000
      "
    `)
  })

  test('SIGKILL can be neither blocked nor handled', () => {
    expect(
      play(`
      .live a
      mask a SIGKILL
      handle a SIGKILL ignore
      signal SIGKILL a
    `),
    ).toMatchInlineSnapshot(`
      "
      > mask a SIGKILL
        -> refused INVALID: SIGKILL cannot be blocked
      > handle a SIGKILL ignore
        -> refused INVALID: SIGKILL cannot be handled
      > signal SIGKILL a
      a.7 signal.sent SIGKILL by user: default
      a.8 process.stopping SIGKILL by user -> 137 SIGKILL from user
        -> driver.stop a#1 SIGKILL 0
        -> done, 1 affected
        == a stopping
      "
    `)
  })

  test('ignore: a signal of an agent is ignored, one of the user is deferred', () => {
    expect(
      play(`
      .live a
      .handle a SIGPAUSE ignore
      signal SIGPAUSE a by=agent:a
      signal SIGPAUSE a
      wind 10000
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE a by=agent:a
      a.8 signal.sent SIGPAUSE by agent:a: ignored
        -> done, 1 affected
      > signal SIGPAUSE a
      a.9 signal.sent SIGPAUSE by user: ignored
      a.10 signal.pended SIGPAUSE by user due 11000
        -> done, 1 affected
      > wind 10000
      tick a
      a.11 signal.unpended SIGPAUSE
      a.12 signal.sent SIGPAUSE by user: default
      a.13 process.held user/user
        -> driver.pause a#1
        == a suspended
      "
    `)
  })

  test('message: the agent reads it; an idle one at once', () => {
    expect(
      play(`
      .live a interactive
      .report a ended 1
      .handle a SIGINT message
      signal SIGINT a
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGINT a
      a.9 signal.sent SIGINT by user: message
      a.10 process.queue signal-9
      a.11 process.incoming signal-9 turn 2
      a.12 process.working turn 2 signal-9
        -> driver.deliver a#1 signal-9 turn 2
        -> done, 1 affected
        == a working
      "
    `)
  })

  test('message: SIGTERM still ends the process after its grace', () => {
    expect(
      play(`
      .live a
      .handle a SIGTERM message
      signal SIGTERM a grace=10000
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a grace=10000
      a.8 signal.sent SIGTERM by user: message
      a.9 process.queue signal-8
      a.10 process.stopping SIGTERM by user -> 143 SIGTERM from user, wraps up until 10700
        -> done, 1 affected
        == a stopping
      "
    `)
  })

  test('message: a full queue does not block a signal', () => {
    const player = new TranscriptPlayer()
    player.play('.live a')
    for (let i = 0; i < 1_000; i += 1) player.play('.send a')
    expect(
      player.play(`
      .handle a SIGTERM message
      send a
      signal SIGTERM a
    `),
    ).toMatchInlineSnapshot(`
      "
      > send a
        -> refused RESOURCE_EXHAUSTED: 1000 messages are already queued
      > signal SIGTERM a
      a.1008 signal.sent SIGTERM by user: message
      a.1009 process.stopping SIGTERM by user -> 143 SIGTERM from user
        -> driver.stop a#1 SIGTERM 300
        -> done, 1 affected
        == a stopping
      "
    `)
  })

  test('a pending signal is handled by the handler that is set at its delivery', () => {
    expect(
      play(`
      .live a
      .mask a SIGPAUSE SIGINT
      .signal SIGPAUSE a by=agent:a
      .signal SIGINT a by=agent:a
      .handle a SIGPAUSE ignore
      .handle a SIGINT message
      mask a
    `),
    ).toMatchInlineSnapshot(`
      "
      > mask a
      a.14 signal.masked
      a.15 signal.unpended SIGPAUSE
      a.16 signal.unpended SIGINT
      a.17 signal.sent SIGPAUSE by agent:a: ignored
      a.18 signal.sent SIGINT by agent:a: message
      a.19 process.queue signal-18
        -> done, 1 affected
      "
    `)
  })

  test('an end by one pending signal drops the others', () => {
    expect(
      play(`
      .spawn a
      .mask a SIGTERM SIGPAUSE
      .signal SIGTERM a
      .signal SIGPAUSE a
      mask a
    `),
    ).toMatchInlineSnapshot(`
      "
      > mask a
      a.8 signal.masked
      a.9 signal.unpended SIGTERM
      a.10 signal.unpended SIGPAUSE
      a.11 signal.sent SIGTERM by user: default
      a.12 process.started unattached
      a.13 process.exited 143 SIGTERM from user (person)
      a.14 process.reaped
        -> release channel a#1
        -> release context a#1
        -> release remove a#1
        -> done, 1 affected
        == a stopped
      "
    `)
  })
})
