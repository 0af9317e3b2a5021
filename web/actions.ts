// What the user can do to a process. Nothing is shown as done before the daemon says so: a button shows `asked` until the daemon has
// answered. Test: test/e2e/web/actions.test.ts.
import { signal } from '@preact/signals'
import type { EventView } from '../src/api/views/daemon.ts'
import type { AskView, ProcessView, ResumeBody, StepView } from '../src/api/views/process.ts'
import type { RowsView, RowView } from '../src/api/views/rows.ts'
import type { ForkChanges } from '../src/faces/fork-plan.ts'
import { titleOf } from '../src/faces/process-names.ts'
import { undoOf } from '../src/faces/row-verbs.ts'
import { readStream, request } from './api.ts'
import { say } from './notice.ts'
import { RequestError } from './request-error.ts'
import { rows } from './rows.ts'
import { credentialsOf, session } from './store.ts'

interface Failure {
  readonly message: string
  readonly hint: string
}

/** The last error of an action, with its hint; null: none. */
export const failure = signal<Failure | null>(null)
/** The actions that the daemon has not answered yet, as `UUID action`. */
const pendingActions = signal<ReadonlySet<string>>(new Set())

/** Sends a request with the token of this session. Errors: RequestError; TypeError without an answer. */
export function callApi<T>(path: string, options: Parameters<typeof request>[2] = {}): Promise<T> {
  const opened = session.value
  if (typeof opened === 'string') throw new Error('there is no session')
  return request<T>(credentialsOf(opened), path, options)
}

/** The error of an action. `unanswered`: the hint if the daemon did not answer. */
export function failureOf(error: unknown, unanswered: string): Failure {
  return error instanceof RequestError
    ? { message: error.message, hint: error.hint }
    : { message: 'The daemon does not answer.', hint: unanswered }
}

/** Sends an action of a process to the daemon. Returns whether it was accepted; if not, `failure` has the reason. */
export async function perform(uuid: string, action: string, body: object): Promise<boolean> {
  const key = `${uuid} ${action}`
  pendingActions.value = new Set([...pendingActions.value, key])
  try {
    await callApi(`/v1/processes/${uuid}/${action}`, { method: 'POST', body })
    failure.value = null
    return true
  } catch (error) {
    failure.value = failureOf(error, 'The action may or may not have happened; look at the process.')
    return false
  } finally {
    pendingActions.value = new Set([...pendingActions.value].filter((other) => other !== key))
  }
}

/** Whether the daemon has not answered an action yet. */
export function isPending(uuid: string, action: string): boolean {
  return pendingActions.value.has(`${uuid} ${action}`)
}

/** Pauses a process with all below it. If it is suspended, resumes them instead. A note offers to take it back. */
export async function pauseOrResume(row: RowView): Promise<boolean> {
  const isHeld = row.status === 'suspended'
  const isDone = await perform(row.uuid, isHeld ? 'resume' : 'pause', { subtree: true })
  if (isDone) noteSteered(row, isHeld ? `resumed ${titleOf(row)}` : `paused ${titleOf(row)}`)
  return isDone
}

/** Pauses a process with all below it at once. */
export async function pauseNow(row: RowView): Promise<boolean> {
  const isDone = await perform(row.uuid, 'pause', { subtree: true, now: true })
  if (isDone) noteSteered(row, `paused ${titleOf(row)}`)
  return isDone
}

function noteSteered(row: RowView, text: string): void {
  const undo = undoOf(row, rows.get(row.parent ?? '')?.status === 'suspended')
  say(text, undo && (() => perform(row.uuid, undo.verb, undo.body)))
}

/** Puts the present needs of a process off until a time; null: they count again. */
export function snooze(uuid: string, until: string | null): Promise<boolean> {
  return perform(uuid, 'snooze', { until })
}

/** The least time between SIGTERM and SIGKILL of a stop, as in `reeve stop`. */
export const STOP_GRACE_MS = 10_000

/** Stops or kills a process, on request with all below it. */
export function endProcess(uuid: string, how: 'stop' | 'kill', subtree: boolean): Promise<boolean> {
  const signal = how === 'stop' ? { signal: 'SIGTERM', leastGraceMs: STOP_GRACE_MS } : { signal: 'SIGKILL' }
  return perform(uuid, 'signal', { ...signal, ...(subtree ? { subtree } : {}) })
}

export function interrupt(uuid: string): Promise<boolean> {
  return perform(uuid, 'signal', { signal: 'SIGINT' })
}

export function sendMessage(uuid: string, text: string, urgent: boolean): Promise<boolean> {
  return perform(uuid, 'send', { text, ...(urgent ? { now: true } : {}) })
}

/** Answers a question. The daemon refuses the answer if the question is not the one that was shown. */
export function answerOption(uuid: string, { id, hash }: AskView, option: string, comment = ''): Promise<boolean> {
  return perform(uuid, 'answer', { id, option, seen: hash, ...(comment === '' ? {} : { text: comment }) })
}

export function answerText(uuid: string, { id, hash }: AskView, text: string): Promise<boolean> {
  return perform(uuid, 'answer', { id, text, seen: hash })
}

/** Makes a fork that continues after a step, or, for null, from the present state. Returns the UUID of the fork; null after an error. */
export async function fork(uuid: string, fromStep: number | null, changes: ForkChanges): Promise<string | null> {
  try {
    const body: ResumeBody = { fork: true, ...(fromStep === null ? {} : { fromStep }), ...changes }
    const { process } = await callApi<{ process: ProcessView }>(`/v1/processes/${uuid}/resume`, { method: 'POST', body })
    failure.value = null
    return process.uuid
  } catch (error) {
    failure.value = failureOf(error, 'Look at the list before you fork again.')
    return null
  }
}

/** Records that the user has seen how a process ended. */
export function markSeen(uuid: string): Promise<boolean> {
  return perform(uuid, 'seen', {})
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

/** The stored events of a process, with long texts cut. `which`: `tail=N` or `after=CURSOR`. */
export async function readEvents(uuid: string, which: string): Promise<EventView[]> {
  const events: EventView[] = []
  const onEvent = (event: EventView): void => void events.push(event)
  await streamEvents(uuid, `brief=1&${which}`, { onEvent, signal: AbortSignal.timeout(EVENTS_MS) })
  return events
}
/** the limit for reading events, in ms */
const EVENTS_MS = 30_000

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
