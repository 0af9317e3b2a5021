// Limits: every limit with every action, warnings, reserves of simultaneous calls, and raised limits.
import { describe, expect, test } from 'vitest'
import { HOME_BUDGETS, LIMIT_NAMES } from '../../../../src/kernel/model/words.ts'
import { LIMITS, amountsText, reachedText, readReachedText } from '../../../../src/kernel/state/limits.ts'
import { TranscriptPlayer, play } from '../../../support/kernel/transcript.ts'
import { FILE_LIMIT_KEYS } from '../../../../src/config/limit-rules.ts'
import type { LimitName, RefusingLimit } from '../../../../src/kernel/model/words.ts'

/** For each limit: a value `of`, and a script whose facts use it up. */
const USED_UP: Readonly<Record<Exclude<LimitName, RefusingLimit>, { readonly of: string; readonly script: string }>> = {
  maxSteps: { of: '1', script: '.report a model 1\n.report a answer 1\n.report a model 2' },
  maxTurns: { of: '1', script: '.send a\n.report a ended 1' },
  maxToolCalls: { of: '1', script: '.report a model 1\n.report a answer 1 calls=c1:read,c2:read' },
  maxInputTokens: { of: '100', script: '.report a model 1\n.report a answer 1 tokens=100\n.report a model 2' },
  maxOutputTokens: { of: '100', script: '.report a model 1\n.report a answer 1 out=100\n.report a model 2' },
  maxCacheReadTokens: { of: '100', script: '.report a model 1\n.report a answer 1 cached=100\n.report a model 2' },
  maxCacheWriteTokens: { of: '100', script: '.report a model 1\n.report a answer 1 written=100\n.report a model 2' },
  budgetTokens: { of: '100', script: '.report a model 1\n.report a answer 1 tokens=99\n.report a model 2' },
  budgetUsd: { of: '1', script: '.report a model 1\n.report a answer 1 cost=1\n.report a model 2' },
  cpuTimeMs: { of: '100', script: '.report a measured cpu=100' },
  timeoutMs: { of: '100', script: '.wind 100\n.tick a' },
  memoryBytes: { of: '100', script: '.report a measured rss=100' },
  outputBytes: { of: '100', script: '.report a measured output=100' },
}

function lifeAfter(limit: keyof typeof USED_UP, action: string): object {
  const player = new TranscriptPlayer()
  const { of, script } = USED_UP[limit]
  player.play(`.live a interactive ${limit}=${of}${action === '' ? '' : ` onLimit=${action}`}\n${script}`)
  const { life } = player.world.row('a') ?? {}
  if (life?.state === 'running')
    return {
      state: life.stopping ? 'stopping' : 'running',
      holds: life.holds.map(({ reason }) => reason),
      ...(life.stopping ? { code: life.stopping.exit.code } : {}),
    }
  return life?.state === 'zombie' || life?.state === 'dead'
    ? { code: life.exit.code, reason: life.exit.reason, cause: life.exit.cause }
    : {}
}

const HELD = { state: 'running', holds: ['budget'] }
const ENDED: Readonly<Partial<Record<LimitName, object>>> = {
  maxSteps: { code: 1, reason: 'max steps exceeded', cause: 'limit' },
  timeoutMs: { state: 'stopping', holds: [], code: 1 },
}
const endOf = (limit: LimitName): object => ENDED[limit] ?? { code: 2, reason: 'budget_exceeded', cause: 'limit' }
const NAMES = Object.keys(USED_UP) as (keyof typeof USED_UP)[]

test.each(LIMIT_NAMES.filter((name) => ['ms', 'bytes'].includes(LIMITS[name].unit)))('%s has a name with units in files', (name) => {
  expect(FILE_LIMIT_KEYS).not.toContain(name)
  expect(FILE_LIMIT_KEYS).toContain(name.replace(/Ms$|Bytes$/, ''))
})

describe('each limit', () => {
  test.each(NAMES)('%s: the action suspend holds the process', (limit) => {
    expect(lifeAfter(limit, 'suspend')).toEqual(HELD)
  })

  test.each(NAMES)('%s: the action terminate ends the process', (limit) => {
    expect(lifeAfter(limit, 'terminate')).toEqual(endOf(limit))
  })

  test.each(NAMES)('%s: the default action is that of the table', (limit) => {
    expect(lifeAfter(limit, '')).toEqual(LIMITS[limit].action === 'suspend' ? HELD : endOf(limit))
  })

  test.each(LIMIT_NAMES)('%s has a text for its amounts', (limit) => {
    expect(amountsText(limit, 1, 2)).toMatch(/^\$?[\d.]+ .*of \$?[\d.]+ .*(used|spent)$/)
  })
})

describe('a request is refused', () => {
  test('if it adds a child, a level or a message above the limit', () => {
    expect(
      play(`
      .live a maxChildren=1 maxDepth=2 maxMessages=1
      .live b under=a
      spawn c under=a
      .live d under=b
      spawn e under=d
      send d by=agent:a
      send d by=agent:a
    `),
    ).toMatchInlineSnapshot(`
      "
      > spawn c under=a
        -> refused RESOURCE_EXHAUSTED: process 1 can have at most 1 children at a time
      > spawn e under=d
        -> refused RESOURCE_EXHAUSTED: below process 1, processes can be nested at most 2 levels deep
      > send d by=agent:a
      a.8 message.sent
      a.9 limit.warned maxMessages 1 of 1
      d.7 process.queue m12
        -> done, 1 affected
      > send d by=agent:a
        -> refused RESOURCE_EXHAUSTED: process 1 and its descendants may send at most 1 messages, and have sent them
      "
    `)
  })
})

describe('a budget of the parent', () => {
  test('gives one warning, and then holds the parent and the child that needs more', () => {
    expect(
      play(`
      .live a budgetTokens=10000
      .live b under=a
      .report b model 1 ask=100+20000
      report b answer 1 tokens=8000 out=500
      report b model 2 ask=600+20000
      report a model 1 ask=50+20000
      resume b
      resume a plus.budgetTokens=5000
      report b model 2 ask=600+20000
    `),
    ).toMatchInlineSnapshot(`
      "
      > report b answer 1 tokens=8000 out=500
      b.8 model.finished 1
      a.8 limit.warned budgetTokens 8500 of 10000
        -> ack ok
      > report b model 2 ask=600+20000
      a.9 process.held budget/system
      a.10 limit.reached budgetTokens 8500 of 10000 -> suspend
      b.9 process.held budget/system
      a.11 child.suspended b budget/system
      b.10 limit.reached budgetTokens 8500 of 10000 -> suspend by a
        -> driver.pause a#1
        -> driver.pause b#2
        -> ack held
        == a suspended
        == b suspended
      > report a model 1 ask=50+20000
        -> ack held
      > resume b
        -> done, 0 affected: still suspended: budget
      > resume a plus.budgetTokens=5000
      a.12 process.limited {"budgetTokens":15000}
      a.13 process.released budget/system
      b.11 process.released budget/system
      a.14 child.resumed b by system
        -> driver.unpause a#1
        -> driver.unpause b#2
        -> done, 1 affected
        == a working
        == b working
      > report b model 2 ask=600+20000
      b.12 model.started 2 try 1
        -> ack go
      "
    `)
  })

  test('with the action terminate also ends all processes that the parent pays for', () => {
    expect(
      play(`
      .live a budgetUsd=1 onLimit=terminate
      .live b under=a
      .live c under=b
      .report c model 1
      .report c answer 1 cost=1
      report c model 2
    `),
    ).toMatchInlineSnapshot(`
      "
      > report c model 2
      a.9 limit.reached budgetUsd 1 of 1 -> terminate
      c.9 limit.reached budgetUsd 1 of 1 -> terminate by a
      b.8 child.spent c steps 1, turns 1, inputTokens 10, outputTokens 1, costUsd 1
      c.10 process.exited 2 budget_exceeded (limit)
      b.9 child.exited c 2 budget_exceeded
      c.11 process.reparented to PID 0, paid by a
      a.10 child.spent b steps 1, turns 2, inputTokens 10, outputTokens 1, costUsd 1
      b.10 process.exited 2 budget_exceeded (limit)
      a.11 child.exited b 2 budget_exceeded
      b.11 process.reparented to PID 0
      a.12 process.exited 2 budget_exceeded (limit)
        -> release cancel c#3
        -> release await c#3
        -> release cancel b#2
        -> release await b#2
        -> release cancel a#1
        -> release await a#1
        -> ack stop
        == a zombie
        == c zombie
        == b zombie
      "
    `)
  })

  test('has room only for what open calls leave, so the last call waits for them', () => {
    expect(
      play(`
      .live a budgetTokens=10000
      .live b under=a
      .live c under=a
      report b model 1 ask=1000+6000
      report c model 1 ask=500+6000
      .live d under=a
      report d model 1 ask=500+6000
      report b answer 1 tokens=1000 out=200
    `),
    ).toMatchInlineSnapshot(`
      "
      > report b model 1 ask=1000+6000
      b.7 model.started 1 try 1
        -> ack go
      > report c model 1 ask=500+6000
      c.7 model.started 1 try 1
        -> ack go
      > report d model 1 ask=500+6000
      d.7 process.held budget/system
      a.10 child.suspended d budget/system
      d.8 limit.reached budgetTokens 0 of 10000 -> wait by a
        -> driver.pause d#4
        -> ack held
        == d suspended
      > report b answer 1 tokens=1000 out=200
      b.8 model.finished 1
      d.9 process.released budget/system
      a.11 child.resumed d by system
        -> driver.unpause d#4
        -> ack ok
        == d working
      "
    `)
  })

  test('a call without a known price is allowed, unless the limit forbids it', () => {
    expect(
      play(`
      .live a budgetUsd=1
      report a model 1 ask=100+5000
      .live b budgetUsd=1 unknownPrice=refuse
      report b model 1 ask=100+5000
    `),
    ).toMatchInlineSnapshot(`
      "
      > report a model 1 ask=100+5000
      a.7 model.started 1 try 1
        -> ack go
      > report b model 1 ask=100+5000
      b.7 process.held budget/system
      b.8 limit.reached budgetUsd 0 of 1 -> suspend
        -> driver.pause b#2
        -> ack held
        == b suspended
      "
    `)
  })
})

describe('raising a limit', () => {
  test('needs an existing limit, and a process that is not running', () => {
    expect(
      play(`
      .live a
      resume a plus.budgetUsd=1
      .signal SIGPAUSE a
      resume a plus.budgetUsd=1
      resume a to.budgetUsd=1
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a plus.budgetUsd=1
        -> refused INVALID: process 1 is running: its limits can be changed when it is suspended or has ended
      > resume a plus.budgetUsd=1
        -> refused INVALID: the process has no budgetUsd to add to: give a value without a plus
      > resume a to.budgetUsd=1
      a.9 process.limited {"budgetUsd":1}
      a.10 process.released user/user
        -> driver.unpause a#1
        -> done, 1 affected
        == a working
      "
    `)
  })

  test('by too little leaves the hold', () => {
    expect(
      play(`
      .live a budgetTokens=1000
      .report a model 1
      .report a answer 1 tokens=2000
      .report a model 2
      resume a plus.budgetTokens=500
      resume a plus.budgetTokens=5000
    `),
    ).toMatchInlineSnapshot(`
      "
      > resume a plus.budgetTokens=500
      a.12 process.limited {"budgetTokens":1500}
        -> done, 0 affected: still suspended: budget
      > resume a plus.budgetTokens=5000
      a.13 process.limited {"budgetTokens":6500}
      a.14 process.released budget/system
        -> driver.unpause a#1
        -> done, 1 affected
        == a working
      "
    `)
  })
})

test('a process that waits for the call of another one continues when that process has ended', () => {
  const player = new TranscriptPlayer()
  player.play('live a budgetTokens=10000\nlive b under=a\nlive c under=a\nreport b model 1 ask=3000+6000')
  expect(player.play('report c model 1 ask=500+6000')).toContain('-> wait by a')
  expect(player.play('signal SIGKILL b\nreport b exited SIGKILL\nreleased b')).toContain('driver.unpause c#3')
  expect(player.play('report c model 1 ask=500+6000')).toContain('ack go')
})

describe('the note of a reached limit', () => {
  const estimate = { inputTokens: 5_000, maxOutputTokens: null, usd: { perInputToken: 0.1, perOutputToken: 0.1 } } as never

  test.each([...LIMIT_NAMES, ...HOME_BUDGETS])('names %s and its owner, also for a reader after a restart', (limit) => {
    const owner = limit === 'dailyUsd' || limit === 'monthlyUsd' ? null : '12ab34cd'
    for (const whose of [null, owner])
      for (const ask of [undefined, estimate]) {
        // An amount can be so small or so large that it is written with an exponent.
        for (const of of [1, 1e-7, 1e25]) {
          const text = reachedText({ limit, used: 0.95 * of, of, whose, ask })
          expect(readReachedText(text)).toMatchObject({ limit, whose })
        }
      }
  })

  test.each(['', 'I wrote the budget', 'budget: unknown', 'budget of me: 1 of 2 steps are used'])('is not the text %j', (text) => {
    expect(readReachedText(text)).toBe(null)
  })
})
