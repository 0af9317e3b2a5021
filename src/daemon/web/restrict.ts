// Restricts a request of the page beyond its route. It reaches the subtree of its session alone. Fields of its body name no program, no
// environment and no new directory, unless the user's configuration opens them. So even a stolen token starts known agents where
// processes have worked. Test: test/tables/daemon/web/restrict.test.ts, test/e2e/web/security.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { WebOpening, WebRight } from '../../kernel/model/words.ts'
import type { BatchBody } from '../../api/views/batch.ts'
import type { RoutesDeps } from '../http/route.ts'
import { covers } from './door.ts'
import type { Pass } from './pass.ts'
import { redact } from './redact.ts'

type Body = Readonly<Record<string, unknown>> | undefined
type Reads = Pick<RoutesDeps['reads'], 'find' | 'resolve' | 'list'>

/** What a handler receives, and how its answer changes for the session. */
interface SessionContext<D> {
  readonly deps: D
  readonly body: Body
  readonly query: unknown
  readonly adapt: (answer: unknown) => Promise<unknown>
}

/** Fields of a spawn that choose no program and no permission. */
const SPAWN_FIELDS: ReadonlySet<string> = new Set([
  'intent',
  'agent',
  'model',
  'name',
  'worktree',
  'interactive',
  'deny',
  'wake',
  'instructions',
  'skills',
  'labels',
  'limits',
  'effort',
  'fallback',
  'permissions',
  'cwd',
  'parent',
  'removeAtEnd',
])
/** Fields that a plain session may not send, by route. */
const CLOSED_FIELDS: Readonly<Record<string, Readonly<Record<string, WebOpening>>>> = {
  resumeProcess: { env: 'environment', cwd: 'commands', allow: 'commands', gateway: 'commands' },
  resumeNode: { env: 'environment' },
  listModels: { env: 'environment' },
  checkModels: { env: 'environment' },
  tellCrew: { verify: 'commands' },
}
/** The right that each verb of a batch needs: the right of the route for one process. */
export const BATCH_RIGHTS: Readonly<Record<BatchBody['verb'], WebRight>> = {
  pause: 'steer',
  resume: 'steer',
  stop: 'steer',
  kill: 'steer',
  send: 'steer',
  pin: 'steer',
  unpin: 'steer',
  remove: 'all',
}
/** Models that play a file, whose tool calls the file chooses. */
const FILE_MODEL = /^(script|replay):/

/** Restricts a request to its session. Errors: PERMISSION for what the session may not send; NOT_FOUND for a process outside its subtree. */
export async function restrictToSession<
  D extends Pick<RoutesDeps, 'needs' | 'annotations'> & {
    readonly reads: Reads
    readonly operations: Pick<RoutesDeps['operations'], 'asClient'>
  },
>(
  { session, routeId, openings }: Pass,
  { id, ref, query }: { readonly id: string; readonly ref: string; readonly query: unknown },
  { deps, body }: { readonly deps: D; readonly body: Body },
): Promise<SessionContext<D>> {
  // The door has looked at the same path. If the two ever differed, nothing may happen.
  if (id !== routeId) throw new KernelError('FORBIDDEN', 'the request is refused')
  if (session === null) return { deps, body, query, adapt: async (answer) => answer }
  checkFields(id, body, openings)
  if (id === 'resumeProcess' && body?.['fork'] === true) checkRight('a fork', session.right, 'start')
  if (id === 'batch') checkRight(`\`${String(body?.['verb'])}\``, session.right, rightOfBatch(body?.['verb']))
  if (id === 'spawnProcess' && !openings.includes('commands')) await checkDirectory(body?.['cwd'], deps.reads)
  const { only } = session
  if (only !== null) checkSides(query)
  if (session.redact) checkNoMatch(query)
  if (only !== null && ref !== '') await checkWithin(deps.reads, ref, only)
  const ownQuery = only !== null && id === 'getRows' ? await withOwnScope(query, only, deps.reads) : query
  if (only !== null && id === 'listNeeds') await checkUnder(query, only, deps.reads)
  const needs = only === null ? deps.needs : deps.needs.below(only)
  const via = `web:${session.id}`
  const ownDeps = { ...deps, needs, operations: deps.operations.asClient(via), annotations: deps.annotations.asClient(via) }
  return { deps: ownDeps, body, query: ownQuery, adapt: (answer) => adaptAnswer(answer, id, session, deps.reads) }
}

function checkRight(what: string, held: WebRight, needed: WebRight): void {
  if (!covers(held, needed)) throw new KernelError('PERMISSION', `${what} needs the right \`${needed}\`; this session has \`${held}\``)
}

/** An unknown verb needs all rights. */
function rightOfBatch(verb: unknown): WebRight {
  return Object.hasOwn(BATCH_RIGHTS, String(verb)) ? BATCH_RIGHTS[verb as BatchBody['verb']] : 'all'
}

function checkFields(id: string, body: Body, openings: readonly WebOpening[]): void {
  if (id === 'spawnProcess')
    for (const field of Object.keys(body ?? {}))
      if (!SPAWN_FIELDS.has(field)) checkOpen(field, field === 'env' ? 'environment' : 'commands', openings)
  for (const [field, opening] of Object.entries(CLOSED_FIELDS[id] ?? {}))
    if (body?.[field] !== undefined) checkOpen(field, opening, openings)
  const models = [body?.['model'], ...(Array.isArray(body?.['fallback']) ? (body['fallback'] as unknown[]) : [])]
  if (models.some((model) => typeof model === 'string' && FILE_MODEL.test(model))) checkOpen('model', 'commands', openings)
}

function checkOpen(field: string, opening: WebOpening, openings: readonly WebOpening[]): void {
  if (openings.includes(opening)) return
  throw new KernelError(
    'PERMISSION',
    `the page may not send \`${field}\``,
    undefined,
    `\`web: { allow: [${opening}] }\` in config.yaml allows it; see docs/guides/web.md.`,
  )
}

/** The largest number of ended processes whose directories are known. */
const KNOWN_ENDED = 500

/** Checks that a process has worked in the directory, or above it. Errors: PERMISSION. */
async function checkDirectory(cwd: unknown, reads: Pick<Reads, 'list'>): Promise<void> {
  const known = await reads.list({ all: true, limit: KNOWN_ENDED, fields: ['directory'] })
  if (
    known.some(({ directory }) => cwd === directory || (typeof cwd === 'string' && cwd.startsWith(`${directory}/`) && !cwd.includes('/..')))
  )
    return
  throw new KernelError(
    'PERMISSION',
    `no process has worked in ${String(cwd)} yet`,
    undefined,
    'The page starts agents where others have worked. Start the first one in a new directory with `reeve run`.',
  )
}

/** The query of rows, for the subtree of the session or one below it. Errors: NOT_FOUND for another process. */
async function withOwnScope(query: unknown, root: Uuid, reads: Reads): Promise<object> {
  const { scope } = query as { readonly scope: string }
  const ref = /^subtree:(.+)$/.exec(scope)?.[1]
  if (ref !== undefined) await checkWithin(reads, ref, root)
  return { ...(query as object), scope: ref === undefined ? `subtree:${root}` : scope }
}

/** Checks the process below which needs are listed. Errors: NOT_FOUND for another process than one of the session. */
async function checkUnder(query: unknown, root: Uuid, reads: Reads): Promise<void> {
  const { under } = query as { readonly under?: string }
  if (under !== undefined) await checkWithin(reads, under, root)
}

/** Checks that no side of a comparison is a step of another process, `UUID@STEP`. Errors: PERMISSION. */
function checkSides(query: unknown): void {
  const { from, to } = (query ?? {}) as { readonly from?: unknown; readonly to?: unknown }
  if ([from, to].some((side) => typeof side === 'string' && side.includes('@')))
    throw new KernelError('PERMISSION', 'this session sees one process and those below it, so it compares with no other')
}

/** Checks that no text is searched, because the answer would reveal whether hidden lines have it. Errors: PERMISSION. */
function checkNoMatch(query: unknown): void {
  if ((query as { readonly match?: unknown } | undefined)?.match !== undefined)
    throw new KernelError('PERMISSION', 'this session sees no inputs and results, so it cannot search lines for a text')
}

/** Checks that a reference is the root of the subtree or below it. Errors: NOT_FOUND, as for a process that does not exist. */
async function checkWithin(reads: Reads, ref: string, root: Uuid): Promise<void> {
  const hidden = new KernelError('NOT_FOUND', `no process "${ref}"`)
  // Any other error would reveal that there is such a process.
  const process = await reads.resolve(ref).catch(() => null)
  if (process === null || !(await isWithin(reads, process, root))) throw hidden
}

async function isWithin(reads: Pick<Reads, 'find'>, process: Process | undefined, root: Uuid): Promise<boolean> {
  for (let above = process; above; above = above.parentUuid === null ? undefined : await reads.find(above.parentUuid))
    if (above.uuid === root) return true
  return false
}

async function adaptAnswer(answer: unknown, id: string, session: NonNullable<Pass['session']>, reads: Reads): Promise<unknown> {
  const { only } = session
  const own = only !== null && id === 'listProcesses' ? await withoutOthers(answer as ProcessList, only, reads) : answer
  return session.redact ? redact(id, own) : own
}

interface ProcessList {
  readonly processes: readonly { readonly uuid?: string }[]
}

/** Leaves out the processes outside a subtree. One without its UUID is left out, too. */
async function withoutOthers(answer: ProcessList, root: Uuid, reads: Pick<Reads, 'find'>): Promise<ProcessList> {
  const isOwn = await Promise.all(
    answer.processes.map(async ({ uuid }) => uuid !== undefined && (await isWithin(reads, await reads.find(uuid), root))),
  )
  return { ...answer, processes: answer.processes.filter((_, index) => isOwn[index]) }
}
