// OpenCode: `opencode run --format json`. Says itself where a step begins and ends, with its tokens and its cost; a tool is
// told of when it has ended. No line says that the work is done: a last step that asks for nothing does, and no error.
// Test: test/tables/command-formats.test.ts.
import { has, optionsWithout, valueOf } from './args.ts'
import { amount, fields, shown, text } from './format.ts'
import type { Command, Options } from './args.ts'
import type { Fields, Format, Observed } from './format.ts'

export const OPENCODE_OPTIONS: Options = {
  '--log-level': 'one', '-s': 'one', '--session': 'one', '-m': 'one', '--model': 'one', '--agent': 'one', '--format': 'one', '-f': 'many', '--file': 'many', '--title': 'one',
  '--attach': 'one', '-p': 'one', '--password': 'one', '-u': 'one', '--username': 'one', '--dir': 'one', '--port': 'one', '--variant': 'one', '--command': 'one',
}

export const opencode: Format = {
  title: 'OpenCode',
  marksSteps: true,
  codes: {},
  makesLines: (command) => command.words[0] === 'run' && valueOf(command, '--format') === 'json',
  model: (command) => valueOf(command, '-m', '--model'),
  forgets: () => false,
  continues: (command) => has(command, '-s', '--session', '-c', '--continue'),
  ask: ({ args }, prompt) => [...args, '--', prompt],
  resume: (command, id, prompt) => [...inSession(command, id), '--', prompt],
  fork: (command, id, prompt) => [...inSession(command, id), '--fork', '--', prompt],
  read(line) {
    const said = observe(line)
    const id = text(line['sessionID'])
    return said === null || id === '' ? said : [{ type: 'session', id }, ...said]
  },
}

function inSession(command: Command, id: string): readonly string[] {
  return ['run', ...optionsWithout(command, '-s', '--session', '-c', '--continue', '--fork', '--title', '-f', '--file', '--command'), '-s', id]
}

function observe(line: Fields): Observed[] | null {
  const part = fields(line['part'])
  switch (line['type']) {
    case 'step_start': return []
    case 'text': return [{ type: 'part', answer: null, part: { type: 'text', text: text(part['text']) } }]
    case 'reasoning': return [{ type: 'part', answer: null, part: { type: 'reasoning', text: text(part['text']) } }]
    case 'tool_use': return tool(part)
    case 'step_finish': return stepFinished(part)
    case 'error': return [{ type: 'ended', error: errorText(fields(line['error'])), result: null }]
    case 'done': return [{ type: 'ended', error: null, result: null }]
    default: return null
  }
}

function tool(part: Fields): Observed[] {
  const state = fields(part['state'])
  const callId = text(part['callID'])
  const failed = state['status'] === 'error'
  return [
    { type: 'part', answer: null, part: { type: 'tool-call', callId, name: text(part['tool']), input: state['input'] ?? {} } },
    { type: 'tool', callId, outcome: failed ? 'error' : 'ok', content: failed ? shown(state['error']) : shown(state['output']) },
  ]
}

function stepFinished(part: Fields): Observed[] {
  const tokens = fields(part['tokens'])
  const cache = fields(tokens['cache'])
  const isLast = part['reason'] !== 'tool-calls'
  return [
    {
      type: 'used', span: 'step', costUsd: amount(part['cost']),
      tokens: { inputTokens: amount(tokens['input']), outputTokens: amount(tokens['output']) + amount(tokens['reasoning']), cacheReadTokens: amount(cache['read']), cacheWriteTokens: amount(cache['write']) },
    },
    { type: 'step' },
    ...(isLast ? [{ type: 'ended', error: null, result: null } as const] : []),
  ]
}

function errorText(error: Fields): string {
  return text(fields(error['data'])['message']) || text(error['message']) || text(error['name']) || 'it ended with an error'
}
