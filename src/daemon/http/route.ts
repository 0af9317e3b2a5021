// Defines what an API route consists of: its description, its schemas and its handler. The server, the API document and the test of
// docs/reference/api.md all read the same routes. Must contain no route. Test: test/e2e/daemon/openapi.test.ts.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { PlacesView, AgentsView } from '../../api/views/agents.ts'
import type { DaemonView } from '../../api/views/daemon.ts'
import type { DaemonViewWithoutFigures } from '../host/machine-figures.ts'
import type { HeartbeatView } from '../../api/views/heartbeat.ts'
import type { CompareView, LineageView } from '../../api/views/lineage.ts'
import type { ResumablesView } from '../../api/views/resume.ts'
import type { CrewPlanView, CrewUpBody, CrewUpView, RolesView } from '../../api/views/crew-up.ts'
import type { CrewCommands } from '../crew/commands.ts'
import type { CrewReportView } from '../../api/views/crew-report.ts'
import type { CrewDiffs } from '../crew/diff.ts'
import type { CrewQueries } from '../crew/queries.ts'
import type { SearchView } from '../../api/views/search.ts'
import type { StakesView } from '../../api/views/stakes.ts'
import type { UsageRateView, UsageReportView } from '../../api/views/usage.ts'
import type { ErrorCode } from '../../kernel/model/errors.ts'
import type { Store } from '../../store/store.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Requester } from '../loop/requester.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { Archive } from '../archive/archive.ts'
import type { AgentsQuery } from '../views/agents.ts'
import type { ModelsCheckDeps } from '../views/models-check.ts'
import type { ComposeRuns } from '../compose/runs.ts'
import type { GarbageCollector } from '../operations/collector.ts'
import type { Check } from '../views/doctor.ts'
import type { SupervisorSpawner } from '../operations/spawn-supervisor.ts'
import type { Feed } from '../loop/feed.ts'
import type { RowFeed } from '../rows/row-feed.ts'
import type { Operations } from '../operations/operations.ts'
import type { Annotations } from '../operations/annotations.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { Removals } from '../operations/removals.ts'
import type { SearchQuery } from '../views/search.ts'
import type { UsageQuery } from '../views/usage-report.ts'
import type { CallerContext } from '../mcp/tool.ts'
import type { NeedQueries } from '../needs/need-queries.ts'
import type { Waiter } from '../loop/waiter.ts'
import type { ProcessDiffs } from '../operations/process-diffs.ts'
import type { StakesRequest } from '../stakes/stakes-query.ts'
import type { StepReads } from '../steps/step-reads.ts'
import type { Merges } from '../operations/merges.ts'
import type { ResponseSchemas } from './responses.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { WebOpening, WebRight } from '../../kernel/model/words.ts'
import type { WireRequest } from '../../api/client/http.ts'
import type { WebService } from '../web/service.ts'

/** The services that handlers use. */
export interface RoutesDeps {
  readonly operations: Operations
  readonly supervisors: Pick<SupervisorSpawner, 'removeChild'>
  readonly composeRuns: ComposeRuns
  /** the parent of a new crew or compose run: the process whose program sends the request; null for the user */
  readonly parentUuid: Uuid | null
  /** the session of the page that sends the request, `web:ID`; undefined for other clients */
  readonly via?: string
  readonly removals: Removals
  readonly collector: GarbageCollector
  readonly archive: Archive
  readonly annotations: Annotations
  readonly reads: ProcessQueries
  readonly merges: Pick<Merges, 'findUnsavedChanges' | 'planMerge' | 'commit'>
  readonly diffs: Pick<ProcessDiffs, 'diff' | 'files'>
  readonly openMcpAccess: (userContext: CallerContext) => Promise<{ readonly socket: string; readonly token: string }>
  readonly resumeQueries: {
    resumable(query: { readonly after?: string | undefined; readonly limit: number }): Promise<ResumablesView>
    lineage(ref: string): Promise<LineageView>
    compare(a: string, b: string): Promise<CompareView>
  }
  readonly stakes: (ref: string, request: StakesRequest) => Promise<StakesView>
  readonly steps: StepReads
  readonly usage: (query: UsageQuery) => Promise<UsageReportView>
  readonly places: () => Promise<PlacesView>
  readonly usageRate: () => Promise<UsageRateView>
  /** searches all processes if `processes` is null; stops when `signal` aborts */
  readonly search: (query: SearchQuery, processes: readonly Process[] | null, signal: AbortSignal) => Promise<SearchView>
  readonly needs: Pick<NeedQueries, 'list' | 'get' | 'below'>
  readonly feed: Pick<Feed, 'subscribe'>
  readonly rows: Pick<RowFeed, 'snapshot' | 'follow'>
  readonly store: Store
  readonly waiter: Waiter
  readonly agents: (query: AgentsQuery) => Promise<AgentsView>
  readonly roles: (cwd: string) => Promise<RolesView>
  readonly crewUp: (body: CrewUpBody, requester: Requester) => Promise<CrewUpView>
  readonly crewPlan: (body: CrewUpBody) => Promise<CrewPlanView>
  readonly crewReads: CrewQueries
  readonly crewReport: (process: Process) => Promise<CrewReportView>
  readonly crewDiffs: Pick<CrewDiffs, 'view'>
  readonly crews: Pick<CrewCommands, 'runUserCommand'>
  /** returns the cursor of the newest fact */
  readonly cursor: () => number
  /** time slices of the event loop for long responses */
  readonly slices: SliceQueue
  /** `withFigures`: true adds the figures of the machine, which are then measured */
  readonly daemon: (withFigures: boolean) => Promise<DaemonView | DaemonViewWithoutFigures>
  readonly heartbeat: () => Promise<HeartbeatView>
  readonly doctor: (verify: boolean) => Promise<readonly Check[]>
  readonly providers: ModelsCheckDeps
  /** `restart`: true if another daemon starts afterwards, and opens the page again */
  readonly stop: (drainMs: number | undefined, restart: boolean) => void
  /** the listener of the page; its code is loaded by the first call */
  readonly web: () => Promise<WebService>
  readonly log: (message: string, error: unknown) => void
}

export interface RouteCall<Q, B> {
  /** the value of `:ref` in the path; empty if there is none */
  readonly ref: string
  /** the value of `:id` in the path; empty if there is none */
  readonly id: string
  /** all values of the path */
  readonly params: Readonly<Record<string, string | number>>
  readonly query: Q
  readonly body: B
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** The description of a route. */
interface RouteHead {
  /** the id of the operation in the API document */
  readonly id: string
  readonly method: WireRequest['method']
  readonly path: string
  readonly summary: string
  /** what a session of the page needs for it. `socket`: it is never open over TCP; `anyone`: it needs no session */
  readonly right: WebRight | 'socket' | 'anyone'
  /** it is closed to the page, unless the user's configuration lists this word in `web.allow` */
  readonly closed?: WebOpening
  /** a session for one subtree may use it; web/restrict.ts limits the request and the answer to that subtree */
  readonly within?: true
  /** its errors, without those of every route and of every route with `:ref` */
  readonly errors: readonly ErrorCode[]
  readonly status?: 201 | 202
  /** an example of a body, for the API document */
  readonly example?: object
}

export interface ApiRoute extends RouteHead {
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  /** the values of the path, if there are others than `:ref` */
  readonly params?: z.ZodType
  /** the name of the response's schema in responses.ts; `events` is a stream of events */
  readonly answer: keyof ResponseSchemas | 'events'
  /** the name of the schema of its server-sent events, if it can also answer with a stream */
  readonly stream?: keyof ResponseSchemas
  readonly handle: (deps: RoutesDeps, call: RouteCall<never, never>) => Promise<unknown>
}

type Answer<A> = A extends keyof ResponseSchemas ? z.output<ResponseSchemas[A]> : void

/** Returns the route unchanged; its types make the handler match the schemas. */
export function defineRoute<Q extends z.ZodType, B extends z.ZodType, A extends keyof ResponseSchemas | 'events'>(
  route: RouteHead & {
    readonly query?: Q
    readonly body?: B
    readonly params?: z.ZodType
    readonly answer: A
    readonly stream?: keyof ResponseSchemas
    /** returns the answer, or its JSON */
    readonly handle: (
      deps: RoutesDeps,
      call: RouteCall<z.output<Q>, z.output<B>>,
    ) => Promise<Answer<A> | (A extends 'rows' ? string : never)>
  },
): ApiRoute {
  return route
}
