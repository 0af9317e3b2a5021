// Messages to processes: sends them, and records those that a process has read within a turn. The queue is in
// message-queue.ts; turns.ts has the turns that messages begin.
// Tests: test/tables/kernel/decide/authorize.test.ts, test/properties/kernel.test.ts.
import { KernelError } from '../model/errors.ts'
import { isExternal, isPlainCommand, takesMessages } from '../model/capabilities.ts'
import { checkActsOnSelf, checkMessageSender } from './authorize.ts'
import { warnOfLimits } from './limits/enforce-limits.ts'
import { findExhaustedLimit } from '../state/limits.ts'
import { enqueueMessage } from './message-queue.ts'
import { startNextTurn } from './turns.ts'
import type { InputOf } from '../model/inputs.ts'
import type { DecisionDraft } from './draft.ts'
import type { Sender } from '../model/ids.ts'

/** Queues a message for a process. Errors: NOT_FOUND, PERMISSION, INVALID, RESOURCE_EXHAUSTED. */
export function sendMessage(draft: DecisionDraft, input: InputOf<'send'>): void {
  const process = draft.requireLiving(input.uuid)
  if (isPlainCommand(process.spec)) throw new KernelError('INVALID', 'a plain command takes no messages')
  if (!takesMessages(process.spec))
    throw new KernelError(
      'INVALID',
      `process ${process.pid} takes no messages while it runs: resume it with a message after its end`,
      undefined,
      process.spec.crew ? 'Its members do: `reeve crew send`.' : undefined,
    )
  checkMessageSender(draft, input.by, process)
  countMessage(draft, input)
  enqueueMessage(draft, input.uuid, { id: input.id, from: input.by, text: input.text, ...(input.urgent ? { urgent: true } : {}) })
  startNextTurn(draft, input.uuid)
  const note =
    input.urgent && process.progress.turnOpen && isExternal(process.spec)
      ? 'an external agent reads no messages within a turn: this one waits for the end of the turn'
      : null
  draft.replyDone(input.reply, input.uuid, { note })
}

/**
 * Marks queued messages as read within the current turn, so that they begin no turn. Refuses messages from a coordinator
 * or from reeve, which always begin one. Errors: NOT_FOUND, PERMISSION, INVALID.
 */
export function takeQueuedMessages(draft: DecisionDraft, input: InputOf<'take'>): void {
  const { uuid, by, ids } = input
  const process = draft.requireLiving(uuid)
  checkActsOnSelf(by, process, 'messages')
  const senders = new Map(process.queue.map(({ id, from }) => [id, from]))
  const refused = ids.filter((id) => startsOwnTurn(senders.get(id)))
  if (refused.length > 0)
    throw new KernelError(
      'INVALID',
      `${refused.join(', ')}: a message of the coordinator or of reeve begins a new turn, and cannot be acknowledged before that turn`,
    )
  const taken = ids.filter((id) => senders.has(id))
  for (const id of taken) draft.emit(uuid, { type: 'message.taken', id, turn: process.progress.turn })
  const unknown = ids.length - taken.length
  const note =
    unknown === 0 ? null : `${unknown} of the messages ${unknown === 1 ? 'is' : 'are'} not queued: acknowledged before, or delivered`
  draft.replyDone(input.reply, uuid, { affected: taken.length, note })
}

function startsOwnTurn(from: Sender | undefined): boolean {
  return from === 'coordinator' || from === 'system'
}

/** Counts a message that an agent sends against its limit. Errors: RESOURCE_EXHAUSTED. */
function countMessage(draft: DecisionDraft, { by, uuid, id }: InputOf<'send'>): void {
  const sender = draft.sendingProcess(by)
  if (!sender) return
  const reached = findExhaustedLimit(draft, sender, 'message', draft.now.mono)
  if (reached)
    throw new KernelError(
      'RESOURCE_EXHAUSTED',
      `process ${reached.scope.pid} and its descendants may send at most ${reached.of} messages, and have sent them`,
    )
  draft.emit(sender.uuid, { type: 'message.sent', to: uuid, id })
  warnOfLimits(draft, draft.mustGet(sender.uuid))
}
