// The tree of forks of a process, and the comparison of two processes. Must never read a journal: rows and
// tombstones are enough. Tests: test/e2e/cli/resume.test.ts, test/e2e/lifecycle/compare.test.ts.
import { knownCost } from '../../../api/known-cost.ts'
import { endReasonText } from '../../../api/text/exit-reason.ts'
import { KernelError } from '../../../kernel/model/errors.ts'
import { statusOf } from '../../../kernel/model/status.ts'
import { truncate } from '../../../kernel/util/truncate.ts'
import { isoOrNull, isoTime } from '../format-times.ts'
import { findCommonStep } from './common-step.ts'
import type { CompareView, LineageNodeView, LineageView } from '../../../api/views/lineage.ts'
import type { Uuid } from '../../../kernel/model/ids.ts'
import type { Process } from '../../../kernel/model/process.ts'
import type { ProcessSpec } from '../../../kernel/model/process-spec.ts'
import type { Store, Tombstone } from '../../../store/store.ts'
import type { Table } from '../../loop/table.ts'
import type { ProcessQueries } from '../process-queries.ts'

export interface LineageDeps {
  readonly table: Pick<Table, 'get'>
  readonly store: Pick<Store, 'forks' | 'removedForks' | 'process' | 'tombstone'>
  readonly reads: Pick<ProcessQueries, 'resolve'>
}

/** A process of the tree, or the tombstone of a removed one. */
type Found = Process | Tombstone

/** The largest number of processes of a tree of forks that are shown. */
const MAX_LINEAGE = 2_000
/** The largest length of the last text of a process, and of a compared setting. */
const MAX_TEXT_CHARS = 160
const MAX_VALUE_CHARS = 2_000
/** The settings that are compared. Those that always differ, such as the name, are left out; so is the environment. */
const COMPARED_FIELDS = [
  'driver',
  'agent',
  'model',
  'effort',
  'fallback',
  'intent',
  'system',
  'tools',
  'deny',
  'capabilities',
  'permissions',
  'limits',
  'mcp',
  'argv',
  'containment',
  'gateway',
  'restart',
  'interactive',
] as const satisfies readonly (keyof ProcessSpec)[]

/** Returns the whole tree of forks that a process belongs to. Errors: those of a reference. */
export async function lineageView(deps: LineageDeps, ref: string): Promise<LineageView> {
  const { uuid } = await deps.reads.resolve(ref)
  const found = new Map<Uuid, LineageNodeView>()
  const specs = new Map<Uuid, ProcessSpec>()
  const stack: Found[] = [await rootOf(deps, uuid)]
  while (stack.length > 0 && found.size < MAX_LINEAGE) {
    const next = stack.pop() as Found
    if (found.has(next.uuid)) continue
    if ('spec' in next) specs.set(next.uuid, next.spec)
    found.set(next.uuid, 'spec' in next ? nodeOf(next, specs.get(next.originUuid ?? '')) : nodeOfTombstone(next))
    stack.push(...(await forksOf(deps, next.uuid)))
  }
  return { version: 1, uuid, processes: [...found.values()], truncated: stack.length > 0 }
}

/** The forks of a process, removed ones included. Newest first, so that the oldest fork is on top of the stack. */
async function forksOf({ table, store }: LineageDeps, uuid: Uuid): Promise<Found[]> {
  const existing = (await store.forks(uuid)).map((fork) => table.get(fork.uuid) ?? fork)
  return [...existing, ...(await store.removedForks(uuid))].toSorted((a, b) => (a.uuid < b.uuid ? 1 : -1))
}

/** Returns the oldest known origin. A removed origin is known by its tombstone. */
async function rootOf(deps: LineageDeps, uuid: Uuid): Promise<Found> {
  let node = await find(deps, uuid)
  if (!node) throw new KernelError('NOT_FOUND', `no process ${uuid}`)
  for (let depth = 0; node.originUuid !== null && depth < MAX_LINEAGE; depth += 1) {
    const origin = await find(deps, node.originUuid)
    if (!origin) break
    node = origin
  }
  return node
}

async function find({ table, store }: LineageDeps, uuid: Uuid): Promise<Found | undefined> {
  return table.get(uuid) ?? (await store.process(uuid)) ?? store.tombstone(uuid)
}

/** Compares two processes: their common history, and the settings in which they differ. */
export async function compareView(reads: Pick<ProcessQueries, 'resolve' | 'find'>, first: string, second: string): Promise<CompareView> {
  const [a, b] = [await reads.resolve(first), await reads.resolve(second)]
  return {
    version: 1,
    a: nodeOf(a, await originSpec(reads, a)),
    b: nodeOf(b, await originSpec(reads, b)),
    commonStep: await findCommonStep(reads, a, b),
    changed: differencesOf(a.spec, b.spec).map(({ field, values }) => ({ field, a: textOf(values[0]), b: textOf(values[1]) })),
  }
}

async function originSpec(reads: Pick<ProcessQueries, 'find'>, { originUuid }: Process): Promise<ProcessSpec | undefined> {
  return originUuid === null ? undefined : (await reads.find(originUuid))?.spec
}

function nodeOfTombstone({ uuid, pid, name, originUuid }: Tombstone): LineageNodeView {
  const unknown = { step: null, originStep: null, createdAt: null, endedAt: null, costUsd: null, exit: null, model: null, lastText: null }
  return { uuid, pid, name, status: 'collected', originUuid, ...unknown, changed: [] }
}

/** Returns the node of a process. `origin`: the settings of its origin, as they are now. */
function nodeOf(process: Process, origin: ProcessSpec | undefined): LineageNodeView {
  const { uuid, pid, spec, progress, originUuid, originStep, clock, usage } = process
  const exit = 'exit' in process.life ? process.life.exit : null
  return {
    uuid,
    pid,
    name: spec.name,
    status: statusOf(process),
    step: progress.step,
    originUuid,
    originStep,
    createdAt: isoTime(clock.createdAt),
    endedAt: isoOrNull(clock.exitedAt),
    costUsd: knownCost(usage),
    exit: exit && { code: exit.code, reason: endReasonText(exit.reason, process.parentUuid) },
    model: spec.model ?? null,
    changed: origin ? differencesOf(origin, spec).map(({ field }) => field) : [],
    lastText: progress.lastText === null ? null : truncate(progress.lastText, MAX_TEXT_CHARS),
  }
}

interface Difference {
  readonly field: string
  readonly values: readonly [unknown, unknown]
}

/** Returns the settings in which two specifications differ. */
function differencesOf(a: ProcessSpec, b: ProcessSpec): Difference[] {
  return COMPARED_FIELDS.flatMap((field): Difference[] => {
    const values = [a[field], b[field]] as const
    return JSON.stringify(values[0] ?? null) === JSON.stringify(values[1] ?? null) ? [] : [{ field, values }]
  })
}

function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null
  return truncate(typeof value === 'string' ? value : JSON.stringify(value), MAX_VALUE_CHARS)
}
