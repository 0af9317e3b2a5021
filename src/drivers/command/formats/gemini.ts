// Gemini CLI: `gemini -p … -o stream-json`. Answers come in deltas. Usage comes with the result, and covers only this run of the
// program. Test: test/tables/drivers/command/formats/formats.test.ts.
import { hasFlag, optionsWithout, valueOf } from './args.ts'
import { amountOf, fieldsOf, displayText, textOf, messageInJson } from './format.ts'
import type { Options } from './args.ts'
import type { Fields, AgentFormat, Observation } from './format.ts'

export const GEMINI_OPTIONS: Options = {
  '-m': 'one',
  '--model': 'one',
  '-p': 'one',
  '--prompt': 'one',
  '-i': 'one',
  '--prompt-interactive': 'one',
  '-w': 'maybe',
  '--worktree': 'maybe',
  '--approval-mode': 'one',
  '--policy': 'many',
  '--admin-policy': 'many',
  '--allowed-mcp-server-names': 'many',
  '--allowed-tools': 'many',
  '-e': 'many',
  '--extensions': 'many',
  '-r': 'maybe',
  '--resume': 'maybe',
  '--session-file': 'one',
  '--session-id': 'one',
  '--delete-session': 'one',
  '--include-directories': 'many',
  '-o': 'one',
  '--output-format': 'one',
}

export const gemini: AgentFormat = {
  title: 'Gemini CLI',
  marksSteps: false,
  exitCodeMeanings: {
    41: 'it is not logged in',
    42: 'it refused its input',
    44: 'its sandbox failed',
    52: 'its configuration is wrong',
    53: 'its turn limit is reached',
  },
  printsJsonLines: (command) => valueOf(command, '-o', '--output-format') === 'stream-json',
  model: (command) => valueOf(command, '-m', '--model'),
  keepsNoSession: () => false,
  continuesSession: (command) => hasFlag(command, '-r', '--resume', '--session-file'),
  start: ({ args }, prompt) => [...args, `--prompt=${prompt}`],
  resume: (command, id, prompt) => [
    ...optionsWithout(command, '-p', '--prompt', '-i', '--prompt-interactive', '-r', '--resume', '--session-id', '--session-file'),
    '--resume',
    id,
    `--prompt=${prompt}`,
  ],
  fork: null,
  read(line) {
    switch (line['type']) {
      case 'init':
        return [{ type: 'session', id: textOf(line['session_id']), model: textOf(line['model']) }]
      case 'message':
        return line['role'] === 'assistant'
          ? [{ type: 'part', answer: null, part: { type: 'text', text: textOf(line['content']) }, isDelta: line['delta'] === true }]
          : []
      case 'tool_use':
        return [
          {
            type: 'part',
            answer: null,
            part: { type: 'tool-call', callId: textOf(line['tool_id']), name: textOf(line['tool_name']), input: line['parameters'] ?? {} },
          },
        ]
      case 'tool_result':
        return [observeToolResult(line)]
      case 'error':
        return [{ type: 'note', text: messageInJson(textOf(line['message'])) }]
      case 'result':
        return [...observeUsage(fieldsOf(line['stats'])), observeEnd(line)]
      default:
        return null
    }
  },
}

function observeToolResult(line: Fields): Observation {
  const isError = line['status'] === 'error'
  const error = textOf(fieldsOf(line['error'])['message'])
  return { type: 'tool', callId: textOf(line['tool_id']), outcome: isError ? 'error' : 'ok', content: textOf(line['output']) || error }
}

/** Returns one usage figure per model, because prices differ. */
function observeUsage(stats: Fields): Observation[] {
  const models = Object.entries(fieldsOf(stats['models']))
  const rows: (readonly [string | null, unknown])[] = models.length > 0 ? models : [[null, stats]]
  return rows.map(([model, row]) => {
    const used = fieldsOf(row)
    const cacheReadTokens = amountOf(used['cached'])
    const tokens = {
      inputTokens: Math.max(0, amountOf(used['input_tokens']) - cacheReadTokens),
      outputTokens: amountOf(used['output_tokens']),
      cacheReadTokens,
      cacheWriteTokens: 0,
    }
    return { type: 'used', span: 'since', tokens, costUsd: null, ...(model === null ? {} : { priced: { provider: 'google', model } }) }
  })
}

function observeEnd(line: Fields): Observation {
  if (line['status'] === 'success') return { type: 'ended', error: null, result: null }
  const message = textOf(fieldsOf(line['error'])['message'])
  const inner = /^\[API Error: (.*)\]$/s.exec(message)?.[1]
  return { type: 'ended', error: messageInJson(inner ?? message) || `it ended with status ${displayText(line['status'])}`, result: null }
}
