// Asks and answers: permitted answers, answers during a pause, and events that withdraw an ask.
import { describe, expect, test } from 'vitest'
import { play, TranscriptPlayer } from '../../../../support/kernel/transcript.ts'

const ASKED = `
  .live a acp interactive
  .report a session s1
`

test('an agent with an ask waits, and its answer makes it work again', () => {
  expect(
    play(`${ASKED}
    report a asks q1 options=yes,no
    answer a maybe
    answer a text=yes
    answer a yes id=q2
    answer a yes
    answer a yes
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a asks q1 options=yes,no
    a.8 process.waiting q1
      -> ack ok
      == a waiting
    > answer a maybe
      -> refused INVALID: process 1 expects one of yes, no, not "maybe"
    > answer a text=yes
      -> refused INVALID: process 1 expects one of yes, no
    > answer a yes id=q2
      -> refused INVALID: process 1 does not ask "q2"; it asks q1
    > answer a yes
    a.9 process.answered q1 yes by user
      -> driver.answer a#1
      -> done, 1 affected
      == a working
    > answer a yes
      -> refused INVALID: process 1 asks nothing
    "
  `)
})

test('an answer names one of several asks, and the last answer makes the agent work again', () => {
  expect(
    play(`${ASKED}
    .report a asks q1 options=yes,no
    report a asks q2
    report a asks q2
    answer a yes
    answer a id=q2 text=blue
    answer a no
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a asks q2
    a.9 process.waiting q2
      -> ack ok
    > report a asks q2
      -> ack late
    > answer a yes
      -> refused INVALID: process 1 has 2 open questions; name one of them: q1, q2
    > answer a id=q2 text=blue
    a.10 process.answered q2 blue by user
      -> driver.answer a#1
      -> done, 1 affected
    > answer a no
    a.11 process.answered q1 no by user
      -> driver.answer a#1
      -> done, 1 affected
      == a working
    "
  `)
})

describe('a text beside an option', () => {
  test('is a message for an external agent, whose protocol has no reason for a denial', () => {
    expect(
      play(`${ASKED}
      .report a asks q1 options=yes,no
      answer a no text=keep
      report a ended 1
    `),
    ).toMatchInlineSnapshot(`
      "
      > answer a no text=keep
      a.9 process.answered q1 no by user
      a.10 process.queue answer-9
        -> driver.answer a#1
        -> done, 1 affected: the agent gets the text as a message, because the answer itself has no place for it
        == a working
      > report a ended 1
      a.11 process.ready turn 1 ok
      a.12 process.incoming answer-9 turn 2
      a.13 process.working turn 2 answer-9
        -> driver.deliver a#1 answer-9 turn 2
        -> ack ok
      "
    `)
  })

  test('is a message for a native agent beside an approval, and the reason of a denial', () => {
    expect(
      play(`
      .live a interactive intent=go
      .report a asks q1 options=yes,deny
      .report a asks q2 options=yes,deny
      answer a yes id=q1 text=quickly
      answer a deny id=q2 text=keep
    `),
    ).toMatchInlineSnapshot(`
      "
      > answer a yes id=q1 text=quickly
      a.9 process.answered q1 yes by user
      a.10 process.queue answer-9
        -> driver.answer a#1
        -> done, 1 affected: the agent gets the text as a message, because the answer itself has no place for it
      > answer a deny id=q2 text=keep
      a.11 process.answered q2 deny by user
        -> driver.answer a#1
        -> done, 1 affected
        == a working
      "
    `)
  })

  test('waits with the answer to a suspended process', () => {
    expect(
      play(`${ASKED}
      .report a asks q1 options=yes,no
      .signal SIGPAUSE a
      .report a frozen
      .answer a no text=keep
      signal SIGRESUME a
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGRESUME a
      a.13 signal.sent SIGRESUME by user: default
      a.14 process.released user/user
      a.15 process.queue answer-14
        -> driver.unpause a#1
        -> driver.answer a#1
        -> done, 1 affected
        == a working
      "
    `)
  })

  test('waits with the answer that can be taken back', () => {
    expect(
      play(`${ASKED}
      .report a asks q1 options=yes,no
      answer a no text=keep undo=5000
      unanswer a q1
      answer a no text=other undo=5000
      wind 5000
      tick a
    `),
    ).toMatchInlineSnapshot(`
      "
      > answer a no text=keep undo=5000
      a.9 process.answered q1 no by user due 6000
        -> done, 1 affected: the agent gets the text as a message, because the answer itself has no place for it
      > unanswer a q1
      a.10 process.unanswered q1 by user
        -> done, 1 affected
      > answer a no text=other undo=5000
      a.11 process.answered q1 no by user due 6000
        -> done, 1 affected: the agent gets the text as a message, because the answer itself has no place for it
      > wind 5000
      tick a
      a.12 process.delivered q1
      a.13 process.queue answer-12
        -> driver.answer a#1
        == a working
      > tick a
      "
    `)
  })
})

test('a suspended process gets its answer when it resumes', () => {
  expect(
    play(`${ASKED}
    .report a asks q1 options=yes,no
    signal SIGPAUSE a
    report a frozen
    answer a yes
    answer a no
    signal SIGRESUME a
  `),
  ).toMatchInlineSnapshot(`
    "
    > signal SIGPAUSE a
    a.9 signal.sent SIGPAUSE by user: default
    a.10 process.held user/user
      -> driver.pause a#1 freeze
      -> done, 1 affected
      == a suspended
    > report a frozen
    a.11 process.frozen make
      -> ack ok
    > answer a yes
    a.12 process.answered q1 yes by user
      -> done, 1 affected: the process is suspended: it gets the answer when it resumes
    > answer a no
      -> refused INVALID: process 1 asks nothing
    > signal SIGRESUME a
    a.13 signal.sent SIGRESUME by user: default
    a.14 process.released user/user
      -> driver.unpause a#1
      -> driver.answer a#1
      -> done, 1 affected
      == a working
    "
  `)
})

describe('an answer with a time for taking it back', () => {
  const ANSWERED = `${ASKED}
    .report a asks q1 options=yes,no
    .answer a yes undo=5000
  `

  test('reaches the agent at its time', () => {
    expect(
      play(`${ASKED}
      .report a asks q1 options=yes,no
      answer a yes undo=5000
      answer a no
      wind 4999
      wind 1
      tick a
    `),
    ).toMatchInlineSnapshot(`
      "
      > answer a yes undo=5000
      a.9 process.answered q1 yes by user due 6000
        -> done, 1 affected
      > answer a no
        -> refused INVALID: process 1 asks nothing
      > wind 4999
      > wind 1
      tick a
      a.10 process.delivered q1
        -> driver.answer a#1
        == a working
      > tick a
      "
    `)
  })

  test('opens its question again when it is taken back, and another answer counts', () => {
    expect(
      play(`${ANSWERED}
      .report a asks q2
      unanswer a q2
      unanswer a q1
      unanswer a q1
      wind 5000
      .report a unasked q2
      answer a no
      unanswer a q1
      unanswer a unknown
    `),
    ).toMatchInlineSnapshot(`
      "
      > unanswer a q2
        -> refused CONFLICT: the answer to "q2" cannot be taken back: the question of process 1 is open
      > unanswer a q1
      a.11 process.unanswered q1 by user
        -> done, 1 affected
      > unanswer a q1
        -> refused CONFLICT: the answer to "q1" cannot be taken back: the question of process 1 is open
      > wind 5000
      > answer a no
      a.13 process.answered q1 no by user
        -> driver.answer a#1
        -> done, 1 affected
        == a working
      > unanswer a q1
        -> refused CONFLICT: the answer to "q1" cannot be taken back: process 1 has the answer already, or does not ask this
      > unanswer a unknown
        -> refused CONFLICT: the answer to "unknown" cannot be taken back: process 1 has the answer already, or does not ask this
      "
    `)
  })

  test('stays with its question during a pause, and after a pause that ends early', () => {
    expect(
      play(`${ANSWERED}
      .signal SIGPAUSE a
      wind 1000
      signal SIGRESUME a
      wind 4000
    `),
    ).toMatchInlineSnapshot(`
      "
      > wind 1000
      > signal SIGRESUME a
      a.12 signal.sent SIGRESUME by user: default
      a.13 process.released user/user
        -> driver.unpause a#1
        -> done, 1 affected
        == a waiting
      > wind 4000
      tick a
      a.14 process.delivered q1
        -> driver.answer a#1
        == a working
      "
    `)
  })

  test('reaches the agent at the end of a pause that lasts longer', () => {
    expect(
      play(`${ANSWERED}
      .signal SIGPAUSE a
      .report a frozen
      wind 9000
      signal SIGRESUME a
    `),
    ).toMatchInlineSnapshot(`
      "
      > wind 9000
      > signal SIGRESUME a
      a.13 signal.sent SIGRESUME by user: default
      a.14 process.released user/user
        -> driver.unpause a#1
        -> driver.answer a#1
        -> done, 1 affected
        == a working
      "
    `)
  })

  test('reaches an agent that wraps up', () => {
    const player = new TranscriptPlayer()
    player.play(`.live a interactive
      .report a asks q1 options=yes,no
      .handle a SIGTERM message
      .answer a yes undo=5000
      .signal SIGTERM a grace=60000`)
    expect(player.play('wind 5000')).toContain('-> driver.answer a#1')
  })

  test.each([
    ['when the process stops', '.signal SIGTERM a\nunanswer a q1', 'INVALID: process 1 is stopping'],
    ['by an agent', 'unanswer a q1 by=agent:b', 'PERMISSION: only the user can take back an answer'],
    ['when the process has ended', '.report a exited 0\nunanswer a q1', 'NOT_FOUND: process 1 has ended'],
  ])('cannot be taken back %s', (_, script, refused) => {
    expect(play(`${ANSWERED}\n${script}`)).toContain(`-> refused ${refused}`)
  })

  test.each([
    ['the process stops', '.signal SIGTERM a'],
    ['the turn ends', '.report a ended 1'],
    ['the question is withdrawn', '.report a unasked q1'],
    ['a new daemon finds the process paused', '.signal SIGPAUSE a\n.boot a'],
  ])('never reaches the agent when %s', (_, script) => {
    expect(play(`${ANSWERED}\n${script}\nwind 5000`)).not.toContain('driver.answer')
  })

  test('counts at once for a plan', () => {
    expect(
      play(`${ASKED}
      .report a asks q1 kind=plan options=allow,deny
      answer a deny undo=5000
      unanswer a q1
    `),
    ).toMatchInlineSnapshot(`
      "
      > answer a deny undo=5000
      a.9 process.answered q1 deny by user
        -> driver.answer a#1
        -> done, 1 affected: the answer counts at once, so it cannot be taken back
        == a working
      > unanswer a q1
        -> refused CONFLICT: the answer to "q1" cannot be taken back: process 1 has the answer already, or does not ask this
      "
    `)
  })

  test('leaves a question with its old time when it is taken back, which counts as not seen', () => {
    const player = new TranscriptPlayer()
    player.play(`${ANSWERED}\n.wind 10\n.seen a`)
    const at = player.world.row('a')?.asks?.[0]?.at ?? Infinity
    expect(player.world.row('a')?.seenAt).toBeGreaterThan(at)
    player.play('.wind 10\n.unanswer a q1')
    expect(player.world.row('a')?.asks?.[0]?.at).toBe(at)
    expect(player.world.row('a')?.seenAt).toBeLessThan(at)
  })
})

test('an answer during a pause can be taken back until the pause ends', () => {
  expect(
    play(`${ASKED}
    .report a asks q1 options=yes,no
    .signal SIGPAUSE a
    .answer a yes
    unanswer a q1
    signal SIGRESUME a
  `),
  ).toMatchInlineSnapshot(`
    "
    > unanswer a q1
    a.12 process.unanswered q1 by user
      -> done, 1 affected
    > signal SIGRESUME a
    a.13 signal.sent SIGRESUME by user: default
    a.14 process.released user/user
      -> driver.unpause a#1
      -> done, 1 affected
      == a waiting
    "
  `)
})

test('an agent that asks during a pause is frozen', () => {
  expect(
    play(`${ASKED}
    .signal SIGPAUSE a
    report a asks q1
    .report a frozen
    signal SIGRESUME a
    answer a text=42
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a asks q1
    a.10 process.waiting q1
      -> driver.pause a#1 freeze
      -> ack ok
    > signal SIGRESUME a
    a.12 signal.sent SIGRESUME by user: default
    a.13 process.released user/user
      -> driver.unpause a#1
      -> done, 1 affected
      == a waiting
    > answer a text=42
    a.14 process.answered q1 42 by user
      -> driver.answer a#1
      -> done, 1 affected
      == a working
    "
  `)
})

test('a withdrawn ask is closed', () => {
  expect(
    play(`${ASKED}
    .report a asks q1
    report a unasked q1
    report a unasked q1
    answer a text=late
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a unasked q1
    a.9 process.unasked q1
      -> ack ok
      == a working
    > report a unasked q1
      -> ack late
    > answer a text=late
      -> refused INVALID: process 1 asks nothing
    "
  `)
})

describe('an answer is refused', () => {
  test.each([
    ['by an agent', 'answer a yes by=agent:b', 'PERMISSION: only the user can answer a question of a process'],
    ['while the process stops', '.signal SIGTERM a\nanswer a yes', 'INVALID: process 1 is stopping'],
    ['when the process has ended', '.report a exited 0\nanswer a yes', 'NOT_FOUND: process 1 has ended'],
    ['for an unknown process', 'answer x yes', 'NOT_FOUND: process x has ended'],
  ])('%s', (_, script, refused) => {
    expect(play(`${ASKED}\n.report a asks q1 options=yes,no\n${script}`)).toContain(`-> refused ${refused}`)
  })
})

test.each([
  ['the turn ends', '.report a ended 1'],
  ['the process ends', '.report a exited 0'],
  ['a new daemon finds the process paused', '.signal SIGPAUSE a\n.boot a'],
])('an ask is void when %s', (_, script) => {
  const player = new TranscriptPlayer()
  player.play(`${ASKED}\n.report a asks q1`)
  expect(player.world.row('a')?.asks).toHaveLength(1)
  player.play(script)
  expect(player.world.row('a')?.asks).toEqual([])
})

test('the number of asks is limited, and so are their texts and options', () => {
  const player = new TranscriptPlayer()
  player.play(ASKED)
  for (let index = 0; index < 32; index += 1) player.play(`.report a asks q${index}`)
  expect(player.play('report a asks one-more')).toContain('refused RESOURCE_EXHAUSTED')
  player.play(Array.from({ length: 32 }, (_, index) => `.report a unasked q${index}`).join('\n'))
  const option = { id: 'o', name: 'n'.repeat(1_000), kind: 'choice' as const }
  const ask = {
    id: 'q',
    kind: 'question' as const,
    text: 't'.repeat(100_000),
    options: Array.from({ length: 100 }, () => option),
    callId: null,
    at: 0,
  }
  player.world.step({ type: 'report', reply: 99, uuid: 'a', pid: 1, report: { type: 'waiting', ask } })
  const [kept] = player.world.row('a')?.asks ?? []
  expect([kept?.text.length, kept?.options.length, kept?.options[0]?.name.length]).toEqual([4_000, 64, 200])
})
