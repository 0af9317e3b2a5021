// Schemas of a search of transcripts, for src/api/views/search.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { count, status, text, time, uuid, version } from './fields.ts'

const match = z
  .object({
    uuid,
    pid: count,
    name: text.nullable(),
    status,
    step: count.nullable().describe('null: a message, or the output of a program'),
    at: time,
    kind: z
      .enum(['message', 'text', 'reasoning', 'call', 'result', 'output'])
      .describe('`text` and `reasoning`: of the agent; `call` and `result`: the input and the result of a tool; `output`: of a program'),
    before: text.describe('the text before the match, on its line'),
    match: text,
    after: text,
  })
  .describe('A line of a transcript with the searched text.')

const search = z.object({
  version,
  matches: z
    .array(match)
    .describe('grouped by process: the living ones, then the ended ones, each the newest first. Those of a process in order'),
  processes: count.describe('the number of searched processes'),
  cutBy: z
    .enum(['matches', 'time'])
    .nullable()
    .describe('why the search is incomplete: the limit of matches, or the time limit; null: it is complete'),
})

export const searchAnswers = { search }

export const SEARCH_TYPES = { SearchMatchView: match, SearchView: search }
