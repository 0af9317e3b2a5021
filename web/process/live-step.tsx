// What the open step writes, as it comes: the text of the model, and the output of tools. Drawn once a frame at most, and as plain text: it
// becomes Markdown when it is complete. Only a visible tab follows it. Test: test/e2e/web/process/live-step.test.ts.
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { JSX } from 'preact'
import type { EventView } from '../../src/api/views/daemon.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { LIVE_EVENTS, NOTHING_LIVE, withLiveEvent, type LiveStep } from '../../src/faces/live-step.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { followEvents } from '../session-api.ts'
import { isHidden } from '../live.ts'
import { isStale, isRedacted } from '../connection-state.ts'

/** A browser opens six connections to one address; this many tabs may use one for the text of a step. */
const SLOTS = ['reeve.live.0', 'reeve.live.1', 'reeve.live.2']

/** Follows what the open step of a living process writes, while `isWanted`. */
export function useLiveStep({ uuid, endedAt }: RowView, isWanted: boolean): LiveStep {
  const live = useSignal(NOTHING_LIVE)
  const isFollowing = isWanted && endedAt === null && !isHidden.value && !isStale.value && !isRedacted()
  useEffect(() => {
    if (!isFollowing) return
    const leave = new AbortController()
    let waiting: EventView[] = []
    const apply = (): void => {
      if (leave.signal.aborted) return
      live.value = waiting.reduce(withLiveEvent, live.peek())
      waiting = []
    }
    const take = (event: EventView): void => {
      waiting.push(event)
      if (waiting.length === 1) requestAnimationFrame(apply)
    }
    // The events before the stream are missing. It begins with the whole text of the open step, or reports that the text is too long. If it
    // begins with neither, nothing was written.
    const onOpen = (): void => void (live.value = NOTHING_LIVE)
    // Without the stream, a text is shown when it is complete.
    followInSlot(uuid, { onOpen, onEvent: take, signal: leave.signal }).catch(() => undefined)
    return () => leave.abort()
  }, [uuid, isFollowing])
  return live.value
}

interface Handlers {
  readonly onOpen: () => void
  readonly onEvent: (event: EventView) => void
  readonly signal: AbortSignal
}

/** Follows the events in a free slot. Without one this tab shows a text when it is complete. */
async function followInSlot(uuid: string, { onOpen, onEvent, signal: left }: Handlers): Promise<void> {
  for (const slot of SLOTS) {
    const hasSlot = await navigator.locks.request(slot, { ifAvailable: true }, async (lock) => {
      if (lock === null || left.aborted) return left.aborted
      onOpen()
      await followEvents(uuid, `live=1&tail=0&types=${LIVE_EVENTS.join()}`, { onEvent, signal: left })
      return true
    })
    if (hasSlot) return
  }
}

/** The text so far, with a note while the link is lost. */
export function LiveText({ live }: { readonly live: LiveStep }): JSX.Element | null {
  if (live.text === '' && live.reasoning === '') return null
  return (
    <div class="live-text" aria-busy={!isStale.value}>
      <p class="quiet">
        {isStale.value ? 'as it was when the link was lost' : live.text === '' ? 'it reasons' : 'it writes'}
        {live.hasGaps ? '; parts are missing until it is complete' : ''}
      </p>
      <div class="text" tabIndex={0}>
        <p>{visibleText(live.text === '' ? live.reasoning : live.text)}</p>
      </div>
    </div>
  )
}
