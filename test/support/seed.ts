// The seed of the random choices of a test run. REEVE_SEED repeats a run. The script .ci/run takes the seed from the
// commit, so that every run of a commit makes the same choices. The file test/support/vitest-setup.ts passes it to fast-check.

/** Below 2 ** 31, which all users of the seed accept. */
export const SEED = Number(process.env['REEVE_SEED'] ?? Date.now() % 1_000_000_000)
