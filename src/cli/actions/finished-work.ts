// What `reeve merge` and `reeve pr` share about the work of a process or crew: plan, checks, author and description. Must not change
// anything. Tests: test/e2e/worktree/merge.test.ts, test/e2e/worktree/pr.test.ts.
import { realpathSync } from 'node:fs'
import { ApiError } from '../../api/client/api-error.ts'
import type { CandidateView } from '../../api/views/process.ts'
import type { MergePlanView } from '../../api/views/diff.ts'
import { Failure } from '../errors.ts'
import { withWaitNote } from '../follow/wait-note.ts'
import type { Args } from '../input/args.ts'
import { candidatesOf, resolveForRead } from '../input/which-process.ts'
import { formatCount } from '../../faces/format.ts'
import type { Output } from '../print/output.ts'
import { processTitle } from '../print/process-text.ts'
import { oneLine } from '../print/text.ts'
import type { GitIdentity, UserCheckout } from './checkout.ts'

/** the greatest number of commits that are printed */
const MAX_COMMITS = 10

type SendPlan = (ref: string) => Promise<MergePlanView>

/**
 * Requests the plan. A dry run only reads, so it takes the newest of several ended processes with the name. Processes of other
 * repositories do not count: their work cannot be merged here. Ended crews with one name work on one branch, so the newest stands for all.
 */
export async function requestPlan(args: Args, out: Output, send: SendPlan): Promise<MergePlanView> {
  return withWaitNote(
    out,
    () => ({ key: 'plan', what: 'the daemon to compare the work with your branch', ends: 'Ctrl+C ends it, and nothing changes' }),
    sendPlan(args, out, send),
  )
}

async function sendPlan(args: Args, out: Output, send: SendPlan): Promise<MergePlanView> {
  const ref = args.words[0] ?? ''
  try {
    return await send(ref)
  } catch (error) {
    const plan = error instanceof ApiError && error.code === 'AMBIGUOUS' ? await planOfCandidates(candidatesOf(error.details), send) : null
    if (plan !== null) return plan
    if (args.on('dry-run')) return resolveForRead(ref, out, send)
    throw error
  }
}

/** Returns the plan of the only candidate in this repository, or of the newest if all are ended crews with one branch. Else null. */
async function planOfCandidates(candidates: readonly CandidateView[], send: SendPlan): Promise<MergePlanView | null> {
  const plans = await Promise.all(
    candidates.map(({ uuid }) => send(uuid).catch((error: unknown) => (isElsewhere(error) ? 'elsewhere' : null))),
  )
  const here = plans.filter((plan) => plan !== 'elsewhere')
  const [newest] = here
  if (!newest) return null
  if (here.length === 1) return newest
  if (!here.every((plan) => plan?.of === 'crew' && plan.ended && plan.branch === newest.branch)) return null
  // The candidates are sorted newest first. The check for changed hooks and programs then covers the time of all these crews.
  const oldest = candidates.findLast((_, index) => plans[index] !== 'elsewhere')
  return { ...newest, createdAt: oldest?.createdAt ?? newest.createdAt }
}

/** Whether the error states that the process works in another repository. */
function isElsewhere(error: unknown): boolean {
  return error instanceof ApiError && typeof error.details?.['repository'] === 'string'
}

/** Whether the work changes no file. */
export function isEmptyWork({ files, conflicts }: MergePlanView): boolean {
  return files.length === 0 && conflicts.length === 0
}

/** Checks that this is not the worktree of the process, where the user's git must not merge or push. Errors: exit 1. */
export function checkOutsideWorktree({ top }: UserCheckout, plan: MergePlanView): void {
  if (plan.dir !== null && top === realDir(plan.dir))
    throw new Failure(1, `this is the worktree of ${processTitle(plan)} itself`, 'Change to your own checkout of the repository.')
}

/** Checks that the process can no longer change its files. Errors: exit 1. */
export function checkEnded({ ended, ...plan }: MergePlanView, verb: 'merge' | 'pr'): void {
  if (ended) return
  const effect = { merge: 'merges', pr: 'pushes' }[verb]
  throw new Failure(
    1,
    `${processTitle(plan)} has not ended, and may still change its files`,
    `\`reeve wait ${plan.pid}\` waits for its end. \`reeve ${verb} --unfinished ${plan.pid}\` ${effect} its files as they are now.`,
  )
}

/**
 * Returns the author for a commit of uncommitted files. It is the user if there are such files, or if a living process may still make some.
 * Else nothing will be committed, and the author is reeve. Errors: exit 1 if git knows no user.
 */
export function authorOf({ uncommitted, ended, of }: MergePlanView, checkout: UserCheckout): Promise<GitIdentity> {
  const mayCommit = uncommitted > 0 || (!ended && of !== 'crew')
  return mayCommit ? checkout.identity() : Promise.resolve({ name: 'reeve', email: 'reeve@localhost' })
}

/** Describes the size of the work, such as `2 commits and 1 uncommitted file`. */
export function describeWork({ commits, uncommitted, of }: MergePlanView): string {
  return [
    ...(commits.length > 0 ? [formatCount(commits.length, 'commit')] : []),
    ...(uncommitted > 0 ? [formatCount(uncommitted, of === 'salvage' ? 'salvaged file' : 'uncommitted file')] : []),
  ].join(' and ')
}

export async function printCommits({ commits }: MergePlanView, out: Output): Promise<void> {
  for (const { commit, subject } of commits.slice(0, MAX_COMMITS)) await out.message(` ${commit.slice(0, 10)} ${oneLine(subject)}`)
  if (commits.length > MAX_COMMITS) await out.message(` and ${commits.length - MAX_COMMITS} earlier ones`)
}

function realDir(dir: string): string | null {
  try {
    return realpathSync(dir)
  } catch {
    // The worktree is gone, so no process can be in it.
    return null
  }
}
