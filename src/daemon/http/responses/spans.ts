// Schemas of the times in which processes had a status, for src/api/views/spans.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { count, status, text, time, uuid, version } from './fields.ts'

const span = z.object({
  from: time,
  to: time.nullable().describe('null: up to now, or up to `until`'),
  status,
  cause: text.nullable().describe('why the status changed, in a few words; null: nothing more is known'),
})

const processSpans = z.object({
  uuid,
  pid: count,
  parentUuid: uuid.nullable(),
  name: text.nullable(),
  spans: z.array(span).describe('in order; the first one may begin before `since`'),
  truncated: z.boolean().describe('true: there are earlier spans'),
})

const spans = z.object({
  version,
  processes: z.array(processSpans).describe('parents first; together at most 20,000 spans'),
  more: count.describe('the number of processes that are left out'),
})

export const spanAnswers = { spans }

export const SPAN_TYPES = { SpanView: span, ProcessSpansView: processSpans, SpansView: spans }
