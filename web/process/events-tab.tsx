// The last events of a process, by class, the newest at the end; one of them in full. Test: test/e2e/web/process/tabs.test.ts.
import { signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { JSX } from 'preact'
import type { EventView } from '../../src/api/views/daemon.ts'
import type { RowView } from '../../src/api/views/rows.ts'
import { formatClock } from '../../src/faces/format.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import { readEvents } from '../session-api.ts'
import { useLive } from '../live.ts'
import { daemonNow } from '../parts/clock.tsx'
import { RowWindow } from '../parts/row-window.tsx'
import { query, setQuery } from '../router.ts'
import { ProgramText } from './agent-text.tsx'

const TAIL = 2_000
const EVENT_HEIGHT = 24

/** The classes of events, by the beginning of their types. All others are `other`. */
const CLASSES: Readonly<Record<string, readonly string[]>> = {
  status: ['process.status', 'process.held', 'process.released', 'process.drained', 'process.exited', 'process.spawned', 'process.reaped'],
  steps: ['step.', 'model.', 'context.', 'checkpoint.', 'files.', 'compaction.'],
  tools: ['tool.'],
  messages: ['process.queue', 'process.incoming', 'message.'],
  output: ['process.output', 'process.raw'],
  signals: ['signal.'],
  usage: ['process.usage', 'usage.', 'call.'],
}

function classOf(type: string): string {
  return Object.entries(CLASSES).find(([, prefixes]) => prefixes.some((prefix) => type.startsWith(prefix)))?.[0] ?? 'other'
}

const CLASS_NAMES = [...Object.keys(CLASSES), 'other']
/** the cursor of the event that is shown in full */
const opened = signal<number | null>(null)

export function EventsTab({ row }: { readonly row: RowView }): JSX.Element {
  const { value, error } = useLive<EventView[]>(row.uuid, 'events', (before) => readNewEvents(row.uuid, before))
  const classes = (query.value.get('class') ?? '').split(',').filter((name) => name !== '')
  const shown = useMemo(
    () => (value.value ?? []).filter(({ type }) => classes.length === 0 || classes.includes(classOf(type))),
    [value.value, classes.join()],
  )
  if (value.value === null) return <p class={error.value === null ? 'quiet' : 'problem'}>{error.value ?? 'The events are being read.'}</p>
  const toggle = (name: string): void =>
    setQuery('class', (classes.includes(name) ? classes.filter((one) => one !== name) : [...classes, name]).join(','))
  const event = shown.find(({ seq }) => seq === opened.value)
  return (
    <section class="process-tab" aria-label="Events">
      {error.value === null ? null : <p class="problem">{error.value}</p>}
      <div class="step-filter">
        <span class="quiet">only</span>
        {CLASS_NAMES.map((name) => (
          <button key={name} type="button" class="kind-filter" aria-pressed={classes.includes(name)} onClick={() => toggle(name)}>
            {name}
          </button>
        ))}
      </div>
      {shown.length === 0 ? <p class="quiet">No event is of these classes.</p> : null}
      <RowWindow
        class="list events"
        count={shown.length}
        rowHeight={EVENT_HEIGHT}
        selected={event ? shown.indexOf(event) : null}
        keyOf={(index) => shown[index]?.seq ?? 0}
        attributes={{ tabIndex: 0, role: 'region', 'aria-label': 'Events of the process' }}
        draw={(index, top) => {
          const one = shown[index]
          return one ? <EventRow key={one.seq} event={one} top={top} isOpen={one === event} /> : <></>
        }}
      />
      {event ? <ProgramText class="event-detail" text={JSON.stringify(event, null, 2)} /> : null}
    </section>
  )
}

/** Reads the events after the last one that is known. */
async function readNewEvents(uuid: string, before: readonly EventView[] | null): Promise<EventView[]> {
  const last = before?.at(-1)?.seq
  const more = await readEvents(uuid, last === undefined ? `tail=${TAIL}` : `after=${last}`)
  return [...(before ?? []), ...more].slice(-TAIL)
}

function EventRow({ event, top, isOpen }: { readonly event: EventView; readonly top: number; readonly isOpen: boolean }): JSX.Element {
  return (
    <button
      type="button"
      class={`event-row${isOpen ? ' selected' : ''}`}
      aria-expanded={isOpen}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => (opened.value = isOpen ? null : event.seq)}
    >
      <span class="number quiet">{formatClock(event.at, daemonNow())}</span>
      <span>{String(event['fact'] ?? event.type)}</span>
      <span class="text quiet">{summaryOf(event)}</span>
    </button>
  )
}

const COMMON_FIELDS = new Set([
  'version',
  'seq',
  'uuid',
  'pid',
  'at',
  'type',
  'fact',
  'status',
  'queueCount',
  'role',
  'phase',
  'taskId',
  'mono',
])

/** The fields that not all events have, on one line. */
function summaryOf(event: EventView): string {
  const fields = Object.entries(event).filter(([name]) => !COMMON_FIELDS.has(name))
  const text = fields.map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`).join(' · ')
  return visibleText(text.slice(0, 300).toWellFormed()).replaceAll('\n', ' ')
}
