// Calls of an agent of others through the gateway: what it is charged for, once, whoever tells of it.
import { describe, expect, test } from 'vitest'
import { Player } from '../support/kernel/transcript.ts'
import type { Usage } from '../../src/kernel/types.ts'

function usageAfter(script: string): Usage | undefined {
  const player = new Player()
  player.play(script)
  return player.world.row('a')?.usage
}

const METERED = `
  spawn a acp
  start a metered
  report a up session=s1
`

describe('whose count holds', () => {
  test('of what the gateway has counted the agent tells in vain, but for its context', () => {
    const usage = usageAfter(`${METERED}
      report a call 1-1 ask=50+1000
      report a called 1-1 tokens=100 cost=1
      report a usage tokens=90 cost=2 context=700
    `)
    expect(usage).toMatchObject({ inputTokens: 100, costUsd: 1, contextTokens: 700 })
  })

  test('an agent that goes round the gateway is counted by what it tells, and that is noted', () => {
    const player = new Player()
    const shown = player.play(`${METERED}
      report a usage tokens=90 cost=2
      report a usage tokens=10 cost=1
    `)
    expect(player.world.row('a')?.usage).toMatchObject({ inputTokens: 100, costUsd: 3 })
    expect(shown.match(/round the gateway/g)).toHaveLength(1)
  })

  test('going round it is judged anew at each start', () => {
    const usage = usageAfter(`${METERED}
      report a call 1-1 ask=50+1000
      report a called 1-1 tokens=100 cost=1
      report a ended 1
      released a
      resume a message
      start a metered
      report a up session=s1
      report a usage tokens=90 cost=2
    `)
    expect(usage).toMatchObject({ inputTokens: 190, costUsd: 3 })
  })

  test('a price that nobody knows is told of by the gateway, not by an agent that is not asked', () => {
    const player = new Player()
    const own = player.play(`
      spawn a acp budgetUsd=5
      start a metered
      report a up session=s1
      report a call 1-1 ask=50+1000
      report a usage tokens=90 cost=unknown
    `)
    expect(own).not.toContain('the price of this model')
    expect(player.play('report a called 1-1 tokens=100 cost=unknown')).toContain('the price of this model')
  })
})
