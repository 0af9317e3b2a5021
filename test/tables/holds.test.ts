// Holds: which are the same, and who may remove which.
import { describe, expect, test } from 'vitest'
import { RELEASABLE, isPersonHold, mayRelease, sameHold } from '../../src/kernel/holds.ts'
import type { Hold, HoldReason, Sender } from '../../src/kernel/types.ts'

const REASONS = Object.keys(RELEASABLE) as HoldReason[]
const SENDERS: readonly Sender[] = ['user', 'system', 'coordinator', 'agent:a', 'agent:b']

describe('who may remove a hold', () => {
  test.each(REASONS)('%s: a person unless its cause must be gone first, all others only their own', (reason) => {
    for (const holder of SENDERS) {
      for (const sender of SENDERS) {
        const expected = sender === 'user' ? !['budget', 'disk-full', 'credentials'].includes(reason) : sender === holder
        expect(mayRelease(sender, { reason, by: holder, at: 1 }), `${sender} removes a hold of ${holder}`).toBe(expected)
      }
    }
  })

  test.each(REASONS)('%s: an ancestor is woken from what persons do', (reason) => {
    expect(isPersonHold({ reason, by: 'user', at: 1 })).toBe(reason === 'user' || reason === 'subtree')
  })
})

describe('one hold or two', () => {
  const hold: Hold = { reason: 'subtree', root: 'a', by: 'user', at: 1 }
  test.each<[string, Hold, boolean]>([
    ['the same, later', { ...hold, at: 2 }, true],
    ['another root', { ...hold, root: 'b' }, false],
    ['another holder', { ...hold, by: 'agent:a' }, false],
    ['another reason', { reason: 'user', by: 'user', at: 1 }, false],
  ])('%s', (_, other, same) => {
    expect(sameHold(hold, other)).toBe(same)
    expect(sameHold(other, hold)).toBe(same)
  })
})
