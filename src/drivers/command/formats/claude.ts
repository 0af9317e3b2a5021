// Claude Code: `claude -p --output-format stream-json --verbose`. The agent writes one `assistant` event per content block; the
// events of one answer have the same id. The usage in these events contains the input tokens, but only the first part of the
// output tokens. The `result` event gives the exact usage. It covers everything since the last result, subagents too; in older
// versions it covers the whole session. Test: test/tables/drivers/command/formats/formats.test.ts.
import { hasFlag, optionsWithout, valueOf } from './args.ts'
import { NO_TOKENS, amountOf, fieldsOf, listOf, mapTokens, displayText, textOf } from './format.ts'
import type { AssistantPart } from '../../../kernel/model/facts.ts'
import type { Options } from './args.ts'
import type { Fields, AgentFormat, Observation, Tokens } from './format.ts'

export const CLAUDE_OPTIONS: Options = {
  '--add-dir': 'many',
  '--agent': 'one',
  '--agents': 'one',
  '--allowedTools': 'many',
  '--allowed-tools': 'many',
  '--append-system-prompt': 'one',
  '--append-system-prompt-file': 'one',
  '--autocompact': 'one',
  '--betas': 'many',
  '--cloud': 'maybe',
  '-d': 'maybe',
  '--debug': 'maybe',
  '--debug-file': 'one',
  '--disallowedTools': 'many',
  '--disallowed-tools': 'many',
  '--effort': 'one',
  '--environment': 'one',
  '--fallback-model': 'one',
  '--file': 'many',
  '--from-pr': 'maybe',
  '--input-format': 'one',
  '--json-schema': 'one',
  '--max-budget-usd': 'one',
  '--max-turns': 'one',
  '--mcp-config': 'many',
  '--model': 'one',
  '-n': 'one',
  '--name': 'one',
  '--output-format': 'one',
  '--permission-mode': 'one',
  '--permission-prompts': 'one',
  '--permission-prompt-tool': 'one',
  '--plugin-dir': 'one',
  '--plugin-url': 'one',
  '--prompt-suggestions': 'maybe',
  '--remote-control': 'maybe',
  '-r': 'maybe',
  '--resume': 'maybe',
  '--resume-session-at': 'one',
  '--session-id': 'one',
  '--setting-sources': 'one',
  '--settings': 'one',
  '--system-prompt': 'one',
  '--system-prompt-file': 'one',
  '--system-prompt-snapshot': 'one',
  '--teleport': 'maybe',
  '--tools': 'many',
  '-w': 'maybe',
  '--worktree': 'maybe',
}
const SESSION_OPTIONS = ['-r', '--resume', '-c', '--continue', '--session-id', '--fork-session', '--from-pr', '--resume-session-at']
/** The model name of messages that no model wrote. */
const SYNTHETIC_MODEL = '<synthetic>'

export const claude: AgentFormat = {
  title: 'Claude Code',
  marksSteps: false,
  exitCodeMeanings: {},
  printsJsonLines: (command) => hasFlag(command, '-p', '--print') && valueOf(command, '--output-format') === 'stream-json',
  model: (command) => valueOf(command, '--model'),
  keepsNoSession: (command) => hasFlag(command, '--no-session-persistence'),
  continuesSession: (command) => hasFlag(command, '-r', '--resume', '-c', '--continue', '--from-pr'),
  start: ({ args }, prompt) => [...args, '--', prompt],
  resume: (command, id, prompt) => [...optionsWithout(command, ...SESSION_OPTIONS), '--resume', id, '--', prompt],
  fork: (command, id, prompt) => [...optionsWithout(command, ...SESSION_OPTIONS), '--resume', id, '--fork-session', '--', prompt],
  read(line) {
    switch (line['type']) {
      case 'system':
        return [...observeSession(line), ...observeSystemLine(line)]
      case 'assistant':
        return isMainAgent(line) ? observeAnswer(line) : observeSubagentUsage(line)
      case 'user':
        return isMainAgent(line) ? observeToolResults(line) : []
      case 'result':
        return [...observeSession(line), ...observeResultUsage(line), observeEnd(line)]
      case 'rate_limit_event':
        return observeRateLimit(fieldsOf(line['rate_limit_info']))
      case 'stream_event':
      case 'tool_progress':
      case 'tool_use_summary':
      case 'notification':
      case 'auth_status':
      case 'control_request':
      case 'control_response':
      case 'keep_alive':
        return []
      default:
        return null
    }
  },
}

/**
 * Reads an event about rate limits, which is sent after each turn. Only the status `rejected` means that a limit was hit. `resetsAt`
 * is in seconds.
 */
function observeRateLimit(info: Fields): Observation[] {
  const seconds = amountOf(info['resetsAt'])
  return info['status'] === 'rejected' && seconds > 0 ? [{ type: 'limited', until: seconds * 1_000 }] : []
}

/** Whether the message is from the agent itself. A subagent's message names the tool call that started the subagent. */
function isMainAgent(line: Fields): boolean {
  return (line['parent_tool_use_id'] ?? null) === null
}

function observeSession(line: Fields): Observation[] {
  const id = textOf(line['session_id'])
  return id === '' ? [] : [{ type: 'session', id }]
}

function observeSystemLine(line: Fields): Observation[] {
  if (line['subtype'] === 'api_retry') {
    const cause = [textOf(line['error']), displayText(line['error_status'])].filter((word) => word !== '').join(' ')
    return [
      {
        type: 'note',
        text: `a model call failed (${cause || 'no reason given'}), attempt ${displayText(line['attempt'])} of ${displayText(line['max_retries'])}`,
      },
    ]
  }
  if (line['subtype'] === 'compact_boundary') return [{ type: 'note', text: 'it compacted its context' }]
  if (line['subtype'] === 'session_writes_lost')
    return [{ type: 'note', text: 'it could not write its session: a resume may lack part of the conversation' }]
  return []
}

function observeAnswer(line: Fields): Observation[] {
  const message = fieldsOf(line['message'])
  const model = textOf(message['model'])
  const id = textOf(message['id']) || null
  const parts = listOf(message['content']).flatMap((block) => partOf(fieldsOf(block)))
  if (model === SYNTHETIC_MODEL) return [] // an error in the form of an answer; the result repeats the error
  const observed = parts.map((part): Observation => ({ type: 'part', answer: id, part, ...(model === '' ? {} : { model }) }))
  return [...observed, ...(observed.length === 0 ? [] : [observeMessageUsage(message)])]
}

/** Charges a subagent's answer at once, before the parent's call has its result. */
function observeSubagentUsage(line: Fields): Observation[] {
  const message = fieldsOf(line['message'])
  const id = textOf(message['id'])
  return id === '' || message['model'] === SYNTHETIC_MODEL ? [] : [{ ...observeMessageUsage(message), subagentAnswer: id }]
}

function observeMessageUsage(message: Fields): Extract<Observation, { type: 'used' }> {
  const model = textOf(message['model'])
  return {
    type: 'used',
    span: 'step',
    tokens: messageTokens(fieldsOf(message['usage'])),
    costUsd: null,
    ...(model === '' ? {} : { priced: { provider: 'anthropic', model } }),
  }
}

function partOf(block: Fields): AssistantPart[] {
  switch (block['type']) {
    case 'text':
      return [{ type: 'text', text: textOf(block['text']) }]
    case 'thinking':
      return [{ type: 'reasoning', text: textOf(block['thinking']) }]
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return [{ type: 'tool-call', callId: textOf(block['id']), name: textOf(block['name']), input: block['input'] ?? {} }]
    default:
      return []
  }
}

function observeToolResults(line: Fields): Observation[] {
  const denied = new Set(
    listOf(line['tool_result_meta'])
      .map(fieldsOf)
      .filter((meta) => /^(deny|denied|reject|rejected)$/.test(textOf(fieldsOf(meta['permission_decision'])['decision'])))
      .map((meta) => meta['id']),
  )
  return listOf(fieldsOf(line['message'])['content'])
    .map(fieldsOf)
    .filter((block) => textOf(block['type']).endsWith('tool_result'))
    .map((block) => {
      const outcome = denied.has(block['tool_use_id']) ? 'denied' : block['is_error'] === true ? 'error' : 'ok'
      return { type: 'tool', callId: textOf(block['tool_use_id']), outcome, content: contentText(block['content']) }
    })
}

function contentText(content: unknown): string {
  if (!Array.isArray(content)) return displayText(content)
  return content
    .map(fieldsOf)
    .map((block) => (block['type'] === 'text' ? textOf(block['text']) : `[${displayText(block['type'])}]`))
    .join('\n')
}

function messageTokens(usage: Fields): Tokens {
  return {
    inputTokens: amountOf(usage['input_tokens']),
    outputTokens: amountOf(usage['output_tokens']),
    cacheReadTokens: amountOf(usage['cache_read_input_tokens']),
    cacheWriteTokens: amountOf(usage['cache_creation_input_tokens']),
  }
}

function observeResultUsage(line: Fields): Observation[] {
  const since = line['model_usage_since_last_result']
  const models = Object.values(fieldsOf(since ?? line['modelUsage'])).map(fieldsOf)
  const tokens = models.map(modelTokens).reduce((sum, one) => mapTokens((bucket) => sum[bucket] + one[bucket]), NO_TOKENS)
  const costUsd =
    since === undefined ? amountOf(line['total_cost_usd']) : models.reduce((sum, model) => sum + amountOf(model['costUSD']), 0)
  const window = Math.max(0, ...models.map((model) => amountOf(model['contextWindow'])))
  return [{ type: 'used', span: since === undefined ? 'session' : 'since', tokens, costUsd, ...(window === 0 ? {} : { window }) }]
}

function modelTokens(model: Fields): Tokens {
  return {
    inputTokens: amountOf(model['inputTokens']),
    outputTokens: amountOf(model['outputTokens']),
    cacheReadTokens: amountOf(model['cacheReadInputTokens']),
    cacheWriteTokens: amountOf(model['cacheCreationInputTokens']),
  }
}

/** Reads the result. A `success` with `is_error` is a failure whose message replaces the result: `Not logged in`, `API Error: …`. */
function observeEnd(line: Fields): Observation {
  const result = textOf(line['result'])
  if (line['subtype'] === 'success' && line['is_error'] !== true) return { type: 'ended', error: null, result }
  const errors = listOf(line['errors'])
    .map(displayText)
    .filter((error) => error !== '')
  return { type: 'ended', error: result || errors.join('; ') || displayText(line['subtype']), result: null }
}
