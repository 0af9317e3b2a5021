// Rewrites exit reasons for users. Facts and the API keep the recorded reasons. Pure. Test: test/tables/cli/print/process-text.test.ts.

const TEXTS: Readonly<Record<string, string>> = { 'context cancelled while paused': 'ended while it was suspended' }

/**
 * Returns the text for a recorded reason; most reasons stay as they are. `nameOf`: returns the name of the process that sent a signal, or
 * undefined if the name is unknown.
 */
export function reasonText(reason: string, nameOf?: (uuid: string) => string | undefined): string {
  const [, signal, sender] = /^(SIG\w+ from )agent:(.+)$/s.exec(reason) ?? []
  if (signal !== undefined && sender !== undefined) return `${signal}${nameOf?.(sender) ?? 'another process'}`
  return Object.hasOwn(TEXTS, reason) ? (TEXTS[reason] ?? reason) : reason
}

/** Returns the text for the recorded exit reason of a process. Of the processes that may have sent a signal, it names only the parent. */
export function endReasonText(reason: string, parentUuid: string | null): string {
  return reasonText(reason, (uuid) => (uuid === parentUuid ? 'its parent' : undefined))
}
