// Resumes, as transcripts: the restored state of a dead process, its closed calls, and refusals.
import { describe, expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'

describe('the resume of an ended process', () => {
  test('without a message completes again at once, if the process is native and had completed', () => {
    expect(
      play(`
      .live a
      .report a ended 1
      .released a
      resume a
      start a
      report a up
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a
      a.10 process.resumed #2 by user from step 0
        -> done, 1 affected
        -> start a#2
        == a pending
      > start a
      a.11 process.started
        -> driver.start a#2
        == a starting
      > report a up
      a.12 process.ready turn 1
      a.13 process.exited 0 completed (agent)
        -> release cancel a#2
        -> release await a#2
        -> ack ok
        == a zombie
      "
    `)
  })

  test('begins the next turn with its message', () => {
    expect(
      play(`
      .live a
      .report a ended 1
      .released a
      resume a message
      start a
      report a up
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a message
      a.10 process.resumed #2 by user from step 0
      a.11 process.queue m6
        -> done, 1 affected
        -> start a#2
        == a pending
      > start a
      a.12 process.started
        -> driver.start a#2
        == a starting
      > report a up
      a.13 process.ready turn 1
      a.14 process.incoming m6 turn 2
      a.15 process.working turn 2 m6
        -> driver.deliver a#2 m6 turn 2
        -> ack ok
        == a working
      "
    `)
  })

  test('delivers its message before the next model call of the open turn, after earlier messages', () => {
    expect(
      play(`
      .live a
      .report a model 1
      .send a
      .report a exited none error=boom
      .released a
      resume a message
      start a
      report a up
      report a model 1 attempt=1
      report a model 1 attempt=1
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a message
      a.11 process.resumed #2 by user from step 0
      a.12 process.queue m8
        -> done, 1 affected
        -> start a#2
        == a pending
      > start a
      a.13 process.started
      a.14 model.failed 1 interrupted
        -> driver.start a#2
        == a starting
      > report a up
      a.15 process.ready turn 1
      a.16 process.working turn 1
        -> driver.proceed a#2 turn 1
        -> ack ok
        == a working
      > report a model 1 attempt=1
      a.17 process.incoming m5 turn 1
      a.18 process.incoming m8 turn 1
        -> driver.deliver a#2 m5 turn 1
        -> driver.deliver a#2 m8 turn 1
        -> ack held
      > report a model 1 attempt=1
      a.19 model.started 1 try 1
        -> ack go
      "
    `)
  })

  test('begins the first turn with the intent and the message', () => {
    expect(
      play(`
      .spawn a
      .signal SIGKILL a
      resume a message
      start a
      report a up
      report a model 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a message
      a.7 process.resumed #2 by user from step 0
      a.8 process.queue m3
        -> done, 1 affected
        -> start a#2
        == a pending
      > start a
      a.9 process.started
        -> driver.start a#2
        == a starting
      > report a up
      a.10 process.ready turn 0
      a.11 process.incoming intent turn 1
      a.12 process.working turn 1 intent
        -> driver.deliver a#2 intent turn 1
        -> ack ok
        == a working
      > report a model 1
      a.13 process.incoming m3 turn 1
        -> driver.deliver a#2 m3 turn 1
        -> ack held
      "
    `)
  })

  test('lets an external agent continue its open turn with the message', () => {
    expect(
      play(`
      .spawn a acp
      .start a
      .report a up session=s1
      .report a exited none error=boom
      .released a
      resume a message
      start a
      report a up session=s1
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a message
      a.10 process.resumed #2 by user from step 0
      a.11 process.queue m6
        -> done, 1 affected
        -> start a#2
        == a pending
      > start a
      a.12 process.started
        -> driver.start a#2
        == a starting
      > report a up session=s1
      a.13 process.handle s1
      a.14 process.ready turn 1
      a.15 process.incoming m6 turn 1
      a.16 process.working turn 1 m6
        -> driver.deliver a#2 m6 turn 1
        -> ack ok
        == a working
      "
    `)
  })

  test('lets a failed process continue its open turn', () => {
    expect(
      play(`
      .live a
      .report a model 1
      .report a exited none error=boom
      .released a
      resume a
      start a
      report a up
      report a model 1 attempt=1
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a
      a.10 process.resumed #2 by user from step 0
        -> done, 1 affected
        -> start a#2
        == a pending
      > start a
      a.11 process.started
      a.12 model.failed 1 interrupted
        -> driver.start a#2
        == a starting
      > report a up
      a.13 process.ready turn 1
      a.14 process.working turn 1
        -> driver.proceed a#2 turn 1
        -> ack ok
        == a working
      > report a model 1 attempt=1
      a.15 model.started 1 try 1
        -> ack go
      "
    `)
  })

  test('gives a result to an interrupted call that may not run twice, and keeps a read-only call open', () => {
    expect(
      play(`
      .live a
      .report a model 1
      .report a answer 1 calls=c1:once,c2:read,c3:idempotent
      boot a
      resume a
      start a
      report a up
      report a tool c2
      report a tool c3
      report a model 2
    `),
    ).toMatchInlineSnapshot(`
      "
      > boot a
      a.12 process.exited 1 interrupted (daemon)
      a.13 process.reaped
        -> release channel a#1
        -> release context a#1
        -> release remove a#1
        == a interrupted
      > resume a
      a.14 process.resumed #2 by user from step 0
        -> done, 1 affected
        -> start a#2
        == a pending
      > start a
      a.15 process.started
      a.16 tool.finished c1 interrupted
        -> driver.start a#2
        == a starting
      > report a up
      a.17 process.ready turn 1
      a.18 process.working turn 1
        -> driver.proceed a#2 turn 1
        -> ack ok
        == a working
      > report a tool c2
      a.19 tool.finished c2 ok
        -> ack ok
      > report a tool c3
      a.20 tool.finished c3 ok
        -> ack ok
      > report a model 2
      a.21 model.started 2 try 1
        -> ack go
      "
    `)
  })

  test('makes the spawner the parent again if it lives, else PID 0', () => {
    const player = new TranscriptPlayer()
    const endOf = (uuid: string): string => `signal SIGKILL ${uuid}\nreport ${uuid} exited SIGKILL\nreleased ${uuid}`
    player.play(`live a\nlive b under=a\n${endOf('b')}\nresume b`)
    expect(player.world.row('b')?.parent).toBe('a')
    player.play(`start b\n${endOf('a')}\n${endOf('b')}\nresume b`)
    expect(player.world.row('b')?.parent).toBeNull()
  })

  test('starts the process held under a paused subtree', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .report b exited 1
      .released b
      .signal SIGPAUSE a subtree
      .resume b
      start b
    `),
    ).toMatchInlineSnapshot(`
      "
      > start b
      b.10 process.started unattached
      b.11 process.held subtree(a)/user
      a.12 child.suspended b subtree/user
        == b suspended
      "
    `)
  })

  test('restores no masks, handlers or pending signals', () => {
    const player = new TranscriptPlayer()
    player.play(`
      .live a
      .mask a SIGTERM
      .handle a SIGINT ignore
      .signal SIGTERM a
      .report a exited 1
      .released a
      .resume a
    `)
    expect(player.world.row('a')?.signals).toMatchObject({ mask: [], pending: [], handlers: {} })
  })
})

describe('the resume of a suspended process', () => {
  test('keeps the PID of a placeholder', () => {
    expect(
      play(`
      .live a
      .report a model 1
      .signal SIGPAUSE a
      boot a
      resume a
      start a
      report a up
    `),
    ).toMatchInlineSnapshot(`
      "
      > boot a
      a.10 process.rehydrated #2
      > resume a
      a.11 process.released user/user
        -> start a#2
        -> done, 1 affected
        == a starting
      > start a
      a.12 process.attached
      a.13 model.failed 1 interrupted
        -> driver.start a#2
      > report a up
      a.14 process.ready turn 1
      a.15 process.working turn 1
        -> driver.proceed a#2 turn 1
        -> ack ok
        == a working
      "
    `)
  })

  test('requests the start again if a pause came before the start', () => {
    expect(
      play(`
      .spawn a
      .signal SIGPAUSE a
      resume a
      signal SIGPAUSE a
      start a
      resume a
      start a
      start a
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a
      a.6 process.released user/user
        -> start a#1
        -> done, 1 affected
        == a starting
      > signal SIGPAUSE a
      a.7 signal.sent SIGPAUSE by user: default
      a.8 process.held user/user
        -> done, 1 affected
        == a suspended
      > start a
      > resume a
      a.9 process.released user/user
        -> start a#1
        -> done, 1 affected
        == a starting
      > start a
      a.10 process.attached
        -> driver.start a#1
      > start a
      "
    `)
  })

  test('delivers its message into the open turn, before its next model call', () => {
    expect(
      play(`
      .live a interactive
      .report a model 1
      .send a
      .signal SIGPAUSE a
      .report a answer 1 calls=c1:once
      .report a tool c1
      resume a message
      report a model 2
      report a model 2
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a message
      a.14 process.queue m9
      a.15 process.released user/user
        -> driver.unpause a#1
        -> done, 1 affected
        == a working
      > report a model 2
      a.16 process.incoming m5 turn 1
      a.17 process.incoming m9 turn 1
        -> driver.deliver a#1 m5 turn 1
        -> driver.deliver a#1 m9 turn 1
        -> ack held
      > report a model 2
      a.18 model.started 2 try 1
        -> ack go
      "
    `)
  })

  test('begins the next turn with its message if the open turn ends without a model call', () => {
    expect(
      play(`
      .live a interactive
      .signal SIGPAUSE a
      resume a message
      report a ended 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a message
      a.9 process.queue m5
      a.10 process.released user/user
        -> driver.unpause a#1
        -> done, 1 affected
        == a working
      > report a ended 1
      a.11 process.ready turn 1 ok
      a.12 process.incoming m5 turn 2
      a.13 process.working turn 2 m5
        -> driver.deliver a#1 m5 turn 2
        -> ack ok
      "
    `)
  })
})

describe('a resume is refused', () => {
  test('with a message or overrides for a running process, and with overrides for a suspended process', () => {
    expect(
      play(`
      .live a
      resume a message
      resume a model=other
      .signal SIGPAUSE a
      resume a model=other
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a message
        -> refused INVALID: process 1 is running: it takes messages by \`send\`, and no overrides
      > resume a model=other
        -> refused INVALID: process 1 is running: it takes messages by \`send\`, and no overrides
      > resume a model=other
        -> refused INVALID: overrides need an ended process: stop it first
      "
    `)
  })

  test('for a process that is stopping, is still being released, or does not exist', () => {
    expect(
      play(`
      .live a
      .signal SIGTERM a
      resume a
      .report a exited 0
      resume a
      resume nobody
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a
        -> refused INVALID: process 1 is stopping
      > resume a
        -> refused CONFLICT: process 1 is still being released
      > resume nobody
        -> refused NOT_FOUND: no process nobody
      "
    `)
  })

  test('as a rerun of a native agent, which can continue', () => {
    expect(
      play(`
      .live a
      .signal SIGKILL a
      .report a exited 137
      .released a
      resume a rerun
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a rerun
        -> refused NOT_RESUMABLE: a native agent continues from its context: resume it without --rerun, or start over with --fork --from-step 0
      "
    `)
  })

  test('as a rerun of a suspended process, which can continue', () => {
    const player = new TranscriptPlayer()
    player.play(['.live a', '.live b command', '.signal SIGPAUSE a', '.signal SIGPAUSE b'].join('\n'))
    expect(player.play('resume a rerun')).toContain('refused NOT_RESUMABLE: a native agent continues from its context')
    expect(player.play('resume b rerun')).toContain('refused NOT_RESUMABLE: it is suspended, and continues where it is')
    expect(player.play('resume b')).toContain('done, 1 affected')
  })

  test('for a command without --rerun, and with a message for a command', () => {
    expect(
      play(`
      .live a command
      .signal SIGPAUSE a
      resume a message
      .resume a
      .report a exited 3
      .released a
      resume a
      resume a rerun message
      resume a rerun
      start a
      report a up handle
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a message
        -> refused INVALID: a plain command takes no messages
      > resume a
        -> refused NOT_RESUMABLE: a command has no session to continue; --rerun runs it again
      > resume a rerun message
        -> refused INVALID: a plain command takes no messages
      > resume a rerun
      a.9 process.resumed #2 by user from step 0
        -> done, 1 affected
        -> start a#2
        == a pending
      > start a
      a.10 process.started
        -> driver.start a#2
        == a starting
      > report a up handle
      a.11 process.handle
      a.12 process.working turn 2
        -> ack ok
        == a working
      "
    `)
  })

  test('if another process has the name, also a new name', () => {
    expect(
      play(`
      .live a named=x
      .report a exited 1
      .released a
      .live b named=x
      .live c named=y
      resume a
      .report b exited 1
      .released b
      resume a named=y
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a
        -> refused CONFLICT: a living process is called "x"
      > resume a named=y
        -> refused CONFLICT: a living process is called "y"
      "
    `)
  })

  test('when the table is full', () => {
    const player = new TranscriptPlayer(1)
    expect(
      player.play(`
      .live a
      .report a exited 1
      .released a
      .live b
      resume a
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a
        -> refused RESOURCE_EXHAUSTED: 1 processes are running; the limit is 1
      "
    `)
  })

  test('for an agent, if the user has stopped the process', () => {
    expect(
      play(`
      .live a
      .live b under=a
      .signal SIGKILL b
      .report b exited SIGKILL
      .released b
      resume b by=agent:a
      resume b
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume b by=agent:a
        -> refused PERMISSION: process 2 was stopped by the user
      > resume b
      b.11 process.resumed #3 by user from step 0
        -> done, 1 affected
        -> start b#3
        == b pending
      "
    `)
  })
})
