// Lists the processes that can be resumed, and how, for `reeve list-resumable`. Works in bounded pages. Must never read a journal: rows are
// enough. Tests: test/tables/daemon/views/process-queries.test.ts, test/e2e/cli/resume.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import { resumeModes } from '../../kernel/decide/resume-modes.ts'
import { isSuspended, statusOf } from '../../kernel/model/status.ts'
import { isoOrNull } from './format-times.ts'
import type { ResumablesView, ResumableView } from '../../api/views/resume.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { Table } from '../loop/table.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

export interface ResumableDeps {
  readonly table: Pick<Table, 'uuidsByPid' | 'get'>
  readonly store: Pick<Store, 'dead'>
}

/**
 * Returns a page of resumable processes. The first page begins with suspended processes and zombies, by PID. Dead processes follow,
 * newest first. `after` is the `next` of the page before.
 */
export async function resumableView(
  { table, store, slices }: ResumableDeps & { readonly slices: SliceQueue },
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
