// Schemas of the context of a process, for src/api/views/context.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { count, text, uuid, version } from './fields.ts'

const block = z.object({
  kind: z
    .enum(['system', 'message', 'summary', 'answer', 'results'])
    .describe('the system prompt, a message, the summary of earlier messages, an answer of the model, or the results of its calls'),
  fromStep: count.nullable().describe('the step that it comes from; null: it comes from no step'),
  tokens: count.describe('an estimate'),
  isKept: z.boolean().describe('false: a compaction now would put a summary in its place'),
  text: text.nullable().describe('its text, cut at 2,048 characters; null: not requested'),
})

const context = z.object({
  version,
  uuid,
  pid: count,
  name: text.nullable(),
  known: z.enum(['messages', 'tokens']).describe('`tokens`: the agent keeps its context itself, so only its size is known'),
  tokens: count.describe('the size of the context, as its provider counted it last'),
  window: count.nullable().describe('the context window of the model; null: unknown'),
  compactsAt: count.nullable().describe('the size at which reeve compacts it; null: unknown, or reeve does not compact it'),
  compactedStep: count.nullable().describe('the step after which it was last compacted; null: never'),
  blocks: z.array(block).describe('in order; at most the 2,000 newest ones. The definitions of tools are not among them'),
  more: count.describe('the number of earlier blocks'),
})

export const contextAnswers = { context }

export const CONTEXT_TYPES = { ContextBlockView: block, ContextView: context }
