// Pausing and resuming, as transcripts: holds, subtrees, effects for the driver, and notices to ancestors.
import { describe, expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'

describe('holds', () => {
  test('two pauses by the same sender are one hold', () => {
    expect(
      play(`
      .live a
      signal SIGPAUSE a
      signal SIGPAUSE a
      resume a
      resume a
    `),
    ).toMatchInlineSnapshot(`
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

  test('a process with several holds continues when the last one is released', () => {
    expect(
      play(`
      .live a
      .live b under=a
      signal SIGPAUSE b by=agent:a
      signal SIGPAUSE b
      resume b by=agent:a
      signal SIGRESUME b
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

  test('the user releases the hold of a loop; the hold of a full disk ends with its cause', () => {
    expect(
      play(`
      .live a
      .hold a disk-full
      .hold a loop
      resume a
      release a disk-full
    `),
    ).toMatchInlineSnapshot(`
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

  test('a stopping process cannot be paused', () => {
    expect(
      play(`
      .live a
      .signal SIGTERM a
      signal SIGPAUSE a
      hold a disk-full
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE a
        -> refused INVALID: process 1 is stopping
      > hold a disk-full
      "
    `)
  })

  test('ancestors are informed of a pause before the start, and of the resume', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .spawn c under=b
      signal SIGPAUSE c
      start c
      resume c only
      start c
    `),
    ).toMatchInlineSnapshot(`
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
  test('the open call finishes, and the next one waits until the hold is released', () => {
    expect(
      play(`
      .live a
      .report a model 1
      signal SIGPAUSE a
      report a answer 1 calls=c1:once
      report a tool c1
      report a model 2
      report a drained
      resume a
      report a model 2
    `),
    ).toMatchInlineSnapshot(`
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

  test('an idle process is drained at once, and a message does not wake it', () => {
    expect(
      play(`
      .live a interactive
      .report a ended 1
      signal SIGPAUSE a
      send a
      resume a
    `),
    ).toMatchInlineSnapshot(`
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

  test.each(['user', 'loop', 'breaker', 'budget', 'rate-limit', 'context-full', 'daemon-shutdown'] as const)(
    'the hold %s keeps no finished turn open: a process that expects no message completes',
    (reason) => {
      for (const driver of ['native', 'acp']) {
        const heldProcess = `.live a ${driver}\n${reason === 'user' ? '.signal SIGPAUSE a' : `.hold a ${reason}`}`
        expect(play(`${heldProcess}\nreport a ended 1\n.released a`)).toContain('process.exited 0 completed (agent)')
        expect(play(`${heldProcess}\nreport a ended 1 interrupted`)).not.toContain('process.exited')
        expect(play(`${heldProcess.replace(driver, `${driver} interactive`)}\nreport a ended 1`)).toContain('process.drained')
        expect(play(`${heldProcess}\n.send a\nreport a ended 1`)).toContain('process.drained')
      }
    },
  )

  test('--now freezes, also a paused process; a plain command is always frozen', () => {
    expect(
      play(`
      .live a
      signal SIGPAUSE a
      signal SIGPAUSE a freeze
      report a frozen
      .live b command
      signal SIGPAUSE b
      report b frozen
    `),
    ).toMatchInlineSnapshot(`
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
    expect(
      play(`
      .live a
      .signal SIGPAUSE a
      wind 119999
      wind 1
      wind 600000
    `),
    ).toMatchInlineSnapshot(`
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
  test('a process whose parent ended during the pause moves to PID 0, and still resumes with the root', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .live c under=b
      .signal SIGPAUSE a subtree
      .signal SIGKILL b
      .report b exited SIGKILL
      .released b
      resume a subtree
    `),
    ).toMatchInlineSnapshot(`
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

  test('a child that is spawned during the pause starts held, and resumes with the subtree', () => {
    expect(
      play(`
      .live a
      .live b under=a
      signal SIGPAUSE a subtree
      spawn c under=a
      start c
      resume a subtree
    `),
    ).toMatchInlineSnapshot(`
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

  test('a child of a process that has deferred its pause starts held, too', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .mask b SIGPAUSE
      .signal SIGPAUSE a subtree
      spawn c under=b
      start c
    `),
    ).toMatchInlineSnapshot(`
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

  test('a child that waits for keys also gets the hold of its subtree', () => {
    expect(
      play(`
      .live a
      .signal SIGPAUSE a subtree
      .spawn b under=a
      start b missing=KEY
      release b credentials
      resume a subtree
    `),
    ).toMatchInlineSnapshot(`
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

  test('a resume of a descendant resumes its ancestors, and leaves other processes paused', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .live c under=b
      .live d under=b
      .signal SIGPAUSE a subtree
      resume c
    `),
    ).toMatchInlineSnapshot(`
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

  test('--only resumes a single process', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .signal SIGPAUSE a subtree
      resume b only
    `),
    ).toMatchInlineSnapshot(`
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

  test('--subtree leaves descendants paused that were paused separately', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .live c under=a
      .signal SIGPAUSE b
      .signal SIGPAUSE a subtree
      resume a subtree
    `),
    ).toMatchInlineSnapshot(`
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

  test('SIGRESUME resumes one process of a paused subtree; sent to the subtree, it leaves separate pauses', () => {
    const player = new TranscriptPlayer()
    player.play(`
      .live a
      .live b under=a
      .live c under=a
      .signal SIGPAUSE c
      .signal SIGPAUSE a subtree
    `)
    expect(
      player.play(`
      signal SIGRESUME b
      signal SIGRESUME a subtree
    `),
    ).toMatchInlineSnapshot(`
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

  test('an agent releases no hold of the user: neither above it, nor below it, nor with a subtree', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .live c under=b
      .signal SIGPAUSE b subtree
      resume b subtree by=agent:a
      signal SIGRESUME b subtree by=agent:a
      resume c by=agent:b
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume b subtree by=agent:a
        -> done, 0 affected: still suspended: subtree
      > signal SIGRESUME b subtree by=agent:a
      b.11 signal.sent SIGRESUME by agent:a root b: default
      c.9 signal.sent SIGRESUME by agent:a root b: default
        -> done, 0 affected: still suspended: 2 processes
      > resume c by=agent:b
        -> done, 0 affected: still suspended: subtree
      "
    `)
  })

  test('a resume by the user drops a pause that is still deferred', () => {
    expect(
      play(`
      .live a
      .mask a SIGPAUSE
      .signal SIGPAUSE a
      resume a
      wind 20000
    `),
    ).toMatchInlineSnapshot(`
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
  test('a suspended process uses no active time and none of its time limit', () => {
    const player = new TranscriptPlayer()
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
