// External agents: they report calls after they have happened, so budgets and limits act afterwards. A pause freezes them at a boundary,
// and they continue from their session.
import { describe, expect, test } from 'vitest'
import { resumeSource, takesMessages } from '../../../../src/kernel/model/capabilities.ts'
import { play } from '../../../support/kernel/transcript.ts'
import { kernelSpec } from '../../../support/kernel/world.ts'

describe('processes that take messages while they run', () => {
  test.each([
    [{ driver: 'native' }, true],
    [{ driver: 'acp' }, true],
    [{ driver: 'supervisor' }, false],
    [{ driver: 'crew' }, false],
    [{ driver: 'compose' }, false],
    [{ driver: 'command', agent: 'mine', interactive: true }, false],
    [{ driver: 'command', agent: 'mine', format: 'claude' }, false],
    [{ driver: 'command', agent: 'mine', format: 'claude', interactive: true }, true],
    [{ driver: 'command', agent: 'command', format: 'claude', interactive: true }, false],
  ] as const)('a process with %j takes messages while it runs: %s', (spec, isAble) => {
    expect(takesMessages(kernelSpec(spec))).toBe(isAble)
  })
})

describe('the resume source of an ended process', () => {
  const progress = { step: 0, modelOpen: false, attempt: 0, openCalls: [], wholeStep: 0, turn: 1, turnOpen: false, lastText: null }
  test.each([
    ['native', undefined, null, 1, 'context'],
    ['command', undefined, null, 0, 'rerun'],
    ['command', undefined, 's1', 1, 'rerun'],
    ['command', 'claude', null, 0, 'rerun'],
    ['command', 'claude', 's1', 1, 'session'],
    ['acp', undefined, null, 0, 'session'],
    ['acp', undefined, null, 1, 'rerun'],
    ['acp', undefined, 's1', 1, 'session'],
  ] as const)('%s %s, session %s, %i turns: %s', (driver, format, sessionId, turnCount, source) => {
    expect(
      resumeSource({ spec: kernelSpec({ driver, ...(format ? { format } : {}) }), sessionId, progress: { ...progress, turn: turnCount } }),
    ).toBe(source)
  })

  test.each([
    [null, 0, 'session'],
    [null, 1, 'rerun'],
    ['s1', 1, 'session'],
  ] as const)('a conversation of a command, session %s, %i turns: %s', (sessionId, turnCount, source) => {
    expect(
      resumeSource({
        spec: kernelSpec({ driver: 'command', agent: 'mine', format: 'codex', interactive: true }),
        sessionId,
        progress: { ...progress, turn: turnCount },
      }),
    ).toBe(source)
  })
})

test('a step of a held agent is recorded, and earlier open calls are closed', () => {
  expect(
    play(`
    .live a acp interactive
    .signal SIGPAUSE a
    report a model 1
    report a answer 1 calls=c1:once,c2:read
    report a model 2
    report a model 4
    report a tool c1
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a model 1
    a.9 model.started 1 try 1
      -> ack ok
    > report a answer 1 calls=c1:once,c2:read
    a.10 model.finished 1
    a.11 tool.started c1 once
    a.12 tool.started c2 read
      -> ack ok
    > report a model 2
    a.13 tool.finished c1 interrupted
    a.14 tool.finished c2 interrupted
    a.15 model.started 2 try 1
      -> ack ok
    > report a model 4
      -> refused INVALID: step 4 cannot begin: the next one is 2
    > report a tool c1
      -> ack late
    "
  `)
})

test('a budget is checked after each report, and a used-up one freezes the agent once', () => {
  expect(
    play(`
    .live a acp interactive budgetTokens=50
    .report a model 1
    report a answer 1 tokens=10
    report a usage tokens=60 context=400 window=1000
    report a usage tokens=10
    resume a
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a answer 1 tokens=10
    a.8 model.finished 1
      -> ack ok
    > report a usage tokens=60 context=400 window=1000
    a.9 usage.reported 60 tokens
    a.10 limit.warned budgetTokens 72 of 50
    a.11 process.held budget/system
    a.12 limit.reached budgetTokens 72 of 50 -> suspend
      -> driver.pause a#1 freeze
      -> ack ok
      == a suspended
    > report a usage tokens=10
    a.13 usage.reported 10 tokens
      -> ack ok
    > resume a
      -> done, 0 affected: still suspended: budget
    "
  `)
})

test('a step beyond maxSteps ends the process', () => {
  expect(
    play(`
    .live a acp interactive maxSteps=1
    .report a model 1
    .report a answer 1
    report a model 2
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a model 2
    a.10 limit.reached maxSteps 1 of 1 -> terminate
    a.11 process.exited 1 max steps exceeded (limit)
      -> release cancel a#1
      -> release await a#1
      -> ack stop
      == a zombie
    "
  `)
})

test('a pause lets the turn end and then freezes the agent; queued messages are delivered after the resume', () => {
  expect(
    play(`
    .live a acp interactive
    signal SIGPAUSE a
    .send a
    report a ended 1
    report a frozen
    signal SIGRESUME a
  `),
  ).toMatchInlineSnapshot(`
    "
    > signal SIGPAUSE a
    a.7 signal.sent SIGPAUSE by user: default
    a.8 process.held user/user
      -> driver.pause a#1
      -> done, 1 affected
      == a suspended
    > report a ended 1
    a.10 process.ready turn 1 ok
    a.11 process.drained
      -> driver.pause a#1 freeze
      -> ack ok
    > report a frozen
    a.12 process.frozen make
      -> ack ok
    > signal SIGRESUME a
    a.13 signal.sent SIGRESUME by user: default
    a.14 process.released user/user
    a.15 process.incoming m5 turn 2
    a.16 process.working turn 2 m5
      -> driver.unpause a#1
      -> driver.deliver a#1 m5 turn 2
      -> done, 1 affected
      == a working
    "
  `)
})

test('an agent that waits for a message is frozen at once, a busy one at the drain deadline', () => {
  expect(
    play(`
    .live a acp interactive
    .report a ended 1
    signal SIGPAUSE a
    .live b acp interactive
    .signal SIGPAUSE b
    wind 120000
  `),
  ).toMatchInlineSnapshot(`
    "
    > signal SIGPAUSE a
    a.8 signal.sent SIGPAUSE by user: default
    a.9 process.held user/user
    a.10 process.drained
      -> driver.pause a#1 freeze
      -> done, 1 affected
      == a suspended
    > wind 120000
    tick b
    b.9 process.drained frozen: it did not drain in time
      -> driver.pause b#2 freeze
    "
  `)
})

test('after an orderly stop of the daemon an agent returns with its session; without a session it is interrupted', () => {
  expect(
    play(`
    .live a acp interactive
    .report a session s1
    .report a ended 1
    .live b acp interactive
    .hold all daemon-shutdown
    boot a
    boot b
    .release all daemon-shutdown
    start a
    report a up session=s1
  `),
  ).toMatchInlineSnapshot(`
    "
    > boot a
    a.11 process.rehydrated #3
    > boot b
    b.8 process.exited 1 interrupted (daemon)
    b.9 process.reaped
      -> release channel b#2
      -> release context b#2
      -> release remove b#2
      == b interrupted
    > start a
    a.13 process.attached
      -> driver.start a#3
    > report a up session=s1
    a.14 process.handle s1
    a.15 process.ready turn 1
      -> ack ok
      == a ready
    "
  `)
})

test('an open turn continues in its session; a rerun begins a new session with the intent', () => {
  expect(
    play(`
    .live a acp interactive
    .report a session s1
    .report a exited 1
    .released a
    resume a
    .start a
    report a up session=s1
    .report a exited 1
    .released a
    resume a rerun
    .start a
    report a up session=s2
  `),
  ).toMatchInlineSnapshot(`
    "
    > resume a
    a.10 process.resumed #2 by user from step 0
      -> done, 1 affected
      -> start a#2
      == a pending
    > report a up session=s1
    a.12 process.handle s1
    a.13 process.ready turn 1
    a.14 process.working turn 1
      -> driver.proceed a#2 turn 1
      -> ack ok
      == a working
    > resume a rerun
    a.17 process.resumed #3 by user from step 0
    a.18 process.queue intent
      -> done, 1 affected
      -> start a#3
      == a pending
    > report a up session=s2
    a.20 process.handle s2
    a.21 process.ready turn 1 interrupted
    a.22 process.incoming intent turn 2
    a.23 process.working turn 2 intent
      -> driver.deliver a#3 intent turn 2
      -> ack ok
      == a working
    "
  `)
})

test('an agent without a session can only be run again after its first turn', () => {
  expect(
    play(`
    .live a acp
    .report a exited 1
    .released a
    resume a
  `),
  ).toMatchInlineSnapshot(`
    "
    > resume a
      -> refused NOT_RESUMABLE: agent default reported no session to continue; --rerun runs it again
    "
  `)
})

test('a command that is an agent ends after its turn, and gets a message at its next start', () => {
  expect(
    play(`
    .live a command lines
    .report a session s1
    send a
    report a ended 1
    report a exited 0
    .released a
    resume a message
    .start a
    report a up
    report a ended 2 error
    resume a message
  `),
  ).toMatchInlineSnapshot(`
    "
    > send a
      -> refused INVALID: process 1 takes no messages while it runs: resume it with a message after its end
    > report a ended 1
    a.5 process.ready turn 1 ok
      -> ack ok
      == a ready
    > report a exited 0
    a.6 process.exited 0 completed (agent)
      -> release cancel a#1
      -> release await a#1
      -> ack ok
      == a zombie
    > resume a message
    a.8 process.resumed #2 by user from step 0
    a.9 process.queue m9
      -> done, 1 affected
      -> start a#2
      == a pending
    > report a up
    a.11 process.incoming m9 turn 2
    a.12 process.working turn 2 m9
      -> ack ok
      == a working
    > report a ended 2 error
    a.13 process.error it broke
    a.14 process.ready turn 2 error
      -> ack ok
      == a ready
    > resume a message
      -> refused INVALID: process 2 takes no message before its end
    "
  `)
})
