// The sessions of the page: who may do what since when, and how to end them. Only a session with all rights sees the others.
// Test: test/e2e/web/pages/settings.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { WebSessionView, WebView } from '../../src/api/views/web.ts'
import { formatAgo, formatClock, formatMoment } from '../../src/faces/format.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { failure, failureOf } from '../actions.ts'
import { callApi } from '../session-api.ts'
import { useRegularReader } from '../live.ts'
import { rows } from '../rows.ts'
import { isStale, may, session } from '../connection-state.ts'
import { daemonNow } from '../parts/clock.tsx'
import { CommandLine } from '../parts/command-line.tsx'
import { WideTable } from '../parts/wide-table.tsx'

/** grows when a session was ended here */
const changes = signal(0)
const INTERVAL_MS = 10_000

export function Sessions(): JSX.Element {
  const opened = session.value
  const own = typeof opened === 'string' ? null : opened.session
  const seesAll = may('all') && own !== null && own.only === null && !own.redact
  const { value, error } = useRegularReader(
    { everyMs: INTERVAL_MS, when: () => seesAll, version: `${seesAll} ${changes.value}` },
    'sessions',
    () => callApi<WebView>('/v1/web'),
  )
  const sessions = seesAll ? (value.value?.sessions ?? []) : own === null ? [] : [own]
  return (
    <section aria-label="Sessions">
      <h3>Sessions of the page</h3>
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      {(value.value?.reusedLinks ?? 0) > 0 ? (
        <p class="problem">A link was used more than once, so it may be known to others. End each session that you do not know.</p>
      ) : null}
      <SessionTable sessions={sessions} own={own?.id ?? ''} mayEnd={seesAll} />
      <Addresses view={value.value} />
      <p class="quiet">
        {seesAll
          ? 'New links are made on the machine, so that a session cannot make another one.'
          : 'This session sees only itself. One with all rights sees and ends the others.'}
      </p>
      <CommandLine words={['reeve', 'web', '--share', '--read-only', '--for', '2h']} />
    </section>
  )
}

/** The addresses at which the page is open. */
function Addresses({ view }: { readonly view: WebView | null }): JSX.Element | null {
  if (view === null) return null
  const addresses = [
    ...(view.url === null ? [] : [view.url]),
    ...view.proxyHosts.map((host) => `${host} through its proxy`),
    ...(view.tls === null ? [] : [`${view.tls} by TLS`]),
  ]
  return <p class="quiet">The page is open at {addresses.join(', ')}.</p>
}

/** Ends a session; null: all sessions. */
async function endSession(id: string | null): Promise<void> {
  try {
    await callApi(`/v1/web/sessions${id === null ? '' : `/${id}`}`, { method: 'DELETE' })
    failure.value = null
    changes.value += 1
  } catch (error) {
    failure.value = failureOf(error, 'Look at the list again.')
  }
}

interface SessionTableProps {
  readonly sessions: readonly WebSessionView[]
  readonly own: string
  readonly mayEnd: boolean
}

function SessionTable({ sessions, own, mayEnd }: SessionTableProps): JSX.Element {
  return (
    <>
      <WideTable
        label="All sessions"
        titles={['session', 'right', 'sees', 'since', 'last seen', 'until', 'from', ...(mayEnd ? ['end'] : [])]}
      >
        <tbody>
          {sessions.map((one) => (
            <SessionLine key={one.id} session={one} isOwn={one.id === own} mayEnd={mayEnd} />
          ))}
        </tbody>
      </WideTable>
      {mayEnd && sessions.length > 1 ? (
        <p class="buttons">
          <button type="button" class="danger" disabled={isStale.value} onClick={() => void endOthers(sessions, own)}>
            End all others
          </button>
        </p>
      ) : null}
    </>
  )
}

async function endOthers(sessions: readonly WebSessionView[], own: string): Promise<void> {
  for (const { id } of sessions) if (id !== own) await endSession(id)
}

interface SessionLineProps {
  readonly session: WebSessionView
  readonly isOwn: boolean
  readonly mayEnd: boolean
}

function SessionLine({ session: one, isOwn, mayEnd }: SessionLineProps): JSX.Element {
  const { id, label, right, only, redact, way, remembered, createdAt, lastSeenAt, expiresAt, address, userAgent } = one
  const sees = [
    only === null ? 'all processes' : `${visibleText(rows.get(only)?.name ?? 'one process')} and those below`,
    ...(redact ? ['no inputs or results'] : []),
  ]
  const until = expiresAt === null ? (remembered ? '30 days without use' : '12 hours without use') : formatMoment(expiresAt, daemonNow())
  return (
    <tr data-session={id}>
      <th scope="row">
        {label ?? id} {isOwn ? <span class="chip">this one</span> : null}
      </th>
      <td>{right}</td>
      <td>{sees.join(', ')}</td>
      <td class="number">{formatClock(createdAt, daemonNow())}</td>
      <td class="number">{isOwn ? 'now' : formatAgo(daemonNow() - Date.parse(lastSeenAt))}</td>
      <td>{until}</td>
      <td title={userAgent}>
        {address}, {way} <span class="quiet">{browserOf(userAgent)}</span>
      </td>
      {mayEnd ? (
        <td>
          <button type="button" disabled={isStale.value} title={`reeve web --revoke ${id}`} onClick={() => void endSession(id)}>
            {isOwn ? 'Log out' : 'End'}
          </button>
        </td>
      ) : null}
    </tr>
  )
}

/** The browser and the system that it names. */
function browserOf(userAgent: string): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\/(\d+)/.exec(userAgent)
  const system = /(Android|iPhone|iPad|Macintosh|Windows|Linux)/.exec(userAgent)?.[1]
  return [...(browser === null ? [] : [`${browser[1]} ${browser[2]}`]), ...(system === undefined ? [] : [system])].join(', ')
}
