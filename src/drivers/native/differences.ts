// What differs between two runs before the same step, in words: pure, one line for each difference, quotes cut to what
// shows it. Test: test/tables/native-differences.test.ts.
import type { ContextMessage } from './context.ts'
import type { Input, Result } from './recording.ts'

/** How much of a line is quoted, and how much of it stands before the place that differs, in characters. */
const QUOTED_CHARS = 80
const LEAD_CHARS = 20

/** What came in after the last answer. */
export function inputOf(messages: readonly ContextMessage[]): Input {
  const since = messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1)
  return {
    messages: since.flatMap((message) => (message.role === 'user' ? [message.text] : [])),
    results: since.flatMap((message) => (message.role === 'tool' ? message.results : [])).map((result) => ({ ...result, images: result.images?.length ?? 0 })),
  }
}

/** Before the step: what came in now against what had been recorded. */
export function inputDifferences(step: number, now: Input, recorded: Input): readonly string[] {
  const results = now.results.flatMap((result) => {
    const other = recorded.results.find((each) => each.callId === result.callId)
    const words = other === undefined ? null : resultDifference(result, other)
    return words === null ? [] : [`step ${step - 1}: the result of \`${result.name}\` differs: ${words}`]
  })
  const messages = Array.from({ length: Math.max(now.messages.length, recorded.messages.length) }, (_, index) => {
    const words = messageDifference(now.messages[index], recorded.messages[index])
    return words === null ? [] : [`step ${step}: ${words}`]
  })
  return [...results, ...messages.flat()]
}

function resultDifference(now: Result, recorded: Result): string | null {
  if (now.outcome !== recorded.outcome) return `${now.outcome} instead of ${recorded.outcome}`
  return textDifference(now.content, recorded.content) ?? (now.images === recorded.images ? null : `${now.images} pictures instead of ${recorded.images}`)
}

function messageDifference(now: string | undefined, recorded: string | undefined): string | null {
  if (recorded === undefined) return `a message that was not recorded: ${quote(now ?? '', 0)}`
  if (now === undefined) return `a recorded message did not come in: ${quote(recorded, 0)}`
  const words = textDifference(now, recorded)
  return words === null ? null : `the message differs: ${words}`
}

/** The first line that differs; null if none does. */
export function textDifference(now: string | null, recorded: string | null): string | null {
  if (now === recorded) return null
  const [lines, others] = [now?.split('\n') ?? [], recorded?.split('\n') ?? []]
  const index = Array.from({ length: Math.max(lines.length, others.length) }).findIndex((_, at) => lines[at] !== others[at])
  const [line, other] = [lines[index], others[index]]
  const from = commonChars(line ?? '', other ?? '')
  return `line ${index + 1}: ${quote(line, from)} instead of ${quote(other, from)}`
}

/** Names that are offered now against those that were. */
export function toolDifference(now: readonly string[], recorded: readonly string[]): string | null {
  const without = recorded.filter((name) => !now.includes(name))
  const more = now.filter((name) => !recorded.includes(name))
  const words = [...(without.length > 0 ? [`without ${without.join(', ')}`] : []), ...(more.length > 0 ? [`with ${more.join(', ')}`] : [])]
  return words.length === 0 ? null : `the offered tools differ: ${words.join('; ')}`
}

function commonChars(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at
}

/** A line around the place that differs. */
function quote(line: string | undefined, differsAt: number): string {
  if (line === undefined) return 'nothing'
  const from = differsAt < QUOTED_CHARS ? 0 : differsAt - LEAD_CHARS
  const end = from + QUOTED_CHARS
  return `'${from > 0 ? '…' : ''}${line.slice(from, end)}${end < line.length ? '…' : ''}'`
}
