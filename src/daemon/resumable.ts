// What can be resumed and how, and who was forked from whom: reads for `list-resumable` and `lineage`, in bounded pages.
// Must never read a journal: rows and tombstones say it all. Test: test/e2e/cli-resume.test.ts.
import { KernelError } from '../kernel/errors.ts'
import { resumeModes } from '../kernel/modes.ts'
import { isSuspended, statusOf } from '../kernel/status.ts'
import { isoOrNull } from './times.ts'
import type { LineageNodeView, LineageView, ResumablesView, ResumableView } from '../api/resume-views.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Store, Tombstone } from '../store/store.ts'
import type { Reads } from './reads.ts'
import type { Table } from './table.ts'

export interface PastParts {
  readonly table: Pick<Table, 'rows' | 'get'>
  readonly store: Pick<Store, 'dead' | 'forks' | 'removedForks' | 'process' | 'tombstone'>
  readonly reads: Pick<Reads, 'resolve'>
}

/** processes of a family that are shown */
const MAX_FAMILY = 2_000

/** The suspended and the zombies by PID on the first page, then the dead, the newest first. */
export async function resumable({ table, store }: Omit<PastParts, 'reads'>, { after, limit }: { readonly after?: string | undefined; readonly limit: number }): Promise<ResumablesView> {
  const live = after === undefined ? [...table.rows()].filter((row) => isSuspended(row) || row.life.state === 'zombie').toSorted((a, b) => a.pid - b.pid) : []
  const before = after === undefined ? undefined : placeOf(after)
  const dead = await store.dead({ limit, ...(before ? { before } : {}) })
  const last = dead.length === limit ? dead.at(-1) : undefined
  return {
    version: 1,
    processes: [...live, ...dead.filter(({ uuid }) => !table.get(uuid))].map(view),
    next: last ? `${last.clock.exitedAt ?? 0}.${last.uuid}` : null,
  }
}

function placeOf(after: string): { readonly exitedAt: number; readonly uuid: Uuid } {
  const [, at, uuid] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(after) ?? []
  if (at === undefined || uuid === undefined) throw new KernelError('INVALID', `"${after}" is no place in this list: \`after\` is the \`next\` of the page before`)
  return { exitedAt: Number(at), uuid }
}

function view(process: Process): ResumableView {
  const { uuid, pid, spec, progress, checkpoint, clock } = process
  const { fromStep, ...modes } = resumeModes(process)
  return {
    uuid, pid, name: spec.name, agent: spec.agent, status: statusOf(process), step: progress.step, checkpointStep: checkpoint?.step ?? null, exitedAt: isoOrNull(clock.exitedAt),
    modes: { ...modes, fromStep: fromStep ? { ...fromStep } : null },
  }
}

/** The whole family that a process belongs to. Errors: those of a reference. */
export async function lineage(parts: PastParts, ref: string): Promise<LineageView> {
  const { uuid } = await parts.reads.resolve(ref)
  const seen = new Map<Uuid, LineageNodeView>()
  const root = await rootOf(parts, uuid)
  const waiting = [root]
  while (waiting.length > 0 && seen.size < MAX_FAMILY) {
    const node = waiting.pop() as LineageNodeView
    if (seen.has(node.uuid)) continue
    seen.set(node.uuid, node)
    waiting.push(...(await forksOf(parts, node.uuid)))
  }
  return { version: 1, uuid, processes: [...seen.values()], truncated: waiting.length > 0 }
}

/** Removed ones too: what was forked from those is of the family. The newest first, as the last of a pile is taken first. */
async function forksOf({ table, store }: PastParts, uuid: Uuid): Promise<LineageNodeView[]> {
  const there = (await store.forks(uuid)).map((fork) => nodeOf(table.get(fork.uuid) ?? fork))
  return [...there, ...(await store.removedForks(uuid)).map(goneOf)].toSorted((a, b) => (a.uuid < b.uuid ? 1 : -1))
}

/** The eldest that is remembered: an origin that was removed is still known by its names. */
async function rootOf(parts: PastParts, uuid: Uuid): Promise<LineageNodeView> {
  let node = await find(parts, uuid)
  if (!node) throw new KernelError('NOT_FOUND', `no process ${uuid}`)
  for (let depth = 0; node.originUuid !== null && depth < MAX_FAMILY; depth += 1) {
    const origin = await find(parts, node.originUuid)
    if (!origin) break
    node = origin
  }
  return node
}

async function find({ table, store }: PastParts, uuid: Uuid): Promise<LineageNodeView | null> {
  const process = table.get(uuid) ?? (await store.process(uuid))
  if (process) return nodeOf(process)
  const gone = await store.tombstone(uuid)
  return gone ? goneOf(gone) : null
}

function goneOf({ uuid, pid, name, originUuid }: Tombstone): LineageNodeView {
  return { uuid, pid, name, status: 'collected', step: null, originUuid, originStep: null }
}

function nodeOf(process: Process): LineageNodeView {
  const { uuid, pid, spec, progress, originUuid, originStep } = process
  return { uuid, pid, name: spec.name, status: statusOf(process), step: progress.step, originUuid, originStep }
}
