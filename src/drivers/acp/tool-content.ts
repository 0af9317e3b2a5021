// Reads a tool call's name, input and intended changes of files. Formats its content (text, diffs, terminal output) as text. Limits inputs
// and results. Pure.
// Test: test/processes/acp/turns.test.ts.
import { z } from 'zod'
import type { AskDiff } from '../../kernel/model/asks.ts'
import { MAX_RESULT_BYTES, truncateMiddle } from '../common/truncate-middle.ts'
import type { ReportedCall } from './message-schemas.ts'

/** Limit of a call's journaled input, in characters of JSON. */
const MAX_INPUT_CHARS = 64 * 1024

const block = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('resource_link'), uri: z.string() }),
  z.object({ type: z.literal('resource'), resource: z.object({ uri: z.string(), text: z.string().optional().catch(undefined) }) }),
  z.object({ type: z.literal('image') }),
  z.object({ type: z.literal('audio') }),
])

const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('content'), content: z.unknown() }),
  z.object({ type: z.literal('diff'), path: z.string(), oldText: z.string().nullish().catch(null), newText: z.string() }),
  z.object({ type: z.literal('terminal'), terminalId: z.string() }),
])

/** Returns the text of one content block. Blocks without text, such as images, give their type in brackets. */
export function blockText(content: unknown): string {
  const known = block.safeParse(content)
  if (!known.success) return ''
  switch (known.data.type) {
    case 'text':
      return known.data.text
    case 'resource_link':
      return known.data.uri
    case 'resource':
      return known.data.resource.text ?? known.data.resource.uri
    default:
      return `[${known.data.type}]`
  }
}

/** Returns all content of a call as text. `terminalText` returns the output of a terminal so far. */
export function callText(content: readonly unknown[], terminalText: (id: string) => string): string {
  return content
    .map((block) => partText(block, terminalText))
    .filter((text) => text !== '')
    .join('\n')
}

/** Returns the result of an ended call, cut to the result limit. */
export function resultText(call: Pick<ReportedCall, 'content' | 'rawOutput'>, terminalText: (id: string) => string): string {
  const shown = callText(call.content ?? [], terminalText)
  if (shown !== '' || call.rawOutput === undefined || call.rawOutput === null) return truncateMiddle(shown)
  return truncateMiddle(typeof call.rawOutput === 'string' ? call.rawOutput : JSON.stringify(call.rawOutput))
}

function partText(content: unknown, terminalText: (id: string) => string): string {
  const known = part.safeParse(content)
  if (!known.success) return ''
  switch (known.data.type) {
    case 'content':
      return blockText(known.data.content)
    case 'terminal':
      return terminalText(known.data.terminalId)
    case 'diff':
      return diffText(known.data)
  }
}

/** Shows the old and the new text in full: agents usually send only the changed part of a file. */
function diffText({
  path,
  oldText,
  newText,
}: {
  readonly path: string
  readonly oldText?: string | null | undefined
  readonly newText: string
}): string {
  const lines = (text: string, sign: string): string[] =>
    text
      .replace(/\n$/, '')
      .split('\n')
      .map((line) => `${sign}${line}`)
  const half = MAX_RESULT_BYTES / 2
  const old = oldText ? lines(truncateMiddle(oldText, half), '-') : []
  return [`--- ${oldText ? path : '/dev/null'}`, `+++ ${path}`, ...old, ...lines(truncateMiddle(newText, half), '+')].join('\n')
}

/** Returns the intended changes of files in a call's content. */
export function diffsOf(content: readonly unknown[]): readonly AskDiff[] {
  return content.flatMap((block) => {
    const known = part.safeParse(block)
    if (!known.success || known.data.type !== 'diff') return []
    const { path, oldText, newText } = known.data
    return [{ path, old: oldText ?? null, new: newText }]
  })
}

/** Returns the tool's name if the agent reports it, else its kind. */
export function toolName(call: ReportedCall): string {
  return call.name || call._meta?.claudeCode?.toolName || call.kind || 'other'
}

/** Returns the call's input, or its title if the agent reports no input. */
export function callInput(call: ReportedCall): unknown {
  const { rawInput, title } = call
  const hasInput = typeof rawInput === 'object' && rawInput !== null && Object.keys(rawInput).length > 0
  if (!hasInput) return title ? { title } : {}
  const json = JSON.stringify(rawInput)
  return json.length <= MAX_INPUT_CHARS ? rawInput : { cut: truncateMiddle(json, MAX_INPUT_CHARS) }
}
