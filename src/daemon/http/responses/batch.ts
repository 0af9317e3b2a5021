// Schemas of the results of a batch, for src/api/views/batch.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { ERRORS } from '../../../kernel/model/errors.ts'
import { text, version } from './fields.ts'

const result = z.object({
  ref: text,
  ok: z.boolean(),
  note: text.nullable().describe('a remark on what was done; null: there is none'),
  error: z
    .object({ code: z.enum(Object.keys(ERRORS) as [keyof typeof ERRORS]), message: text, hint: text })
    .nullable()
    .describe('why nothing was done; null: it was done'),
})

const batch = z.object({ version, results: z.array(result).describe('in the order of the references, each once') })

export const batchAnswers = { batch }

export const BATCH_TYPES = { BatchResultView: result, BatchView: batch }
