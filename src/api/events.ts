// The events of the API as a closed union: one per fact, and the live events. The fields of an event are those of its fact, as `eventOf` of
// src/daemon/loop/events.ts publishes them.
// Tests: test/tables/daemon/loop/events.test.ts, test/tables/docs/api.test.ts, test/tables/api/events.test.ts.
import type { FactBody, FactType, ImagePart } from '../kernel/model/facts.ts'
import type { ProcessSpec } from '../kernel/model/process-spec.ts'
import type { EventView } from './views/daemon.ts'

/** The event types of facts. A fact type that is not listed is also the event type. */
export const EVENT_NAMES = {
  'process.started': 'process.status',
  'process.attached': 'process.status',
  'process.handle': 'process.status',
  'process.waiting': 'process.status',
  'process.answered': 'process.status',
  'process.delivered': 'process.status',
  'process.unanswered': 'process.status',
  'process.unasked': 'process.status',
  'usage.reported': 'process.usage',
  'usage.measured': 'process.usage',
  'process.stopping': 'process.status',
  'process.reparented': 'process.status',
  'process.retired': 'process.status',
  'process.limited': 'process.status',
  'message.sent': 'process.status',
  'message.taken': 'process.queue',
  'call.started': 'process.status',
  'call.finished': 'process.usage',
  'process.resumed': 'process.status',
  'process.rehydrated': 'process.status',
  'restart.due': 'process.status',
  'process.held': 'process.status',
  'process.released': 'process.status',
  'process.frozen': 'process.drained',
  'process.note': 'process.status',
  'signal.pended': 'process.status',
  'signal.unpended': 'process.status',
  'signal.masked': 'process.status',
  'signal.handled': 'process.status',
  'model.started': 'step.started',
  'model.finished': 'step.finished',
  'model.failed': 'process.error',
} as const satisfies Partial<Record<FactType, string>>

/** The fields that every event has. */
type Envelope = Pick<EventView, 'version' | 'seq' | 'uuid' | 'pid' | 'at'>
/** The state of the process right after the event; absent in facts from before 0.2. */
type MomentFields = Pick<EventView, 'status' | 'queueCount' | 'role' | 'phase' | 'taskId'>

type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/** The specification of a process without its environment, its system prompt and the texts of the roles of a crew. */
export type EventSpec = Without<ProcessSpec, 'env' | 'system' | 'crew' | 'compose'> & {
  readonly crew?: Readonly<Record<string, unknown>> & { readonly roles: readonly string[] }
  readonly compose?: Readonly<Record<string, unknown>>
}

/** An image by its type and size. */
export interface EventImage {
  readonly mediaType: ImagePart['mediaType']
  readonly bytes: number
}

/** The fields of a fact that have another form in its event. */
interface Replaced {
  readonly spec: EventSpec
  readonly images: readonly EventImage[]
}

/** A provider's HTTP status has another name in events, because `status` is the status of the process. */
type Renamed<B> = B extends { readonly status: infer S } ? { readonly httpStatus: S } : unknown

type PublicFields<B> = {
  readonly [K in keyof Omit<B, 'type' | 'status'>]: K extends keyof Replaced ? Replaced[K] : B[K & keyof B]
} & Renamed<B>

/** Turns an intersection into one object type. */
type Flat<T> = { readonly [K in keyof T]: T[K] }

type EventOf<B> = B extends { readonly type: infer F extends FactType }
  ? Flat<
      Envelope &
        Omit<MomentFields, keyof PublicFields<B>> &
        PublicFields<B> & {
          readonly type: F extends keyof typeof EVENT_NAMES ? (typeof EVENT_NAMES)[F] : F
          readonly fact: F
        }
    >
  : never

/** An event that is recorded. `fact` is the exact kind; `type` may stand for several kinds. */
export type FactEvent = EventOf<FactBody>

/** An event that is not recorded, and whose `seq` is 0. `lost`: the number of live events that a reader has missed. */
export type LiveEvent = Envelope & { readonly fact?: undefined } & (
    | {
        readonly type: 'live.text'
        readonly step: number
        readonly text: string
        /** the whole text of the open step so far */
        readonly whole?: true
      }
    | { readonly type: 'live.reasoning'; readonly step: number; readonly text: string }
    | { readonly type: 'live.tool-output'; readonly callId: string; readonly text: string }
    | {
        readonly type: 'live.gap'
        readonly lost: number
        /** the open step whose text so far is too long for a new reader; absent: the reader was too slow */
        readonly step?: number
      }
  )

export type ReeveEvent = FactEvent | LiveEvent
