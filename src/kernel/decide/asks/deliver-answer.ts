// Delivers the user's answer to an agent. A text beside an option may have to be a message.
// Test: test/tables/kernel/decide/asks/asks.test.ts.
import { isExternal, takesMessages } from '../../model/capabilities.ts'
import { enqueueMessage, isQueueFull } from '../message-queue.ts'
import { answerMessageId, type Ask, type UserAnswer } from '../../model/asks.ts'
import type { Process } from '../../model/process.ts'
import type { DecisionDraft } from '../draft.ts'

/** Gives the agent an answer, and as a message the text that the answer has no place for. A queue that is full by now takes no message. */
export function deliverAnswer(draft: DecisionDraft, process: Process, ask: Ask, answer: Pick<UserAnswer, 'option' | 'text'>): void {
  const { uuid, pid } = process
  const { option, text } = answer
  draft.addEffect({ type: 'driver.answer', uuid, pid, id: ask.id, option, text })
  if (text === null || !isTextAMessage(process, ask, answer)) return
  const now = draft.mustGet(uuid)
  if (!isQueueFull(now)) enqueueMessage(draft, uuid, { id: answerMessageId(now.seq), from: 'user', text, urgent: true })
}

/**
 * Whether a text beside an option must be a message. A native agent reads the reason of a denial in the result of its call. The
 * protocol of external agents has no reasons, and an approval has none anywhere.
 */
export function isTextAMessage({ spec }: Process, { kind, options }: Ask, { option, text }: Pick<UserAnswer, 'option' | 'text'>): boolean {
  if (text === null || option === null || kind === 'question' || !takesMessages(spec)) return false
  const isDenial = options.find(({ id }) => id === option)?.kind.startsWith('reject') ?? false
  return isExternal(spec) || !isDenial
}
