// Gathers the facts that the stakes of an action follow from: rows, the kernel's decisions, open calls from the journal, and files from
// git. Git has at most the time `filesMs` of the request; after that the files are unknown. Reads only. The view is made in stakes.ts.
// Test: test/e2e/lifecycle/stakes.test.ts.
import { oneLine } from '../../api/text/safe-text.ts'
import { toolInputLine } from '../../api/text/tool-input-line.ts'
import { foresee, type Foreseen } from '../../kernel/decide/foresee.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { livingSubtree } from '../../kernel/state/tree.ts'
import { truncate } from '../../kernel/util/truncate.ts'
import { GitError, gitUser } from '../../drivers/git/git.ts'
import { countUncommitted, countUnmerged, countUnrecorded } from '../../drivers/git/unrecorded-files.ts'
import { stakesOf, type FilesAtStake, type OpenWork } from './stakes.ts'
import type { StakesView } from '../../api/views/stakes.ts'
import type { InputBody } from '../../kernel/model/inputs.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { StakesAction } from '../../kernel/model/words.ts'
import type { Store } from '../../store/store.ts'
import type { Clock } from '../loop/clock.ts'
import type { Table } from '../loop/table.ts'
import type { Removals } from '../operations/removals.ts'
import type { Worktrees } from '../operations/worktrees.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import { STOP_GRACE_MS } from '../../kernel/model/signals.ts'

interface StakesDeps {
  readonly reads: Pick<ProcessQueries, 'resolve'>
  readonly table: Table
  readonly store: Pick<Store, 'tail'>
  readonly clock: Clock
  readonly removals: Pick<Removals, 'findObstacle'>
  readonly worktrees: Pick<Worktrees, 'readBriefly' | 'recordsOf' | 'checkForResume'>
}

export interface StakesRequest {
  readonly action: StakesAction
  readonly subtree: boolean
  /** whether git examines the worktree */
  readonly files: boolean
  /** the longest time of git for that, in ms */
  readonly filesMs: number
}

/** The largest number of processes whose open calls are read from the journal. */
const MAX_READ = 50
/** The largest number of open calls of a process that are looked up. */
const MAX_CALLS = 64
/** The longest text that describes a call. */
const MAX_WHAT_CHARS = 120

const NO_FILES: FilesAtStake = { unrecorded: null, unmerged: [], notes: [] }

/** Returns what an action on a process would cost. Errors: those of a reference. */
export async function stakesView(deps: StakesDeps, ref: string, request: StakesRequest): Promise<StakesView> {
  const process = await deps.reads.resolve(ref)
  const files = request.files ? await filesAtStake(deps, process, request) : NO_FILES
  const { foreseen, refused } = await foreseeAction(deps, process, request)
  const below = livingSubtree(deps.table, process.uuid).filter(({ uuid }) => uuid !== process.uuid)
  const world = { ...request, process, below, row: (uuid: string) => deps.table.get(uuid), foreseen, refused, files }
  const open = await openWork(deps, [process, ...below])
  return stakesOf({ ...world, open })
}

async function foreseeAction(
  deps: StakesDeps,
  process: Process,
  { action, subtree }: StakesRequest,
): Promise<{ readonly foreseen: Foreseen | null; readonly refused: string | null }> {
  try {
    if (action === 'remove') return { foreseen: null, refused: deps.removals.findObstacle(process) }
    const row = deps.table.get(process.uuid)
    if (action === 'resume') await deps.worktrees.checkForResume(process)
    else if (!row) return { foreseen: null, refused: `process ${process.pid} has ended` }
    return { foreseen: foresee(deps.table, inputFor(process, row, { action, subtree }), deps.clock.now()), refused: null }
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    return { foreseen: null, refused: error.message }
  }
}

/** Returns the kernel's input for an action. `row`: the process in the table; undefined: it has ended. */
function inputFor(
  process: Process,
  row: Process | undefined,
  { action, subtree }: { readonly action: Exclude<StakesAction, 'remove'>; readonly subtree: boolean },
): InputBody {
  const { uuid } = process
  const request = { reply: 0, by: 'user', uuid, subtree } as const
  const signal = { ...request, type: 'signal', graceMs: null, freeze: false } as const
  switch (action) {
    case 'stop':
      return { ...signal, signal: 'SIGTERM', leastGraceMs: STOP_GRACE_MS }
    case 'kill':
      return { ...signal, signal: 'SIGKILL' }
    case 'pause':
      return { ...signal, signal: 'SIGPAUSE' }
    case 'resume':
      return { ...request, type: 'resume', endedRow: row ? null : process, only: false, message: null, spec: null, rerun: false }
  }
}

/** Reads when each open call began, and what it does. */
async function openWork({ store }: StakesDeps, rows: readonly Process[]): Promise<ReadonlyMap<string, OpenWork>> {
  const busy = rows.filter(({ progress: { modelOpen, openCalls }, context }) => modelOpen || openCalls.length > 0 || context?.compacting)
  const all = await Promise.all(
    busy.slice(0, MAX_READ).map(async ({ uuid, progress: { openCalls } }): Promise<readonly [string, OpenWork]> => {
      const [[model], [message], started] = await Promise.all([
        store.tail(uuid, 1, ['model.started', 'compaction.started']),
        openCalls.length === 0 ? [] : store.tail(uuid, 1, ['model.finished']),
        openCalls.length === 0 ? [] : store.tail(uuid, MAX_CALLS, ['tool.started']),
      ])
      const parts = message?.body.type === 'model.finished' ? message.body.message : []
      const calls = openCalls.map(({ callId, name }) => {
        const part = parts.find((one) => one.type === 'tool-call' && one.callId === callId)
        const since = started.findLast(({ body }) => body.type === 'tool.started' && body.callId === callId)?.at ?? null
        const input = part?.type === 'tool-call' ? toolInputLine(part.input) : ''
        return [callId, { since, what: truncate(`${oneLine(name)} ${input}`.trimEnd(), MAX_WHAT_CHARS, '…') }] as const
      })
      return [uuid, { modelSince: model?.at ?? null, calls: new Map(calls) }]
    }),
  )
  return new Map(all)
}

/** Examines the worktree of a process, or the branch of a crew. */
async function filesAtStake({ worktrees }: StakesDeps, process: Process, { action, filesMs }: StakesRequest): Promise<FilesAtStake> {
  const { uuid, spec, files } = process
  const repository = spec.worktree?.repository ?? spec.crew?.git?.repository
  const branch = files?.branch ?? spec.crew?.git?.branch
  if (repository === undefined || branch === undefined) return NO_FILES
  const user = gitUser(spec)
  const dir = spec.worktree?.dir
  try {
    return await worktrees.readBriefly(filesMs, async (git) => {
      // A removal also deletes the records of the process, so only commits count then.
      const recorded =
        dir === undefined || action === 'remove' ? null : await countUnrecorded(git, { dir, records: worktrees.recordsOf(uuid), ...user })
      const unrecorded = dir === undefined ? null : (recorded ?? (await countUncommitted(git, { dir, repository, ...user })))
      // The branches of a crew's members are below its own, and have its commits, too.
      const below = spec.crew ? [`${branch}.*`] : []
      const commits = await countUnmerged(git, { repository, branch, below, ...user })
      return { unrecorded, unmerged: commits === 0 ? [] : [{ branch, commits }], notes: [] }
    })
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    return { ...NO_FILES, notes: [`Its files are not known: ${error.message}.`] }
  }
}
