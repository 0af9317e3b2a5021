// Schemas of steps: pages of whole steps, brief steps as columns, one step with all its details, and parts of large results. For
// src/api/views/steps.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { TOOL_EFFECTS } from '../../../kernel/model/words.ts'
import { count, ms, text, texts, time, unbegunField, usd, version } from './fields.ts'
import { step } from './process.ts'

const numbers = z.array(z.number())
const times = z.array(ms)

const briefSteps = z
  .object({
    version,
    total: count.describe('the number of steps of the process'),
    columns: z.object({
      step: z.array(count),
      at: numbers.describe('the start, wall ms'),
      modelMs: times.describe('the time of its model calls, failed ones included'),
      toolMs: times.describe('the time in which a tool call ran'),
      humanMs: times.describe('the time in which it waited for the user'),
      heldMs: times.describe('the time in which it was held'),
      in: z.array(count).describe('input tokens, cached ones included'),
      cached: z.array(count).describe('input tokens that were read from a cache'),
      out: z.array(count).describe('output tokens'),
      usd: z.array(usd.nullable()).describe('null: no cost is known'),
      ctx: z.array(count.nullable()).describe('the size of the context after it, in tokens; null: unknown'),
      flags: z.array(count).describe('bits: `STEP_FLAGS` of the library'),
      tools: z.array(texts).describe('the names of its tool calls; `!` at the end: failed; `?`: without outcome'),
      text: texts.describe('the beginning of its text, on one line of at most 80 characters'),
    }),
  })
  .describe('A page of steps as columns: value N of each column belongs to the same step.')

const attempt = z
  .object({
    at: time,
    model: text,
    error: text.nullable().describe('null: it succeeded, or has no outcome'),
    status: count.nullable().describe('the HTTP status of the failure'),
    retryInMs: ms.nullable(),
  })
  .describe('An attempt of the model call of a step.')

const toolDetail = z
  .object({
    callId: text,
    name: text,
    input: z.unknown().describe('null: it is too long, see `truncated`'),
    effect: z.enum(TOOL_EFFECTS).nullable().describe('null: the call was not started'),
    startedAt: time.nullable(),
    outcome: text.nullable(),
    exitCode: z.number().nullable(),
    result: text.nullable().describe('at most its first 65,536 characters'),
    durationMs: ms.nullable(),
    unbegun: unbegunField,
    truncated: z
      .array(z.enum(['input', 'result']))
      .describe('what is longer than 65,536 characters: `GET …/steps/:step/tools/:call` has it'),
    images: z.array(z.object({ mediaType: text, bytes: count })).describe('its images, in the order of the parts `image:0`, `image:1`'),
  })
  .describe('A tool call of a step.')

const stepDetail = z
  .object({
    ...step.shape,
    tools: z.array(toolDetail),
    reasoning: text.nullable(),
    modelMs: ms,
    firstTokenMs: ms.nullable().describe('from sending the request that succeeded to the first piece of its answer; null: unknown'),
    toolMs: ms,
    humanMs: ms,
    heldMs: ms,
    calls: z.array(attempt).describe('the attempts of its model call'),
    messages: z
      .array(z.object({ id: text, from: text, text, at: time, truncated: z.boolean() }))
      .describe('the messages that the agent read between the previous step and the model call of this one'),
    asks: z
      .array(
        z.object({
          id: text,
          text,
          at: time,
          answeredAt: time.nullable(),
          by: text.nullable(),
          answer: text.nullable().describe('the option or the text'),
          withdrawn: z.boolean(),
        }),
      )
      .describe('what it asked the user'),
    holds: z
      .array(z.object({ reason: text, by: text, at: time, releasedAt: time.nullable(), releasedBy: text.nullable() }))
      .describe('the holds that began in it'),
    contextTokens: count.nullable().describe('the size of the context after it; null: unknown'),
    compaction: z.object({ before: count, after: count, summary: text }).nullable().describe('the compaction after it; null: none'),
    files: z.object({ commit: text, changed: z.boolean() }).nullable().describe('the record of its files; null: none'),
    checkpoint: z.boolean().describe('true: a checkpoint was written after it'),
  })
  .describe('One step with all that is known about it.')

const stepPart = z
  .object({
    version,
    mediaType: text,
    text: text.describe('at most 1,000,000 characters from `offset`; of an image in base64'),
    offset: count,
    total: count.describe('the length of the whole part, in the units of `offset`: characters of this text'),
    next: count.nullable().describe('the next `offset`; null: this is the end'),
  })
  .describe('A part of a large input, result or image of a tool call.')

export const stepAnswers = {
  steps: z.union([z.object({ version, steps: z.array(step) }), briefSteps, z.object({ version, step: stepDetail })]),
  stepPart,
}

export const STEP_TYPES = {
  BriefStepsView: briefSteps,
  StepAttemptView: attempt,
  StepToolView: toolDetail,
  StepDetailView: stepDetail,
  StepPartView: stepPart,
}
