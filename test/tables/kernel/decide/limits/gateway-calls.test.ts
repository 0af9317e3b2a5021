// Gateway calls of an external agent: requested, several at a time, held, and charged once.
import { expect, test } from 'vitest'
import { play } from '../../../../support/kernel/transcript.ts'

const UP = `
  .spawn a acp budgetTokens=20000
  .start a metered
  .report a up session=s1
`

test("several calls may be open; each is charged at its end, and the agent's own report is not counted", () => {
  expect(
    play(`
    ${UP}
    report a call c1 ask=1000+8000
    report a call c2 ask=1000+8000
    report a call c1 ask=1000+8000
    report a called c2 tokens=1000 out=300
    report a called c2
    report a usage tokens=5000 context=1234
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a call c1 ask=1000+8000
    a.8 call.started c1
      -> ack go
    > report a call c2 ask=1000+8000
    a.9 call.started c2
      -> ack go
    > report a call c1 ask=1000+8000
      -> refused INVALID: call c1 is already open
    > report a called c2 tokens=1000 out=300
    a.10 call.finished c2 1000 tokens
      -> ack ok
    > report a called c2
      -> ack late
    > report a usage tokens=5000 context=1234
    a.11 usage.reported 0 tokens
      -> ack ok
    "
  `)
})

test('a call that is open when its process ends is charged its estimate', () => {
  expect(
    play(`
    ${UP}
    .report a call c1 ask=1000+8000
    report a exited 0
    report a called c1 tokens=1
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a exited 0
    a.9 call.finished c1 1000 tokens, estimated
    a.10 process.exited 0 completed (agent)
      -> release cancel a#1
      -> release await a#1
      -> ack ok
      == a zombie
    > report a called c1 tokens=1
      -> ack late
    "
  `)
})

test('no call begins while the process is held', () => {
  expect(
    play(`
    ${UP}
    .signal SIGPAUSE a
    report a call c1 ask=1000+8000
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a call c1 ask=1000+8000
      -> ack held
    "
  `)
})
