// What the page knows beside the rows: its session, and the link to the daemon. Must state nothing as current that did not come just now:
// `link` has the time of the last byte, and `isStale` is true soon after it. Test: test/e2e/web/page.test.ts.
import { computed, signal } from '@preact/signals'
import { forgetDrafts, hideDrafts, openDrafts, restoreDrafts } from './drafts.ts'
import { takeRowEvent } from './rows.ts'
import { setProvenAt, provePeer, type Credentials } from './peer.ts'
import { forgetSession, hideSession, keepSession, type NoSession, type StoredSession } from './session.ts'
import type { FromWorker, LinkState } from './worker-messages.ts'
import { connectWorker } from './worker-connection.ts'
import { WEB_RIGHTS, type WebRight } from './word-lists.ts'

export const session = signal<StoredSession | NoSession>('none')
export const link = signal<LinkState>({ state: 'opening', lastByteAt: null })
/** the time of this browser's clock, in ms since the epoch; grows each second */
export const now = signal(Date.now())

/** the daemon sends something at least so often, in ms; after twice that time the page is stale */
const ALIVE_MS = 2_500
const STALE_MS = 2 * ALIVE_MS

/** Whether what is shown may be out of date. Then no action is possible, and the clocks stand still. */
export const isStale = computed((): boolean => {
  const { state, lastByteAt } = link.value
  return state !== 'open' || lastByteAt === null || now.value - lastByteAt > STALE_MS
})

/** Shows a session with its drafts, connects to the daemon, and starts the clock. Called once in the life of the page. */
export function showSession(opened: StoredSession): void {
  openDrafts(opened.session.id)
  session.value = opened
  connectWorker(credentialsOf(opened), onMessage)
  setInterval(() => (now.value = Date.now()), 1_000)
}

export function credentialsOf({ token, session: { id } }: StoredSession): Credentials {
  return { token, id }
}

/**
 * Resolves when the daemon has proven who it is; code of the page may be loaded then. Another program would send code that runs as ours.
 * Errors: those of `provePeer`.
 */
export async function proveDaemon(): Promise<void> {
  const opened = session.peek()
  if (typeof opened !== 'string') await provePeer(credentialsOf(opened))
}

function onMessage(message: FromWorker): void {
  if (message.type === 'rows') return takeRowEvent(message.event)
  const { state, lastByteAt } = message.link
  if (state === 'refused') return endSession()
  setProvenAt(state === 'open' ? lastByteAt : null)
  const opened = session.peek()
  if (typeof opened !== 'string' && state !== link.peek().state) {
    if (state === 'open') keepStored(opened)
    else if (state !== 'opening') hideStored(opened)
  }
  link.value = message.link
}

function keepStored(opened: StoredSession): void {
  keepSession(opened)
  restoreDrafts(opened.session.id)
}

/** Takes the session and its drafts out of the storage: a program that takes the daemon's port could read them. */
function hideStored(opened: StoredSession): void {
  hideSession(opened)
  // A certificate proves who answers a remembered session.
  if (!opened.session.remembered) hideDrafts()
}

/** Forgets the session, which the daemon refuses, and what was typed in it. */
function endSession(): void {
  forgetDrafts()
  forgetSession()
  link.value = { ...link.value, state: 'refused' }
  session.value = 'ended'
}

/** Whether the session has the right `right`. Actions for which it has no right are not drawn. */
export function may(right: WebRight): boolean {
  const opened = session.value
  return typeof opened !== 'string' && WEB_RIGHTS.indexOf(opened.session.right) >= WEB_RIGHTS.indexOf(right)
}

/** Whether the session sees no inputs, results or outputs. */
export function isRedacted(): boolean {
  const opened = session.value
  return typeof opened !== 'string' && opened.session.redact
}
