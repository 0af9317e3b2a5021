// The queue of messages that a process has not read, and its limit. Test: test/properties/kernel.test.ts.
import { KernelError } from '../model/errors.ts'
import type { Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'
import type { Sender, Uuid } from '../model/ids.ts'

/** maximum number of queued messages per process */
const MAX_QUEUE = 1_000

/** Adds a message to the queue. Errors: RESOURCE_EXHAUSTED for a full queue. */
export function enqueueMessage(
  draft: DecisionDraft,
  uuid: Uuid,
  message: { readonly id: string; readonly from: Sender; readonly text: string; readonly urgent?: true },
): void {
  checkQueueSpace(draft.mustGet(uuid))
  draft.emit(uuid, { type: 'process.queue', ...message })
}

/** Errors: RESOURCE_EXHAUSTED for a full queue. */
export function checkQueueSpace(process: Process): void {
  if (isQueueFull(process))
    throw new KernelError(
      'RESOURCE_EXHAUSTED',
      `${MAX_QUEUE} messages are already queued`,
      undefined,
      'The process reads one per turn; `reeve inspect` shows why it does not begin a turn.',
    )
}

export function isQueueFull(process: Process): boolean {
  return process.queue.length >= MAX_QUEUE
}
