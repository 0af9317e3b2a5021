// Gemini CLI: `gemini -p … -o stream-json`. Answers come in pieces; what was used comes with the result, for this run alone.
// Test: test/tables/command-formats.test.ts.
import { has, optionsWithout, valueOf } from './args.ts'
import { amount, fields, shown, text, words } from './format.ts'
import type { Options } from './args.ts'
import type { Fields, Format, Observed } from './format.ts'

export const GEMINI_OPTIONS: Options = {
  '-m': 'one', '--model': 'one', '-p': 'one', '--prompt': 'one', '-i': 'one', '--prompt-interactive': 'one', '-w': 'maybe', '--worktree': 'maybe', '--approval-mode': 'one',
  '--policy': 'many', '--admin-policy': 'many', '--allowed-mcp-server-names': 'many', '--allowed-tools': 'many', '-e': 'many', '--extensions': 'many', '-r': 'maybe', '--resume': 'maybe',
  '--session-file': 'one', '--session-id': 'one', '--delete-session': 'one', '--include-directories': 'many', '-o': 'one', '--output-format': 'one',
}

export const gemini: Format = {
  title: 'Gemini CLI',
  marksSteps: false,
  codes: { 41: 'it is not logged in', 42: 'it refused its input', 44: 'its sandbox failed', 52: 'its configuration is wrong', 53: 'its turn limit is reached' },
  makesLines: (command) => valueOf(command, '-o', '--output-format') === 'stream-json',
  model: (command) => valueOf(command, '-m', '--model'),
  forgets: () => false,
  continues: (command) => has(command, '-r', '--resume', '--session-file'),
  ask: ({ args }, prompt) => [...args, `--prompt=${prompt}`],
  resume: (command, id, prompt) => [...optionsWithout(command, '-p', '--prompt', '-i', '--prompt-interactive', '-r', '--resume', '--session-id', '--session-file'), '--resume', id, `--prompt=${prompt}`],
  fork: null,
  read(line) {
    switch (line['type']) {
      case 'init': return [{ type: 'session', id: text(line['session_id']), model: text(line['model']) }]
      case 'message': return line['role'] === 'assistant' ? [{ type: 'part', answer: null, part: { type: 'text', text: text(line['content']) }, isDelta: line['delta'] === true }] : []
      case 'tool_use': return [{ type: 'part', answer: null, part: { type: 'tool-call', callId: text(line['tool_id']), name: text(line['tool_name']), input: line['parameters'] ?? {} } }]
      case 'tool_result': return [toolResult(line)]
      case 'error': return [{ type: 'note', text: words(text(line['message'])) }]
      case 'result': return [...usage(fields(line['stats'])), ended(line)]
      default: return null
    }
  },
}

function toolResult(line: Fields): Observed {
  const failed = line['status'] === 'error'
  const error = text(fields(line['error'])['message'])
  return { type: 'tool', callId: text(line['tool_id']), outcome: failed ? 'error' : 'ok', content: text(line['output']) || error }
}

/** One row per model, as their prices differ. */
function usage(stats: Fields): Observed[] {
  const models = Object.entries(fields(stats['models']))
  const rows: (readonly [string | null, unknown])[] = models.length > 0 ? models : [[null, stats]]
  return rows.map(([model, row]) => {
    const used = fields(row)
    const cacheReadTokens = amount(used['cached'])
    const tokens = { inputTokens: Math.max(0, amount(used['input_tokens']) - cacheReadTokens), outputTokens: amount(used['output_tokens']), cacheReadTokens, cacheWriteTokens: 0 }
    return { type: 'used', span: 'since', tokens, costUsd: null, ...(model === null ? {} : { priced: { provider: 'google', model } }) }
  })
}

function ended(line: Fields): Observed {
  if (line['status'] === 'success') return { type: 'ended', error: null, result: null }
  const message = text(fields(line['error'])['message'])
  const inner = /^\[API Error: (.*)\]$/s.exec(message)?.[1]
  return { type: 'ended', error: words(inner ?? message) || `it ended with status ${shown(line['status'])}`, result: null }
}
