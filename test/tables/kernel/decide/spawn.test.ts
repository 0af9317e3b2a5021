// Spawn and start, as transcripts: room in the table, names, parents, depth, and starts that come too late.
import { describe, expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'

describe('spawn', () => {
  test('makes a row, notifies the parent, and requests the start', () => {
    expect(
      play(`
      spawn a named=x
      start a
      report a up
      spawn b under=a command
      start b
      report b up handle
    `),
    ).toMatchInlineSnapshot(`
      "
      > spawn a named=x
      a.1 process.spawned #1
      a.2 process.queue intent
        -> done, 1 affected
        -> start a#1
        == a pending
      > start a
      a.3 process.started
        -> driver.start a#1
        == a starting
      > report a up
      a.4 process.ready turn 0
      a.5 process.incoming intent turn 1
      a.6 process.working turn 1 intent
        -> driver.deliver a#1 intent turn 1
        -> ack ok
        == a working
      > spawn b under=a command
      b.1 process.spawned #2 under a
      a.7 child.spawned b
        -> done, 1 affected
        -> start b#2
        == b pending
      > start b
      b.2 process.started
        -> driver.start b#2
        == b starting
      > report b up handle
      b.3 process.handle
      b.4 process.working turn 1
        -> ack ok
        == b working
      "
    `)
  })

  test('is refused under a parent that is stopping, has ended or does not exist', () => {
    expect(
      play(`
      .live a
      .signal SIGTERM a
      spawn b under=a
      .report a exited 0
      spawn b under=a
      .released a
      spawn b under=a
      spawn b under=nobody
    `),
    ).toMatchInlineSnapshot(`
      "
      > spawn b under=a
        -> refused INVALID: parent 1 is stopping
      > spawn b under=a
        -> refused NOT_FOUND: no living parent a
      > spawn b under=a
        -> refused NOT_FOUND: no living parent a
      > spawn b under=nobody
        -> refused NOT_FOUND: no living parent nobody
      "
    `)
  })

  test('is refused for a name or an id in use; a zombie keeps its name, a dead process does not', () => {
    expect(
      play(`
      .live a named=x
      spawn b named=x
      spawn a
      .report a exited 0
      spawn b named=x
      .released a
      spawn b named=x
    `),
    ).toMatchInlineSnapshot(`
      "
      > spawn b named=x
        -> refused CONFLICT: a living process is called "x"
      > spawn a
        -> refused CONFLICT: a is in use
      > spawn b named=x
        -> refused CONFLICT: a living process is called "x"
      > spawn b named=x
      b.1 process.spawned #2
      b.2 process.queue intent
        -> done, 1 affected
        -> start b#2
        == b pending
      "
    `)
  })

  test('is refused below 64 levels', () => {
    const player = new TranscriptPlayer()
    player.play('.live p1')
    for (let depth = 2; depth <= 64; depth += 1) player.play(`.live p${depth} under=p${depth - 1}`)
    expect(player.world.row('p64')?.depth).toBe(64)
    expect(player.play('spawn p65 under=p64')).toMatchInlineSnapshot(`
      "
      > spawn p65 under=p64
        -> refused RESOURCE_EXHAUSTED: processes can be nested at most 64 levels deep
      "
    `)
  })

  test('is refused when the table is full, without using a PID; suspended and ended processes do not count', () => {
    const player = new TranscriptPlayer(2)
    expect(
      player.play(`
      .live a
      .live b
      spawn c
      .signal SIGPAUSE a
      spawn c
      spawn d
      .report b exited 0
      spawn d
      resume a
      signal SIGRESUME a
      .mask a SIGRESUME
      .signal SIGRESUME a
      mask a
      signal SIGKILL a
    `),
    ).toMatchInlineSnapshot(`
      "
      > spawn c
        -> refused RESOURCE_EXHAUSTED: 2 processes are running; the limit is 2
      > spawn c
      c.1 process.spawned #3
      c.2 process.queue intent
        -> done, 1 affected
        -> start c#3
        == c pending
      > spawn d
        -> refused RESOURCE_EXHAUSTED: 2 processes are running; the limit is 2
      > spawn d
      d.1 process.spawned #4
      d.2 process.queue intent
        -> done, 1 affected
        -> start d#4
        == d pending
      > resume a
        -> refused RESOURCE_EXHAUSTED: 2 processes are running; the limit is 2
      > signal SIGRESUME a
        -> refused RESOURCE_EXHAUSTED: 2 processes are running; the limit is 2
      > mask a
        -> refused RESOURCE_EXHAUSTED: 2 processes are running; the limit is 2
      > signal SIGKILL a
      a.12 signal.unpended SIGRESUME
      a.13 signal.sent SIGKILL by user: default
      a.14 process.stopping SIGKILL by user -> 1 context cancelled while paused
        -> driver.stop a#1 SIGKILL 0
        -> done, 1 affected
        == a stopping
      "
    `)
  })
})

describe('start', () => {
  test('of an old incarnation, a running process, or an unknown process does nothing', () => {
    expect(
      play(`
      .spawn a
      start a pid=9
      .start a
      start a
      start nobody pid=1
    `),
    ).toMatchInlineSnapshot(`
      "
      > start a pid=9
      > start a
      > start nobody pid=1
      "
    `)
  })

  test('waits for missing keys, and continues when they are set', () => {
    expect(
      play(`
      .spawn a
      start a missing=KEY_A,KEY_B
      resume a
      release a credentials
      start a missing=KEY_B
      release a credentials
      start a
    `),
    ).toMatchInlineSnapshot(`
      "
      > start a missing=KEY_A,KEY_B
      a.3 process.started unattached
      a.4 process.held credentials/system
      a.5 process.note needs KEY_A, KEY_B
        == a suspended
      > resume a
        -> done, 0 affected: still suspended: credentials
      > release a credentials
      a.6 process.released credentials/system
        -> start a#1
        == a starting
      > start a missing=KEY_B
      a.7 process.held credentials/system
      a.8 process.note needs KEY_B
        == a suspended
      > release a credentials
      a.9 process.released credentials/system
        -> start a#1
        == a starting
      > start a
      a.10 process.attached
        -> driver.start a#1
      "
    `)
  })

  test('that fails in the driver ends the process through running to zombie', () => {
    expect(
      play(`
      .spawn a
      .start a
      report a exited 127 error=not-found
      released a
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a exited 127 error=not-found
      a.4 process.exited 127 not-found (agent)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      > released a
      a.5 process.reaped
        -> release channel a#1
        -> release context a#1
        -> release remove a#1
        == a failed
      "
    `)
  })

  test('with an empty intent completes at once', () => {
    expect(
      play(`
      .spawn a intent=
      .start a
      report a up
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a up
      a.3 process.ready turn 0
      a.4 process.exited 0 completed (agent)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      "
    `)
  })
})

test('a command and an ended process take no messages', () => {
  expect(
    play(`
    .live a command
    send a
    .report a exited 0
    send a
    send nobody
  `),
  ).toMatchInlineSnapshot(`
    "
    > send a
      -> refused INVALID: a plain command takes no messages
    > send a
      -> refused NOT_FOUND: process 1 has ended
    > send nobody
      -> refused NOT_FOUND: process nobody has ended
    "
  `)
})
