// Describes how the model's inputs of two processes differ before the same step: one line per difference, with shortened
// quotes. Pure.
// Test: test/tables/drivers/native/replay/replay-diff.test.ts.
import type { ContextMessage } from '../context/context.ts'
import type { RecordedInput, RecordedResult } from './recording.ts'

/** The longest quote of a line, in characters. */
const MAX_QUOTED_CHARS = 80
/** The part of a quote before the first difference, in characters. */
const LEAD_CHARS = 20

/** The model's input since its last answer. */
export function inputSinceAnswer(messages: readonly ContextMessage[]): RecordedInput {
  const newMessages = messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1)
  return {
    messages: newMessages.flatMap((message) => (message.role === 'user' ? [message.text] : [])),
    results: newMessages
      .flatMap((message) => (message.role === 'tool' ? message.results : []))
      .map((result) => ({ ...result, images: result.images?.length ?? 0 })),
  }
}

/** Describes how the input before a step differs from the recorded input. */
export function inputDifferences(step: number, current: RecordedInput, recorded: RecordedInput): readonly string[] {
  const results = current.results.flatMap((result) => {
    const other = recorded.results.find((each) => each.callId === result.callId)
    const text = other === undefined ? null : resultDifference(result, other)
    return text === null ? [] : [`step ${step - 1}: the result of \`${result.name}\` differs: ${text}`]
  })
  const messages = Array.from({ length: Math.max(current.messages.length, recorded.messages.length) }, (_, index) => {
    const text = messageDifference(current.messages[index], recorded.messages[index])
    return text === null ? [] : [`step ${step}: ${text}`]
  })
  return [...results, ...messages.flat()]
}

function resultDifference(current: RecordedResult, recorded: RecordedResult): string | null {
  if (current.outcome !== recorded.outcome) return `${current.outcome} instead of ${recorded.outcome}`
  return (
    textDifference(current.content, recorded.content) ??
    (current.images === recorded.images ? null : `${current.images} images instead of ${recorded.images}`)
  )
}

function messageDifference(current: string | undefined, recorded: string | undefined): string | null {
  if (recorded === undefined) return `an unrecorded message: ${quote(current ?? '', 0)}`
  if (current === undefined) return `a recorded message is missing: ${quote(recorded, 0)}`
  const text = textDifference(current, recorded)
  return text === null ? null : `the message differs: ${text}`
}

/** Describes the first line that differs; null if the texts are equal. */
export function textDifference(current: string | null, recorded: string | null): string | null {
  if (current === recorded) return null
  const [lines, others] = [current?.split('\n') ?? [], recorded?.split('\n') ?? []]
  const index = Array.from({ length: Math.max(lines.length, others.length) }).findIndex((_, at) => lines[at] !== others[at])
  const [line, other] = [lines[index], others[index]]
  const from = commonPrefixLength(line ?? '', other ?? '')
  return `line ${index + 1}: ${quote(line, from)} instead of ${quote(other, from)}`
}

/** Describes how the offered tools differ from the recorded ones; null if they are equal. */
export function toolDifference(current: readonly string[], recorded: readonly string[]): string | null {
  const missing = recorded.filter((name) => !current.includes(name))
  const added = current.filter((name) => !recorded.includes(name))
  const changes = [
    ...(missing.length > 0 ? [`without ${missing.join(', ')}`] : []),
    ...(added.length > 0 ? [`with ${added.join(', ')}`] : []),
  ]
  return changes.length === 0 ? null : `the offered tools differ: ${changes.join('; ')}`
}

/** The number of equal characters at the beginning of two texts. */
function commonPrefixLength(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at
}

/** Quotes a line around the first position that differs. */
function quote(line: string | undefined, differsAt: number): string {
  if (line === undefined) return 'nothing'
  const from = differsAt < MAX_QUOTED_CHARS ? 0 : differsAt - LEAD_CHARS
  const end = from + MAX_QUOTED_CHARS
  return `'${from > 0 ? '…' : ''}${line.slice(from, end)}${end < line.length ? '…' : ''}'`
}
