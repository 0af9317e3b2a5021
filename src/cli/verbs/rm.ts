// `reeve rm`: removes ended processes with their history. Asks a person who names many; a script has named them on purpose.
// Test: test/e2e/cli-rm.test.ts.
import { ApiError } from '../../api/client.ts'
import type { RemovedView } from '../../api/views.ts'
import { called, hasEnded } from '../describe.ts'
import { agreed } from '../agreed.ts'
import { forEach, type Done } from '../each.ts'
import { end } from '../end.ts'
import { plural } from '../format.ts'
import { safe } from '../text.ts'
import type { Call } from '../verbs.ts'

/** More than so many are asked about. */
const MANY = 10

export async function run(call: Call): Promise<number> {
  const { args, out } = call
  const force = args.on('force')
  if (args.words.length > MANY && !force && process.stdin.isTTY && out.isTerminal('stderr') && !(await agreed(`Remove ${args.words.length} processes with their history?`))) {
    await out.words('nothing was removed')
    return 1
  }
  return forEach(call, (ref) => (force ? endAndRemove(call, ref) : remove(call, ref)))
}

async function endAndRemove(call: Call, ref: string): Promise<Done> {
  const view = await call.reeve.get(ref)
  if (!hasEnded(view)) await end(call.reeve, view.uuid, { signal: 'SIGTERM', subtree: false })
  return remove(call, view.uuid, true)
}

async function remove({ reeve }: Call, ref: string, force = false): Promise<Done> {
  try {
    const { version: _, ...removed } = await reeve.remove(ref, { force })
    return { words: safe(`${called(removed)} was removed${worktreeEnd(removed.worktree)}${keptOf(removed.crew)}`), fields: removed }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'CONFLICT') throw error
    throw new ApiError('CONFLICT', error.message, { hint: hintFor(error.message, ref), ...(error.details ? { details: error.details } : {}) })
  }
}

/** What of its worktree is still there, and where. */
function worktreeEnd(end: RemovedView['worktree']): string {
  if (end === undefined) return ''
  if (end.kept !== undefined) return `; its worktree ${end.dir} stays: ${end.kept}`
  const salvaged = end.salvaged === undefined ? '' : `; what was not committed in its worktree is in ${end.salvaged}`
  return `${salvaged}${end.branch === undefined ? '' : `; the branch ${end.branch} stays, as it has commits of its own`}`
}

/** Where the work of a crew is. */
function keptOf(crew: RemovedView['crew']): string {
  if (crew === undefined) return ''
  const branches = [...(crew.commits > 0 ? [`${crew.branch} (${plural(crew.commits, 'commit')})`] : []), ...crew.unmerged]
  const work = branches.length === 0 ? '' : `; its work is on ${branches.join(', ')}`
  return `${work}${crew.salvaged.length === 0 ? '' : `; what nobody committed is in ${crew.salvaged.join(', ')}`}`
}

function hintFor(message: string, ref: string): string {
  if (message.endsWith('is pinned')) return `Take that back with \`reeve pin --remove ${ref}\`, or remove it with \`reeve rm --force ${ref}\`.`
  if (message.endsWith('is being exported')) return 'Try again when that is done.'
  return `End it first with \`reeve stop ${ref}\`, or remove it with \`reeve rm --force ${ref}\`.`
}
