// Nothing is left behind: ten trees of ten ways to leave one's parent, for each way in which a process can end, in each kind
// that promises to hold them, as root and as an ordinary user. `npm run soak` does the same with a thousand.
import { describe, expect, test } from 'vitest'
import { besiege, canBesiege, ENDINGS } from '../support/torture.ts'

const TREES = 10

describe.each(['cgroup', 'pidns'] as const)('%s', (kind) => {
  describe.each(['root', 'an ordinary user'] as const)('as %s', (who) => {
    test.runIf(canBesiege({ kind, who })).each(ENDINGS)(`${TREES} trees, by %s`, async (ending) => {
      expect(await besiege({ kind, who, ending, trees: TREES })).toBeGreaterThan(0)
    }, 120_000)
  })
})
