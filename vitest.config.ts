// How tests run: each file in a process of its own, as they send real signals and change directories.
// `npm test` builds first; tests under test/e2e need that build.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // They need agents that others wrote: `npm run test:agents`.
    exclude: ['node_modules/**', 'test/agents/**'],
    pool: 'forks',
    // Tests start programs of their own: more workers than cores only makes time limits lie.
    maxWorkers: '100%',
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Timers that are left behind show as a worker that does not end.
    teardownTimeout: 10_000,
    reporters: ['default'],
  },
})
