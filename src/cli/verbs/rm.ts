// `reeve rm`: removes ended processes with their history. On a terminal it asks before it removes many processes. A script is not asked.
// Test: test/e2e/cli/rm.test.ts.
import { ApiError } from '../../api/client/api-error.ts'
import type { RemovedView } from '../../api/views/process.ts'
import { processTitle, hasEnded } from '../print/process-text.ts'
import { askToConfirm } from '../input/confirm.ts'
import { forEachProcess, type ActionResult } from '../actions/for-each-process.ts'
import { stopAndWait } from '../actions/stop-and-wait.ts'
import { formatCount } from '../../faces/format.ts'
import { stripControls } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

/** the greatest number of processes that are removed without a question */
const MAX_UNCONFIRMED = 10

export async function run(call: VerbCall): Promise<number> {
  const { args, out } = call
  const force = args.on('force')
  if (
    args.words.length > MAX_UNCONFIRMED &&
    !force &&
    process.stdin.isTTY &&
    out.isTerminal('stderr') &&
    !(await askToConfirm(`Remove ${args.words.length} processes with their history?`))
  ) {
    await out.message('nothing was removed')
    return 1
  }
  return forEachProcess(call, (ref) => (force ? endAndRemove(call, ref) : remove(call, ref)))
}

async function endAndRemove(call: VerbCall, ref: string): Promise<ActionResult> {
  const view = await call.reeve.get(ref)
  if (!hasEnded(view)) await stopAndWait(call, view.uuid, { signal: 'SIGTERM', subtree: false })
  return remove(call, view.uuid, true)
}

async function remove({ reeve }: VerbCall, ref: string, force = false): Promise<ActionResult> {
  try {
    const { version: _, ...removed } = await reeve.remove(ref, { force })
    return {
      message: stripControls(
        `${processTitle(removed)} was removed${describeWorktree(removed.worktree)}${describeCrewBranches(removed.crew)}`,
      ),
      fields: removed,
    }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'CONFLICT') throw error
    throw new ApiError('CONFLICT', error.message, {
      hint: hintFor(error.message, ref),
      ...(error.details ? { details: error.details } : {}),
    })
  }
}

/** Describes what remains of the worktree of a removed process. */
function describeWorktree(end: RemovedView['worktree']): string {
  if (end === undefined) return ''
  if (end.kept !== undefined) return `; its worktree ${end.dir} stays: ${end.kept}`
  const salvaged = end.salvaged === undefined ? '' : `; uncommitted files of its worktree are in ${end.salvaged}`
  return `${salvaged}${end.branch === undefined ? '' : `; the branch ${end.branch} stays, because it has commits of its own`}`
}

/** Describes the branches and refs that remain of a removed crew. */
function describeCrewBranches(crew: RemovedView['crew']): string {
  if (crew === undefined) return ''
  const branches = [...(crew.commits > 0 ? [`${crew.branch} (${formatCount(crew.commits, 'commit')})`] : []), ...crew.unmerged]
  const work = branches.length === 0 ? '' : `; its work is on ${branches.join(', ')}`
  return `${work}${crew.salvaged.length === 0 ? '' : `; uncommitted files are in ${crew.salvaged.join(', ')}`}`
}

function hintFor(message: string, ref: string): string {
  if (message.endsWith('is pinned')) return `Unpin it with \`reeve pin --remove ${ref}\`, or remove it with \`reeve rm --force ${ref}\`.`
  if (message.endsWith('is being exported')) return 'Try again after the export.'
  return `Stop it first with \`reeve stop ${ref}\`, or remove it with \`reeve rm --force ${ref}\`.`
}
