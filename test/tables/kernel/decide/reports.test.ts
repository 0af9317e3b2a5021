// Reports of drivers, as transcripts: steps, turns, limits, budgets, and late reports.
import { describe, expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'

describe('a step', () => {
  test('goes from the request of the model call to the last tool result', () => {
    expect(
      play(`
      .live a
      report a model 1
      report a answer 1 calls=c1:once,c2:read
      report a tool c2
      report a tool c1
      report a model 2
      report a answer 2
      report a ended 1
      released a
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a model 1
      a.7 model.started 1 try 1
        -> ack go
      > report a answer 1 calls=c1:once,c2:read
      a.8 model.finished 1
      a.9 tool.started c1 once
      a.10 tool.started c2 read
        -> ack ok
      > report a tool c2
      a.11 tool.finished c2 ok
        -> ack ok
      > report a tool c1
      a.12 tool.finished c1 ok
        -> ack ok
      > report a model 2
      a.13 model.started 2 try 1
        -> ack go
      > report a answer 2
      a.14 model.finished 2
        -> ack ok
      > report a ended 1
      a.15 process.ready turn 1 ok
      a.16 process.exited 0 completed (agent)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      > released a
      a.17 process.reaped
        -> release channel a#1
        -> release context a#1
        -> release remove a#1
        == a completed
      "
    `)
  })

  test('keeps its number when a failed attempt is repeated', () => {
    expect(
      play(`
      .live a
      report a model 1
      report a failed 1
      report a model 1 attempt=2
      report a answer 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a model 1
      a.7 model.started 1 try 1
        -> ack go
      > report a failed 1
      a.8 model.failed 1 overloaded
        -> ack ok
      > report a model 1 attempt=2
      a.9 model.started 1 try 2
        -> ack go
      > report a answer 1
      a.10 model.finished 1
        -> ack ok
      "
    `)
  })

  test('begins only after the end of the step before it, and only an open step ends', () => {
    expect(
      play(`
      .live a
      report a model 2
      report a answer 1
      report a model 1
      report a model 1
      report a answer 1 calls=c1:once
      report a model 2
      report a tool c9
      report a failed 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a model 2
        -> refused INVALID: step 2 cannot begin: step 0 is open
      > report a answer 1
        -> refused INVALID: no model call of step 1 is open
      > report a model 1
      a.7 model.started 1 try 1
        -> ack go
      > report a model 1
        -> refused INVALID: step 1 cannot begin: step 1 is open
      > report a answer 1 calls=c1:once
      a.8 model.finished 1
      a.9 tool.started c1 once
        -> ack ok
      > report a model 2
        -> refused INVALID: step 2 cannot begin: step 1 is open
      > report a tool c9
        -> ack late
      > report a failed 1
        -> ack late
      "
    `)
  })

  test('a checkpoint is due after five steps, or at the first step after 30 s', () => {
    const player = new TranscriptPlayer()
    player.play('.live a')
    for (let step = 1; step <= 4; step += 1) player.play(`.report a model ${step}\n.report a answer ${step}`)
    expect(
      player.play(`
      .report a model 5
      report a answer 5
      checkpoint a
      .report a model 6
      report a answer 6
      .wind 30000
      .report a model 7
      report a answer 7
      checkpoint a error=EIO
      checkpoint a pid=99
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a answer 5
      a.16 model.finished 5
        -> checkpoint a#1
        -> ack ok
      > checkpoint a
      a.17 checkpoint.written step 5
      > report a answer 6
      a.19 model.finished 6
        -> ack ok
      > report a answer 7
      a.21 model.finished 7
        -> checkpoint a#1
        -> ack ok
      > checkpoint a error=EIO
      a.22 checkpoint.failed step 7 EIO
      > checkpoint a pid=99
      "
    `)
  })
})

describe('a model call', () => {
  test('of a held process is answered with held, and of a stopping process with stop', () => {
    expect(
      play(`
      .live a
      .signal SIGPAUSE a
      report a model 1
      .resume a
      .signal SIGTERM a
      report a model 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a model 1
        -> ack held
      > report a model 1
        -> ack stop
      "
    `)
  })

  test('after the last allowed step ends the process', () => {
    expect(
      play(`
      .live a maxSteps=1
      .report a model 1
      .report a answer 1 calls=c1:once
      .report a tool c1
      report a model 2
      released a
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a model 2
      a.12 limit.reached maxSteps 1 of 1 -> terminate
      a.13 process.exited 1 max steps exceeded (limit)
        -> release cancel a#1
        -> release await a#1
        -> ack stop
        == a zombie
      > released a
      a.14 process.reaped
        -> release channel a#1
        -> release context a#1
        -> release remove a#1
        == a failed
      "
    `)
  })

  test('of unknown price causes a note under a budget in USD, once', () => {
    expect(
      play(`
      .live a budgetUsd=1
      .report a model 1
      report a answer 1 cost=unknown calls=c1:read
      .report a tool c1
      .report a model 2
      report a answer 2 cost=unknown
      .live b
      .report b model 1
      report b answer 1 cost=unknown
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a answer 1 cost=unknown calls=c1:read
      a.8 model.finished 1
      a.9 tool.started c1 read
      a.10 process.note budget: the price of this model is not known, so its calls do not count; a budget of tokens would work
        -> ack ok
      > report a answer 2 cost=unknown
      a.13 model.finished 2
        -> ack ok
      > report b answer 1 cost=unknown
      b.8 model.finished 1
        -> ack ok
      "
    `)
  })

  test('for which a budget has no room suspends the process, and a resume by the user does not change that', () => {
    expect(
      play(`
      .live a budgetUsd=1
      .report a model 1
      .report a answer 1 cost=1 calls=c1:read
      .report a tool c1
      report a model 2
      resume a
      .live b budgetTokens=50
      .report b model 1
      .report b answer 1 tokens=49 calls=c1:read
      .report b tool c1
      report b model 2
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a model 2
      a.12 process.held budget/system
      a.13 limit.reached budgetUsd 1 of 1 -> suspend
        -> driver.pause a#1
        -> ack held
        == a suspended
      > resume a
        -> done, 0 affected: still suspended: budget
      > report b model 2
      b.12 process.held budget/system
      b.13 limit.reached budgetTokens 50 of 50 -> suspend
        -> driver.pause b#2
        -> ack held
        == b suspended
      "
    `)
  })
})

describe('a turn', () => {
  test('begins with a message, one at a time, in order', () => {
    expect(
      play(`
      .live a interactive
      send a
      send a
      report a ended 1
      report a ended 2
      report a ended 3
    `),
    ).toMatchInlineSnapshot(`
      "
      > send a
      a.7 process.queue m4
        -> done, 1 affected
      > send a
      a.8 process.queue m5
        -> done, 1 affected
      > report a ended 1
      a.9 process.ready turn 1 ok
      a.10 process.incoming m4 turn 2
      a.11 process.working turn 2 m4
        -> driver.deliver a#1 m4 turn 2
        -> ack ok
      > report a ended 2
      a.12 process.ready turn 2 ok
      a.13 process.incoming m5 turn 3
      a.14 process.working turn 3 m5
        -> driver.deliver a#1 m5 turn 3
        -> ack ok
      > report a ended 3
      a.15 process.ready turn 3 ok
        -> ack ok
        == a ready
      "
    `)
  })

  test('closes its open calls at its end: the model call fails, and tool calls get a result', () => {
    expect(
      play(`
      .live a interactive
      .report a model 1
      report a ended 1 interrupted
      .send a
      report a model 1
      .report a answer 1 calls=c1:read
      report a ended 2 interrupted
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a ended 1 interrupted
      a.8 model.failed 1 interrupted
      a.9 process.ready turn 1 interrupted
        -> ack ok
        == a ready
      > report a model 1
      a.13 model.started 1 try 1
        -> ack go
      > report a ended 2 interrupted
      a.16 tool.finished c1 interrupted
      a.17 process.ready turn 2 interrupted
        -> ack ok
        == a ready
      "
    `)
  })

  test('a failed turn ends a process that is not interactive', () => {
    expect(
      play(`
      .live a
      report a ended 1 error
      .live b interactive
      report b ended 1 error
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a ended 1 error
      a.7 process.error it broke
      a.8 process.exited 1 it broke (agent)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      > report b ended 1 error
      b.7 process.error it broke
      b.8 process.ready turn 1 error
        -> ack ok
        == b ready
      "
    `)
  })

  test('a repeated report of the start begins no second turn', () => {
    expect(
      play(`
      .live a
      report a up
      .live b command
      report b up
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a up
        -> ack late
      > report b up
        -> ack late
      "
    `)
  })
})

describe('a late report', () => {
  test('of an old turn, an old incarnation, a zombie or an unknown process changes nothing', () => {
    expect(
      play(`
      .live a interactive
      .report a ended 1
      report a ended 1
      .send a
      report a ended 1
      .report a exited 1
      report a model 1
      .released a
      .resume a
      .start a
      report a exited 0 pid=1
      released a pid=1
      report nobody output pid=7
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a ended 1
        -> ack late
      > report a ended 1
        -> ack late
      > report a model 1
        -> ack late
      > report a exited 0 pid=1
        -> ack late
      > released a pid=1
      > report nobody output pid=7
        -> ack late
      "
    `)
  })

  test('of a drain after the end of the pause changes nothing', () => {
    expect(
      play(`
      .live a
      .signal SIGPAUSE a
      .resume a
      report a drained
      report a frozen
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a drained
        -> ack ok
      > report a frozen
        -> ack ok
      "
    `)
  })
})
