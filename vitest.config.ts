// How tests run. `npm test` builds first; tests under test/e2e need that build. Most test files share the processes that run
// them, so that each process loads the sources once. Files named `*.deep.test.ts` run in the large sizes alone.
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Where files take longest comes first: none of them is to begin when all others are done. */
const LONGEST = ['processes', 'e2e', 'scenarios', 'simulation', 'properties']

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number =>
      (LONGEST.findIndex((folder) => moduleId.includes(`/test/${folder}/`)) + LONGEST.length + 1) % (LONGEST.length + 1)
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}

const isDeep = process.env['REEVE_TEST_DEEP'] === '1'
/** Tests with real programs wait for half of their time: with a worker for each core the cores would be idle as long. */
const WORKERS_PER_CORE = isDeep ? 1 : 1.5
/** tests of one file that run at the same time, where the file allows it */
const MAX_CONCURRENCY = 2
const MAX_WORKERS = 12

/** Tests under test/agents need real coding agents: `npm run test:agents`. */
const exclude = ['node_modules/**', 'test/agents/**', ...(isDeep ? [] : ['test/**/*.deep.test.ts'])]
/** A test that looks at all children or descriptors of its process, changes its time zone or measures its memory needs a process of its own. */
const OWN_PROCESS = [
  'test/processes/contain/**/*.test.ts',
  'test/processes/native/hostile-tool-calls.test.ts',
  'test/tables/daemon/views/format-times.test.ts',
  'test/e2e/daemon/events.test.ts',
]

export default defineConfig({
  test: {
    pool: 'forks',
    maxConcurrency: MAX_CONCURRENCY,
    setupFiles: ['test/support/vitest-setup.ts'],
    maxWorkers: Math.min(MAX_WORKERS, Math.ceil(availableParallelism() * WORKERS_PER_CORE)),
    // Safety nets: tests wait for facts, and a machine may be ten times as busy. What waits inside of a test gives up before, and says for what.
    testTimeout: isDeep ? 600_000 : 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 100_000 } },
    // Timers that are left behind show as a worker that does not end.
    teardownTimeout: 10_000,
    sequence: { sequencer: LongestFirst },
    reporters: ['default'],
    projects: [
      { extends: true, test: { name: 'own', include: OWN_PROCESS, exclude } },
      { extends: true, test: { name: 'shared', include: ['test/**/*.test.ts'], exclude: [...exclude, ...OWN_PROCESS], isolate: false } },
    ],
  },
})
