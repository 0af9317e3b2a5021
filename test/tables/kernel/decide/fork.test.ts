// Forks, as transcripts: the state that a fork continues from, the unchanged origin, and refusals.
import { describe, expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'

const TWO_STEPS = `
  .live a named=x
  .report a model 1
  .report a answer 1 calls=c1:once
  .report a tool c1
  .report a model 2
  .report a answer 2 calls=c2:once
`

describe('a fork', () => {
  test('continues after the last complete step, with the next number, in the open turn', () => {
    expect(
      play(`${TWO_STEPS}
      fork b of=a
      start b
      report b up
      report b model 2
      report a tool c2
      report a model 3
    `),
    ).toMatchInlineSnapshot(`
      "
      > fork b of=a
      b.11 process.forked #2 from a after step 1
        -> done, 1 affected
        -> start b#2
        == b pending
      > start b
      b.12 process.started
        -> driver.start b#2
        == b starting
      > report b up
      b.13 process.ready turn 1
      b.14 process.working turn 1
        -> driver.proceed b#2 turn 1
        -> ack ok
        == b working
      > report b model 2
      b.15 model.started 2 try 1
        -> ack go
      > report a tool c2
      a.14 tool.finished c2 ok
        -> ack ok
      > report a model 3
      a.15 model.started 3 try 1
        -> ack go
      "
    `)
  })

  test('receives a message before its next model call', () => {
    expect(
      play(`${TWO_STEPS}
      .report a tool c2
      fork b of=a step=1 message
      .start b
      report b up
      report b model 2
      report b model 2
    `),
    ).toMatchInlineSnapshot(`
      "
      > fork b of=a step=1 message
      b.11 process.forked #2 from a after step 1
      b.12 process.queue m10
        -> done, 1 affected
        -> start b#2
        == b pending
      > report b up
      b.14 process.ready turn 1
      b.15 process.working turn 1
        -> driver.proceed b#2 turn 1
        -> ack ok
        == b working
      > report b model 2
      b.16 process.incoming m10 turn 1
        -> driver.deliver b#2 m10 turn 1
        -> ack held
      > report b model 2
      b.17 model.started 2 try 1
        -> ack go
      "
    `)
  })

  test('of an ended process takes over its queued messages', () => {
    expect(
      play(`
      .live a
      .send a
      .report a model 1
      .report a answer 1
      .report a exited 1
      .released a
      fork b of=a
      .start b
      report b up
      report b ended 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > fork b of=a
      b.12 process.forked #2 from a after step 1
        -> done, 1 affected
        -> start b#2
        == b pending
      > report b up
      b.14 process.ready turn 1
      b.15 process.working turn 1
        -> driver.proceed b#2 turn 1
        -> ack ok
        == b working
      > report b ended 1
      b.16 process.ready turn 1 ok
      b.17 process.incoming m4 turn 2
      b.18 process.working turn 2 m4
        -> driver.deliver b#2 m4 turn 2
        -> ack ok
      "
    `)
  })

  test('has no usage, so its limit of steps counts from zero', () => {
    expect(
      play(`
      .live a maxSteps=1
      .report a model 1
      .report a answer 1 calls=c1:once
      .report a tool c1
      .fork b of=a
      .start b
      .report b up
      report b model 2
      .report b answer 2 calls=c2:once
      .report b tool c2
      report b model 3
    `),
    ).toMatchInlineSnapshot(`
      "
      > report b model 2
      b.16 model.started 2 try 1
        -> ack go
      > report b model 3
      b.21 limit.reached maxSteps 1 of 1 -> terminate
      b.22 process.exited 1 max steps exceeded (limit)
        -> release cancel b#2
        -> release await b#2
        -> ack stop
        == b zombie
      "
    `)
  })

  test('of a child is a child of the same living parent, else of PID 0', () => {
    expect(
      play(`
      .live a
      .live b under=a
      fork c of=b
      .signal SIGKILL a
      .report a exited SIGKILL
      .released a
      fork d of=b
    `),
    ).toMatchInlineSnapshot(`
      "
      > fork c of=b
      c.7 process.forked #3 from b after step 0
      a.8 child.spawned c
        -> done, 1 affected
        -> start c#3
        == c pending
      > fork d of=b
      d.8 process.forked #4 from b after step 0
      d.9 process.reparented to PID 0
        -> done, 1 affected
        -> start d#4
        == d pending
      "
    `)
  })

  test('of a fork of an external agent continues with a session of its own', () => {
    expect(
      play(`
      .spawn a acp
      .start a
      .report a up session=s1
      .fork b of=a
      fork c of=b
      .start c
      report c up session=s2
    `),
    ).toMatchInlineSnapshot(`
      "
      > fork c of=b
      c.9 process.forked #3 from b after step 0
        -> done, 1 affected
        -> start c#3
        == c pending
      > report c up session=s2
      c.11 process.handle s2
      c.12 process.ready turn 1
      c.13 process.working turn 1
        -> driver.proceed c#3 turn 1
        -> ack ok
        == c working
      "
    `)
  })
})

describe('a fork is refused', () => {
  test('of a plain command, of an agent without a session, and with a name or a UUID that is taken', () => {
    expect(
      play(`
      .live a command
      .live b acp
      .live c named=x
      fork d of=a
      fork d of=b
      fork d of=c named=x
      fork c of=c
    `),
    ).toMatchInlineSnapshot(`
      "
      > fork d of=a
        -> refused NOT_RESUMABLE: a command has no session to fork; \`reeve resume --rerun\` runs it again
      > fork d of=b
        -> refused NOT_RESUMABLE: process 2 reported no session that can be forked
      > fork d of=c named=x
        -> refused CONFLICT: a living process is called "x"
      > fork c of=c
        -> refused CONFLICT: c is in use
      "
    `)
  })

  test('when the table is full', () => {
    expect(
      new TranscriptPlayer(1).play(`
      .live a
      fork b of=a
    `),
    ).toMatchInlineSnapshot(`
      "
      > fork b of=a
        -> refused RESOURCE_EXHAUSTED: 1 processes are running; the limit is 1
      "
    `)
  })
})

test('the origin gets no fact about its fork', () => {
  const player = new TranscriptPlayer()
  player.play(TWO_STEPS)
  const before = player.world.row('a')
  player.play(`
    fork b of=a step=1 message
    start b
    report b up
  `)
  expect(player.world.row('a')).toBe(before)
})

test('a fork has no child id, and never restarts automatically', () => {
  const player = new TranscriptPlayer()
  player.play('live s supervisor\nlive a under=s child=a restart=permanent\nfork b of=a\nfork c of=a deny=bash')
  for (const uuid of ['b', 'c']) expect(player.world.row(uuid)?.spec).not.toMatchObject({ childId: expect.anything() })
  for (const uuid of ['b', 'c']) expect(player.world.row(uuid)?.spec).not.toMatchObject({ restart: expect.anything() })
})
