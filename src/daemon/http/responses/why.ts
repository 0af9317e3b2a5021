// Schemas of what a process waits for and of what it does, for rows and processes. Test: test/e2e/rows/rows.test.ts.
import { z } from 'zod'
import { count, text, time } from './fields.ts'

/** What a process can wait for, or be busy with. */
const WAIT_KINDS = [
  'ask',
  'hold:user',
  'hold:subtree',
  'hold:budget',
  'hold:loop',
  'hold:breaker',
  'hold:context-full',
  'hold:supervisor',
  'hold:daemon-shutdown',
  'hold:daemon-crash',
  'budget-room',
  'rate-limit',
  'disk',
  'credentials',
  'drain',
  'stop',
  'restart',
  'start',
  'retry',
  'model',
  'tool',
  'work',
  'child',
  'node',
  'task',
  'slot',
  'queue',
  'message',
  'guardian',
] as const

/** The commands that can end a wait. */
const WAIT_ENDERS = ['answer', 'resume', 'send', 'interrupt', 'stop', 'kill', 'crew', 'doctor'] as const

export const why = z
  .object({
    kind: z.enum(WAIT_KINDS),
    text: text.describe('one sentence without a period'),
    since: time,
    until: time.exactOptional().describe('when the wait ends by itself, if that is known'),
    on: text.exactOptional().describe('the UUID of the process, or the id of the task, that it waits for'),
    can: z.array(z.enum(WAIT_ENDERS)).exactOptional().describe('the commands that can end the wait'),
  })
  .meta({
    id: 'WhyView',
    description: 'What a process waits for, or what it is busy with. It is made from facts; where nothing is known, the text states that.',
  })

export const doing = z
  .object({
    step: count,
    what: z.enum(['model', 'tool', 'compaction', 'retry']),
    name: text.exactOptional().describe('the tool, or the model'),
    callId: text.exactOptional().describe('of `tool`: its call'),
    input: text.exactOptional().describe('the input of the tool as one line of at most 120 characters'),
    since: time,
    until: time.exactOptional().describe('of `retry`: when the call is repeated'),
    out: count.exactOptional().describe('of `model`: the tokens received so far, estimated from the characters'),
    more: count.exactOptional().describe('the number of further open tool calls'),
  })
  .meta({ id: 'DoingView', description: 'The open model call, tool call or compaction of a process.' })
