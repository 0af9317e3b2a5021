// Stops waiting for a promise when a signal aborts. Test: test/tables/drivers/common/race-abort.test.ts.

/**
 * Settles like the promise, or rejects with the signal's reason as soon as the signal aborts. The promise's later outcome is then
 * ignored.
 */
export function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: result, resolve, reject } = Promise.withResolvers<T>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  return result
}
