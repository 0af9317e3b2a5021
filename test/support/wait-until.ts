// Waits until a condition holds, with a deadline. The condition is checked again and again, so that no test must wait for a fixed time.

const DEADLINE_MS = 100_000
const CHECK_MS = 20
/** Each check costs CPU: after FREQUENT_CHECKS_MS the checks become rarer. */
const [FREQUENT_CHECKS_MS, RARE_CHECK_MS] = [1_000, 60]

/** Waits until `check` returns, or resolves with, something that is neither false nor null; fails after DEADLINE_MS. */
export async function waitUntil<T>(check: () => T | false | null | Promise<T | false | null>, description = 'the condition'): Promise<T> {
  const beganMs = performance.now()
  for (;;) {
    const found = await check()
    if (found !== false && found !== null) return found
    const waitedMs = performance.now() - beganMs
    if (waitedMs > DEADLINE_MS) throw new Error(`${description} did not come true within ${DEADLINE_MS} ms: ${check.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, waitedMs < FREQUENT_CHECKS_MS ? CHECK_MS : RARE_CHECK_MS))
  }
}
