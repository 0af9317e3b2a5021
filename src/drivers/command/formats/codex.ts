// Codex: `codex exec --json`. Items have a beginning and an end. Model calls are not marked, so a step ends with the results of its calls.
// Usage comes at the end of a turn, as the total of the thread. Its input tokens include the cached ones. Codex reports neither the model
// nor the cost. Test: test/tables/drivers/command/formats/formats.test.ts.
import { hasFlag, optionsWithout, valueOf } from './args.ts'
import { amountOf, fieldsOf, listOf, displayText, textOf, messageInJson } from './format.ts'
import type { ToolOutcome } from '../../../kernel/model/facts.ts'
import type { ParsedCommand, Options } from './args.ts'
import type { Fields, AgentFormat, Observation } from './format.ts'

export const CODEX_OPTIONS: Options = {
  '-c': 'one',
  '--config': 'one',
  '--enable': 'one',
  '--disable': 'one',
  '-i': 'many',
  '--image': 'many',
  '-m': 'one',
  '--model': 'one',
  '--local-provider': 'one',
  '-p': 'one',
  '--profile': 'one',
  '-s': 'one',
  '--sandbox': 'one',
  '-a': 'one',
  '--ask-for-approval': 'one',
  '-C': 'one',
  '--cd': 'one',
  '--add-dir': 'one',
  '--thread-source': 'one',
  '--cyber-access-program': 'one',
  '--output-schema': 'one',
  '--color': 'one',
  '-o': 'one',
  '--output-last-message': 'one',
}

export const codex: AgentFormat = {
  title: 'Codex',
  marksSteps: false,
  exitCodeMeanings: {},
  printsJsonLines: (command) => isExec(command) && hasFlag(command, '--json', '--experimental-json'),
  model: (command) => valueOf(command, '-m', '--model'),
  keepsNoSession: (command) => hasFlag(command, '--ephemeral'),
  continuesSession: ({ words: [, verb] }) => verb === 'resume' || verb === 'fork',
  start: ({ args }, prompt) => [...args, '--', prompt],
  // `exec resume` takes fewer options than `exec`, so all options stand before `resume`. `--image` would take `resume` as a value.
  resume: (command, id, prompt) => ['exec', ...optionsWithout(command, '--last', '--all', '-i', '--image'), 'resume', id, '--', prompt],
  fork: (command, id, prompt) => ['exec', ...optionsWithout(command, '--last', '--all', '-i', '--image'), 'fork', id, '--', prompt],
  read(line, command) {
    switch (line['type']) {
      case 'thread.started':
        return [{ type: 'session', id: textOf(line['thread_id']) }]
      case 'turn.started':
        return []
      case 'item.started':
        return observeStarted(fieldsOf(line['item']))
      case 'item.updated':
        return []
      case 'item.completed':
        return observeCompleted(fieldsOf(line['item']))
      case 'turn.completed':
        return [observeUsage(fieldsOf(line['usage']), command), { type: 'ended', error: null, result: null }]
      case 'turn.failed':
        return [{ type: 'ended', error: messageInJson(textOf(fieldsOf(line['error'])['message'])) || 'the turn failed', result: null }]
      case 'error':
        return [{ type: 'note', text: messageInJson(textOf(line['message'])) }]
      default:
        return null
    }
  },
}

function isExec({ words: [verb] }: ParsedCommand): boolean {
  return verb === 'exec' || verb === 'e'
}

interface Call {
  readonly name: string
  readonly input: unknown
  readonly content: string
}

/** Returns the tool call of an item; null for items of other or unknown types. */
function callOf(item: Fields): Call | null {
  switch (item['type']) {
    case 'command_execution':
      return { name: 'shell', input: { command: item['command'] }, content: textOf(item['aggregated_output']) }
    case 'file_change':
      return {
        name: 'file_change',
        input: { changes: item['changes'] },
        content: listOf(item['changes'])
          .map(fieldsOf)
          .map((change) => `${displayText(change['kind'])} ${displayText(change['path'])}`)
          .join('\n'),
      }
    case 'mcp_tool_call':
      return {
        name: `mcp__${displayText(item['server'])}__${displayText(item['tool'])}`,
        input: item['arguments'] ?? {},
        content: mcpContent(item),
      }
    case 'web_search':
      return { name: 'web_search', input: { query: item['query'] }, content: '' }
    default:
      return null
  }
}

function mcpContent(item: Fields): string {
  const error = textOf(fieldsOf(item['error'])['message'])
  const content = listOf(fieldsOf(item['result'])['content']).map(fieldsOf)
  return error || content.map((block) => (block['type'] === 'text' ? textOf(block['text']) : `[${displayText(block['type'])}]`)).join('\n')
}

function observeStarted(item: Fields): Observation[] {
  const call = callOf(item)
  return call === null ? [] : [observeCall(item, call)]
}

function observeCompleted(item: Fields): Observation[] {
  if (item['type'] === 'agent_message') return [{ type: 'part', answer: null, part: { type: 'text', text: textOf(item['text']) } }]
  if (item['type'] === 'reasoning') return [{ type: 'part', answer: null, part: { type: 'reasoning', text: textOf(item['text']) } }]
  if (item['type'] === 'error') return [{ type: 'note', text: textOf(item['message']) }]
  const call = callOf(item)
  if (call === null) return []
  // Some calls have no start event, so the call is observed again here. The mapper ignores a repeated call.
  return [observeCall(item, call), { type: 'tool', callId: textOf(item['id']), outcome: outcomeOf(item), content: call.content }]
}

function observeCall(item: Fields, { name, input }: Call): Observation {
  return { type: 'part', answer: null, part: { type: 'tool-call', callId: textOf(item['id']), name, input } }
}

function outcomeOf(item: Fields): ToolOutcome {
  if (item['status'] === 'declined') return 'denied'
  return item['status'] === 'failed' || amountOf(item['exit_code']) > 0 || (item['error'] ?? null) !== null ? 'error' : 'ok'
}

function observeUsage(usage: Fields, command: ParsedCommand): Observation {
  const [input, cacheReadTokens, cacheWriteTokens] = [
    amountOf(usage['input_tokens']),
    amountOf(usage['cached_input_tokens']),
    amountOf(usage['cache_write_input_tokens']),
  ]
  const tokens = {
    inputTokens: Math.max(0, input - cacheReadTokens - cacheWriteTokens),
    outputTokens: amountOf(usage['output_tokens']),
    cacheReadTokens,
    cacheWriteTokens,
  }
  const model = codex.model(command)
  return { type: 'used', span: 'session', tokens, costUsd: null, ...(model === null ? {} : { priced: { provider: 'openai', model } }) }
}
