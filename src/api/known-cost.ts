// Computes the costs that the API shows. A cost without any known price is null, so that it does not look free. A sum leaves such costs
// out, and is then a lower bound (`unpriced`). Pure.
// Test: test/tables/api/known-cost.test.ts.

/** Returns the cost to show, in USD. `unpriced`: some price is unknown, so the cost is a lower bound. Null if no price is known. */
export function knownCost({ costUsd, unpriced }: { readonly costUsd: number; readonly unpriced: boolean }): number | null {
  return unpriced && costUsd === 0 ? null : costUsd
}

/** Adds up shown costs, which may be null. The sum is null if a price is unknown and the known costs are zero. */
export function knownCostSum(parts: readonly { readonly costUsd: number | null; readonly unpriced: boolean }[]): {
  readonly costUsd: number | null
  readonly unpriced: boolean
} {
  const unpriced = parts.some((part) => part.unpriced)
  return { costUsd: knownCost({ costUsd: parts.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0), unpriced }), unpriced }
}
