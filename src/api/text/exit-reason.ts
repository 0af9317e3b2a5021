// Rewrites reasons of exits for users. Facts and the API keep the recorded reasons. Pure. Test: test/tables/cli/print/process-text.test.ts.

const TEXTS: Readonly<Record<string, string>> = { 'context cancelled while paused': 'ended while it was suspended' }

/** Returns the text for a recorded reason; most reasons stay as they are. */
export function reasonText(reason: string): string {
  return Object.hasOwn(TEXTS, reason) ? (TEXTS[reason] ?? reason) : reason
}
