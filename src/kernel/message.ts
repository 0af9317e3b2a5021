// What is read from an assistant's message, for all who show, keep or fold one. Test: test/properties/fold.test.ts.
import type { AssistantPart } from './facts.ts'

/** Its text, without thoughts and calls; '' if it has none. */
export function textOf(parts: readonly AssistantPart[]): string {
  let text = ''
  for (const part of parts) if (part.type === 'text') text += part.text
  return text
}
