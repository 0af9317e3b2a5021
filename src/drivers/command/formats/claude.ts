// Claude Code: `claude -p --output-format stream-json --verbose`. One `assistant` event per content block, all of an answer
// with the same id; its usage there has the input, and of the output only the beginning. The `result` settles it: with what
// was used since the last result (subagents too), or, of older versions, with the session's total.
// Test: test/tables/command-formats.test.ts.
import { has, optionsWithout, valueOf } from './args.ts'
import { NO_TOKENS, amount, fields, list, mapTokens, shown, text } from './format.ts'
import type { AssistantPart } from '../../../kernel/facts.ts'
import type { Options } from './args.ts'
import type { Fields, Format, Observed, Tokens } from './format.ts'

export const CLAUDE_OPTIONS: Options = {
  '--add-dir': 'many', '--agent': 'one', '--agents': 'one', '--allowedTools': 'many', '--allowed-tools': 'many', '--append-system-prompt': 'one',
  '--append-system-prompt-file': 'one', '--autocompact': 'one', '--betas': 'many', '--cloud': 'maybe', '-d': 'maybe', '--debug': 'maybe', '--debug-file': 'one',
  '--disallowedTools': 'many', '--disallowed-tools': 'many', '--effort': 'one', '--environment': 'one', '--fallback-model': 'one', '--file': 'many',
  '--from-pr': 'maybe', '--input-format': 'one', '--json-schema': 'one', '--max-budget-usd': 'one', '--max-turns': 'one', '--mcp-config': 'many', '--model': 'one',
  '-n': 'one', '--name': 'one', '--output-format': 'one', '--permission-mode': 'one', '--permission-prompts': 'one', '--permission-prompt-tool': 'one',
  '--plugin-dir': 'one', '--plugin-url': 'one', '--prompt-suggestions': 'maybe', '--remote-control': 'maybe', '-r': 'maybe', '--resume': 'maybe',
  '--resume-session-at': 'one', '--session-id': 'one', '--setting-sources': 'one', '--settings': 'one', '--system-prompt': 'one', '--system-prompt-file': 'one',
  '--system-prompt-snapshot': 'one', '--teleport': 'maybe', '--tools': 'many', '-w': 'maybe', '--worktree': 'maybe',
}
const SESSION_OPTIONS = ['-r', '--resume', '-c', '--continue', '--session-id', '--fork-session', '--from-pr', '--resume-session-at']
/** its own words for what is no model */
const SYNTHETIC = '<synthetic>'

export const claude: Format = {
  title: 'Claude Code',
  marksSteps: false,
  codes: {},
  makesLines: (command) => has(command, '-p', '--print') && valueOf(command, '--output-format') === 'stream-json',
  model: (command) => valueOf(command, '--model'),
  forgets: (command) => has(command, '--no-session-persistence'),
  continues: (command) => has(command, '-r', '--resume', '-c', '--continue', '--from-pr'),
  ask: ({ args }, prompt) => [...args, '--', prompt],
  resume: (command, id, prompt) => [...optionsWithout(command, ...SESSION_OPTIONS), '--resume', id, '--', prompt],
  fork: (command, id, prompt) => [...optionsWithout(command, ...SESSION_OPTIONS), '--resume', id, '--fork-session', '--', prompt],
  read(line) {
    switch (line['type']) {
      case 'system': return [...session(line), ...system(line)]
      case 'assistant': return isOwn(line) ? answer(line) : aside(line)
      case 'user': return isOwn(line) ? toolResults(line) : []
      case 'result': return [...session(line), ...usage(line), ended(line)]
      case 'rate_limit_event': return limited(fields(line['rate_limit_info']))
      case 'stream_event':
      case 'tool_progress':
      case 'tool_use_summary':
      case 'notification':
      case 'auth_status':
      case 'control_request':
      case 'control_response':
      case 'keep_alive': return []
      default: return null
    }
  },
}

/** Told after each turn; only one that was refused is a limit that was met. `resetsAt` is in seconds. */
function limited(info: Fields): Observed[] {
  const seconds = amount(info['resetsAt'])
  return info['status'] === 'rejected' && seconds > 0 ? [{ type: 'limited', until: seconds * 1_000 }] : []
}

/** What a subagent says stands inside a tool call of its parent. */
function isOwn(line: Fields): boolean {
  return (line['parent_tool_use_id'] ?? null) === null
}

function session(line: Fields): Observed[] {
  const id = text(line['session_id'])
  return id === '' ? [] : [{ type: 'session', id }]
}

function system(line: Fields): Observed[] {
  if (line['subtype'] === 'api_retry') {
    const cause = [text(line['error']), shown(line['error_status'])].filter((word) => word !== '').join(' ')
    return [{ type: 'note', text: `a model call failed (${cause || 'no reason given'}), try ${shown(line['attempt'])} of ${shown(line['max_retries'])}` }]
  }
  if (line['subtype'] === 'compact_boundary') return [{ type: 'note', text: 'it compacted its context' }]
  if (line['subtype'] === 'session_writes_lost') return [{ type: 'note', text: 'it could not write its session: a resume may lack what was said' }]
  return []
}

function answer(line: Fields): Observed[] {
  const message = fields(line['message'])
  const model = text(message['model'])
  const id = text(message['id']) || null
  const parts = list(message['content']).flatMap((block) => partOf(fields(block)))
  if (model === SYNTHETIC) return [] // an error in the clothes of an answer; the result says it again
  const told = parts.map((part): Observed => ({ type: 'part', answer: id, part, ...(model === '' ? {} : { model }) }))
  return [...told, ...(told.length === 0 ? [] : [used(message)])]
}

/** A subagent's answer: what it costs is known before the result of its parent's call. */
function aside(line: Fields): Observed[] {
  const message = fields(line['message'])
  const id = text(message['id'])
  return id === '' || message['model'] === SYNTHETIC ? [] : [{ ...used(message), aside: id }]
}

function used(message: Fields): Extract<Observed, { type: 'used' }> {
  const model = text(message['model'])
  return { type: 'used', span: 'step', tokens: messageTokens(fields(message['usage'])), costUsd: null, ...(model === '' ? {} : { priced: { provider: 'anthropic', model } }) }
}

function partOf(block: Fields): AssistantPart[] {
  switch (block['type']) {
    case 'text': return [{ type: 'text', text: text(block['text']) }]
    case 'thinking': return [{ type: 'reasoning', text: text(block['thinking']) }]
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use': return [{ type: 'tool-call', callId: text(block['id']), name: text(block['name']), input: block['input'] ?? {} }]
    default: return []
  }
}

function toolResults(line: Fields): Observed[] {
  const denied = new Set(list(line['tool_result_meta']).map(fields).filter((meta) => /^(deny|denied|reject|rejected)$/.test(text(fields(meta['permission_decision'])['decision']))).map((meta) => meta['id']))
  return list(fields(line['message'])['content']).map(fields).filter((block) => text(block['type']).endsWith('tool_result')).map((block) => {
    const outcome = denied.has(block['tool_use_id']) ? 'denied' : block['is_error'] === true ? 'error' : 'ok'
    return { type: 'tool', callId: text(block['tool_use_id']), outcome, content: contentText(block['content']) }
  })
}

function contentText(content: unknown): string {
  if (!Array.isArray(content)) return shown(content)
  return content.map(fields).map((block) => (block['type'] === 'text' ? text(block['text']) : `[${shown(block['type'])}]`)).join('\n')
}

function messageTokens(usage: Fields): Tokens {
  return {
    inputTokens: amount(usage['input_tokens']), outputTokens: amount(usage['output_tokens']),
    cacheReadTokens: amount(usage['cache_read_input_tokens']), cacheWriteTokens: amount(usage['cache_creation_input_tokens']),
  }
}

function usage(line: Fields): Observed[] {
  const since = line['model_usage_since_last_result']
  const models = Object.values(fields(since ?? line['modelUsage'])).map(fields)
  const tokens = models.map(modelTokens).reduce((sum, one) => mapTokens((bucket) => sum[bucket] + one[bucket]), NO_TOKENS)
  const costUsd = since === undefined ? amount(line['total_cost_usd']) : models.reduce((sum, model) => sum + amount(model['costUSD']), 0)
  const window = Math.max(0, ...models.map((model) => amount(model['contextWindow'])))
  return [{ type: 'used', span: since === undefined ? 'session' : 'since', tokens, costUsd, ...(window === 0 ? {} : { window }) }]
}

function modelTokens(model: Fields): Tokens {
  return {
    inputTokens: amount(model['inputTokens']), outputTokens: amount(model['outputTokens']),
    cacheReadTokens: amount(model['cacheReadInputTokens']), cacheWriteTokens: amount(model['cacheCreationInputTokens']),
  }
}

/** `success` with `is_error` is a failure whose words stand where the result would: `Not logged in`, `API Error: …`. */
function ended(line: Fields): Observed {
  const result = text(line['result'])
  if (line['subtype'] === 'success' && line['is_error'] !== true) return { type: 'ended', error: null, result }
  const errors = list(line['errors']).map(shown).filter((error) => error !== '')
  return { type: 'ended', error: result || errors.join('; ') || shown(line['subtype']), result: null }
}
