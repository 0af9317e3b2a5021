// Prints where the work of ended processes with a worktree is, and which verbs take it: at the end of `run`, `resume` and `compose up`.
// Tests: test/e2e/cli/run.test.ts, test/e2e/compose/merge.test.ts.
import type { RunView } from '../../api/views/compose.ts'
import type { ProcessView } from '../../api/views/process.ts'
import { formatCount } from '../../faces/format.ts'
import { hasEnded } from '../print/process-text.ts'
import { oneLine } from '../print/text.ts'
import type { CommandContext } from '../table/verb.ts'

/** Prints where the work of an ended process is. Prints nothing for a process that still runs, because its work may change. */
export async function printWorkLocation(uuid: string, context: CommandContext): Promise<void> {
  const { out } = context
  const current = await findEnded(uuid, context)
  if (out.json || !current?.worktree) return
  const { branch, dir, changes } = current.worktree
  await out.message(`${changesText(changes)} on ${oneLine(branch)} in ${oneLine(dir)}`)
  if (hasChanges(current))
    await out.message(
      out.paintMessage(
        'dim',
        `\`reeve diff ${current.pid}\` shows the changes, \`reeve merge ${current.pid}\` takes them into your branch, \`reeve pr ${current.pid}\` opens a pull request`,
      ),
    )
}

/** Prints a line for each ended node that has changed files in its worktree. */
export async function printWorkOfNodes({ nodes }: RunView, context: CommandContext): Promise<void> {
  const { out } = context
  if (out.json) return
  const ended = await Promise.all(nodes.map(async ({ process }) => process && (await findEnded(process.uuid, context))))
  for (const [index, view] of ended.entries()) {
    if (!view?.worktree || !hasChanges(view)) continue
    const { branch, changes } = view.worktree
    await out.message(
      `${nodes[index]?.name}: ${changesText(changes)} on ${oneLine(branch)}; ${out.paintMessage('dim', `\`reeve diff ${view.pid}\`, \`reeve merge ${view.pid}\` or \`reeve pr ${view.pid}\``)}`,
    )
  }
}

/** Returns the process with its changes; null if it has not ended, or no daemon answers. */
async function findEnded(uuid: string, { reeve }: CommandContext): Promise<ProcessView | null> {
  // The command must not fail because these lines are missing: the daemon may have ended.
  const current = await reeve.get(uuid, { changes: true }).catch(() => null)
  return current && hasEnded(current) ? current : null
}

function hasChanges({ worktree }: ProcessView): boolean {
  return !!worktree?.changes && worktree.changes.commits + worktree.changes.count > 0
}

/** Returns the beginning of a line about the changes: `2 files changed, not committed,`. */
function changesText(changes: { readonly commits: number; readonly count: number } | null | undefined): string {
  if (!changes) return 'its work is'
  const { commits, count } = changes
  const files = count === 0 ? [] : [`${formatCount(count, 'file')} changed, not committed,`]
  const parts = [...(commits === 0 ? [] : [formatCount(commits, 'commit')]), ...files]
  return parts.length === 0 ? 'nothing is changed' : parts.join(' and ')
}
