// What the page shows without a session: why there is none, and the command that makes a new link. Test: test/e2e/web/page.test.ts.
import type { JSX } from 'preact'
import type { NoSession } from '../session.ts'

const TEXTS: Readonly<Record<NoSession, string>> = {
  none: 'This page needs a link with a code.',
  used: 'This link has already been used, or is older than a minute.',
  ended: 'The session has ended: it was revoked, was idle for too long, or the daemon has ended.',
  unreachable: 'The daemon does not answer.',
}

export function NoSessionPage({ why }: { readonly why: NoSession }): JSX.Element {
  return (
    <section class="empty" data-no-session={why}>
      <p>{TEXTS[why]}</p>
      <p>Open the page with a new link:</p>
      <pre>reeve web</pre>
    </section>
  )
}
