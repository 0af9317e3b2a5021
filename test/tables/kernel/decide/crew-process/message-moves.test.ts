// Queued messages of a replaced member, as transcripts: they move to the successor, even if the predecessor ends first.
// A message that arrives later moves as well.
import { expect, test } from 'vitest'
import { play } from '../../../../support/kernel/transcript.ts'

const REPLACED = `
    .live crew c staff=generic:1
    .live member w1 of=c id=worker-1
    .signal SIGPAUSE w1
    .send w1
    .say c replace_worker member=worker-1 summary=done`

test('the messages move when the predecessor dies before its successor is running', () => {
  expect(
    play(`${REPLACED}
    .signal SIGKILL w1
    .report w1 exited 137
    .released w1
    member w2 of=c id=worker-2
  `),
  ).toMatchInlineSnapshot(`
    "
    > member w2 of=c id=worker-2
    w2.1 process.spawned #3 under c
    c.19 child.spawned w2
    c.20 supervisor.added worker-2 w2 transient
    c.21 crew.job.done job 2, result spawned
    c.22 crew.joined worker-2, process w2, inherits true
    c.23 crew.sent message 1, to worker-2, from system
    w2.2 process.queue 1
      -> done, 1 affected
      -> start w2#3
      -> move w1, c to w2
      == w2 pending
    "
  `)
})

test('a message that arrives between the move and the end of the predecessor moves, too', () => {
  expect(
    play(`${REPLACED}
    .member w2 of=c id=worker-2
    .moved c w1,c to=w2 all
    send w1
    report w1 exited 0
    released w1
  `),
  ).toMatchInlineSnapshot(`
    "
    > send w1
    w1.12 process.queue m12
      -> done, 1 affected
    > report w1 exited 0
    w1.13 process.exited 0 retired (agent)
    c.23 child.exited w1 0 retired
      -> release cancel w1#2
      -> release await w1#2
      -> ack ok
      == w1 zombie
    > released w1
    w1.14 process.reaped
    c.24 supervisor.removed worker-1 w1
    c.25 crew.left worker-1, how replaced, reason worker-2 took over
      -> release channel w1#2
      -> release context w1#2
      -> release remove w1#2
      -> move w1 to w2
      == w1 retired
    "
  `)
})
