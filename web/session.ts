// The session of this browser: takes the code of a link out of the address bar, and exchanges it for a token. The token is kept in the
// storage of this origin, which a page on another port cannot read. Must never put the token into an address. Must not leave the token in
// the storage while the daemon is away, unless the session is remembered: then a certificate proves who answers. Otherwise a program that
// takes the daemon's port would have the same origin, and could read the token.
// Test: test/e2e/web/page.test.ts, test/e2e/web/access/return.test.ts.
import type { WebCodeBody, WebSessionView, WebStartedView } from '../src/api/views/web.ts'

const KEY = 'reeve.session'

export interface StoredSession {
  readonly token: string
  readonly session: WebSessionView
}

/** Why there is no session. `used`: the code of the link was used or is too old; `ended`: the daemon refuses the token. */
export type NoSession = 'none' | 'used' | 'ended' | 'unreachable'

/** The code of a link. `needsNumber`: the terminal shows a number that belongs to it. */
interface LinkCode {
  readonly code: string
  readonly needsNumber: boolean
}

/**
 * Removes the code from the address bar, before anything else runs. Returns it; null if there is none. The code belongs to no history
 * entry afterwards.
 */
export function takeCode(): LinkCode | null {
  const [, kind, code] = /^#([kn])=([\w-]+)$/.exec(location.hash) ?? []
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search)
  return code === undefined ? null : { code, needsNumber: kind === 'n' }
}

/** Starts a session by a code, with its number if it has one. A session that this browser already has stays if the code is refused. */
export async function openSession(code: string | null, number?: string): Promise<StoredSession | NoSession> {
  const known = storedSession()
  if (code === null) return known ?? 'none'
  try {
    const response = await fetch('/v1/web/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code, ...(number === undefined ? {} : { number }) } satisfies WebCodeBody),
    })
    if (!response.ok) return known ?? 'used'
    const { token, session } = (await response.json()) as WebStartedView
    localStorage.setItem(KEY, JSON.stringify({ token, session }))
    return { token, session }
  } catch {
    // No answer: the daemon has ended, or the port is closed.
    return 'unreachable'
  }
}

/** The session that this browser has; null if it has none. */
export function storedSession(): StoredSession | null {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? 'null') as StoredSession | null
    return typeof stored?.token === 'string' ? stored : null
  } catch {
    // Another version of the page has stored something else.
    return null
  }
}

/** Takes the session out of the storage while its daemon is away. Pages that are open still have it. A remembered one stays. */
export function hideSession({ token, session }: StoredSession): void {
  if (!session.remembered && storedSession()?.token === token) forgetSession()
}

/** Puts the session into the storage again, unless there is another one. */
export function keepSession(opened: StoredSession): void {
  if (storedSession() === null) localStorage.setItem(KEY, JSON.stringify(opened))
}

/** Forgets the session, after the daemon has refused its token. */
export function forgetSession(): void {
  localStorage.removeItem(KEY)
}
