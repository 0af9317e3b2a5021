// How tests run: each file in a process of its own, as they send real signals and change directories.
// `npm test` builds first; tests under test/e2e need that build.
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Where files take longest comes first: none of them is to begin when all others are done. */
const LONGEST = ['simulation', 'properties', 'processes', 'e2e', 'scenarios']

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => (LONGEST.findIndex((folder) => moduleId.includes(`/test/${folder}/`)) + LONGEST.length + 1) % (LONGEST.length + 1)
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // They need agents that others wrote: `npm run test:agents`.
    exclude: ['node_modules/**', 'test/agents/**'],
    pool: 'forks',
    // Tests start programs of their own: more workers than cores only makes time limits lie.
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Timers that are left behind show as a worker that does not end.
    teardownTimeout: 10_000,
    sequence: { sequencer: LongestFirst },
    reporters: ['default'],
  },
})
