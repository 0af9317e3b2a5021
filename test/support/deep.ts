// Selects the size of a repeating test, such as the number of simulations or of kills of a daemon. `npm test` uses the small
// size, which must still reach every kind of case; `npm run test:deep` uses the large one.
// Only test files may import this file: `test:deep` runs exactly the files that import it.

const isDeep = process.env['REEVE_TEST_DEEP'] === '1'

/** The size for this run: `small` in `npm test`, `large` in `npm run test:deep`. */
export function deep(small: number, large: number): number {
  return isDeep ? large : small
}
