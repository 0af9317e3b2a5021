// Codex: `codex exec --json`. Items with a beginning and an end; nothing says where one model call ends and the next
// begins, so a step is what comes up to the results of its calls. Usage comes at the end of a turn, as the thread's total,
// and its input contains what came from and went to the cache. It names no model and no cost.
// Test: test/tables/command-formats.test.ts.
import { has, optionsWithout, valueOf } from './args.ts'
import { amount, fields, list, shown, text, words } from './format.ts'
import type { ToolOutcome } from '../../../kernel/facts.ts'
import type { Command, Options } from './args.ts'
import type { Fields, Format, Observed } from './format.ts'

export const CODEX_OPTIONS: Options = {
  '-c': 'one', '--config': 'one', '--enable': 'one', '--disable': 'one', '-i': 'many', '--image': 'many', '-m': 'one', '--model': 'one', '--local-provider': 'one',
  '-p': 'one', '--profile': 'one', '-s': 'one', '--sandbox': 'one', '-a': 'one', '--ask-for-approval': 'one', '-C': 'one', '--cd': 'one', '--add-dir': 'one',
  '--thread-source': 'one', '--cyber-access-program': 'one', '--output-schema': 'one', '--color': 'one', '-o': 'one', '--output-last-message': 'one',
}

export const codex: Format = {
  title: 'Codex',
  marksSteps: false,
  codes: {},
  makesLines: (command) => isExec(command) && has(command, '--json', '--experimental-json'),
  model: (command) => valueOf(command, '-m', '--model'),
  forgets: (command) => has(command, '--ephemeral'),
  continues: ({ words: [, verb] }) => verb === 'resume' || verb === 'fork',
  ask: ({ args }, prompt) => [...args, '--', prompt],
  // `exec resume` takes fewer options than `exec`, so they stand before it; an image would take the words that follow it
  resume: (command, id, prompt) => ['exec', ...optionsWithout(command, '--last', '--all', '-i', '--image'), 'resume', id, '--', prompt],
  fork: (command, id, prompt) => ['exec', ...optionsWithout(command, '--last', '--all', '-i', '--image'), 'fork', id, '--', prompt],
  read(line, command) {
    switch (line['type']) {
      case 'thread.started': return [{ type: 'session', id: text(line['thread_id']) }]
      case 'turn.started': return []
      case 'item.started': return begun(fields(line['item']))
      case 'item.updated': return []
      case 'item.completed': return completed(fields(line['item']))
      case 'turn.completed': return [usage(fields(line['usage']), command), { type: 'ended', error: null, result: null }]
      case 'turn.failed': return [{ type: 'ended', error: words(text(fields(line['error'])['message'])) || 'the turn failed', result: null }]
      case 'error': return [{ type: 'note', text: words(text(line['message'])) }]
      default: return null
    }
  },
}

function isExec({ words: [verb] }: Command): boolean {
  return verb === 'exec' || verb === 'e'
}

interface Call {
  readonly name: string
  readonly input: unknown
  readonly content: string
}

/** Items that are calls of tools. Others of a kind that is not known here are passed over. */
function callOf(item: Fields): Call | null {
  switch (item['type']) {
    case 'command_execution': return { name: 'shell', input: { command: item['command'] }, content: text(item['aggregated_output']) }
    case 'file_change': return { name: 'file_change', input: { changes: item['changes'] }, content: list(item['changes']).map(fields).map((change) => `${shown(change['kind'])} ${shown(change['path'])}`).join('\n') }
    case 'mcp_tool_call': return { name: `mcp__${shown(item['server'])}__${shown(item['tool'])}`, input: item['arguments'] ?? {}, content: mcpContent(item) }
    case 'web_search': return { name: 'web_search', input: { query: item['query'] }, content: '' }
    default: return null
  }
}

function mcpContent(item: Fields): string {
  const error = text(fields(item['error'])['message'])
  const content = list(fields(item['result'])['content']).map(fields)
  return error || content.map((block) => (block['type'] === 'text' ? text(block['text']) : `[${shown(block['type'])}]`)).join('\n')
}

function begun(item: Fields): Observed[] {
  const call = callOf(item)
  return call === null ? [] : [callPart(item, call)]
}

function completed(item: Fields): Observed[] {
  if (item['type'] === 'agent_message') return [{ type: 'part', answer: null, part: { type: 'text', text: text(item['text']) } }]
  if (item['type'] === 'reasoning') return [{ type: 'part', answer: null, part: { type: 'reasoning', text: text(item['text']) } }]
  if (item['type'] === 'error') return [{ type: 'note', text: text(item['message']) }]
  const call = callOf(item)
  if (call === null) return []
  // Some calls have no beginning; of the others it is known.
  return [callPart(item, call), { type: 'tool', callId: text(item['id']), outcome: outcomeOf(item), content: call.content }]
}

function callPart(item: Fields, { name, input }: Call): Observed {
  return { type: 'part', answer: null, part: { type: 'tool-call', callId: text(item['id']), name, input } }
}

function outcomeOf(item: Fields): ToolOutcome {
  if (item['status'] === 'declined') return 'denied'
  return item['status'] === 'failed' || amount(item['exit_code']) > 0 || (item['error'] ?? null) !== null ? 'error' : 'ok'
}

function usage(usage: Fields, command: Command): Observed {
  const [input, cacheReadTokens, cacheWriteTokens] = [amount(usage['input_tokens']), amount(usage['cached_input_tokens']), amount(usage['cache_write_input_tokens'])]
  const tokens = { inputTokens: Math.max(0, input - cacheReadTokens - cacheWriteTokens), outputTokens: amount(usage['output_tokens']), cacheReadTokens, cacheWriteTokens }
  const model = codex.model(command)
  return { type: 'used', span: 'session', tokens, costUsd: null, ...(model === null ? {} : { priced: { provider: 'openai', model } }) }
}
