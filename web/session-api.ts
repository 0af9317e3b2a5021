// Requests with the session of this page: any path of the API, and reads that several parts share. Must not be used by the worker.
// Test: test/e2e/web/page.test.ts.
import type { EventView } from '../src/api/views/daemon.ts'
import type { ProcessView, StepView } from '../src/api/views/process.ts'
import type { RowsView, RowView } from '../src/api/views/rows.ts'
import { readStream, request, type RequestOptions } from './api.ts'
import { credentialsOf, session } from './connection-state.ts'

/** Sends a request with the token of this session. Errors: those of `request`. */
export function callApi<T>(path: string, options: RequestOptions = {}): Promise<T> {
  const opened = session.value
  if (typeof opened === 'string') throw new Error('there is no session')
  return request<T>(credentialsOf(opened), path, options)
}

/** Reads the rows of a scope, such as `all`, once. */
export async function readRows(scope: string): Promise<RowView[]> {
  const { rows: found } = await callApi<RowsView>(`/v1/rows?${new URLSearchParams({ scope, shape: 'objects' })}`)
  return found
}

export async function readProcess(uuid: string): Promise<ProcessView> {
  const { process } = await callApi<{ process: ProcessView }>(`/v1/processes/${uuid}`)
  return process
}

export async function readSteps(uuid: string, after: number): Promise<StepView[]> {
  const { steps } = await callApi<{ steps: StepView[] }>(`/v1/processes/${uuid}/steps?after=${after}&limit=100`)
  return steps
}

/** the time limit for reading events, in ms */
const EVENTS_MS = 30_000

/** The stored events of a process, with long texts cut. `which`: `tail=N` or `after=CURSOR`. */
export async function readEvents(uuid: string, which: string): Promise<EventView[]> {
  const events: EventView[] = []
  const onEvent = (event: EventView): void => void events.push(event)
  await streamEvents(uuid, `brief=1&${which}`, { onEvent, signal: AbortSignal.timeout(EVENTS_MS) })
  return events
}

interface EventHandlers {
  readonly onEvent: (event: EventView) => void
  readonly signal: AbortSignal
}

/** Follows the events of a process until the signal aborts, or the process ends. Errors: those of a request. */
export function followEvents(uuid: string, which: string, handlers: EventHandlers): Promise<void> {
  return streamEvents(uuid, `follow=1&${which}`, handlers)
}

async function streamEvents(uuid: string, which: string, { onEvent, signal: end }: EventHandlers): Promise<void> {
  const opened = session.peek()
  if (typeof opened === 'string') throw new Error('there is no session')
  await readStream(credentialsOf(opened), `/v1/processes/${uuid}/events?${which}`, {
    onEvent: ({ data }) => onEvent(JSON.parse(data) as EventView),
    onByte: () => undefined,
    signal: end,
  })
}
