// The streaming format of Anthropic's Messages, for the model server of the tests.
import type { ServedAnswer } from './model-server.ts'
import { splitInHalves } from './text-deltas.ts'

type Json = Readonly<Record<string, unknown>>

export function anthropicError(error: { readonly type: string; readonly message: string }): Json {
  return { type: 'error', error }
}

export function anthropicEvents(answer: ServedAnswer): string {
  const { usage = { input: 10, output: 5 } } = answer
  const input = {
    input_tokens: usage?.input ?? 0,
    cache_read_input_tokens: usage?.cacheRead ?? 0,
    cache_creation_input_tokens: usage?.cacheWrite ?? 0,
  }
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'served',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...input, output_tokens: 1 },
  }
  const events: Json[] = [{ type: 'message_start', message }, { type: 'ping' }]
  events.push(
    ...blocks(answer).flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
  )
  if (answer.isMidStream === true && answer.error !== undefined) return render([...events, anthropicError(answer.error)])
  events.push(
    {
      type: 'message_delta',
      delta: { stop_reason: stopReason(answer), stop_sequence: null },
      usage: { output_tokens: usage?.output ?? 0 },
    },
    { type: 'message_stop' },
  )
  return render(events)
}

function blocks(answer: ServedAnswer): readonly { readonly start: Json; readonly deltas: readonly Json[] }[] {
  const thinking =
    answer.thinking === undefined
      ? []
      : [
          {
            start: { type: 'thinking', thinking: '', signature: '' },
            deltas: [
              { type: 'thinking_delta', thinking: answer.thinking.text },
              { type: 'signature_delta', signature: answer.thinking.signature },
            ],
          },
        ]
  const redacted = answer.redacted === undefined ? [] : [{ start: { type: 'redacted_thinking', data: answer.redacted }, deltas: [] }]
  const text =
    answer.text === undefined
      ? []
      : [
          {
            start: { type: 'text', text: '' },
            deltas: splitInHalves(answer.text).map((half) => ({ type: 'text_delta', text: half })),
          },
        ]
  const tools = (answer.tools ?? []).map((tool, index) => ({
    start: { type: 'tool_use', id: tool.id ?? `toolu_${index}`, name: tool.name, input: {} },
    deltas: splitInHalves(typeof tool.input === 'string' ? tool.input : JSON.stringify(tool.input)).map((half) => ({
      type: 'input_json_delta',
      partial_json: half,
    })),
  }))
  return [...thinking, ...redacted, ...text, ...tools]
}

function stopReason(answer: ServedAnswer): string {
  if (answer.stopReason !== undefined) return answer.stopReason
  if (answer.finish === 'length') return 'max_tokens'
  if (answer.finish === 'refused') return 'refusal'
  return answer.tools === undefined ? 'end_turn' : 'tool_use'
}

function render(events: readonly Json[]): string {
  return events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}
