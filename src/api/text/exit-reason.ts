// Rewrites reasons of exits for users. Facts and the API keep the recorded reasons. Pure. Test: test/tables/cli/print/process-text.test.ts.

const TEXTS: Readonly<Record<string, string>> = { 'context cancelled while paused': 'ended while it was suspended' }

/**
 * Returns the text for a recorded reason; most reasons stay as they are. `nameOf` names the process that sent a signal; undefined: it is
 * not known.
 */
export function reasonText(reason: string, nameOf?: (uuid: string) => string | undefined): string {
  const [, signal, sender] = /^(SIG\w+ from )agent:(.+)$/s.exec(reason) ?? []
  if (signal !== undefined && sender !== undefined) return `${signal}${nameOf?.(sender) ?? 'another process'}`
  return Object.hasOwn(TEXTS, reason) ? (TEXTS[reason] ?? reason) : reason
}

/** The text for a recorded reason of a process whose parent is known, but no other process. */
export function endReasonText(reason: string, parentUuid: string | null): string {
  return reasonText(reason, (uuid) => (uuid === parentUuid ? 'its parent' : undefined))
}
