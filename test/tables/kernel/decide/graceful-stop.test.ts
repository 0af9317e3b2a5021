// Handlers: the effect of each signal with each disposition, in every activity. The wrap-up of an agent, from the message to its end
// by its turn, its grace, a second signal, or a crash.
import { describe, expect, test } from 'vitest'
import { deadlineOf } from '../../../../src/kernel/decide/next-deadline.ts'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'

const ACTIVITIES = {
  created: '.spawn a interactive',
  starting: '.spawn a interactive\n.start a',
  ready: '.live a interactive\n.report a ended 1',
  working: '.live a interactive',
  'working (acp)': '.live a interactive acp\n.report a session s1',
  'waiting (acp)': '.live a interactive acp\n.report a session s1\n.report a asks q1',
  suspended: '.live a interactive\n.signal SIGPAUSE a',
  'wrapping up': '.live a interactive\n.handle a SIGTERM message\n.signal SIGTERM a grace=10000\n.handle a SIGTERM default',
  stopping: '.live a interactive\n.signal SIGTERM a grace=10000',
} as const

/** The facts and effects of a signal that differ between cells. */
function outcomeOf(played: string): string {
  const lines = played
    .split('\n')
    .slice(2)
    .map((line) => line.trim())
    .filter((line) => !/^(> |-> done|signal.sent|== |$)/.test(line.replace(/^a\.\d+ /, '')))
  return (
    lines
      .map((line) =>
        line
          .replace(/^a\.\d+ (process\.|signal\.)?/, '')
          .replace(/^-> (driver\.)?/, '→ ')
          .replace(/ a#1/, '')
          .replace(/signal-\d+/, 'it')
          .replace(/ by user( ->)?/, ''),
      )
      .join(' · ') || 'nothing'
  )
}

function cellOf(activity: keyof typeof ACTIVITIES, signal: string, disposition: string): string {
  const player = new TranscriptPlayer()
  player.play(ACTIVITIES[activity])
  if (disposition === 'blocked') player.play(`.mask a ${signal}`)
  else if (disposition !== 'default') player.play(`.handle a ${signal} ${disposition}`)
  return outcomeOf(player.play(`signal ${signal} a grace=1000`))
}

describe('every combination of signal, disposition and activity', () => {
  const activities = Object.keys(ACTIVITIES) as (keyof typeof ACTIVITIES)[]

  test.each(['blocked', 'ignore'])('%s: a signal of the user waits for at most 10 s; a stopping process is not paused', (disposition) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGPAUSE', 'SIGRESUME']) {
      for (const activity of activities) {
        const refused = signal === 'SIGPAUSE' && (activity === 'wrapping up' || activity === 'stopping')
        expect(cellOf(activity, signal, disposition), `${signal} ${activity}`).toBe(
          refused ? '→ refused INVALID: process 1 is stopping' : `pended ${signal} due 11000`,
        )
      }
    }
  })

  test('has this outcome by default and with the handler message', () => {
    const tableRows = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGPAUSE', 'SIGRESUME'].flatMap((signal) =>
      (signal === 'SIGKILL' ? ['default'] : ['default', 'message']).flatMap((disposition) => [
        '',
        `${signal} ${disposition}`,
        ...activities.map((activity) => `${activity}: ${cellOf(activity, signal, disposition)}`),
      ]),
    )
    expect(`${tableRows.join('\n')}\n`).toMatchInlineSnapshot(`
      "
      SIGTERM default
      created: started unattached · exited 143 SIGTERM from user (person) · reaped · → release channel · → release context · → release remove
      starting: stopping SIGTERM 143 SIGTERM from user · → stop SIGTERM 1000
      ready: stopping SIGTERM 143 SIGTERM from user · → stop SIGTERM 1000
      working: stopping SIGTERM 143 SIGTERM from user · → stop SIGTERM 1000
      working (acp): stopping SIGTERM 143 SIGTERM from user · → stop SIGTERM 1000
      waiting (acp): stopping SIGTERM 143 SIGTERM from user · → stop SIGTERM 1000
      suspended: stopping SIGTERM 1 context cancelled while paused · → stop SIGKILL 0
      wrapping up: stopping SIGTERM 143 SIGTERM from user · → stop SIGTERM 1000
      stopping: → stop SIGTERM 1000

      SIGTERM message
      created: started unattached · exited 143 SIGTERM from user (person) · reaped · → release channel · → release context · → release remove
      starting: stopping SIGTERM 143 SIGTERM from user · → stop SIGTERM 1000
      ready: queue it · stopping SIGTERM 143 SIGTERM from user, wraps up until 1700 · incoming it turn 2 · working turn 2 it · → deliver it turn 2
      working: queue it · stopping SIGTERM 143 SIGTERM from user, wraps up until 1700
      working (acp): queue it · stopping SIGTERM 143 SIGTERM from user, wraps up until 1700 · → interrupt
      waiting (acp): queue it · stopping SIGTERM 143 SIGTERM from user, wraps up until 1700 · → interrupt
      suspended: stopping SIGTERM 1 context cancelled while paused · → stop SIGKILL 0
      wrapping up: stopping SIGTERM 143 SIGTERM from user, wraps up until 1700
      stopping: → stop SIGTERM 1000

      SIGKILL default
      created: started unattached · exited 137 SIGKILL from user (person) · reaped · → release channel · → release context · → release remove
      starting: stopping SIGKILL 137 SIGKILL from user · → stop SIGKILL 0
      ready: stopping SIGKILL 137 SIGKILL from user · → stop SIGKILL 0
      working: stopping SIGKILL 137 SIGKILL from user · → stop SIGKILL 0
      working (acp): stopping SIGKILL 137 SIGKILL from user · → stop SIGKILL 0
      waiting (acp): stopping SIGKILL 137 SIGKILL from user · → stop SIGKILL 0
      suspended: stopping SIGKILL 1 context cancelled while paused · → stop SIGKILL 0
      wrapping up: stopping SIGTERM 143 SIGTERM from user · → stop SIGKILL 0
      stopping: → stop SIGKILL 0

      SIGINT default
      created: started unattached · exited 130 SIGINT from user (person) · reaped · → release channel · → release context · → release remove
      starting: → interrupt
      ready: → interrupt
      working: → interrupt
      working (acp): → interrupt
      waiting (acp): → interrupt
      suspended: → interrupt
      wrapping up: nothing
      stopping: nothing

      SIGINT message
      created: queue it
      starting: queue it
      ready: queue it · incoming it turn 2 · working turn 2 it · → deliver it turn 2
      working: queue it
      working (acp): queue it
      waiting (acp): queue it
      suspended: queue it
      wrapping up: nothing
      stopping: nothing

      SIGPAUSE default
      created: started unattached · held user/user
      starting: held user/user · → pause
      ready: held user/user · drained · → pause
      working: held user/user · → pause
      working (acp): held user/user · → pause
      waiting (acp): held user/user · → pause freeze
      suspended: nothing
      wrapping up: → refused INVALID: process 1 is stopping
      stopping: → refused INVALID: process 1 is stopping

      SIGPAUSE message
      created: queue it · pended SIGPAUSE due 11000
      starting: queue it · pended SIGPAUSE due 11000
      ready: queue it · incoming it turn 2 · working turn 2 it · pended SIGPAUSE due 11000 · → deliver it turn 2
      working: queue it · pended SIGPAUSE due 11000
      working (acp): queue it · pended SIGPAUSE due 11000
      waiting (acp): queue it · pended SIGPAUSE due 11000
      suspended: queue it · pended SIGPAUSE due 11000
      wrapping up: → refused INVALID: process 1 is stopping
      stopping: → refused INVALID: process 1 is stopping

      SIGRESUME default
      created: nothing
      starting: nothing
      ready: nothing
      working: nothing
      working (acp): nothing
      waiting (acp): nothing
      suspended: released user/user · → unpause
      wrapping up: nothing
      stopping: nothing

      SIGRESUME message
      created: queue it
      starting: queue it
      ready: queue it · incoming it turn 2 · working turn 2 it · → deliver it turn 2
      working: queue it
      working (acp): queue it
      waiting (acp): queue it
      suspended: queue it · released user/user · → unpause
      wrapping up: nothing
      stopping: nothing
      "
    `)
  })
})

describe('wrapping up', () => {
  test('the model reads the message before its next call; the process ends with the turn', () => {
    expect(
      play(`
      .live a
      .handle a SIGTERM message
      .report a model 1
      signal SIGTERM a grace=10000
      report a answer 1 calls=c1:read
      report a tool c1
      report a model 2
      report a model 2
      report a answer 2
      report a ended 1
      released a
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a grace=10000
      a.9 signal.sent SIGTERM by user: message
      a.10 process.queue signal-9
      a.11 process.stopping SIGTERM by user -> 143 SIGTERM from user, wraps up until 10700
        -> done, 1 affected
        == a stopping
      > report a answer 1 calls=c1:read
      a.12 model.finished 1
      a.13 tool.started c1 read
        -> ack ok
      > report a tool c1
      a.14 tool.finished c1 ok
        -> ack ok
      > report a model 2
      a.15 process.incoming signal-9 turn 1
        -> driver.deliver a#1 signal-9 turn 1
        -> ack held
      > report a model 2
      a.16 model.started 2 try 1
        -> ack go
      > report a answer 2
      a.17 model.finished 2
        -> ack ok
      > report a ended 1
      a.18 process.ready turn 1 ok
      a.19 process.exited 143 SIGTERM from user (person)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      > released a
      a.20 process.reaped
        -> release channel a#1
        -> release context a#1
        -> release remove a#1
        == a stopped
      "
    `)
  })

  test('a turn that ends without reading the message is followed by one that reads it', () => {
    expect(
      play(`
      .live a
      .handle a SIGTERM message
      .report a model 1
      .signal SIGTERM a grace=10000
      report a answer 1
      report a ended 1
      report a ended 2
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a answer 1
      a.12 model.finished 1
        -> ack ok
      > report a ended 1
      a.13 process.ready turn 1 ok
      a.14 process.incoming signal-9 turn 2
      a.15 process.working turn 2 signal-9
        -> driver.deliver a#1 signal-9 turn 2
        -> ack ok
      > report a ended 2
      a.16 process.ready turn 2 ok
      a.17 process.exited 143 SIGTERM from user (person)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      "
    `)
  })

  test('a process between turns begins one for the message, and no further turn after it', () => {
    expect(
      play(`
      .live a interactive
      .report a ended 1
      .hold a loop
      .send a
      .release a loop
      .handle a SIGTERM message
      .report a ended 2
      signal SIGTERM a grace=10000
      send a
      report a ended 3
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a grace=10000
      a.16 signal.sent SIGTERM by user: message
      a.17 process.queue signal-16
      a.18 process.stopping SIGTERM by user -> 143 SIGTERM from user, wraps up until 10700
      a.19 process.incoming signal-16 turn 3
      a.20 process.working turn 3 signal-16
        -> driver.deliver a#1 signal-16 turn 3
        -> done, 1 affected
        == a stopping
      > send a
      a.21 process.queue m11
        -> done, 1 affected
      > report a ended 3
      a.22 process.ready turn 3 ok
      a.23 process.exited 143 SIGTERM from user (person)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      "
    `)
  })

  test('an external agent is interrupted, and receives the message in the next turn', () => {
    expect(
      play(`
      .live a acp
      .handle a SIGTERM message
      signal SIGTERM a grace=10000
      report a ended 1 interrupted
      report a ended 2
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a grace=10000
      a.8 signal.sent SIGTERM by user: message
      a.9 process.queue signal-8
      a.10 process.stopping SIGTERM by user -> 143 SIGTERM from user, wraps up until 10700
        -> driver.interrupt a#1
        -> done, 1 affected
        == a stopping
      > report a ended 1 interrupted
      a.11 process.ready turn 1 interrupted
      a.12 process.incoming signal-8 turn 2
      a.13 process.working turn 2 signal-8
        -> driver.deliver a#1 signal-8 turn 2
        -> ack ok
      > report a ended 2
      a.14 process.ready turn 2 ok
      a.15 process.exited 143 SIGTERM from user (person)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      "
    `)
  })

  test('when the time to wrap up is over, the stop sequence gets the rest of the grace', () => {
    expect(
      play(`
      .live a cleans=2000
      .handle a SIGTERM message
      .signal SIGTERM a grace=10000
      wind 7999
      report a model 1
      wind 1
      report a model 1
      report a escalated 2000
      report a exited SIGKILL
    `),
    ).toMatchInlineSnapshot(`
      "
      > wind 7999
      > report a model 1
      a.11 process.incoming signal-8 turn 1
        -> driver.deliver a#1 signal-8 turn 1
        -> ack held
      > wind 1
      tick a
      a.12 process.stopping SIGTERM by user -> 143 SIGTERM from user
        -> driver.stop a#1 SIGTERM 2000
      > report a model 1
        -> ack stop
      > report a escalated 2000
      a.13 signal.escalated SIGTERM -> SIGKILL after 2000
        -> ack ok
      > report a exited SIGKILL
      a.14 process.exited 143 SIGTERM from user; SIGKILL after 2000 ms (person)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      "
    `)
  })

  test.each([
    ['', 300, 150],
    ['grace=10000', 10_000, 9_700],
    ['grace=0', 0, null],
    ['least=10000', 10_000, 9_700],
  ])('with the option %j, a grace of %i ms leaves %s ms to the agent', (graceOption, graceMs, wrapUpMs) => {
    const player = new TranscriptPlayer()
    player.play(`.live a\n.handle a SIGTERM message\n.signal SIGTERM a ${graceOption}`)
    const { life } = player.world.row('a') ?? {}
    if (life?.state !== 'running' || !life.stopping) throw new Error('it does not stop')
    expect(life.stopping.graceMs).toBe(graceMs)
    expect(life.stopping.wrapUp ? life.stopping.wrapUp.dueMono - player.world.mono : null).toBe(wrapUpMs)
  })

  test('a second SIGTERM can only shorten the grace; SIGKILL ends the process at once; the first cause stays', () => {
    expect(
      play(`
      .live a
      .handle a SIGTERM message
      .signal SIGTERM a grace=10000 by=agent:a
      signal SIGTERM a grace=60000
      signal SIGTERM a grace=1000
      signal SIGKILL a
      wind 10000
      report a exited SIGKILL
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGTERM a grace=60000
      a.11 signal.sent SIGTERM by user: message
        -> done, 1 affected
      > signal SIGTERM a grace=1000
      a.12 signal.sent SIGTERM by user: message
      a.13 process.stopping SIGTERM by agent:a -> 143 SIGTERM from agent:a, wraps up until 1700
        -> done, 1 affected
      > signal SIGKILL a
      a.14 signal.sent SIGKILL by user: default
      a.15 process.stopping SIGTERM by agent:a -> 143 SIGTERM from agent:a
        -> driver.stop a#1 SIGKILL 0
        -> done, 1 affected
      > wind 10000
      > report a exited SIGKILL
      a.16 process.exited 143 SIGTERM from agent:a (parent)
        -> release cancel a#1
        -> release await a#1
        -> ack ok
        == a zombie
      "
    `)
  })

  test('the process cannot be paused, and its budget still applies', () => {
    expect(
      play(`
      .live a budgetTokens=15
      .handle a SIGTERM message
      .report a model 1
      .signal SIGTERM a grace=10000
      hold a disk-full
      signal SIGPAUSE a
      report a answer 1 tokens=20 calls=c1:read
      report a tool c1
      report a model 2
    `),
    ).toMatchInlineSnapshot(`
      "
      > hold a disk-full
      > signal SIGPAUSE a
        -> refused INVALID: process 1 is stopping
      > report a answer 1 tokens=20 calls=c1:read
      a.12 model.finished 1
      a.13 tool.started c1 read
      a.14 limit.warned budgetTokens 21 of 15
        -> ack ok
      > report a tool c1
      a.15 tool.finished c1 ok
        -> ack ok
      > report a model 2
      a.16 limit.reached budgetTokens 21 of 15 -> terminate
      a.17 process.exited 143 SIGTERM from user (person)
        -> release cancel a#1
        -> release await a#1
        -> ack stop
        == a zombie
      "
    `)
  })

  test('the user may still answer an ask', () => {
    expect(
      play(`
      .live a acp
      .handle a SIGTERM message
      .signal SIGTERM a grace=10000
      .report a ended 1 interrupted
      .report a asks q1 options=yes,no
      answer a yes
    `),
    ).toMatchInlineSnapshot(`
      "
      > answer a yes
      a.15 process.answered q1 yes by user
        -> driver.answer a#1
        -> done, 1 affected
      "
    `)
  })

  test('a suspended process is ended at once', () => {
    const player = new TranscriptPlayer()
    player.play('.live a\n.handle a SIGTERM message\n.signal SIGPAUSE a')
    expect(player.play('signal SIGTERM a grace=10000')).toContain('-> driver.stop a#1 SIGKILL 0\n')
  })

  test('after a crash of the daemon the process is stopped, and its next incarnation does not read the message', () => {
    const player = new TranscriptPlayer()
    player.play('.live a acp\n.report a session s1\n.handle a SIGTERM message\n.signal SIGTERM a grace=10000')
    expect(player.world.row('a')?.queue).toHaveLength(1)
    expect(player.play('boot a')).toContain('process.exited 143 SIGTERM from user (person)')
    expect(player.world.row('a')?.queue).toEqual([])
  })

  test('unread messages about other signals stay queued until the end of the incarnation, and no longer', () => {
    const player = new TranscriptPlayer()
    player.play('.live a\n.handle a SIGINT message\n.signal SIGINT a\n.send a')
    expect(player.world.row('a')?.queue.map(({ id }) => id)).toEqual(['signal-8', expect.stringMatching(/^m/)])
    player.play('.signal SIGKILL a\n.report a exited SIGKILL\n.released a')
    expect(player.world.row('a')?.queue.map(({ id }) => id)).toEqual([expect.stringMatching(/^m/)])
  })

  test('the deadline of the process is the end of its time to wrap up, whatever its time limit is', () => {
    const player = new TranscriptPlayer()
    player.play('.live a timeoutMs=50\n.handle a SIGTERM message\n.signal SIGTERM a grace=10000')
    const row = player.world.row('a')
    expect(row && deadlineOf(row)).toBe(10_700)
    player.play('.wind 9700')
    const after = player.world.row('a')
    expect(after && deadlineOf(after)).toBeNull()
  })

  test('a message about a pause delays the pause of the user by at most 10 s, and replaces the pause of any other sender', () => {
    expect(
      play(`
      .live a
      .handle a SIGPAUSE message
      signal SIGPAUSE a by=agent:a
      signal SIGPAUSE a
      wind 10000
    `),
    ).toMatchInlineSnapshot(`
      "
      > signal SIGPAUSE a by=agent:a
      a.8 signal.sent SIGPAUSE by agent:a: message
      a.9 process.queue signal-8
        -> done, 1 affected
      > signal SIGPAUSE a
      a.10 signal.sent SIGPAUSE by user: message
      a.11 process.queue signal-10
      a.12 signal.pended SIGPAUSE by user due 11000
        -> done, 1 affected
      > wind 10000
      tick a
      a.13 signal.unpended SIGPAUSE
      a.14 signal.sent SIGPAUSE by user: default
      a.15 process.held user/user
        -> driver.pause a#1
        == a suspended
      "
    `)
  })
})
