// Plays a script with rules for real coding agents: the conversation is read from what they sent to the model server, and the
// script's tools become the agent's own. It keeps nothing itself, so that it can be asked twice, and by one that was resumed.
// Test: test/agents/crew.test.ts.
import { readFileSync } from 'node:fs'
import type { AssistantPart } from '../../src/kernel/facts.ts'
import type { ContextMessage } from '../../src/drivers/native/context.ts'
import { parseScript, type Script } from '../../src/drivers/native/script-file.ts'
import { cueOf, filled, filledAll } from '../../src/drivers/native/script-rules.ts'
import type { ServedAnswer, ServedTool } from '../support/model-server.ts'

type Json = Readonly<Record<string, unknown>>

/** A tool of the script as the agent has it. */
export type ToTool = (name: string, input: Json) => ServedTool

export function readScript(file: string): Script {
  return parseScript(readFileSync(file, 'utf8'), file)
}

/** What the script says next; null: no rule is for anything that a person or reeve said in it. */
export function scripted(script: Script, body: Json, toTool: ToTool): ServedAnswer | null {
  // What agents say to themselves (reminders, the place they work in) stands in brackets, or meets no rule.
  const messages = conversationOf(body).filter((message) => message.role !== 'user' || (!message.text.startsWith('<') && script.rules.some(({ when }) => when.test(message.text))))
  if (!messages.some(({ role }) => role === 'user')) return null
  const lastResult = messages.findLast((message) => message.role === 'tool')?.results[0]?.content ?? ''
  const { item, words } = cueOf(script, 0, { messages, lastResult, estimateTokens: () => 0 })
  const tools = (item?.tools ?? []).map(({ name, input }, index) => ({ ...toTool(name, filledAll(input, words) as Json), id: `call_${messages.length}_${index}` }))
  return { text: item?.text === undefined ? 'Done.' : filled(item.text, words), usage: { input: 100, output: 7 }, ...(tools.length > 0 ? { tools } : {}) }
}

/** Messages of Anthropic's format, or items of OpenAI's Responses, in order; each text of a user by itself. */
function conversationOf(body: Json): ContextMessage[] {
  const items = ['messages', 'input'].map((key) => body[key]).find(Array.isArray) as readonly Json[] | undefined
  const said: ContextMessage[] = []
  for (const message of (items ?? []).flatMap(messagesOf)) {
    const last = said.at(-1)
    // An answer of Responses is several items.
    if (message.role === 'assistant' && last?.role === 'assistant') said[said.length - 1] = { role: 'assistant', parts: [...last.parts, ...message.parts] }
    else said.push(message)
  }
  return said
}

function messagesOf(item: Json): ContextMessage[] {
  const type = String(item['type'] ?? 'message')
  if (type.endsWith('_call')) return [{ role: 'assistant', parts: [callOf(item)] }]
  if (type.endsWith('_output')) return [result(textOf(item['output']))]
  if (type !== 'message') return []
  const blocks = (Array.isArray(item['content']) ? item['content'] : [{ type: 'text', text: item['content'] }]) as readonly Json[]
  const texts = blocks.flatMap((block) => (String(block['type']).endsWith('text') ? [String(block['text'] ?? '')] : []))
  if (item['role'] === 'assistant') return [{ role: 'assistant', parts: [{ type: 'text', text: texts.join('\n') }, ...blocks.filter((block) => block['type'] === 'tool_use').map(callOf)] }]
  const results = blocks.filter((block) => block['type'] === 'tool_result')
  const given = results.length > 0 ? [result(textOf(results.at(-1)?.['content']))] : []
  // The next prompt may stand beside the last result.
  return item['role'] === 'user' ? [...given, ...texts.map((text): ContextMessage => ({ role: 'user', text }))] : []
}

function callOf(item: Json): AssistantPart {
  return { type: 'tool-call', callId: String(item['call_id'] ?? item['id'] ?? ''), name: String(item['name'] ?? ''), input: {} }
}

function result(content: string): ContextMessage {
  return { role: 'tool', results: [{ callId: '', name: '', outcome: 'ok', content }] }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map((one) => textOf((one as Json)['text'] ?? '')).join('\n') : JSON.stringify(value ?? '')
}
