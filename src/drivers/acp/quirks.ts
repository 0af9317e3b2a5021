// What single agents do that the protocol does not say, by the name that they give themselves; each was seen with the agent
// itself (test/agents) and stands in docs/external-agents.md. Pure. Test: test/tables/acp-quirks.test.ts.

export interface Quirks {
  /** it empties a session that is opened again within the minute of the clock in which it began */
  readonly losesYoungSessions?: true
  /** the tokens that it tells of a turn are those of its last call of the model */
  readonly tellsLastCallOnly?: true
}

const QUIRKS: Readonly<Partial<Record<string, Quirks>>> = {
  'gemini-cli': { losesYoungSessions: true },
  'OpenCode': { tellsLastCallOnly: true },
}

const MINUTE_MS = 60_000
/** Its clock and ours are one, and it takes a moment until it looks. */
const MARGIN_MS = 100

export function quirksOf(name: string | undefined): Quirks {
  return (name === undefined ? undefined : QUIRKS[name]) ?? {}
}

/** How long to wait before a session that began at `begunAt` may be opened again; wall times in ms. */
export function youngMs({ losesYoungSessions }: Quirks, begunAt: number | null, now: number): number {
  const isYoung = losesYoungSessions === true && begunAt !== null && Math.floor(begunAt / MINUTE_MS) === Math.floor(now / MINUTE_MS)
  return isYoung ? MINUTE_MS - (now % MINUTE_MS) + MARGIN_MS : 0
}
