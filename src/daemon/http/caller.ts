// Finds the process whose program sends a request, and restricts what it may request. Programs start with a marker in their environment,
// which the client sends as a header. Processes that a request starts are descendants of its sender. A limited process may read
// everything; otherwise it may request only what its MCP tools may do. A process with limited signals, agents or network is recognized by
// its own socket (src/daemon/incarnation/api-sockets.ts), whatever marker it sends.
// Test: test/e2e/lifecycle/nested.test.ts.
import type { FastifyRequest } from 'fastify'
import { KernelError } from '../../kernel/model/errors.ts'
import { isLimited } from '../../kernel/state/permissions.ts'
import { isLiving } from '../../kernel/model/status.ts'
import type { Process } from '../../kernel/model/process.ts'
import { processOfSocket } from '../incarnation/api-sockets.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { ApiRoute, RoutesDeps } from './route.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** The header with the marker. */
const CALLER_HEADER = 'x-reeve-process'

/** Requests that a limited process may send, in its own name. The kernel decides whether it has the permission. */
const ALLOWED_TO_LIMITED: ReadonlySet<string> = new Set(['signalProcess', 'setSignals', 'pauseProcess', 'resumeProcess', 'sendMessage'])
/** Requests that no process may send, limited or not: an agent is not the user, so it gets no session of the page. */
const USER_ONLY: ReadonlySet<string> = new Set(['openWeb', 'stopWeb', 'revokeWebSession', 'revokeWebSessions', 'waitForWebLink'])
/** Fields of a resume that change neither permissions nor limits of the process. */
const PLAIN_RESUME_FIELDS: ReadonlySet<string> = new Set(['subtree', 'only', 'message', 'rerun', 'env'])

type Body = Readonly<Record<string, unknown>> | undefined

/** What a route's handler receives, restricted to what the caller may do. */
interface RequestContext {
  readonly deps: RoutesDeps
  readonly body: Body
}

/**
 * Finds the process whose program sends the request, by its socket or else by its marker. Null for the user; the marker of an ended
 * incarnation is ignored. Errors: PERMISSION for the socket of a process that has ended.
 */
export async function callerOf(
  reads: Pick<ProcessQueries, 'find'>,
  { headers, raw }: Pick<FastifyRequest, 'headers' | 'raw'>,
): Promise<Process | null> {
  const owner = processOfSocket(raw.socket)
  if (owner !== undefined) {
    const process = await reads.find(owner)
    if (!process || !isLiving(process)) throw new KernelError('PERMISSION', 'the process that this socket belongs to has ended')
    return process
  }
  const header = headers[CALLER_HEADER]
  if (typeof header !== 'string') return null
  const process = await reads.find(header.split('.')[0] as Uuid)
  return process?.containment?.marker === header && isLiving(process) ? process : null
}

/** Restricts the context of a route for a calling process. Errors: `PERMISSION` for a request that a limited process may not make. */
export async function restrictToCaller(
  caller: Process,
  { id, method, path }: Pick<ApiRoute, 'id' | 'method' | 'path'>,
  { deps, body }: RequestContext,
): Promise<RequestContext> {
  if (USER_ONLY.has(id))
    throw new KernelError(
      'PERMISSION',
      `only the user may request ${method} ${path}; process ${caller.pid} sent it`,
      undefined,
      'The user may do it outside the process.',
    )
  if (method === 'GET') return { deps, body }
  const depsAsCaller = { ...deps, operations: deps.operations.asSender(`agent:${caller.uuid}`) }
  const isRestricted = await isLimitedOrBelowLimited(caller, deps.reads)
  if (id === 'spawnProcess') return { deps: depsAsCaller, body: await withAllowedParent(caller, body, { reads: deps.reads, isRestricted }) }
  // Members and nodes become descendants of the caller, and use its budget.
  if (!isRestricted && (id === 'startCrew' || id === 'composeUp')) return { deps: { ...deps, parentUuid: caller.uuid }, body }
  if (!isRestricted || id === 'checkModels' || id === 'listModels') return { deps, body }
  const refusedField = id === 'resumeProcess' ? Object.keys(body ?? {}).find((key) => !PLAIN_RESUME_FIELDS.has(key)) : undefined
  if (!ALLOWED_TO_LIMITED.has(id) || refusedField !== undefined)
    throw limitedError(caller, `${method} ${path}${refusedField === undefined ? '' : ` with ${refusedField}`}`)
  return { deps: depsAsCaller, body }
}

/**
 * Returns the body of a spawn with a parent: the requested one, or the caller if none is requested. Errors: PERMISSION if the requested
 * parent is neither the caller nor below it, or if a limited caller requests a supervisor.
 */
async function withAllowedParent(
  caller: Process,
  body: Body,
  { reads, isRestricted }: { readonly reads: ProcessQueries; readonly isRestricted: boolean },
): Promise<Body> {
  const requested = body?.['parent']
  if (isRestricted && body?.['supervisor'] !== undefined) throw limitedError(caller, 'a supervisor')
  if (requested === undefined) return { ...body, parent: caller.uuid }
  const parent = await reads.resolve(String(requested))
  for (let ancestor: Process | undefined = parent; ancestor; ancestor = await parentOf(ancestor, reads)) {
    if (ancestor.uuid === caller.uuid) return body
  }
  throw new KernelError(
    'PERMISSION',
    `process ${parent.pid} is not below process ${caller.pid}, so it cannot be the parent`,
    undefined,
    'Without a parent, the process that asks is the parent.',
  )
}

/** True if the caller or one of its ancestors has limited permissions. */
async function isLimitedOrBelowLimited(caller: Process, reads: Pick<ProcessQueries, 'find'>): Promise<boolean> {
  for (let ancestor: Process | undefined = caller; ancestor; ancestor = await parentOf(ancestor, reads)) {
    if (isLimited(ancestor.spec)) return true
  }
  return false
}

async function parentOf({ parentUuid }: Process, reads: Pick<ProcessQueries, 'find'>): Promise<Process | undefined> {
  return parentUuid === null ? undefined : reads.find(parentUuid)
}

function limitedError({ pid }: Process, what: string): KernelError {
  return new KernelError(
    'PERMISSION',
    `process ${pid} is limited, and its programs may not request ${what}`,
    undefined,
    'The user may do it outside the process; `reeve inspect` shows its limits.',
  )
}
