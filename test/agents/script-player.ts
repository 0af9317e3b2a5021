// Plays a script with rules as the model of real coding agents. The conversation is read from their requests to the model server, and
// each tool call of the script becomes a call of the agent's tool. The player keeps no state, so a request may be repeated.
// Test: test/agents/crew.test.ts.
import { readFileSync } from 'node:fs'
import type { AssistantPart } from '../../src/kernel/model/facts.ts'
import type { ContextMessage } from '../../src/drivers/native/context/context.ts'
import { parseScript, type Script } from '../../src/drivers/native/scripts/script-file.ts'
import { chooseItem, fillIn, fillInAll } from '../../src/drivers/native/scripts/script-rules.ts'
import type { ServedAnswer, ServedTool } from '../support/models/model-server.ts'

type Json = Readonly<Record<string, unknown>>

/** A tool of the script in the agent's form. */
export type ToTool = (name: string, input: Json) => ServedTool

export function readScript(file: string): Promise<Script> {
  return parseScript(readFileSync(file, 'utf8'), file)
}

/** The script's next answer; null: no rule matches any message of the user or reeve. */
export function playScript(script: Script, body: Json, toTool: ToTool): ServedAnswer | null {
  // The agent's own messages (reminders, its environment) are in brackets, or match no rule.
  const messages = conversationOf(body).filter(
    (message) => message.role !== 'user' || (!message.text.startsWith('<') && script.rules.some(({ when }) => when.test(message.text))),
  )
  if (!messages.some(({ role }) => role === 'user')) return null
  const lastResult = messages.findLast((message) => message.role === 'tool')?.results[0]?.content ?? ''
  const { item, values } = chooseItem(script, 0, { messages, lastResult, estimateTokens: () => 0 })
  const tools = (item?.tools ?? []).map(({ name, input }, index) => ({
    ...toTool(name, fillInAll(input, values) as Json),
    id: `call_${messages.length}_${index}`,
  }))
  return {
    text: item?.text === undefined ? 'Done.' : fillIn(item.text, values),
    usage: { input: 100, output: 7 },
    ...(tools.length > 0 ? { tools } : {}),
  }
}

/**
 * Messages of Anthropic's format, of chat completions and of Gemini's, or items of OpenAI's Responses, in order; each user text separately.
 */
function conversationOf(body: Json): ContextMessage[] {
  const items = ['messages', 'input', 'contents'].map((key) => body[key]).find(Array.isArray) as readonly Json[] | undefined
  const conversation: ContextMessage[] = []
  for (const message of (items ?? []).flatMap(messagesOf)) {
    const last = conversation.at(-1)
    // An answer of Responses is several items.
    if (message.role === 'assistant' && last?.role === 'assistant')
      conversation[conversation.length - 1] = { role: 'assistant', parts: [...last.parts, ...message.parts] }
    else conversation.push(message)
  }
  return conversation
}

function messagesOf(item: Json): ContextMessage[] {
  if (Array.isArray(item['parts'])) return partsOf(item['role'], item['parts'] as readonly Json[])
  if (item['role'] === 'tool') return [resultMessage(textOf(item['content']))]
  const type = String(item['type'] ?? 'message')
  if (type.endsWith('_call')) return [{ role: 'assistant', parts: [callOf(item)] }]
  if (type.endsWith('_output')) return [resultMessage(textOf(item['output']))]
  if (type !== 'message') return []
  const blocks = (Array.isArray(item['content']) ? item['content'] : [{ type: 'text', text: item['content'] }]) as readonly Json[]
  const texts = blocks.flatMap((block) => (String(block['type']).endsWith('text') ? [String(block['text'] ?? '')] : []))
  if (item['role'] === 'assistant')
    return [
      {
        role: 'assistant',
        parts: [
          { type: 'text', text: texts.join('\n') },
          ...blocks.filter((block) => block['type'] === 'tool_use').map(callOf),
          ...((item['tool_calls'] ?? []) as readonly Json[]).map(callOf),
        ],
      },
    ]
  const results = blocks.filter((block) => block['type'] === 'tool_result')
  const given = results.length > 0 ? [resultMessage(textOf(results.at(-1)?.['content']))] : []
  // The next prompt may follow the last result in one message.
  return item['role'] === 'user' ? [...given, ...texts.map((text): ContextMessage => ({ role: 'user', text }))] : []
}

/** Parts of a Gemini message. */
function partsOf(role: unknown, parts: readonly Json[]): ContextMessage[] {
  const texts = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
  if (role === 'model')
    return [
      {
        role: 'assistant',
        parts: [
          { type: 'text', text: texts.join('\n') },
          ...parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [callOf(functionCall as Json)])),
        ],
      },
    ]
  const response = parts.findLast((part) => part['functionResponse'] !== undefined)?.['functionResponse'] as Json | undefined
  return [
    ...(response === undefined ? [] : [resultMessage(outputOf(response['response']))]),
    ...texts.map((text): ContextMessage => ({ role: 'user', text })),
  ]
}

/** The text without its JSON quotes, where the response is one text. */
function outputOf(response: unknown): string {
  const output = (response as Json | undefined)?.['output']
  return typeof output === 'string' ? output : textOf(response)
}

function callOf(item: Json): AssistantPart {
  return { type: 'tool-call', callId: String(item['call_id'] ?? item['id'] ?? ''), name: String(item['name'] ?? ''), input: {} }
}

function resultMessage(content: string): ContextMessage {
  return { role: 'tool', results: [{ callId: '', name: '', outcome: 'ok', content }] }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map((one) => textOf((one as Json)['text'] ?? '')).join('\n') : JSON.stringify(value ?? '')
}
