// Pausing and waking as transcripts: holds, subtrees, what a driver is told, what the family learns.
import { describe, expect, test } from 'vitest'
import { Player, play } from '../support/kernel/transcript.ts'

describe('holds', () => {
  test('pausing twice by the same holder is one hold', () => {
    expect(play(`
      .live a
      signal SIGPAUSE a
      signal SIGPAUSE a
      resume a
      resume a
    `)).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE a
      a.7 signal.sent SIGPAUSE by user: default
      a.8 process.held user/user
        -> driver.pause a#1
        -> done, 1 affected
        == a suspended
      > signal SIGPAUSE a
      a.9 signal.sent SIGPAUSE by user: default
        -> done, 1 affected
      > resume a
      a.10 process.released user/user
        -> driver.unpause a#1
        -> done, 1 affected
        == a working
      > resume a
        -> done, 0 affected: it was not suspended
      "
    `)
  })

  test('overlapping holds add up: a process runs when the last is gone', () => {
    expect(play(`
      .live a
      .live b under=a
      signal SIGPAUSE b by=agent:a
      signal SIGPAUSE b
      resume b by=agent:a
      signal SIGRESUME b
    `)).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE b by=agent:a
      b.7 signal.sent SIGPAUSE by agent:a: default
      b.8 process.held user/agent:a
      a.8 child.suspended b user/agent:a
        -> driver.pause b#2
        -> done, 1 affected
        == b suspended
      > signal SIGPAUSE b
      b.9 signal.sent SIGPAUSE by user: default
      b.10 process.held user/user
        -> done, 1 affected
      > resume b by=agent:a
      b.11 process.released user/agent:a
        -> done, 1 affected: still suspended: user
      > signal SIGRESUME b
      b.12 signal.sent SIGRESUME by user: default
      b.13 process.released user/user
      a.9 child.resumed b by user
        -> driver.unpause b#2
        -> done, 1 affected
        == b working
      "
    `)
  })

  test('a person removes what a person may; a full disk and missing keys need their cause gone', () => {
    expect(play(`
      .live a
      .hold a disk-full
      .hold a loop
      resume a
      release a disk-full
    `)).toMatchInlineSnapshot(`
      "
      > resume a
      a.9 process.released loop/system
        -> done, 1 affected: still suspended: disk-full
      > release a disk-full
      a.10 process.released disk-full/system
        -> driver.unpause a#1
        == a working
      "
    `)
  })

  test('a process that stops cannot be paused', () => {
    expect(play(`
      .live a
      .signal SIGTERM a
      signal SIGPAUSE a
      hold a disk-full
    `)).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE a
        -> refused INVALID: process 1 is stopping
      > hold a disk-full
      "
    `)
  })

  test('ancestors learn of a pause before the start, and of a wake', () => {
    expect(play(`
      .live a
      .live b under=a
      .spawn c under=b
      signal SIGPAUSE c
      start c
      resume c only
      start c
    `)).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE c
      c.3 signal.sent SIGPAUSE by user: default
      c.4 process.started unattached
      c.5 process.held user/user
      b.8 child.suspended c user/user
      a.8 child.suspended c user/user
        -> done, 1 affected
        == c suspended
      > start c
      > resume c only
      c.6 process.released user/user
      b.9 child.resumed c by user
      a.9 child.resumed c by user
        -> start c#3
        -> done, 1 affected
        == c starting
      > start c
      c.7 process.attached
        -> driver.start c#3
      "
    `)
  })
})

describe('soft pause', () => {
  test('the call in flight is finished, the next waits, and goes when the hold is gone', () => {
    expect(play(`
      .live a
      .report a model 1
      signal SIGPAUSE a
      report a answer 1 calls=c1:once
      report a tool c1
      report a model 2
      report a drained
      resume a
      report a model 2
    `)).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE a
      a.8 signal.sent SIGPAUSE by user: default
      a.9 process.held user/user
        -> driver.pause a#1
        -> done, 1 affected
        == a suspended
      > report a answer 1 calls=c1:once
      a.10 model.finished 1
      a.11 tool.started c1 once
        -> ack ok
      > report a tool c1
      a.12 tool.finished c1 ok
        -> ack ok
      > report a model 2
        -> ack held
      > report a drained
      a.13 process.drained
        -> ack ok
      > resume a
      a.14 process.released user/user
        -> driver.unpause a#1
        -> done, 1 affected
        == a working
      > report a model 2
      a.15 model.started 2 try 1
        -> ack go
      "
    `)
  })

  test('an idle process is drained at once and a message does not wake it', () => {
    expect(play(`
      .live a interactive
      .report a ended 1
      signal SIGPAUSE a
      send a
      resume a
    `)).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE a
      a.8 signal.sent SIGPAUSE by user: default
      a.9 process.held user/user
      a.10 process.drained
        -> driver.pause a#1
        -> done, 1 affected
        == a suspended
      > send a
      a.11 process.queue m6
        -> done, 1 affected
      > resume a
      a.12 process.released user/user
      a.13 process.incoming m6 turn 2
      a.14 process.working turn 2 m6
        -> driver.unpause a#1
        -> driver.deliver a#1 m6 turn 2
        -> done, 1 affected
        == a working
      "
    `)
  })

  test('the end of a turn drains; the process that has nothing to do completes when it is woken', () => {
    expect(play(`
      .live a
      .signal SIGPAUSE a
      report a ended 1
      resume a
    `)).toMatchInlineSnapshot(`
      "
      > report a ended 1
      a.9 process.ready turn 1 ok
      a.10 process.drained
        -> ack ok
      > resume a
      a.11 process.released user/user
      a.12 process.exited 0 completed (agent)
        -> driver.unpause a#1
        -> release cancel a#1
        -> release await a#1
        -> done, 1 affected
        == a zombie
      "
    `)
  })

  test('--now freezes, also what is paused already; a plain command is frozen always', () => {
    expect(play(`
      .live a
      signal SIGPAUSE a
      signal SIGPAUSE a freeze
      report a frozen
      .live b command
      signal SIGPAUSE b
      report b frozen
    `)).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE a
      a.7 signal.sent SIGPAUSE by user: default
      a.8 process.held user/user
        -> driver.pause a#1
        -> done, 1 affected
        == a suspended
      > signal SIGPAUSE a freeze
      a.9 signal.sent SIGPAUSE by user: default
        -> driver.pause a#1 freeze
        -> done, 1 affected
      > report a frozen
      a.10 process.frozen make
        -> ack ok
      > signal SIGPAUSE b
      b.4 signal.sent SIGPAUSE by user: default
      b.5 process.held user/user
        -> driver.pause b#2 freeze
        -> done, 1 affected
        == b suspended
      > report b frozen
      b.6 process.frozen make
        -> ack ok
      "
    `)
  })

  test('a drain of more than 120 s becomes a freeze', () => {
    expect(play(`
      .live a
      .signal SIGPAUSE a
      wind 119999
      wind 1
      wind 600000
    `)).toMatchInlineSnapshot(`
      "
      > wind 119999
      > wind 1
      tick a
      a.9 process.drained frozen: it did not drain in time
        -> driver.pause a#1 freeze
      > wind 600000
      "
    `)
  })
})

describe('subtrees', () => {
  test('who lost its parent in the pause is at PID 0, and still comes with the root', () => {
    expect(play(`
      .live a
      .live b under=a
      .live c under=b
      .signal SIGPAUSE a subtree
      .signal SIGKILL b
      .report b exited SIGKILL
      .released b
      resume a subtree
    `)).toMatchInlineSnapshot(`
      "
      > resume a subtree
      a.14 process.released subtree(a)/user
      c.10 process.released subtree(a)/user
        -> driver.unpause a#1
        -> driver.unpause c#3
        -> done, 2 affected
        == a working
        == c working
      "
    `)
  })

  test('a child that is born meanwhile starts held and comes with the subtree', () => {
    expect(play(`
      .live a
      .live b under=a
      signal SIGPAUSE a subtree
      spawn c under=a
      start c
      resume a subtree
    `)).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE a subtree
      a.8 signal.sent SIGPAUSE by user root a: default
      a.9 process.held subtree(a)/user
      b.7 signal.sent SIGPAUSE by user root a: default
      b.8 process.held subtree(a)/user
      a.10 child.suspended b subtree/user
        -> driver.pause a#1
        -> driver.pause b#2
        -> done, 2 affected
        == a suspended
        == b suspended
      > spawn c under=a
      c.1 process.spawned #3 under a
      c.2 process.queue intent
      a.11 child.spawned c
        -> done, 1 affected
        -> start c#3
        == c pending
      > start c
      c.3 process.started unattached
      c.4 process.held subtree(a)/user
      a.12 child.suspended c subtree/user
        == c suspended
      > resume a subtree
      a.13 process.released subtree(a)/user
      b.9 process.released subtree(a)/user
      a.14 child.resumed b by user
      c.5 process.released subtree(a)/user
      a.15 child.resumed c by user
        -> driver.unpause a#1
        -> driver.unpause b#2
        -> start c#3
        -> done, 3 affected
        == a working
        == b working
        == c starting
      "
    `)
  })

  test('a child that is born under one that put its pause off starts held too', () => {
    expect(play(`
      .live a
      .live b under=a
      .mask b SIGPAUSE
      .signal SIGPAUSE a subtree
      spawn c under=b
      start c
    `)).toMatchInlineSnapshot(`
      "
      > spawn c under=b
      c.1 process.spawned #3 under b
      c.2 process.queue intent
      b.10 child.spawned c
        -> done, 1 affected
        -> start c#3
        == c pending
      > start c
      c.3 process.started unattached
      c.4 process.held subtree(a)/user
      b.11 child.suspended c subtree/user
      a.10 child.suspended c subtree/user
        == c suspended
      "
    `)
  })

  test('a child that waits for keys is under the hold of its subtree too', () => {
    expect(play(`
      .live a
      .signal SIGPAUSE a subtree
      .spawn b under=a
      start b missing=KEY
      release b credentials
      resume a subtree
    `)).toMatchInlineSnapshot(`
      "
      > start b missing=KEY
      b.3 process.started unattached
      b.4 process.held subtree(a)/user
      a.10 child.suspended b subtree/user
      b.5 process.held credentials/system
      b.6 process.note needs KEY
        == b suspended
      > release b credentials
      b.7 process.released credentials/system
      > resume a subtree
      a.11 process.released subtree(a)/user
      b.8 process.released subtree(a)/user
      a.12 child.resumed b by user
        -> driver.unpause a#1
        -> start b#2
        -> done, 2 affected
        == a working
        == b starting
      "
    `)
  })

  test('resume of one below wakes the chain above it, and leaves the others', () => {
    expect(play(`
      .live a
      .live b under=a
      .live c under=b
      .live d under=b
      .signal SIGPAUSE a subtree
      resume c
    `)).toMatchInlineSnapshot(`
      "
      > resume c
      c.9 process.released subtree(a)/user
      b.13 child.resumed c by user
      a.13 child.resumed c by user
      b.14 process.released subtree(a)/user
      a.14 child.resumed b by user
      a.15 process.released subtree(a)/user
        -> driver.unpause c#3
        -> driver.unpause b#2
        -> driver.unpause a#1
        -> done, 3 affected
        == c working
        == b working
        == a working
      "
    `)
  })

  test('--only wakes the one', () => {
    expect(play(`
      .live a
      .live b under=a
      .signal SIGPAUSE a subtree
      resume b only
    `)).toMatchInlineSnapshot(`
      "
      > resume b only
      b.9 process.released subtree(a)/user
      a.11 child.resumed b by user
        -> driver.unpause b#2
        -> done, 1 affected
        == b working
      "
    `)
  })

  test('--subtree leaves what was paused on its own below', () => {
    expect(play(`
      .live a
      .live b under=a
      .live c under=a
      .signal SIGPAUSE b
      .signal SIGPAUSE a subtree
      resume a subtree
    `)).toMatchInlineSnapshot(`
      "
      > resume a subtree
      a.13 process.released subtree(a)/user
      b.11 process.released subtree(a)/user
      c.9 process.released subtree(a)/user
      a.14 child.resumed c by user
        -> driver.unpause a#1
        -> driver.unpause c#3
        -> done, 3 affected
        == a working
        == c working
      "
    `)
  })

  test('SIGRESUME wakes one of a paused subtree, and with the subtree leaves what was paused on its own', () => {
    const player = new Player()
    player.play(`
      .live a
      .live b under=a
      .live c under=a
      .signal SIGPAUSE c
      .signal SIGPAUSE a subtree
    `)
    expect(player.play(`
      signal SIGRESUME b
      signal SIGRESUME a subtree
    `)).toMatchInlineSnapshot(`
      "
      > signal SIGRESUME b
      b.9 signal.sent SIGRESUME by user: default
      b.10 process.released subtree(a)/user
      a.13 child.resumed b by user
        -> driver.unpause b#2
        -> done, 1 affected
        == b working
      > signal SIGRESUME a subtree
      a.14 signal.sent SIGRESUME by user root a: default
      a.15 process.released subtree(a)/user
      c.11 signal.sent SIGRESUME by user root a: default
      c.12 process.released subtree(a)/user
      b.11 signal.sent SIGRESUME by user root a: default
        -> driver.unpause a#1
        -> done, 3 affected
        == a working
      "
    `)
  })

  test('an agent removes no hold of a person, above, below or with the subtree', () => {
    expect(play(`
      .live a
      .live b under=a
      .live c under=b
      .signal SIGPAUSE b subtree
      resume b subtree by=agent:a
      signal SIGRESUME b subtree by=agent:a
      resume c by=agent:b
    `)).toMatchInlineSnapshot(`
      "
      > resume b subtree by=agent:a
        -> done, 0 affected: still suspended: subtree
      > signal SIGRESUME b subtree by=agent:a
      b.11 signal.sent SIGRESUME by agent:a root b: default
      c.9 signal.sent SIGRESUME by agent:a root b: default
        -> done, 2 affected
      > resume c by=agent:b
        -> done, 0 affected: still suspended: subtree
      "
    `)
  })

  test('the resume of a person takes back a pause that is still put off', () => {
    expect(play(`
      .live a
      .mask a SIGPAUSE
      .signal SIGPAUSE a
      resume a
      wind 20000
    `)).toMatchInlineSnapshot(`
      "
      > resume a
      a.10 signal.unpended SIGPAUSE
        -> done, 1 affected
      > wind 20000
      "
    `)
  })
})

describe('the clock', () => {
  test('elapsed time and the time limit stand still while it is suspended', () => {
    const player = new Player()
    player.play(`
      .live a timeoutMs=1000
      .wind 400
      .signal SIGPAUSE a
      .wind 5000
      .resume a
      .wind 599
    `)
    expect(player.world.row('a')?.clock.elapsedMs).toBe(400)
    expect(player.play('wind 1')).toMatchInlineSnapshot(`
      "
      > wind 1
      tick a
      a.11 process.stopping SIGTERM by system -> 1 timed out
        -> driver.stop a#1 SIGTERM 10000
        == a stopping
      "
    `)
    player.play('.report a exited 0')
    expect(player.world.row('a')?.clock.elapsedMs).toBe(1000)
  })
})
