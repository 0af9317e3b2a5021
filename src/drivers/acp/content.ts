// What a tool call shows, as bounded text: its text, its diffs, what its terminal printed; and its input and name.
// Pure. Test: test/processes/acp.test.ts.
import { z } from 'zod'
import { MAX_RESULT_BYTES, clip } from '../native/tools/clip.ts'
import type { SeenCall } from './wire.ts'

/** Most that the input of a call takes in the journal, in characters of JSON. */
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

/** The text of one block; what is no text is named. */
export function blockText(content: unknown): string {
  const known = block.safeParse(content)
  if (!known.success) return ''
  switch (known.data.type) {
    case 'text': return known.data.text
    case 'resource_link': return known.data.uri
    case 'resource': return known.data.resource.text ?? known.data.resource.uri
    default: return `[${known.data.type}]`
  }
}

/** All that a call shows. `terminal` gives what one has printed so far. */
export function callText(content: readonly unknown[], terminal: (id: string) => string): string {
  return content.map((each) => partText(each, terminal)).filter((text) => text !== '').join('\n')
}

/** What a call that is over gave, within the limit of a result. */
export function resultText(call: Pick<SeenCall, 'content' | 'rawOutput'>, terminal: (id: string) => string): string {
  const shown = callText(call.content ?? [], terminal)
  if (shown !== '' || call.rawOutput === undefined || call.rawOutput === null) return clip(shown)
  return clip(typeof call.rawOutput === 'string' ? call.rawOutput : JSON.stringify(call.rawOutput))
}

function partText(content: unknown, terminal: (id: string) => string): string {
  const known = part.safeParse(content)
  if (!known.success) return ''
  switch (known.data.type) {
    case 'content': return blockText(known.data.content)
    case 'terminal': return terminal(known.data.terminalId)
    case 'diff': return diffText(known.data)
  }
}

/** What was there and what is there now, whole: agents give the changed place, seldom the file. */
function diffText({ path, oldText, newText }: { readonly path: string; readonly oldText?: string | null | undefined; readonly newText: string }): string {
  const lines = (text: string, sign: string): string[] => text.replace(/\n$/, '').split('\n').map((line) => `${sign}${line}`)
  const half = MAX_RESULT_BYTES / 2
  const old = oldText ? lines(clip(oldText, half), '-') : []
  return [`--- ${oldText ? path : '/dev/null'}`, `+++ ${path}`, ...old, ...lines(clip(newText, half), '+')].join('\n')
}

/** The tool's own name if the agent tells it, else its kind. */
export function toolName(call: SeenCall): string {
  return call.name || call._meta?.claudeCode?.toolName || call.kind || 'other'
}

/** What the call was given; its title where the agent keeps that to itself. */
export function callInput(call: SeenCall): unknown {
  const { rawInput, title } = call
  const isTold = typeof rawInput === 'object' && rawInput !== null && Object.keys(rawInput).length > 0
  if (!isTold) return title ? { title } : {}
  const json = JSON.stringify(rawInput)
  return json.length <= MAX_INPUT_CHARS ? rawInput : { cut: clip(json, MAX_INPUT_CHARS) }
}
