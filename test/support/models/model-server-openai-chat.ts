// The streaming format of OpenAI's chat completions, for the model server of the tests.
import { splitInHalves } from './text-deltas.ts'
import type { ServedAnswer } from './model-server.ts'

type Json = Readonly<Record<string, unknown>>

export function openaiError(error: { readonly type: string; readonly message: string }): Json {
  return { error: { ...error, param: null, code: error.type } }
}

export function openaiChatEvents(answer: ServedAnswer): string {
  const chunks = [{ role: 'assistant', content: '' }, ...deltas(answer)].map((delta) => chunk([{ index: 0, delta, finish_reason: null }]))
  if (answer.isMidStream === true && answer.error !== undefined) return render([...chunks, openaiError(answer.error)])
  chunks.push(chunk([{ index: 0, delta: {}, finish_reason: finishReason(answer) }]))
  if (answer.usage !== null) chunks.push({ ...chunk([]), usage: usageOf(answer) })
  return `${render(chunks)}data: [DONE]\n\n`
}

function deltas(answer: ServedAnswer): readonly Json[] {
  const text = splitInHalves(answer.text ?? '').map((content) => ({ content }))
  const thinking = splitInHalves(answer.thinking?.text ?? '').map((reasoning_content) => ({ reasoning_content }))
  const tools = (answer.tools ?? []).flatMap((tool, index) => {
    const input = typeof tool.input === 'string' ? tool.input : JSON.stringify(tool.input)
    const start = {
      tool_calls: [{ index, id: tool.id ?? `call_${index}`, type: 'function', function: { name: tool.name, arguments: '' } }],
    }
    return [start, ...splitInHalves(input).map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] }))]
  })
  return [...thinking, ...text, ...tools]
}

function chunk(choices: readonly Json[]): Json {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'served', choices }
}

/** `prompt_tokens` includes cached tokens, `completion_tokens` the reasoning. */
function usageOf(answer: ServedAnswer): Json {
  const { input, output, cacheRead = 0, cacheWrite = 0, reasoning } = answer.usage ?? { input: 10, output: 5 }
  const prompt = input + cacheRead + cacheWrite
  const reasoned = reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
    ...reasoned,
    ...answer.usageFields,
  }
}

function finishReason(answer: ServedAnswer): string {
  if (answer.stopReason !== undefined) return answer.stopReason
  if (answer.finish === 'length') return 'length'
  if (answer.finish === 'refused') return 'content_filter'
  return answer.tools === undefined ? 'stop' : 'tool_calls'
}

function render(events: readonly Json[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
}
