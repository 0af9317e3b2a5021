// Restricts a request of the page beyond its route. It only reaches the subtree of its session. Fields of its body name no program, no
// environment and no new directory, unless the user's configuration opens them. So even a stolen token starts known agents where
// processes have worked. Test: test/tables/daemon/web/restrict.test.ts, test/e2e/web/security.test.ts.
import { realpath } from 'node:fs/promises'
import { KernelError } from '../../kernel/model/errors.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { WebOpening, WebRight } from '../../kernel/model/words.ts'
import type { BatchBody } from '../../api/views/batch.ts'
import type { EventView } from '../../api/views/daemon.ts'
import type { RoutesDeps } from '../http/route.ts'
import { includesRight } from './access-check.ts'
import { OtherProcesses } from './hide-others.ts'
import type { Pass } from './pass.ts'
import { redact } from './redact.ts'

type Body = Readonly<Record<string, unknown>> | undefined
type Reads = Pick<RoutesDeps['reads'], 'find' | 'resolve' | 'list'>

/** What a handler receives, and how its answer changes for the session. */
interface SessionContext<D> {
  /** the process of the path; its UUID in a narrow session, because another process could take the checked name meanwhile */
  readonly ref: string
  readonly deps: D
  readonly body: Body
  readonly query: unknown
  readonly adapt: (answer: unknown) => Promise<unknown>
}

/** Fields of a spawn that choose no program. `permissions` is among them: it may replace the policy of the agent file by a wider one. */
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
  startCrew: { env: 'environment' },
  planCrew: { env: 'environment' },
  composeUp: { env: 'environment' },
  composePlan: { env: 'environment' },
  openMcpSession: { env: 'environment' },
  listModels: { env: 'environment' },
  checkModels: { env: 'environment' },
  // The page names the agent of a task, not the user. So the agent's program may be one that the repository defines.
  tellCrew: { verify: 'commands', agent: 'commands' },
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
/** What needs a higher right than its route, and that right. */
const HIGHER_RIGHTS: readonly {
  readonly routeId: string
  readonly what: string
  readonly right: WebRight
  readonly isIn: (body: NonNullable<Body>) => boolean
}[] = [
  { routeId: 'resumeProcess', what: 'a fork', right: 'start', isIn: ({ fork }) => fork === true },
  { routeId: 'resumeNode', what: 'a fork', right: 'start', isIn: ({ fork }) => fork === true },
  { routeId: 'tellCrew', what: 'a new worker', right: 'start', isIn: ({ type }) => type === 'spawn_worker' },
  { routeId: 'tellCrew', what: 'the agent of a task', right: 'start', isIn: ({ agent }) => agent !== undefined },
  { routeId: 'tellCrew', what: 'the model of a task', right: 'start', isIn: ({ model }) => model !== undefined },
  { routeId: 'spawnProcess', what: 'a removal at the end', right: 'all', isIn: ({ removeAtEnd }) => removeAtEnd === true },
]
/** Models that play a file, whose tool calls the file chooses. */
const FILE_MODEL = /^(script|replay):/

/**
 * Restricts a request to its session. Errors: PERMISSION for what the session may not send; NOT_FOUND for a process outside its subtree;
 * FORBIDDEN for another route than the access check has allowed.
 */
export async function restrictToSession<
  D extends Pick<RoutesDeps, 'needs' | 'annotations' | 'feed'> & {
    readonly reads: Reads
    readonly operations: Pick<RoutesDeps['operations'], 'asClient'>
  },
>(
  { session, routeId, openings }: Pass,
  { id, ref, query }: { readonly id: string; readonly ref: string; readonly query: unknown },
  { deps, body }: { readonly deps: D; readonly body: Body },
): Promise<SessionContext<D>> {
  // The access check has looked at the same path. If the two ever differed, nothing may happen.
  if (id !== routeId) throw new KernelError('FORBIDDEN', 'the request is refused')
  if (session === null) return { ref, deps, body, query, adapt: async (answer) => answer }
  checkFields(id, body, openings)
  for (const { routeId: restricted, what, right, isIn } of HIGHER_RIGHTS)
    if (id === restricted && body && isIn(body)) checkRight(what, session.right, right)
  if (id === 'batch') checkRight(`\`${String(body?.['verb'])}\``, session.right, rightOfBatch(body?.['verb']))
  if (!openings.includes('commands')) await checkDirectories(id, body, { query, reads: deps.reads })
  const { only } = session
  if (only !== null) checkSides(query)
  if (session.redact) checkNoMatch(query)
  const ownRef = only !== null && ref !== '' ? await uuidWithin(deps.reads, ref, only) : ref
  const ownQuery = only === null ? query : await queryWithin(id, query, only, deps.reads)
  const needs = only === null ? deps.needs : deps.needs.below(only)
  const via = `web:${session.id}`
  const ownDeps = {
    ...deps,
    via,
    needs,
    operations: deps.operations.asClient(via, openings.includes('commands')),
    annotations: deps.annotations.asClient(via),
    feed: only === null ? deps.feed : feedWithin(deps.feed, new OtherProcesses((uuid) => deps.reads.find(uuid), only)),
  }
  return { ref: ownRef, deps: ownDeps, body, query: ownQuery, adapt: (answer) => adaptAnswer(answer, id, session, deps.reads) }
}

/** The events of a feed, in which the processes outside a subtree are hidden. */
function feedWithin(feed: RoutesDeps['feed'], others: OtherProcesses): RoutesDeps['feed'] {
  return {
    async *subscribe(subscription) {
      for await (const event of feed.subscribe(subscription)) yield (await others.hideIn(event)) as EventView
    },
  }
}

function checkRight(what: string, held: WebRight, needed: WebRight): void {
  if (!includesRight(held, needed))
    throw new KernelError('PERMISSION', `${what} needs the right \`${needed}\`; this session has \`${held}\``)
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

/** Queries that read the files of a directory. */
const READS_DIRECTORY: ReadonlySet<string> = new Set(['listAgents', 'listRoles'])

/** Checks the directories of a request. Errors: PERMISSION. */
async function checkDirectories(
  id: string,
  body: Body,
  { query, reads }: { readonly query: unknown; readonly reads: Pick<Reads, 'list'> },
): Promise<void> {
  if (id === 'spawnProcess') await checkDirectory(body?.['cwd'], reads)
  if (!READS_DIRECTORY.has(id)) return
  const { cwd, path } = (query ?? {}) as { readonly cwd?: unknown; readonly path?: unknown }
  if (path !== undefined) throw new KernelError('PERMISSION', 'the page may not send `path`')
  await checkDirectory(cwd, reads)
}

/**
 * Checks that a process has worked in the directory itself. Directories below it are not known, because anyone may have written the files
 * there, such as a package. Errors: PERMISSION.
 */
async function checkDirectory(cwd: unknown, reads: Pick<Reads, 'list'>): Promise<void> {
  const known = new Set((await reads.list({ all: true, limit: KNOWN_ENDED, fields: ['directory'] })).map(({ directory }) => directory))
  // A link below a known directory may lead to any other.
  const realDirectory = await realpathOf(String(cwd))
  for (const directory of known) if (directory !== undefined && realDirectory === (await realpathOf(directory))) return
  throw new KernelError(
    'PERMISSION',
    `no process has worked in ${String(cwd)} yet`,
    undefined,
    'The page starts agents where others have worked. Start the first one in a new directory with `reeve run`.',
  )
}

/** The real path of a directory; the path itself if there is no such directory. */
function realpathOf(path: string): Promise<string> {
  // A directory that is gone is compared by its name.
  return realpath(path).catch(() => path)
}

/** The query with UUIDs of processes of the session. Errors: NOT_FOUND for another process. */
async function queryWithin(id: string, query: unknown, root: Uuid, reads: Reads): Promise<unknown> {
  if (id === 'getRows') return withOwnScope(query, root, reads)
  return id === 'listNeeds' ? withOwnUnder(query, root, reads) : query
}

/** The query of rows, for the subtree of the session or one below it. Errors: NOT_FOUND for another process. */
async function withOwnScope(query: unknown, root: Uuid, reads: Reads): Promise<object> {
  const { scope } = query as { readonly scope: string }
  const ref = /^subtree:(.+)$/.exec(scope)?.[1]
  const ownUuid = ref === undefined ? root : await uuidWithin(reads, ref, root)
  // A stream that continues after a cursor would begin with all rows that have changed, even those outside the subtree.
  const { after: _, ...rest } = query as { readonly after?: unknown }
  return { ...rest, scope: `subtree:${ownUuid}` }
}

/** The query of needs below a process of the session. Errors: NOT_FOUND for another process. */
async function withOwnUnder(query: unknown, root: Uuid, reads: Reads): Promise<unknown> {
  const { under } = query as { readonly under?: string }
  return under === undefined ? query : { ...(query as object), under: await uuidWithin(reads, under, root) }
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
    throw new KernelError('PERMISSION', 'this session sees no inputs or results, so it cannot search lines for a text')
}

/** The UUID of a process that is the root of the subtree or below it. Errors: NOT_FOUND, as for a process that does not exist. */
async function uuidWithin(reads: Reads, ref: string, root: Uuid): Promise<Uuid> {
  const hidden = new KernelError('NOT_FOUND', `no process "${ref}"`)
  // Any other error would reveal that there is such a process.
  const process = await reads.resolve(ref).catch(() => null)
  if (process === null || !(await isWithin(reads, process, root))) throw hidden
  return process.uuid
}

async function isWithin(reads: Pick<Reads, 'find'>, process: Process | undefined, root: Uuid): Promise<boolean> {
  for (let above = process; above; above = above.parentUuid === null ? undefined : await reads.find(above.parentUuid))
    if (above.uuid === root) return true
  return false
}

async function adaptAnswer(answer: unknown, id: string, session: NonNullable<Pass['session']>, reads: Reads): Promise<unknown> {
  const { only } = session
  const listed = only !== null && id === 'listProcesses' ? await withoutOthers(answer as ProcessList, only, reads) : answer
  // Rows are JSON already: rows-of-session.ts hides others there.
  const visible =
    only === null || typeof listed !== 'object' ? listed : await new OtherProcesses((uuid) => reads.find(uuid), only).hideIn(listed)
  return session.redact ? redact(id, visible) : visible
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
