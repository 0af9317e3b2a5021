// Schemas of the rows that all faces share, for src/api/views/rows.ts. A row depends on facts and on live output only. It never depends on
// the time of its request: a reader adds the time since `runsSince` itself. Test: test/e2e/rows/rows.test.ts.
import { z } from 'zod'
import { ACTIVITIES, LIMIT_NAMES, LIVENESS_WORDS, PROCESS_STATES } from '../../../kernel/model/words.ts'
import { costFields, doing, count, driver, ms, status, text, time, usd, uuid, version, why } from './fields.ts'
import { need } from './needs.ts'

const sub = z
  .object({
    usd: usd.describe('as its budgets count it; of an ended process: also of those below that outlived it'),
    live: count.describe('the processes that have not ended'),
    working: count,
    asking: count.describe('the processes with an open question'),
    held: count.describe('the suspended processes'),
    failed: count.describe('the processes that failed, among the rows of the last 24 hours'),
    reservedUsd: usd.describe('the most that the open model calls may cost'),
  })
  .meta({ id: 'SubtreeSumsView', description: 'Sums of a process and all processes below it, by the processes that spawned them.' })

const sums = z
  .object({
    live: count,
    working: count,
    asking: count,
    held: count,
    failed: count.describe('the processes that failed in the last 24 hours'),
    todayUsd: usd.describe('spent by all processes since midnight'),
    reservedUsd: usd,
  })
  .meta({ id: 'SumsView', description: 'Sums of all processes, whatever rows were requested.' })

const budget = z
  .object({
    limit: z.enum(LIMIT_NAMES),
    used: z.number().min(0).describe('the usage of the subtree, in the unit of the limit'),
    reserved: z.number().min(0).describe('the most that open calls may add'),
    of: z.number().min(0),
    warnAt: z.number().min(0).describe('the share at which reeve warns'),
  })
  .meta({ id: 'RowBudgetView', description: 'The limit of a process of which the largest share is used.' })

const row = z
  .object({
    uuid,
    pid: count,
    parent: uuid.nullable().describe('the process that spawned it'),
    under: uuid.nullable().describe('its current parent: if its spawner has ended, another ancestor; null: the kernel'),
    host: text,
    kind: z.enum(['agent', 'command', 'crew', 'run', 'supervisor']),
    name: text.nullable(),
    agent: text,
    driver,
    model: text.nullable(),
    about: text.describe('the first line of the intent, truncated'),
    directory: text.describe('where it was started'),
    labels: z.record(text, text),
    state: z.enum(PROCESS_STATES),
    status,
    activity: z.enum(ACTIVITIES).nullable(),
    liveness: z.enum(LIVENESS_WORDS).nullable().describe('its liveness problem; null: none'),
    since: time.describe('when the status began; if that was before the start of the daemon, the nearest known time'),
    why: why.nullable().describe('null: it has ended'),
    doing: doing.nullable(),
    note: text.nullable().describe('the text of the NOTE column'),
    step: count,
    turn: count,
    queue: count.describe('the number of queued messages'),
    asks: count.describe('the number of open questions'),
    elapsedMs: ms.describe('the active time up to `runsSince`'),
    runsSince: time.nullable().describe('null: the clock is stopped; else the time since then counts, too'),
    ctx: z
      .object({ used: count, window: count, compactsAt: count.nullable().describe('null: reeve does not compact it') })
      .nullable()
      .describe('the tokens of the context; null: not known'),
    tokens: z.object({ input: count, output: count, cacheRead: count, cacheWrite: count }),
    cost: z.object({ usd: usd.nullable(), unpriced: costFields.unpriced, estimated: costFields.estimated }),
    sub,
    budget: budget.nullable().describe('null: it has no limit of its own'),
    budgetOf: uuid.nullable().describe('the nearest process with a `budget` that its usage counts for, such as itself; null: none'),
    role: text.nullable(),
    phase: text.nullable(),
    task: text.nullable(),
    branch: text.nullable().describe('the branch of its worktree'),
    origin: z.object({ uuid, step: count.nullable() }).nullable().describe('of a fork: the process and the step that it continues from'),
    forks: z.enum(['any step', 'now', 'no']),
    resumes: z.boolean().describe('whether it can be resumed'),
    attention: count.describe(
      'how urgently it needs the user: 6 a question, 5 of a crew, 4 a hold, 3 a failure, 2 a silence, 1 an end; 0: it does not',
    ),
    unseen: z.boolean().describe('true: the user has not seen one of its needs, such as a question, a hold or its end'),
    snoozedUntil: time.nullable().describe('when its needs count again; null: they are not put off. The time may have passed'),
    pinned: z.boolean(),
    lastText: text.nullable().describe('the last assistant text, truncated to 160 characters'),
    exit: z.object({ code: z.int(), reason: text, signal: text.exactOptional(), error: text.exactOptional() }).nullable(),
    createdAt: time,
    endedAt: time.nullable(),
    seq: count.describe('the number of its facts'),
  })
  .meta({ id: 'RowView', description: 'A process as lists show it.' })

const head = {
  version,
  cursor: text.describe('the state of the rows; `after` of a stream continues there'),
  seq: count.describe('the newest event that the rows include'),
  now: time.describe('the time of the daemon'),
  sums,
  needs: z.array(need).describe('the most urgent 100 needs of these processes, in order; those that are put off come last'),
}
const rows = z
  .object({ ...head, rows: z.array(row) })
  .meta({ id: 'RowsView', description: 'Rows in the order in which the processes were created (`shape=objects`).' })
const rowColumns = z
  .object({ ...head, columns: z.record(text, z.array(z.unknown())) })
  .meta({ id: 'RowColumnsView', description: 'The same rows by field: the n-th value of each list belongs to the n-th row.' })

const patch = row.partial().extend({ uuid }).describe('The changed fields of a row, or all fields of a new one.')
const frame = { cursor: text, seq: count }
const rowEvents = z.union([
  z.object({ type: z.literal('reset'), ...head, rows: z.array(row).exactOptional(), columns: rowColumns.shape.columns.exactOptional() }),
  z.object({
    type: z.literal('rows'),
    ...frame,
    up: z.array(patch),
    gone: z.array(uuid),
    removed: z.array(uuid).exactOptional().describe('processes that were removed for good, also older ones without a row here'),
    sums: sums.exactOptional(),
    needs: z.array(need).exactOptional().describe('the changed and new needs'),
    needIds: z.array(text).exactOptional().describe('all needs in order; absent: none has changed'),
  }),
  z.object({ type: z.literal('alive'), ...frame, now: time }),
])

export const rowAnswers = { rows: z.union([rowColumns, rows]), rowEvents }

export const ROW_TYPES = {
  SubtreeSumsView: sub,
  SumsView: sums,
  RowBudgetView: budget,
  RowView: row,
  RowsView: rows,
  RowColumnsView: rowColumns,
}
