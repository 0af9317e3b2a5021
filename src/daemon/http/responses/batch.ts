// Schemas of the results of a batch, and of the directories in use, for src/api/views/batch.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { ERRORS } from '../../../kernel/model/errors.ts'
import { count, text, texts, time, version } from './fields.ts'

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

const place = z.object({
  dir: text.describe('a directory in which processes were started'),
  exists: z.boolean(),
  living: count.describe('the number of living processes that were started in it'),
  processes: count.describe('the number of processes that were started in it, of those that were read'),
  lastUsedAt: time,
  agents: texts.describe('the agents that were used in it, the last used one first'),
  trusted: z.boolean().describe('true: `trusted` of config.yaml contains it or a directory above'),
})

const places = z.object({
  version,
  places: z.array(place).describe('at most 200, the last used one first; from all living and the 500 newest ended processes'),
})

export const batchAnswers = { batch, places }

export const BATCH_TYPES = { BatchResultView: result, BatchView: batch, PlaceView: place, PlacesView: places }
