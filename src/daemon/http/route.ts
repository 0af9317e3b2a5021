// What a route is: one row with its words, its schemas and its handler. Registration, the API's document and the test of
// docs/api.md all read the same rows. Owns the shape and no route. Test: test/e2e/openapi.test.ts.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { AgentsView, DaemonView, ProviderCheckView, SteerView } from '../../api/views.ts'
import type { HeartbeatView } from '../../api/heartbeat-views.ts'
import type { LineageView, ResumablesView } from '../../api/resume-views.ts'
import type { CrewUpBody, CrewUpView } from '../../api/crew-up-views.ts'
import type { Crews } from '../crews.ts'
import type { CrewReportView } from '../../api/crew-report-views.ts'
import type { CrewReads } from '../crew-reads.ts'
import type { RolesView } from '../../api/role-views.ts'
import type { UsageReportView } from '../../api/usage-views.ts'
import type { ErrorCode } from '../../kernel/errors.ts'
import type { Store } from '../../store/store.ts'
import type { Process, Uuid } from '../../kernel/types.ts'
import type { Archive } from '../archive/archive.ts'
import type { AgentsQuery } from '../agents-view.ts'
import type { Composes } from '../composes.ts'
import type { Collector } from '../collector.ts'
import type { Check } from '../doctor.ts'
import type { Families } from '../families.ts'
import type { Feed } from '../feed.ts'
import type { Operations } from '../operations.ts'
import type { Reads } from '../reads.ts'
import type { Removals } from '../removals.ts'
import type { UsageQuery } from '../usage-report.ts'
import type { Place } from '../mcp/tool.ts'
import type { Waiter } from '../waiter.ts'
import type { Answers } from './answers.ts'

/** What handlers work with. */
export interface RoutesParts {
  readonly operations: Operations
  readonly families: Pick<Families, 'removeChild'>
  readonly composes: Composes
  readonly removals: Removals
  readonly collector: Collector
  readonly archive: Archive
  readonly pin: (uuid: Uuid, pinned: boolean) => Promise<SteerView>
  readonly reads: Reads
  readonly mcpSeat: (place: Place) => Promise<{ readonly socket: string; readonly token: string }>
  readonly past: { resumable(query: { readonly after?: string | undefined; readonly limit: number }): Promise<ResumablesView>; lineage(ref: string): Promise<LineageView> }
  readonly usage: (query: UsageQuery) => Promise<UsageReportView>
  readonly feed: Feed
  readonly store: Store
  readonly waiter: Waiter
  readonly agents: (query: AgentsQuery) => Promise<AgentsView>
  readonly roles: (cwd: string) => Promise<RolesView>
  readonly crewUp: (body: CrewUpBody) => Promise<CrewUpView>
  readonly crewReads: CrewReads
  readonly crewReport: (process: Process) => Promise<CrewReportView>
  readonly crews: Pick<Crews, 'steer'>
  readonly cursor: () => number
  readonly daemon: () => DaemonView
  readonly heartbeat: () => HeartbeatView
  readonly doctor: (verify: boolean) => Promise<readonly Check[]>
  readonly checkModels: (env: Readonly<Record<string, string>>) => Promise<ProviderCheckView[]>
  readonly stop: (drainMs: number | undefined) => void
  readonly log: (message: string, error: unknown) => void
}

export interface Asked<Q, B> {
  /** what stands for `:ref` in the path; empty where there is none */
  readonly ref: string
  readonly query: Q
  readonly body: B
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

interface Words {
  /** the operation's name in the document */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly summary: string
  /** errors beyond those that every route has, and those of `:ref` */
  readonly errors: readonly ErrorCode[]
  readonly status?: 201 | 202
  /** a body, for the document */
  readonly example?: object
}

export interface Route extends Words {
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  /** the name of the answer's schema; `events` is a stream */
  readonly answer: keyof Answers | 'events'
  readonly handle: (parts: RoutesParts, asked: Asked<never, never>) => Promise<unknown>
}

type Answer<A> = A extends keyof Answers ? z.output<Answers[A]> : void

/** Ties the handler to the schemas of what it takes and gives. */
export function route<Q extends z.ZodType, B extends z.ZodType, A extends keyof Answers | 'events'>(one: Words & {
  readonly query?: Q
  readonly body?: B
  readonly answer: A
  readonly handle: (parts: RoutesParts, asked: Asked<z.output<Q>, z.output<B>>) => Promise<Answer<A>>
}): Route {
  return one
}

/** Printable, and not long. */
const CLIENT = /^[\x20-\x7e]{1,100}$/

/** What the client calls itself: for people to read, and never a reason to trust it. */
export function clientOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  const name = headers['x-reeve-client']
  return typeof name === 'string' && CLIENT.test(name) ? name : 'api'
}
