// The configuration for real coding agents (`npm run test:agents`): one file at a time, as an agent takes up to 600 MB.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/agents/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 240_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    reporters: ['verbose'],
  },
})
