// The requests by which the user acts on processes. No action is shown as done before the daemon has answered: until then its button shows
// that it is on its way, such as `Sending …`. Test: test/e2e/web/actions.test.ts.
import { signal } from '@preact/signals'
import type { AskView, ProcessView, ResumeBody, SteerView } from '../src/api/views/process.ts'
import type { RowView } from '../src/api/views/rows.ts'
import type { ForkChanges } from '../src/faces/fork-plan.ts'
import { formatCount } from '../src/faces/format.ts'
import { titleOf } from '../src/faces/process-names.ts'
import { undoOf, type RowVerb } from '../src/faces/row-verbs.ts'
import { showNotice } from './notice.ts'
import { failureOfAll, RequestError, type Failure } from './request-error.ts'
import { clockOffset, rows } from './rows.ts'
import { callApi } from './session-api.ts'

/** The last error of an action, with its hint; null: none. */
export const failure = signal<Failure | null>(null)
/** The actions that the daemon has not answered yet, as `UUID action`. */
const pendingActions = signal<ReadonlySet<string>>(new Set())

/** The error of an action. `unanswered`: the hint if the daemon did not answer. */
export function failureOf(error: unknown, unanswered: string): Failure {
  return error instanceof RequestError
    ? { message: error.message, hint: error.hint }
    : { message: 'The daemon does not answer.', hint: unanswered }
}

/** The actions that are one request for a process. */
export type Action = 'pause' | 'resume' | 'send' | 'answer' | Extract<RowVerb, 'interrupt' | 'stop' | 'kill' | 'markSeen' | 'snooze'>
/** The routes of the actions whose names differ from them. */
const ROUTES: Partial<Readonly<Record<Action, string>>> = { interrupt: 'signal', stop: 'signal', kill: 'signal', markSeen: 'seen' }

interface ActionRequest {
  readonly uuid: string
  readonly action: Action
  readonly body: object
  /** the path below the process of a DELETE request, which is sent instead of the POST of the action */
  readonly deletes?: string
  readonly onDone?: (view: SteerView) => void
}

/** Sends an action on a process to the daemon. Returns whether it was accepted; if not, `failure` has the reason. */
export async function perform(uuid: string, action: Action, body: object): Promise<boolean> {
  const done = await performAll([{ uuid, action, body }])
  return !done.includes(false)
}

/** Sends actions to the daemon at once. Returns which were accepted; if some were not, `failure` has the first reason. */
async function performAll(requests: readonly ActionRequest[]): Promise<boolean[]> {
  const before = failure.peek()
  const failures = await Promise.all(requests.map(sendAction))
  const failed = failureOfAll(failures)
  // A success removes only an older error: that of another action may have come in the meantime.
  if (failed !== null || failure.peek() === before) failure.value = failed
  return failures.map((one) => one === null)
}

async function sendAction({ uuid, action, body, deletes, onDone }: ActionRequest): Promise<Failure | null> {
  const key = `${uuid} ${action}`
  pendingActions.value = new Set([...pendingActions.value, key])
  try {
    const path = `/v1/processes/${uuid}/${deletes ?? ROUTES[action] ?? action}`
    const view = await callApi<SteerView>(path, deletes === undefined ? { method: 'POST', body } : { method: 'DELETE' })
    onDone?.(view)
    return null
  } catch (error) {
    return failureOf(error, 'The action may or may not have happened; look at the process.')
  } finally {
    pendingActions.value = new Set([...pendingActions.value].filter((other) => other !== key))
  }
}

/** Whether the daemon has not answered an action yet. An action that opens a dialog, such as `fork`, is never pending by its own name. */
export function isPending(uuid: string, action: Action | RowVerb): boolean {
  return pendingActions.value.has(`${uuid} ${action}`)
}

/** Pauses a process with all below it; a suspended one is resumed with all below it. A note offers to undo that. */
export async function pauseOrResume(row: RowView): Promise<boolean> {
  const isHeld = row.status === 'suspended'
  // After the request the rows no longer show which processes were paused before it.
  const undo = undoOf(row, rows)
  const isDone = await perform(row.uuid, isHeld ? 'resume' : 'pause', { subtree: true })
  if (isDone) showNotice(`${isHeld ? 'resumed' : 'paused'} ${titleOf(row)}`, undo && (() => perform(row.uuid, undo.verb, undo.body)))
  return isDone
}

/** Pauses processes with all below them at once. One note offers to undo all of these pauses. */
export async function pauseNow(targets: readonly RowView[]): Promise<void> {
  const undos = targets.map((row) => undoOf(row, rows))
  const done = await performAll(targets.map(({ uuid }) => ({ uuid, action: 'pause', body: { subtree: true, now: true } })))
  const paused = targets.filter((_, at) => done[at])
  const [first] = paused
  if (!first) return
  const takeBack = targets.flatMap(({ uuid }, at) => {
    const undo = done[at] ? undos[at] : null
    return undo ? [{ uuid, action: undo.verb, body: undo.body }] : []
  })
  showNotice(
    `paused ${paused.length === 1 ? titleOf(first) : formatCount(paused.length, 'process')}`,
    takeBack.length === 0 ? null : () => performAll(takeBack),
  )
}

/** Puts off the present needs of processes until a time; null: they count again. Returns which requests were accepted. */
export function snooze(times: readonly { readonly uuid: string; readonly until: string | null }[]): Promise<boolean[]> {
  return performAll(times.map(({ uuid, until }) => ({ uuid, action: 'snooze', body: { until } })))
}

/** The least time between SIGTERM and SIGKILL of a stop, as in `reeve stop`. */
export const STOP_GRACE_MS = 10_000

/** Stops or kills a process, on request with all below it. */
export function endProcess(uuid: string, how: 'stop' | 'kill', subtree: boolean): Promise<boolean> {
  const signal = how === 'stop' ? { signal: 'SIGTERM', leastGraceMs: STOP_GRACE_MS } : { signal: 'SIGKILL' }
  return perform(uuid, how, { ...signal, ...(subtree ? { subtree } : {}) })
}

/** Interrupts the turns of processes. Returns which requests were accepted. */
export function interrupt(uuids: readonly string[]): Promise<boolean[]> {
  return performAll(uuids.map((uuid) => ({ uuid, action: 'interrupt', body: { signal: 'SIGINT' } })))
}

export function sendMessage(uuid: string, text: string, urgent: boolean): Promise<boolean> {
  return perform(uuid, 'send', { text, ...(urgent ? { now: true } : {}) })
}

/** Answers a question. The daemon refuses the answer if the question is not the one that was shown. */
export function answerOption(uuid: string, { id, hash }: AskView, option: string, comment = ''): Promise<boolean> {
  return answer(uuid, id, { option, seen: hash, ...(comment === '' ? {} : { text: comment }) })
}

export function answerText(uuid: string, { id, hash }: AskView, text: string): Promise<boolean> {
  return answer(uuid, id, { text, seen: hash })
}

/** How long the daemon keeps an answer from the agent, so that the user can take the answer back, in ms. */
const ANSWER_UNDO_MS = 5_000

/** Answers a question. The note offers to take the answer back before the agent gets it. */
async function answer(uuid: string, id: string, body: object): Promise<boolean> {
  const onDone = ({ undo }: SteerView): void => {
    if (!undo) return showNotice('answered')
    const takeBack = (): Promise<boolean[]> => withdrawAnswer(uuid, undo.id)
    if (undo.until === null) return showNotice('answered; the agent gets it after the pause', takeBack)
    const leftMs = Date.parse(undo.until) - Date.now() - clockOffset.peek()
    showNotice(`answered; the agent gets it in ${Math.round(leftMs / 1_000)} s`, takeBack, leftMs)
  }
  const done = await performAll([{ uuid, action: 'answer', body: { ...body, id, undoMs: ANSWER_UNDO_MS }, onDone }])
  return !done.includes(false)
}

function withdrawAnswer(uuid: string, id: string): Promise<boolean[]> {
  return performAll([{ uuid, action: 'answer', body: {}, deletes: `answer/${encodeURIComponent(id)}` }])
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

/** Records that the user has seen how processes ended. Returns which requests were accepted. */
export function markSeen(uuids: readonly string[]): Promise<boolean[]> {
  return performAll(uuids.map((uuid) => ({ uuid, action: 'markSeen', body: {} })))
}
