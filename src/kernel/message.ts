// What is read from an assistant's message, for all who show, keep or fold one. Test: test/properties/fold.test.ts.
import type { AssistantPart } from './facts.ts'

/** Its text, without thoughts and calls; '' if it has none. */
export function textOf(parts: readonly AssistantPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
