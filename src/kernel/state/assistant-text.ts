// Reads the text of an assistant's message. Test: test/properties/fold.test.ts.
import type { AssistantPart } from '../model/facts.ts'

/** The text of a message, without reasoning or tool calls; '' if it has none. */
export function assistantText(parts: readonly AssistantPart[]): string {
  let text = ''
  for (const part of parts) if (part.type === 'text') text += part.text
  return text
}
