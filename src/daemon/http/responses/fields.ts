// Schemas of fields that many responses share. Each other file of this folder has schemas for one file of src/api/views, which
// `npm run docs` generates from them. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { BOUND_NAMES, CONTAINMENT_KINDS, DRIVERS, EFFORTS, STATUSES } from '../../../kernel/model/words.ts'

export const version = z.literal(1)
export const text = z.string()
export const texts = z.array(text)
export const count = z.int().min(0)
export const ms = z.number().min(0)
export const usd = z.number().min(0)
export const time = z.iso.datetime({ offset: true })
export const uuid = z.string().meta({ examples: ['0198c1a2-7b54-7cc3-9d4e-5f60718293a4'] })
export const status = z.enum(STATUSES)
export const driver = z.enum(DRIVERS)
export const effort = z.enum(EFFORTS)
export const containment = z.enum(CONTAINMENT_KINDS)

export const tokenFields = { inputTokens: count, outputTokens: count, cacheReadTokens: count, cacheWriteTokens: count }

/** True for an open tool call that has not started; otherwise absent. */
export const unbegunField = z
  .literal(true)
  .exactOptional()
  .describe('the call has not started: it, or a call before it, waits for an answer or a resume, or waited when the process ended')

/** The cost of several model calls. */
export const costFields = {
  costUsd: usd.nullable(),
  unpriced: z.boolean().describe('true: the price of some call is unknown, so the cost is a lower bound'),
  estimated: z.boolean().describe('true: some call was cut off, and its cost is an estimate'),
}

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
    limit: z
      .enum(BOUND_NAMES)
      .exactOptional()
      .describe('the limit that is used up, of the process `on` or its own; `dailyUsd` and `monthlyUsd` are of the home'),
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
