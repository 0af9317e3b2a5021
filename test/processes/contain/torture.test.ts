// Trees with ten ways to leave their parent, for each way in which a process can end. Each kind that promises to hold them leaves no
// process, as root and as an ordinary user. `npm run soak` does the same a thousand times.
import { describe, expect, test } from 'vitest'
import { deep } from '../../support/deep.ts'
import { canRunTortureTrees, endTortureTrees, ENDINGS } from '../../support/contain/torture.ts'

const TREES = deep(4, 10)

describe.each(['cgroup', 'pidns'] as const)('%s', (kind) => {
  describe.each(['root', 'an ordinary user'] as const)('as %s', (user) => {
    test.runIf(canRunTortureTrees({ kind, user })).each(ENDINGS)(
      `${TREES} trees, by %s`,
      async (ending) => {
        expect(await endTortureTrees({ kind, user, ending, trees: TREES })).toBeGreaterThan(0)
      },
      120_000,
    )
  })
})
