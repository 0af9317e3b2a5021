// What the page knows: its session, the link to the daemon, and the processes. Signals, so that a change redraws only what shows it.
// Must state nothing as current that was not read just now: `link` has the age of the last byte. Test: test/e2e/web/page.test.ts.
import { signal } from '@preact/signals'
import type { ProcessView } from '../src/api/views/process.ts'
import { request, RequestError } from './api.ts'
import type { FromWorker, LinkState } from './shared.ts'
import { forgetSession, type NoSession, type StoredSession } from './session.ts'
import { connectWorker } from './stream.ts'

const FIELDS = ['uuid', 'pid', 'name', 'agent', 'status', 'step', 'elapsedMs', 'about', 'parentUuid', 'note'] as const
export type Row = Pick<ProcessView, (typeof FIELDS)[number]>

export const session = signal<StoredSession | NoSession>('none')
export const link = signal<LinkState>({ state: 'opening', lastByteAt: null })
export const rows = signal<readonly Row[] | null>(null)
export const problem = signal<string | null>(null)
/** the time of this browser, which the age of the last byte is shown against */
export const now = signal(Date.now())

/** at most so often is the list read again, in ms */
const READ_EVERY_MS = 250
let isReading = false
let mustRead = false

/** Shows a session: reads the list, and again after each change. */
export function show(opened: StoredSession): void {
  session.value = opened
  const { token } = opened
  connectWorker(token, (message) => onMessage(token, message))
  setInterval(() => (now.value = Date.now()), 1_000)
  readAgain(token)
}

function onMessage(token: string, message: FromWorker): void {
  if (message.type === 'link') {
    if (message.link.state === 'refused') return end()
    const { state, lastByteAt } = message.link
    link.value = { state, lastByteAt: Math.max(lastByteAt ?? 0, link.value.lastByteAt ?? 0) || null }
  } else readAgain(token)
}

/** Reads the list; while it is being read, notes that it must be read once more. */
function readAgain(token: string): void {
  mustRead = true
  if (isReading) return
  isReading = true
  readWhileNeeded(token)
    .catch((error: unknown) => onError(error))
    .finally(() => (isReading = false))
}

async function readWhileNeeded(token: string): Promise<void> {
  while (mustRead) {
    mustRead = false
    const { processes } = await request<{ processes: Row[] }>(token, `/v1/processes?fields=${FIELDS.join(',')}`)
    rows.value = processes
    problem.value = null
    link.value = { state: 'open', lastByteAt: Date.now() }
    await new Promise((resolve) => setTimeout(resolve, READ_EVERY_MS))
  }
}

function onError(error: unknown): void {
  if (error instanceof RequestError && error.isRefused) end()
  else if (error instanceof RequestError) problem.value = `${error.message}. ${error.hint}`
  else link.value = { ...link.value, state: 'lost' }
}

/** The daemon does not know the session any more. */
function end(): void {
  forgetSession()
  link.value = { ...link.value, state: 'refused' }
  session.value = 'ended'
}
