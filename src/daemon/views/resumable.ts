// The reads of `list-resumable` and `lineage`: which processes can be resumed, and how; and the tree of forks of a process.
// Works in bounded pages. Must never read a journal: rows and tombstones are enough. Test: test/e2e/cli/resume.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import { resumeModes } from '../../kernel/decide/resume-modes.ts'
import { isSuspended, statusOf } from '../../kernel/model/status.ts'
import { isoOrNull } from './format-times.ts'
import type { LineageNodeView, LineageView, ResumablesView, ResumableView } from '../../api/views/resume.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store, Tombstone } from '../../store/store.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { ProcessQueries } from './process-queries.ts'
import type { Table } from '../loop/table.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

export interface ResumableDeps {
  readonly table: Pick<Table, 'uuidsByPid' | 'get'>
  readonly store: Pick<Store, 'dead' | 'forks' | 'removedForks' | 'process' | 'tombstone'>
  readonly reads: Pick<ProcessQueries, 'resolve'>
}

/** The largest number of processes of a tree of forks that are shown. */
const MAX_LINEAGE = 2_000

/**
 * Returns a page of resumable processes. The first page begins with suspended processes and zombies, by PID. Dead processes follow,
 * newest first. `after` is the `next` of the page before.
 */
export async function resumableView(
  { table, store, slices }: Omit<ResumableDeps, 'reads'> & { readonly slices: SliceQueue },
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<ResumablesView> {
  const live = await slices.map(after === undefined ? table.uuidsByPid() : [], (uuid) => {
    const row = table.get(uuid)
    return row && (isSuspended(row) || row.life.state === 'zombie') ? [resumableOf(row)] : []
  })
  const shown = new Set(live.flat().map(({ uuid }) => uuid))
  const before = after === undefined ? undefined : positionOf(after)
  const dead = await store.dead({ limit, ...(before ? { before } : {}) })
  const last = dead.length === limit ? dead.at(-1) : undefined
  return {
    version: 1,
    processes: [...live.flat(), ...dead.filter(({ uuid }) => !table.get(uuid) && !shown.has(uuid)).map(resumableOf)],
    next: last ? `${last.clock.exitedAt ?? 0}.${last.uuid}` : null,
  }
}

/** Parses the position of a page. Errors: INVALID. */
function positionOf(after: string): { readonly exitedAt: number; readonly uuid: Uuid } {
  const [, at, uuid] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(after) ?? []
  if (at === undefined || uuid === undefined)
    throw new KernelError('INVALID', `"${after}" is not a position in this list: \`after\` must be the \`next\` of the previous page`)
  return { exitedAt: Number(at), uuid }
}

function resumableOf(process: Process): ResumableView {
  const { uuid, pid, spec, progress, checkpoint, clock } = process
  const { fromStep, ...modes } = resumeModes(process)
  return {
    uuid,
    pid,
    name: spec.name,
    agent: spec.agent,
    status: statusOf(process),
    step: progress.step,
    checkpointStep: checkpoint?.step ?? null,
    exitedAt: isoOrNull(clock.exitedAt),
    modes: { ...modes, fromStep: fromStep ? { ...fromStep } : null },
  }
}

/** Returns the whole tree of forks that a process belongs to. Errors: those of a reference. */
export async function lineageView(deps: ResumableDeps, ref: string): Promise<LineageView> {
  const { uuid } = await deps.reads.resolve(ref)
  const found = new Map<Uuid, LineageNodeView>()
  const stack = [await rootOf(deps, uuid)]
  while (stack.length > 0 && found.size < MAX_LINEAGE) {
    const node = stack.pop() as LineageNodeView
    if (found.has(node.uuid)) continue
    found.set(node.uuid, node)
    stack.push(...(await forksOf(deps, node.uuid)))
  }
  return { version: 1, uuid, processes: [...found.values()], truncated: stack.length > 0 }
}

/** The forks of a process, which may be removed. Newest first, so that the oldest fork is on top of the stack. */
async function forksOf({ table, store }: ResumableDeps, uuid: Uuid): Promise<LineageNodeView[]> {
  const existing = (await store.forks(uuid)).map((fork) => nodeOf(table.get(fork.uuid) ?? fork))
  return [...existing, ...(await store.removedForks(uuid)).map(nodeOfTombstone)].toSorted((a, b) => (a.uuid < b.uuid ? 1 : -1))
}

/** Returns the oldest known origin. A removed origin is known by its tombstone. */
async function rootOf(deps: ResumableDeps, uuid: Uuid): Promise<LineageNodeView> {
  let node = await findNode(deps, uuid)
  if (!node) throw new KernelError('NOT_FOUND', `no process ${uuid}`)
  for (let depth = 0; node.originUuid !== null && depth < MAX_LINEAGE; depth += 1) {
    const origin = await findNode(deps, node.originUuid)
    if (!origin) break
    node = origin
  }
  return node
}

async function findNode({ table, store }: ResumableDeps, uuid: Uuid): Promise<LineageNodeView | null> {
  const process = table.get(uuid) ?? (await store.process(uuid))
  if (process) return nodeOf(process)
  const tombstone = await store.tombstone(uuid)
  return tombstone ? nodeOfTombstone(tombstone) : null
}

function nodeOfTombstone({ uuid, pid, name, originUuid }: Tombstone): LineageNodeView {
  return { uuid, pid, name, status: 'collected', step: null, originUuid, originStep: null }
}

function nodeOf(process: Process): LineageNodeView {
  const { uuid, pid, spec, progress, originUuid, originStep } = process
  return { uuid, pid, name: spec.name, status: statusOf(process), step: progress.step, originUuid, originStep }
}
