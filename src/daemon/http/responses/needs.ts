// Schemas of what waits for the user, for src/api/views/needs.ts. Test: test/e2e/lifecycle/needs.test.ts.
import { z } from 'zod'
import { ASK_OPTION_KINDS } from '../../../kernel/model/asks.ts'
import { NEED_KINDS } from '../../needs/order.ts'
import { CREW_DIFF_TYPES } from './crew/diff.ts'
import { count, text, texts, time, uuid, version } from './fields.ts'
import { ask, hold } from './process.ts'

const task = z
  .object({
    id: text,
    title: text,
    state: text,
    implementer: text.nullable(),
    reviewer: text.nullable(),
    verdict: text.nullable().describe('of the reviewer; null: none'),
    passed: z.boolean().nullable().describe('whether the verify command passed; null: it has not run'),
  })
  .meta({ id: 'NeedTaskView', description: 'The task of a crew that a need is about.' })

export const need = z
  .object({
    id: text.describe('it stays the same while the need exists'),
    uuid,
    pid: count,
    name: text.nullable(),
    root: uuid.describe('the topmost living process above it, or the process itself'),
    rootName: text.nullable(),
    kind: z
      .enum(NEED_KINDS)
      .describe(
        [
          '`command`, `edit`, `fetch`, `permission`: a call that needs a permission; `plan`: a plan to approve; `choice`, `text`: a question',
          '`gate`, `review`, `human-task`, `merge`: a question about a task of a crew; `hold`: a pause that only the user can end',
          '`failed`, `finished`: an end that the user has not seen; `silent`: no sign of life',
        ].join('; '),
      ),
    rank: count.describe('its urgency; 1: most urgent'),
    at: time.describe('when it began'),
    title: text.describe('one line'),
    seen: z.boolean().describe('true: the user has seen it'),
    snoozedUntil: time.nullable().describe('null: it is not put off. In the stream of rows the time may have passed'),
    ask: ask.nullable().describe('the question, with the call and its diff'),
    hold: hold.nullable(),
    task: task.nullable(),
    options: z
      .array(z.object({ id: text, name: text, kind: z.enum(ASK_OPTION_KINDS) }))
      .describe('the answers of `ask`; for any other need the verbs that help, such as `resume`, with the kind `choice`'),
    commands: texts.describe('command lines that answer or show it, the most useful first'),
    evidence: z
      .object({
        note: text.nullable().describe('the state of the process as text'),
        message: text.nullable().describe('its last text, truncated'),
        error: text.nullable().describe('why it failed'),
        report: text.nullable().describe('of a task: the report of its worker; only in the answer for one need'),
        text: text.nullable().describe('of a task: its text; only in the answer for one need'),
        change: CREW_DIFF_TYPES.CrewDiffView.nullable().describe('of a task: its change; only in the answer for one need'),
      })
      .describe('what helps to decide, besides `ask`, `hold` and `task`'),
  })
  .meta({ id: 'NeedView', description: 'Something that waits for the user.' })

const needs = z
  .object({
    version,
    needs: z.array(need).describe('the most urgent first'),
    total: count.describe('the number of needs, with those beyond the limit'),
    snoozed: count.describe('the number of needs that are put off, and therefore not in the list'),
  })
  .meta({ id: 'NeedsView', description: 'What waits for the user.' })

export const needAnswers = { needs, need: z.object({ version, need }) }

export const NEED_TYPES = { NeedTaskView: task, NeedView: need, NeedsView: needs }
