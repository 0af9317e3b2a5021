// The JSON of the API: the daemon, its checks, its events and its errors. Made by `npm run docs` from the schemas of the daemon
// (scripts/views.ts): do not edit. Test: test/e2e/daemon/api.test.ts.
import type { ErrorCode } from '../../kernel/model/errors.ts'
import type { Status } from '../../kernel/model/status.ts'
import type { ContainmentKind } from '../../kernel/model/words.ts'
import type { KeyState } from './agents.ts'

export interface DaemonView {
  version: 1
  pid: number
  reeve: string
  /** a checksum of the program; null: the daemon runs from its sources */
  build: string | null
  /** the version of the tables in the store */
  schema: number
  home: string
  socket: string
  startedAt: string
  uptimeMs: number
  containment: ContainmentKind
  processes: { live: number; suspended: number; max: number }
  cursor: number
  /** the average number of OS processes that could run */
  load: {
    cores: number
    oneMinute: number
    fiveMinutes: number
    fifteenMinutes: number
  }
  memory: {
    totalBytes: number
    /** what programs can still get without swapping */
    availableBytes: number
    /** the programs of all processes together, as last measured */
    programsBytes: number
    daemonBytes: number
  }
  /** the volume of the store; null if unknown */
  disk: {
    totalBytes: number
    freeBytes: number
    /** the store with its write-ahead log */
    storeBytes: number
  } | null
  /** the number of OS processes of the machine; null if unknown */
  osProcesses: number | null
  /** only present while the daemon drains before it stops */
  stopping?: {
    leftMs: number
    /** the PIDs of processes that still work on a turn or a tool call */
    waitsFor: number[]
  }
}

/** A check of `doctor`. A failed check with `optional` is not an error. */
export interface CheckView {
  name: string
  ok: boolean
  detail: string
  hint?: string
  optional?: true
}

/** A model provider that was asked for its models. A failure with `optional` is not an error. */
export interface ProviderCheckView {
  name: string
  kind: 'anthropic' | 'openai' | 'google' | 'openai-compatible'
  baseURL: string
  /** the key that the provider needs; null: none */
  key: { name: string; from: KeyState } | null
  ok: boolean
  detail: string
  /** the number of models of the provider; null if unknown */
  models: number | null
  optional?: true
}

/** A model of a provider. */
export interface ModelView {
  /** `provider/name`, as `--model` takes it */
  model: string
  /** the context window in tokens; null if unknown */
  window: number | null
  /** null: the price is unknown */
  usdPerMillion: {
    input: number
    output: number
    cacheRead: number
    cacheWrite: number
  } | null
}

/** A model provider with its models. A failure with `optional` is not an error. */
export interface ProviderModelsView {
  name: string
  kind: 'anthropic' | 'openai' | 'google' | 'openai-compatible'
  baseURL: string
  /** the key that the provider needs; null: none */
  key: { name: string; from: KeyState } | null
  ok: boolean
  detail: string
  /** sorted by name; null if the provider does not list them */
  models: ModelView[] | null
  optional?: true
}

/** The common fields of all events. Other fields depend on `type` and `fact` (docs/reference/api.md). */
export interface EventView {
  version: 1
  /** the cursor: the position in the order of all events of the store, and the SSE id; 0 for live events, which are not stored */
  seq: number
  uuid: string
  pid: number
  at: string
  type: string
  /** the status right after the event; absent in live events, and in facts from before 0.2 */
  status?: Status
  queueCount?: number
  /** of a member of a crew; in events of a task: the role that it requires, null: any */
  role?: string | null
  phase?: string
  /** the task of the member; in events of a task: that task */
  taskId?: string
  [field: string]: unknown
}

/** The codes are a closed set; docs/reference/errors.md explains each. */
export interface ErrorBody {
  version: 1
  error: {
    code: ErrorCode
    message: string
    hint: string
    details?: Record<string, unknown>
  }
}

/** POST /v1/doctor/models. */
export interface DoctorModelsBody {
  /** the environment of the client; its keys are used only for this request */
  env?: Record<string, string>
}

/** POST /v1/models. */
export interface ModelsBody {
  /** the environment of the client; its keys are used only for this request */
  env?: Record<string, string>
  /** only this provider */
  provider?: string
}
