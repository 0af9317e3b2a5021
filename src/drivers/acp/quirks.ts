// Deviations of single agents from the protocol, by the name that the agent reports. Each was verified with the real agent
// (test/agents) and is documented in docs/reference/external-agents.md. Pure. Test: test/tables/drivers/acp/quirks.test.ts.
import { lookUp } from '../../kernel/util/lookup.ts'

export interface Quirks {
  /** loses a session that is reopened within the same minute of the clock in which it began */
  readonly losesYoungSessions?: true
  /** reports, for a turn, only the tokens of its last model call */
  readonly reportsLastCallOnly?: true
  /** reports a change of its mode as a text message */
  readonly reportsModeAsText?: true
}

const QUIRKS: Readonly<Partial<Record<string, Quirks>>> = {
  'gemini-cli': { losesYoungSessions: true, reportsModeAsText: true },
  OpenCode: { reportsLastCallOnly: true },
}

const MINUTE_MS = 60_000
/** Extra wait after the end of the minute. The agent and reeve use the same clock. */
const MARGIN_MS = 100

export function quirksOf(name: string | undefined): Quirks {
  return (name === undefined ? undefined : lookUp(QUIRKS, name)) ?? {}
}

/** Returns how many ms to wait before a session that began at `startedAt` may be reopened; wall times in ms. */
export function reopenDelayMs({ losesYoungSessions }: Quirks, startedAt: number | null, now: number): number {
  const isYoung = losesYoungSessions === true && startedAt !== null && Math.floor(startedAt / MINUTE_MS) === Math.floor(now / MINUTE_MS)
  return isYoung ? MINUTE_MS - (now % MINUTE_MS) + MARGIN_MS : 0
}
