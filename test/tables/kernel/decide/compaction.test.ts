// The kernel's decisions about compaction: its start and end, the kept ranges, its cost, and the warning before it.
import { describe, expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'

/** A process that has completed one step with a tool call. */
const ONE_STEP = `
  .live a
  .report a model 1
  .report a answer 1 calls=c1:once
  .report a tool c1
`

describe('a compaction', () => {
  test('writes the kept ranges in a checkpoint, and the last range grows', () => {
    const player = new TranscriptPlayer()
    expect(
      player.play(`
      ${ONE_STEP}
      .send a
      report a compacting 1
      report a compacted 1 parts=2-2,7-10 after=40
      checkpoint a
      .report a model 2
      .report a answer 2
      checkpoint a
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a compacting 1
      a.12 compaction.started after 1 try 1
        -> ack go
      > report a compacted 1 parts=2-2,7-10 after=40
      a.13 context.compacted after 1: 100 -> 40
        -> checkpoint a#1
        -> ack ok
      > checkpoint a
      a.14 checkpoint.written step 1 of 2-2 7-11 13-13
      > checkpoint a
      a.17 checkpoint.written step 2 of 2-2 7-11 13-16
      "
    `)
    expect(player.world.row('a')?.context).toEqual({
      window: null,
      ranges: [
        [2, 2],
        [7, 11],
        [13, 13],
      ],
      compactedStep: 1,
      compacting: false,
    })
    expect(player.world.row('a')?.usage.contextTokens).toBe(11)
  })

  test('after the last allowed step ends the process instead', () => {
    expect(
      play(`
      ${ONE_STEP.replace('.live a', '.live a maxSteps=1')}
      report a compacting 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a compacting 1
      a.12 limit.reached maxSteps 1 of 1 -> terminate
      a.13 process.exited 1 max steps exceeded (limit)
        -> release cancel a#1
        -> release await a#1
        -> ack stop
        == a zombie
      "
    `)
  })

  test('is repeated after a failed attempt', () => {
    expect(
      play(`
      ${ONE_STEP}
      report a compacting 1
      report a uncompacted 1 again=100 tokens=7
      report a compacting 1 attempt=2
      report a compacted 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a compacting 1
      a.11 compaction.started after 1 try 1
        -> ack go
      > report a uncompacted 1 again=100 tokens=7
      a.12 compaction.failed after 1 overloaded
        -> ack ok
      > report a compacting 1 attempt=2
      a.13 compaction.started after 1 try 2
        -> ack go
      > report a compacted 1
      a.14 context.compacted after 1: 100 -> 10
        -> checkpoint a#1
        -> ack ok
      "
    `)
  })

  test('suspends the process if it fails, and a resume repeats it', () => {
    expect(
      play(`
      ${ONE_STEP}
      report a compacting 1
      report a uncompacted 1
      report a drained
      report a compacting 1
      resume a
      report a compacting 1
      report a compacted 1
      report a model 2
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a compacting 1
      a.11 compaction.started after 1 try 1
        -> ack go
      > report a uncompacted 1
      a.12 compaction.failed after 1 overloaded
      a.13 process.held context-full/system
      a.14 process.note the context is full: it could not be compacted: overloaded
        -> driver.pause a#1
        -> ack held
        == a suspended
      > report a drained
      a.15 process.drained
        -> ack ok
      > report a compacting 1
        -> ack held
      > resume a
      a.16 process.released context-full/system
        -> driver.unpause a#1
        -> done, 1 affected
        == a working
      > report a compacting 1
      a.17 compaction.started after 1 try 1
        -> ack go
      > report a compacted 1
      a.18 context.compacted after 1: 100 -> 10
        -> checkpoint a#1
        -> ack ok
      > report a model 2
      a.19 model.started 2 try 1
        -> ack go
      "
    `)
  })
})

describe('no compaction begins', () => {
  test('during a call, after a wrong step, or during another compaction, which also blocks the next step', () => {
    expect(
      play(`
      .live a
      .report a model 1
      report a compacting 0
      .report a answer 1 calls=c1:once
      report a compacting 1
      .report a tool c1
      report a compacting 0
      report a compacting 2
      report a compacting 1
      report a compacting 1
      report a model 2
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a compacting 0
        -> refused INVALID: the context cannot be compacted after step 0: step 1 is open, or it is being compacted
      > report a compacting 1
        -> refused INVALID: the context cannot be compacted after step 1: step 1 is open, or it is being compacted
      > report a compacting 0
        -> refused INVALID: the context cannot be compacted after step 0: step 1 is open, or it is being compacted
      > report a compacting 2
        -> refused INVALID: the context cannot be compacted after step 2: step 1 is open, or it is being compacted
      > report a compacting 1
      a.11 compaction.started after 1 try 1
        -> ack go
      > report a compacting 1
        -> refused INVALID: the context cannot be compacted after step 1: step 1 is open, or it is being compacted
      > report a model 2
        -> refused INVALID: step 2 cannot begin: the context is being compacted
      "
    `)
  })

  test('twice without a step in between, and each attempt suspends the process', () => {
    expect(
      play(`
      ${ONE_STEP}
      .report a compacting 1
      .report a compacted 1
      report a compacting 1
      report a compacting 1
      .resume a
      report a compacting 1
      .resume a
      .report a model 2
      .report a answer 2 calls=c2:once
      .report a tool c2
      report a compacting 2
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a compacting 1
      a.13 process.held context-full/system
      a.14 process.note the context is full: it was compacted and is still too large. A model with a larger window can continue: stop the process, then resume it with --model
        -> driver.pause a#1
        -> ack held
        == a suspended
      > report a compacting 1
        -> ack held
      > report a compacting 1
      a.16 process.held context-full/system
      a.17 process.note the context is full: it was compacted and is still too large. A model with a larger window can continue: stop the process, then resume it with --model
        -> driver.pause a#1
        -> ack held
        == a suspended
      > report a compacting 2
      a.23 compaction.started after 2 try 1
        -> ack go
      "
    `)
  })

  test('while the process is held or stopping', () => {
    expect(
      play(`
      ${ONE_STEP}
      .signal SIGPAUSE a
      report a compacting 1
      .resume a
      .signal SIGTERM a
      report a compacting 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a compacting 1
        -> ack held
      > report a compacting 1
        -> ack stop
      "
    `)
  })

  test('with a used-up budget, even if the summary itself used it up', () => {
    expect(
      play(`
      .live a budgetTokens=40
      .report a model 1
      .report a answer 1
      report a compacting 1
      report a compacted 1 tokens=30
      report a model 2
      .live b budgetTokens=10
      .report b model 1
      .report b answer 1
      report b compacting 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a compacting 1
      a.9 compaction.started after 1 try 1
        -> ack go
      > report a compacted 1 tokens=30
      a.10 context.compacted after 1: 100 -> 10
      a.11 limit.warned budgetTokens 42 of 40
        -> checkpoint a#1
        -> ack ok
      > report a model 2
      a.12 process.held budget/system
      a.13 limit.reached budgetTokens 42 of 40 -> suspend
        -> driver.pause a#1
        -> ack held
        == a suspended
      > report b compacting 1
      b.10 process.held budget/system
      b.11 limit.reached budgetTokens 11 of 10 -> suspend
        -> driver.pause b#2
        -> ack held
        == b suspended
      "
    `)
  })
})

describe('a report about a compaction', () => {
  test('is refused as an end without a start, as a second end, and with ranges that the journal does not have', () => {
    expect(
      play(`
      ${ONE_STEP}
      report a compacted 1
      report a uncompacted 1
      .report a compacting 1
      report a compacted 0
      report a compacted 1 parts=5-99
      report a compacted 1 parts=5-4
      report a compacted 1 parts=5-6,6-7
      report a compacted 1
      report a compacted 1
      report a uncompacted 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a compacted 1
        -> ack late
      > report a uncompacted 1
        -> ack late
      > report a compacted 0
        -> ack late
      > report a compacted 1 parts=5-99
        -> refused INVALID: the ranges do not fit a journal of 11 facts: [[5,99]]
      > report a compacted 1 parts=5-4
        -> refused INVALID: the ranges do not fit a journal of 11 facts: [[5,4]]
      > report a compacted 1 parts=5-6,6-7
        -> refused INVALID: the ranges do not fit a journal of 11 facts: [[5,6],[6,7]]
      > report a compacted 1
      a.12 context.compacted after 1: 100 -> 10
        -> checkpoint a#1
        -> ack ok
      > report a compacted 1
        -> ack late
      > report a uncompacted 1
        -> ack late
      "
    `)
  })

  test('is not awaited after the end of the turn, the daemon or the incarnation', () => {
    expect(
      play(`
      .live a interactive
      .report a model 1
      .report a answer 1
      .report a compacting 1
      .report a ended 1 interrupted
      report a compacted 1
      .send a
      report a compacting 1
      .signal SIGPAUSE a
      boot a
      report a compacted 1
      .resume a
      start a
      report a compacted 1
      .report a up
      report a compacting 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a compacted 1
        -> ack late
      > report a compacting 1
      a.14 compaction.started after 1 try 1
        -> ack go
      > boot a
      a.17 process.rehydrated #2
      > report a compacted 1
        -> ack late
      > start a
      a.19 process.attached
      a.20 compaction.failed after 1 interrupted
        -> driver.start a#2
      > report a compacted 1
        -> ack late
      > report a compacting 1
      a.23 compaction.started after 1 try 1
        -> ack go
      "
    `)
  })

  test('is accepted during a pause, and a failure adds its hold', () => {
    expect(
      play(`
      ${ONE_STEP}
      .report a compacting 1
      .signal SIGPAUSE a
      report a compacted 1
      .live b
      .report b compacting 0
      .signal SIGPAUSE b
      report b uncompacted 0
      resume b
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a compacted 1
      a.14 context.compacted after 1: 100 -> 10
        -> checkpoint a#1
        -> ack ok
      > report b uncompacted 0
      b.10 compaction.failed after 0 overloaded
      b.11 process.held context-full/system
      b.12 process.note the context is full: it could not be compacted: overloaded
        -> ack held
      > resume b
      b.13 process.released user/user context-full/system
        -> driver.unpause b#2
        -> done, 1 affected
        == b working
      "
    `)
  })
})

describe('the warning of a full context', () => {
  test('comes before a compaction, and counts only the part of the window that is not kept for an answer', () => {
    expect(
      play(`
      .spawn a
      .start a
      report a up window=100 answer=25
      .report a model 1
      report a answer 1 tokens=53
      .report a model 2
      report a answer 2 tokens=54
      .report a ended 1
      .released a
      .resume a message
      .start a
      report a up window=100
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a up window=100 answer=25
      a.4 context.window 100
      a.5 process.ready turn 0
      a.6 process.incoming intent turn 1
      a.7 process.working turn 1 intent
        -> driver.deliver a#1 intent turn 1
        -> ack ok
        == a working
      > report a answer 1 tokens=53
      a.9 model.finished 1
        -> ack ok
      > report a answer 2 tokens=54
      a.11 model.finished 2
      a.12 limit.warned context 55 of 75
        -> ack ok
      > report a up window=100
      a.19 context.window 100
      a.20 process.ready turn 1
      a.21 process.incoming m10 turn 2
      a.22 process.working turn 2 m10
        -> driver.deliver a#2 m10 turn 2
        -> ack ok
        == a working
      "
    `)
  })

  test('comes each time that the context reaches 80 % of the window, also after a change of the window', () => {
    expect(
      play(`
      .spawn a
      .start a
      report a up window=100
      .report a model 1
      report a answer 1 tokens=78
      .report a model 2
      report a answer 2 tokens=79
      .report a model 3
      report a answer 3 tokens=90
      .report a compacting 3
      report a compacted 3 after=50
      .report a model 4
      report a answer 4 tokens=85
      .report a ended 1
      .released a
      .resume a message
      .start a
      report a up window=200
      .report a ended 2
      .released a
      .resume a message
      .start a
      report a up window=100
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a up window=100
      a.4 context.window 100
      a.5 process.ready turn 0
      a.6 process.incoming intent turn 1
      a.7 process.working turn 1 intent
        -> driver.deliver a#1 intent turn 1
        -> ack ok
        == a working
      > report a answer 1 tokens=78
      a.9 model.finished 1
        -> ack ok
      > report a answer 2 tokens=79
      a.11 model.finished 2
      a.12 limit.warned context 80 of 100
        -> ack ok
      > report a answer 3 tokens=90
      a.14 model.finished 3
        -> ack ok
      > report a compacted 3 after=50
      a.16 context.compacted after 3: 100 -> 50
        -> checkpoint a#1
        -> ack ok
      > report a answer 4 tokens=85
      a.18 model.finished 4
      a.19 limit.warned context 86 of 100
        -> ack ok
      > report a up window=200
      a.26 context.window 200
      a.27 process.ready turn 1
      a.28 process.incoming m16 turn 2
      a.29 process.working turn 2 m16
        -> driver.deliver a#2 m16 turn 2
        -> ack ok
        == a working
      > report a up window=100
      a.36 context.window 100
      a.37 limit.warned context 86 of 100
      a.38 process.ready turn 2
      a.39 process.incoming m21 turn 3
      a.40 process.working turn 3 m21
        -> driver.deliver a#3 m21 turn 3
        -> ack ok
        == a working
      "
    `)
  })

  test('does not come without a known window', () => {
    expect(
      play(`
      .live a
      .report a model 1
      report a answer 1 tokens=1000000
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a answer 1 tokens=1000000
      a.8 model.finished 1
        -> ack ok
      "
    `)
  })
})
