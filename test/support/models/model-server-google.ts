// The streaming format of Gemini's streamGenerateContent, for the model server of the tests.
import { splitInHalves } from './text-deltas.ts'
import type { ServedAnswer } from './model-server.ts'

type Json = Readonly<Record<string, unknown>>

export function googleError(error: { readonly type: string; readonly message: string }, code: number): Json {
  return { error: { code, message: error.message, status: error.type } }
}

export function googleEvents(answer: ServedAnswer): string {
  const chunks = parts(answer).map((part) => chunk(answer, { candidates: [{ content: { parts: [part], role: 'model' }, index: 0 }] }))
  if (answer.isMidStream === true && answer.error !== undefined)
    return render([...chunks, googleError(answer.error, Number(answer.stopReason ?? 500))])
  if (answer.blockReason !== undefined) return render([chunk(answer, { promptFeedback: { blockReason: answer.blockReason } })])
  const end = { content: { parts: [{ text: '' }], role: 'model' }, finishReason: finishReason(answer), index: 0 }
  return render([...chunks, chunk(answer, { candidates: [end] }, true)])
}

/** Calls come whole; only the first call of an answer is signed. */
function parts(answer: ServedAnswer): readonly Json[] {
  const { thinking } = answer
  const thoughts = splitInHalves(thinking?.text ?? '').map((text) => ({ text, thought: true }))
  const text = splitInHalves(answer.text ?? '').map((half) => ({ text: half }))
  const tools = (answer.tools ?? []).map((tool, index) => ({
    functionCall: { ...(tool.id === undefined ? {} : { id: tool.id }), name: tool.name, args: tool.input },
    ...(index === 0 && thinking !== undefined ? { thoughtSignature: thinking.signature } : {}),
  }))
  return [...thoughts, ...text, ...tools]
}

function chunk(answer: ServedAnswer, body: Json, isLast = false): Json {
  return {
    ...body,
    ...(answer.usage === null ? {} : { usageMetadata: usageOf(answer, isLast) }),
    modelVersion: 'served',
    responseId: 'r-1',
  }
}

/** `promptTokenCount` includes cached tokens; thoughts are counted separately from the candidates. */
function usageOf(answer: ServedAnswer, isLast: boolean): Json {
  const { input, output, cacheRead = 0, cacheWrite = 0, reasoning = 0 } = answer.usage ?? { input: 10, output: 5 }
  const promptTokenCount = input + cacheRead + cacheWrite
  const before = { promptTokenCount, ...(cacheRead === 0 ? {} : { cachedContentTokenCount: cacheRead }) }
  const counts = { ...before, candidatesTokenCount: output - reasoning, ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }) }
  return isLast ? { ...counts, totalTokenCount: promptTokenCount + output } : { ...before, totalTokenCount: promptTokenCount }
}

function finishReason(answer: ServedAnswer): string {
  if (answer.stopReason !== undefined) return answer.stopReason
  if (answer.finish === 'length') return 'MAX_TOKENS'
  return answer.finish === 'refused' ? 'SAFETY' : 'STOP'
}

function render(events: readonly Json[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join('')
}
