// Schemas of the daemon, its checks, events and errors, for src/api/views/daemon.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { ERRORS, type ErrorCode } from '../../../kernel/model/errors.ts'
import { keyState } from './agents.ts'
import { containment, count, ms, status, text, time, usd, version } from './fields.ts'
import { PROVIDER_KINDS } from '../../../kernel/model/words.ts'

const daemon = z.object({
  version,
  pid: count,
  reeve: text,
  build: text.nullable().describe('a checksum of the program; null: the daemon runs from its sources'),
  schema: count.describe('the version of the tables in the store'),
  home: text,
  socket: text,
  startedAt: time,
  uptimeMs: ms,
  containment,
  processes: z.object({ live: count, suspended: count, max: count }),
  cursor: count,
  load: z
    .object({ cores: count, oneMinute: z.number(), fiveMinutes: z.number(), fifteenMinutes: z.number() })
    .describe('the average number of OS processes that could run'),
  memory: z.object({
    totalBytes: count,
    availableBytes: count.describe('what programs can still get without swapping'),
    programsBytes: count.describe('the programs of all processes together, as last measured'),
    daemonBytes: count,
  }),
  disk: z
    .object({ totalBytes: count, freeBytes: count, storeBytes: count.describe('the store with its write-ahead log') })
    .nullable()
    .describe('the volume of the store; null if unknown'),
  osProcesses: count.nullable().describe('the number of OS processes of the machine; null if unknown'),
  stopping: z
    .object({ leftMs: ms, waitsFor: z.array(count).describe('the PIDs of processes that still work on a turn or a tool call') })
    .exactOptional()
    .describe('only present while the daemon drains before it stops'),
})

/** the daemon without the figures of the machine, which must be measured */
const daemonWithoutFigures = daemon.omit({ load: true, memory: true, disk: true, osProcesses: true })

const check = z
  .object({
    name: text,
    ok: z.boolean(),
    detail: text,
    hint: text.exactOptional(),
    optional: z.literal(true).exactOptional(),
  })
  .meta({ id: 'CheckView', description: 'A check of `doctor`. A failed check with `optional` is not an error.' })

const provider = z
  .object({
    name: text,
    kind: z.enum(PROVIDER_KINDS),
    baseURL: text,
    key: z.object({ name: text, from: keyState }).nullable().describe('the key that the provider needs; null: none'),
    ok: z.boolean(),
    detail: text,
    models: count.nullable().describe('the number of models of the provider; null if unknown'),
    optional: z.literal(true).exactOptional(),
  })
  .meta({
    id: 'ProviderCheckView',
    description: 'A model provider that was asked for its models. A failure with `optional` is not an error.',
  })

const usdPerMillion = z
  .object({ input: usd, output: usd, cacheRead: usd, cacheWrite: usd })
  .describe('USD per million tokens; of prices that grow with the size of a request, the lowest')

const model = z
  .object({
    model: text.describe('`provider/name`, as `--model` takes it'),
    window: count.nullable().describe('the context window in tokens; null if unknown'),
    usdPerMillion: usdPerMillion.nullable().describe('null: the price is unknown'),
  })
  .meta({ id: 'ModelView', description: 'A model of a provider.' })

const providerModels = provider
  .extend({ models: z.array(model).nullable().describe('sorted by name; null if the provider does not list them') })
  .meta({ id: 'ProviderModelsView', description: 'A model provider with its models. A failure with `optional` is not an error.' })

/** An event of a stream. */
export const eventAnswer = z
  .looseObject({
    version,
    seq: count.describe(
      'the cursor: the position in the order of all events of the store, and the SSE id; 0 for live events, which are not stored',
    ),
    uuid: text,
    pid: count,
    at: time,
    type: text,
    status: status.exactOptional().describe('the status right after the event; absent in live events, and in facts from before 0.2'),
    queueCount: count.exactOptional(),
    role: text.nullable().exactOptional().describe('of a member of a crew; in events of a task: the role that it requires, null: any'),
    phase: text.exactOptional(),
    taskId: text.exactOptional().describe('the task of the member; in events of a task: that task'),
  })
  .meta({
    id: 'Event',
    description: 'The common fields of all events. Other fields depend on `type` and `fact` (docs/reference/api.md).',
  })

export const errorAnswer = z
  .object({
    version,
    error: z.object({
      code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
      message: text,
      hint: text,
      details: z.record(text, z.unknown()).exactOptional(),
    }),
  })
  .meta({ id: 'Error', description: 'The codes are a closed set; docs/reference/errors.md explains each.' })

export const daemonAnswers = {
  daemon: z.union([daemon, daemonWithoutFigures]),
  checks: z.object({ version, checks: z.array(check) }),
  providers: z.object({ version, providers: z.array(provider) }),
  models: z.object({ version, providers: z.array(providerModels) }),
  stopping: z.object({ version, stopping: z.literal(true) }),
  document: z.looseObject({ openapi: text }),
}

export const DAEMON_TYPES = {
  DaemonView: daemon,
  CheckView: check,
  ProviderCheckView: provider,
  ModelView: model,
  ProviderModelsView: providerModels,
  EventView: eventAnswer,
  ErrorBody: errorAnswer,
}
