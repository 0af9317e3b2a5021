// `reeve merge`: merges what a process did in its worktree, or a crew on its branch, into the branch on which the user works. All refusals
// come before anything changes. The daemon plans the merge and commits the files; the user's own git merges.
// Tests: test/e2e/worktree/merge.test.ts, test/e2e/crew/merge.test.ts.
import type { MergePlanView } from '../../../api/views/diff.ts'
import { changedPrograms, MERGE_PROGRAMS } from '../../actions/changed-programs.ts'
import { UserCheckout } from '../../actions/checkout.ts'
import {
  authorOf,
  checkEnded,
  checkOutsideWorktree,
  describeWork,
  isEmptyWork,
  printCommits,
  requestPlan,
} from '../../actions/finished-work.ts'
import { Failure } from '../../errors.ts'
import { processTitle } from '../../print/process-text.ts'
import { pathsText, statLines } from '../../print/diff.ts'
import { formatCount } from '../../../faces/format.ts'
import { withWaitNote } from '../../follow/wait-note.ts'
import type { Output } from '../../print/output.ts'
import { oneLine } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

interface Merge {
  readonly plan: MergePlanView
  readonly checkout: UserCheckout
  /** the branch into which the work is merged */
  readonly target: string
}

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const checkout = await UserCheckout.find()
  const { head: onto, repository, top } = checkout
  const plan = await requestPlan(args, out, (ref) => reeve.planMerge(ref, { onto, repository, top }))
  const merge: Merge = { plan, checkout, target: oneLine(await checkout.branch()) }
  const isEmpty = isEmptyWork(plan)
  await printPlan(merge, out)
  if (plan.conflicts.length > 0) return reportConflicts(merge, out)
  if (!isEmpty) await checkMerge(merge, { isUnfinished: args.on('unfinished'), trustsPrograms: args.on('trust-programs') })
  if (isEmpty || args.on('dry-run')) {
    if (!isEmpty) await out.message('a dry run: nothing was changed')
    return printResult(out, plan, { commit: null })
  }
  const author = await authorOf(plan, checkout)
  const work = await reeve.commitWork(plan.uuid, { author, unfinished: args.on('unfinished') })
  const { commit, output } = await withWaitNote(
    out,
    () => ({
      key: 'merge',
      what: 'git and your hooks to merge',
      ends: 'Ctrl+C ends git; `git merge --abort` then undoes an unfinished merge',
    }),
    args.on('squash')
      ? checkout.squash(work.commit, squashMessage(plan))
      : checkout.merge(work.commit, `Merge branch '${plan.branch}' (process ${plan.pid} of reeve)`),
  )
  if (output !== '') await out.message(output)
  const next = plan.of === 'crew' ? '' : `; \`reeve rm ${plan.pid}\` removes the process with its worktree`
  await out.message(`merged into ${merge.target} as ${commit.slice(0, 12)}${next}`)
  return printResult(out, plan, { commit })
}

/** Returns the message of the single commit of `--squash`: the process, and the subjects of its commits. */
function squashMessage({ pid, name, branch, commits }: MergePlanView): string {
  const subjects = commits.map(({ subject }) => `- ${subject}`).toReversed()
  return [`Work of ${name ?? branch} (process ${pid} of reeve)`, ...(subjects.length === 0 ? [] : ['', ...subjects])].join('\n')
}

/** Prints what would be merged: commits, uncommitted files, and the changed files with their sizes. */
async function printPlan({ plan, target }: Merge, out: Output): Promise<void> {
  if (isEmptyWork(plan)) return out.message(`nothing to merge: ${target} has all the work of ${processTitle(plan)}`)
  await out.message(`${processTitle(plan)}: ${describeWork(plan)} on ${oneLine(plan.branch)}, into ${target}`)
  await printCommits(plan, out)
  // The files of a merge with conflicts would be counted with conflict markers.
  if (!out.json && plan.conflicts.length === 0) for (const line of statLines(plan, out, out.columns)) await out.line(line)
}

async function reportConflicts({ plan, target }: Merge, out: Output): Promise<number> {
  if (out.json) await printResult(out, plan, { commit: null })
  const { pid, conflicts, of, branch } = plan
  throw new Failure(
    1,
    `${processTitle(plan)} conflicts with ${target} in ${formatCount(conflicts.length, 'file')}: ${pathsText(conflicts)}; nothing was changed`,
    of === 'crew'
      ? `\`git merge ${oneLine(branch)}\` brings the conflicts into your files.`
      : `\`reeve diff ${pid} | git apply --3way\` brings the conflicts into your files. An agent can also merge ${target} itself: \`reeve resume --message TEXT ${pid}\`.`,
  )
}

interface CheckOptions {
  readonly isUnfinished: boolean
  readonly trustsPrograms: boolean
}

/** Checks all that would prevent the merge, before anything changes. Errors: exit 1. */
async function checkMerge({ plan, checkout, target }: Merge, { isUnfinished, trustsPrograms }: CheckOptions): Promise<void> {
  const { pid } = plan
  checkOutsideWorktree(checkout, plan)
  if (!isUnfinished) checkEnded(plan, 'merge')
  // The check comes before `git status`, which can run programs, too.
  const programs = trustsPrograms ? [] : await changedPrograms(checkout, plan, MERGE_PROGRAMS)
  if (programs.length > 0)
    throw new Failure(
      1,
      `git would run programs that changed since ${processTitle(plan)} began: ${pathsText(programs)}`,
      `Read them. Then \`reeve merge --trust-programs ${pid}\` merges into ${target}.`,
    )
  if ((await checkout.read('rev-parse', '-q', '--verify', 'MERGE_HEAD')) !== '')
    throw new Failure(1, 'you are in the middle of a merge', '`git merge --continue` completes it, `git merge --abort` undoes it.')
  const dirty = await checkout.dirtyFiles()
  const changed = new Set(plan.files.flatMap(({ path, from }) => [path, ...(from === null ? [] : [from])]))
  const overlapping = dirty.filter(
    ({ path, isStaged }) =>
      isStaged || [...changed].some((each) => each === path || each.startsWith(`${path}/`) || path.startsWith(`${each}/`)),
  )
  if (overlapping.length > 0)
    throw new Failure(
      1,
      `your own changes are in the way: ${pathsText(overlapping.map(({ path }) => path))}; nothing was changed`,
      `Commit them, or put them aside with \`git stash\`. Other changed files may stay, unless they are staged.`,
    )
}

async function printResult(out: Output, plan: MergePlanView, { commit }: { readonly commit: string | null }): Promise<number> {
  const { version: _, files, conflicts, ...rest } = plan
  if (out.json) await out.value({ merged: commit !== null, commit, files, conflicts, plan: rest })
  return 0
}
