// OpenCode: `opencode run --format json`. The agent marks the beginning and the end of steps, with tokens and cost. It reports a tool call
// when the call has ended. Older versions have no line for the end of the task. Their task ends with a step that calls no tool, or with an
// error. Test: test/tables/drivers/command/formats/formats.test.ts.
import { hasFlag, optionsWithout, valueOf } from './args.ts'
import { amountOf, fieldsOf, displayText, textOf } from './format.ts'
import type { ParsedCommand, Options } from './args.ts'
import type { Fields, AgentFormat, Observation } from './format.ts'

export const OPENCODE_OPTIONS: Options = {
  '--log-level': 'one',
  '-s': 'one',
  '--session': 'one',
  '-m': 'one',
  '--model': 'one',
  '--agent': 'one',
  '--format': 'one',
  '-f': 'many',
  '--file': 'many',
  '--title': 'one',
  '--attach': 'one',
  '-p': 'one',
  '--password': 'one',
  '-u': 'one',
  '--username': 'one',
  '--dir': 'one',
  '--port': 'one',
  '--variant': 'one',
  '--command': 'one',
}

export const opencode: AgentFormat = {
  title: 'OpenCode',
  marksSteps: true,
  exitCodeMeanings: {},
  printsJsonLines: (command) => command.words[0] === 'run' && valueOf(command, '--format') === 'json',
  model: (command) => valueOf(command, '-m', '--model'),
  keepsNoSession: () => false,
  continuesSession: (command) => hasFlag(command, '-s', '--session', '-c', '--continue'),
  start: ({ args }, prompt) => [...args, '--', prompt],
  resume: (command, id, prompt) => [...resumeArgs(command, id), '--', prompt],
  fork: (command, id, prompt) => [...resumeArgs(command, id), '--fork', '--', prompt],
  read(line) {
    const observed = observe(line)
    const id = textOf(line['sessionID'])
    return observed === null || id === '' ? observed : [{ type: 'session', id }, ...observed]
  },
}

function resumeArgs(command: ParsedCommand, id: string): readonly string[] {
  return [
    'run',
    ...optionsWithout(command, '-s', '--session', '-c', '--continue', '--fork', '--title', '-f', '--file', '--command'),
    '-s',
    id,
  ]
}

function observe(line: Fields): Observation[] | null {
  const part = fieldsOf(line['part'])
  switch (line['type']) {
    case 'step_start':
      return []
    case 'text':
      return [{ type: 'part', answer: null, part: { type: 'text', text: textOf(part['text']) } }]
    case 'reasoning':
      return [{ type: 'part', answer: null, part: { type: 'reasoning', text: textOf(part['text']) } }]
    case 'tool_use':
      return observeToolCall(part)
    case 'step_finish':
      return observeStepEnd(part)
    case 'error':
      return [{ type: 'ended', error: errorText(fieldsOf(line['error'])), result: null }]
    case 'done':
      return [{ type: 'ended', error: null, result: null }]
    default:
      return null
  }
}

function observeToolCall(part: Fields): Observation[] {
  const state = fieldsOf(part['state'])
  const callId = textOf(part['callID'])
  const isError = state['status'] === 'error'
  return [
    { type: 'part', answer: null, part: { type: 'tool-call', callId, name: textOf(part['tool']), input: state['input'] ?? {} } },
    {
      type: 'tool',
      callId,
      outcome: isError ? 'error' : 'ok',
      content: isError ? displayText(state['error']) : displayText(state['output']),
    },
  ]
}

function observeStepEnd(part: Fields): Observation[] {
  const tokens = fieldsOf(part['tokens'])
  const cache = fieldsOf(tokens['cache'])
  const isLast = part['reason'] !== 'tool-calls'
  return [
    {
      type: 'used',
      span: 'step',
      costUsd: amountOf(part['cost']),
      tokens: {
        inputTokens: amountOf(tokens['input']),
        outputTokens: amountOf(tokens['output']) + amountOf(tokens['reasoning']),
        cacheReadTokens: amountOf(cache['read']),
        cacheWriteTokens: amountOf(cache['write']),
      },
    },
    { type: 'step' },
    ...(isLast ? [{ type: 'ended', error: null, result: null } as const] : []),
  ]
}

function errorText(error: Fields): string {
  return textOf(fieldsOf(error['data'])['message']) || textOf(error['message']) || textOf(error['name']) || 'it ended with an error'
}
