// Holds: which holds are equal, and which sender may release which hold.
import { describe, expect, test } from 'vitest'
import { HOLDS, isPauseHold, mayRelease, isSameHold } from '../../../../src/kernel/model/holds.ts'
import type { Hold } from '../../../../src/kernel/model/process.ts'
import type { Sender } from '../../../../src/kernel/model/ids.ts'
import type { HoldReason } from '../../../../src/kernel/model/words.ts'

const REASONS = Object.keys(HOLDS) as HoldReason[]
const SENDERS: readonly Sender[] = ['user', 'system', 'coordinator', 'agent:a', 'agent:b']

describe('the release of a hold', () => {
  test.each(REASONS)(
    'the hold %s is released by the user, unless its cause must end first, and by another sender only if it is its own',
    (reason) => {
      for (const holder of SENDERS) {
        for (const sender of SENDERS) {
          const expected = sender === 'user' ? !['budget', 'disk-full', 'credentials'].includes(reason) : sender === holder
          expect(mayRelease(sender, { reason, by: holder, at: 1 }), `${sender} releases a hold of ${holder}`).toBe(expected)
        }
      }
    },
  )

  test.each(REASONS)('a resume releases the hold %s of an ancestor only if it is a pause', (reason) => {
    expect(isPauseHold({ reason, by: 'user', at: 1 })).toBe(reason === 'user' || reason === 'subtree')
  })
})

describe('of two holds', () => {
  const hold: Hold = { reason: 'subtree', root: 'a', by: 'user', at: 1 }
  test.each<[string, Hold, boolean]>([
    ['the same hold at a later time is equal', { ...hold, at: 2 }, true],
    ['a hold with another root is different', { ...hold, root: 'b' }, false],
    ['a hold of another sender is different', { ...hold, by: 'agent:a' }, false],
    ['a hold with another reason is different', { reason: 'user', by: 'user', at: 1 }, false],
  ])('%s', (_, otherHold, isEqual) => {
    expect(isSameHold(hold, otherHold)).toBe(isEqual)
    expect(isSameHold(otherHold, hold)).toBe(isEqual)
  })
})
