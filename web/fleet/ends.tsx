// Ended processes in the list of the fleet: those whose end the user has not seen, and those that ended over 24 hours ago. The older ones
// are read on request. The address has that request, so a reload shows them again. Test: test/e2e/web/list/ends.test.ts.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { JSX } from 'preact'
import { formatCount } from '../../src/faces/format.ts'
import { failureOf, markSeen } from '../actions.ts'
import { readRows } from '../session-api.ts'
import { showNotice } from '../notice.ts'
import { query, setQuery } from '../router.ts'
import { addAllOlderRows, dropOlderRows, hasRows, unseenEnds } from '../rows.ts'
import { isStale, may, session } from '../connection-state.ts'

/** the filter for ends that the user has not seen */
const UNSEEN = 'is:ended is:unseen'
/** the number of ends that are marked as seen at a time */
const MAX_AT_ONCE = 8

const state = signal<'none' | 'reading' | 'shown' | { readonly error: string }>('none')

/** Whether the address asks for the older ends. */
const isWanted = (): boolean => query.value.get('ended') === 'all'

async function readOlder(): Promise<void> {
  if (state.peek() === 'reading') return
  state.value = 'reading'
  try {
    const found = await readRows('all')
    // They may have been hidden meanwhile, or the page of the list was left.
    if (isWanted()) addAllOlderRows(found.filter(({ endedAt }) => endedAt !== null))
    state.value = isWanted() ? 'shown' : 'none'
  } catch (error) {
    const { message, hint } = failureOf(error, 'Try again.')
    state.value = { error: `${message} ${hint}` }
  }
}

async function markAllSeen(uuids: readonly string[]): Promise<void> {
  for (let at = 0; at < uuids.length; at += MAX_AT_ONCE) {
    const done = await markSeen(uuids.slice(at, at + MAX_AT_ONCE))
    if (done.includes(false)) return
  }
  showNotice(`seen: ${formatCount(uuids.length, 'process')}`)
}

/** The ends that were not seen, with a filter for them. */
export function UnseenEnds(): JSX.Element | null {
  const uuids = [...unseenEnds.value]
  const isFiltered = query.value.get('q') === UNSEEN
  // While its filter is set, the button stays: it also removes the filter.
  if (uuids.length === 0 && !isFiltered) return null
  return (
    <span class="ends">
      <button type="button" class="plain" aria-pressed={isFiltered} onClick={() => setQuery('q', isFiltered ? '' : UNSEEN)}>
        {uuids.length} ended, not seen
      </button>
      {may('answer') && uuids.length > 0 ? (
        <button type="button" class="plain" title="reeve needs --seen" disabled={isStale.value} onClick={() => void markAllSeen(uuids)}>
          mark all as seen
        </button>
      ) : null}
    </span>
  )
}

/** Shows what ended over 24 hours ago, or hides it again. A session for one subtree cannot ask for them. */
export function OlderEnds(): JSX.Element | null {
  const isOn = isWanted()
  const now = state.value
  useEffect(() => {
    if (isOn && hasRows() && (now === 'none' || typeof now === 'object')) void readOlder()
    if (!isOn && now === 'shown') {
      dropOlderRows()
      state.value = 'none'
    }
  }, [isOn, hasRows()])
  const opened = session.value
  if (typeof opened === 'string' || opened.session.only !== null) return null
  if (now === 'reading') return <span class="quiet">the older ones are being read</span>
  return (
    <span class="ends">
      <button type="button" class="plain" aria-pressed={isOn} onClick={() => setQuery('ended', isOn ? '' : 'all')}>
        {isOn ? 'hide what ended over 24 hours ago' : 'show older'}
      </button>
      {typeof now === 'object' ? <span class="problem">{now.error}</span> : null}
    </span>
  )
}
