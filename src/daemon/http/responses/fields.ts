// Schemas of fields that many responses share. Each other file of this folder has the schemas of one file of src/api/views, which
// `npm run docs` generates from them. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { CONTAINMENT_KINDS, DRIVERS, EFFORTS, STATUSES } from '../../../kernel/model/words.ts'

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

/** Whether an open tool call has not begun. */
export const unbegunField = z
  .literal(true)
  .exactOptional()
  .describe('nothing of the call was done: it or an earlier one waits for an answer or a resume, or did until the end')

/** The cost of several model calls. */
export const costFields = {
  costUsd: usd.nullable(),
  unpriced: z.boolean().describe('true: the price of some call is unknown, so `costUsd` is a lower bound'),
  estimated: z.boolean().describe('true: some call was cut off, and its cost is an estimate'),
}
