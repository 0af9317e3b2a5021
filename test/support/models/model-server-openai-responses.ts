// The streaming format of OpenAI's Responses API, for the model server of the tests.
import { splitInHalves } from './text-deltas.ts'
import type { ServedAnswer, ServedTool } from './model-server.ts'

type Json = Readonly<Record<string, unknown>>

interface Item {
  readonly started: Json
  /** the events between the start and the end of the item */
  readonly between: readonly Json[]
  readonly done: Json
}

export function openaiResponsesEvents(answer: ServedAnswer): string {
  const events: Json[] = [
    { type: 'response.created', response: response('in_progress') },
    { type: 'response.in_progress', response: response('in_progress') },
  ]
  items(answer).forEach(({ started, between, done }, output_index) => {
    events.push({ type: 'response.output_item.added', output_index, item: started })
    events.push(...between.map((event) => ({ ...event, output_index })))
    events.push({ type: 'response.output_item.done', output_index, item: done })
  })
  events.push(lastEvent(answer))
  return events
    .map((event, sequence_number) => `event: ${String(event['type'])}\ndata: ${JSON.stringify({ sequence_number, ...event })}\n\n`)
    .join('')
}

function lastEvent(answer: ServedAnswer): Json {
  if (answer.isMidStream === true && answer.error !== undefined) {
    const error = { code: answer.error.type, message: answer.error.message }
    return answer.stopReason === 'error'
      ? { type: 'error', ...error, param: null }
      : { type: 'response.failed', response: { ...response('failed'), error } }
  }
  const reason =
    answer.stopReason ?? (answer.finish === 'length' ? 'max_output_tokens' : answer.finish === 'refused' ? 'content_filter' : null)
  if (reason === null) return { type: 'response.completed', response: { ...response('completed'), usage: usageOf(answer) } }
  return { type: 'response.incomplete', response: { ...response('incomplete'), incomplete_details: { reason }, usage: usageOf(answer) } }
}

function response(status: string): Json {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status,
    model: 'served',
    output: [],
    error: null,
    incomplete_details: null,
    usage: null,
    service_tier: 'default',
  }
}

function items(answer: ServedAnswer): readonly Item[] {
  const { thinking, text, refusal } = answer
  return [
    ...(thinking === undefined ? [] : [reasoning(thinking.text, thinking.signature)]),
    ...(text === undefined ? [] : [message(text)]),
    ...(refusal === undefined ? [] : [refused(refusal)]),
    ...(answer.tools ?? []).map(call),
  ]
}

function reasoning(text: string, encrypted_content: string): Item {
  const item = { id: 'rs_1', type: 'reasoning', summary: [] }
  const place = { item_id: 'rs_1', summary_index: 0 }
  return {
    // As from the real API, the content at the start is not that of the end. A client must take that of the end.
    started: { ...item, encrypted_content: 'beginning' },
    between: [
      { type: 'response.reasoning_summary_part.added', ...place, part: { type: 'summary_text', text: '' } },
      ...splitInHalves(text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...place, delta })),
      { type: 'response.reasoning_summary_text.done', ...place, text },
      { type: 'response.reasoning_summary_part.done', ...place, part: { type: 'summary_text', text } },
    ],
    done: { ...item, encrypted_content, summary: [{ type: 'summary_text', text }] },
  }
}

function message(text: string): Item {
  const item = { id: 'msg_1', type: 'message', role: 'assistant' }
  const place = { item_id: 'msg_1', content_index: 0 }
  const part = { type: 'output_text', text, annotations: [] }
  return {
    started: { ...item, status: 'in_progress', content: [] },
    between: [
      { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
      ...splitInHalves(text).map((delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
      { type: 'response.output_text.done', ...place, text, logprobs: [] },
      { type: 'response.content_part.done', ...place, part },
    ],
    done: { ...item, status: 'completed', content: [part] },
  }
}

function refused(refusal: string): Item {
  const item = { id: 'msg_2', type: 'message', role: 'assistant' }
  const place = { item_id: 'msg_2', content_index: 0 }
  return {
    started: { ...item, status: 'in_progress', content: [] },
    between: [
      ...splitInHalves(refusal).map((delta) => ({ type: 'response.refusal.delta', ...place, delta })),
      { type: 'response.refusal.done', ...place, refusal },
    ],
    done: { ...item, status: 'completed', content: [{ type: 'refusal', refusal }] },
  }
}

function call(tool: ServedTool, index: number): Item {
  const input = typeof tool.input === 'string' ? tool.input : JSON.stringify(tool.input)
  const item = {
    id: `fc_${index}`,
    type: 'function_call',
    call_id: tool.id ?? `call_${index}`,
    name: tool.name,
    ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
  }
  return {
    started: { ...item, arguments: '', status: 'in_progress' },
    between: [
      ...splitInHalves(input).map((delta) => ({ type: 'response.function_call_arguments.delta', item_id: item.id, delta })),
      { type: 'response.function_call_arguments.done', item_id: item.id, name: tool.name, arguments: input },
    ],
    done: { ...item, arguments: input, status: 'completed' },
  }
}

/** `input_tokens` includes cached tokens, `output_tokens` the reasoning. */
function usageOf(answer: ServedAnswer): Json | null {
  if (answer.usage === null) return null
  const { input, output, cacheRead = 0, cacheWrite, reasoning: reasoning_tokens = 0 } = answer.usage ?? { input: 10, output: 5 }
  const input_tokens = input + cacheRead + (cacheWrite ?? 0)
  const details = { cached_tokens: cacheRead, ...(cacheWrite === undefined ? {} : { cache_write_tokens: cacheWrite }) }
  return {
    input_tokens,
    input_tokens_details: details,
    output_tokens: output,
    output_tokens_details: { reasoning_tokens },
    total_tokens: input_tokens + output,
  }
}
