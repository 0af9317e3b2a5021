// The word for a sender in texts about one process. Test: test/tables/daemon/views/process-view.test.ts.

/** Returns the sender as it is recorded, or `another process` for `agent:UUID`: a UUID would not help a reader. */
export function senderWord(by: string): string {
  return by.startsWith('agent:') ? 'another process' : by
}
