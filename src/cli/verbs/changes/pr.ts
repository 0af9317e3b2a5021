// `reeve pr`: pushes what a process did in its worktree, or a crew on its branch, and opens a pull request for it. All that reeve can check
// is checked before anything changes. The daemon commits the files; the user's own git, gh and glab do the rest. Test:
// test/e2e/worktree/pr.test.ts.
import type { MergePlanView } from '../../../api/views/diff.ts'
import { changedAddresses, changedPrograms, PUSH_PROGRAMS } from '../../actions/changed-programs.ts'
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
import {
  describePullRequest,
  findHostingTool,
  openPullRequest,
  pullRequestPage,
  repositoryOwner,
  type HostingTool,
  type PullRequest,
  type PushedBranch,
} from '../../actions/pull-request.ts'
import { Failure, UsageError } from '../../errors.ts'
import { withWaitNote } from '../../follow/wait-note.ts'
import type { Args } from '../../input/args.ts'
import { askToConfirm } from '../../input/confirm.ts'
import { pathsText, statLines } from '../../print/diff.ts'
import type { Output } from '../../print/output.ts'
import { processTitle } from '../../print/process-text.ts'
import { oneLine } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

interface Push {
  readonly plan: MergePlanView
  readonly checkout: UserCheckout
  readonly target: Target
  readonly pullRequest: PullRequest
  /** null: neither gh nor glab is installed */
  readonly tool: HostingTool | null
}

/** Where the work is pushed. */
interface Target extends PushedBranch {
  readonly remote: string
  /** all addresses, for the user to read */
  readonly addresses: string
}

/** What was done. `url`: the pull request, or the page on which the user opens it. */
interface PrResult {
  readonly commit: string | null
  readonly opened: boolean
  readonly url: string | null
}

const NOTHING: PrResult = { commit: null, opened: false, url: null }

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const checkout = await UserCheckout.find()
  const remote = args.text('remote') ?? (await remoteOf(checkout))
  const [address = '', ...more] = await checkout.pushAddresses(remote)
  const base = await findBase(checkout, remote, args.text('base'))
  const { repository, top } = checkout
  const plan = await requestPlan(args, out, (ref) => reeve.planMerge(ref, { onto: base.commit, repository, top }))
  const branch = args.text('branch') ?? plan.branch
  const fork = await forkOwner(checkout, remote, address)
  const target = { remote, address, branch, fork, addresses: [address, ...more].map(withoutCredentials).join(', ') }
  const pullRequest = await pullRequestOf(args, plan, async () => (await reeve.get(plan.uuid)).intent)
  const push: Push = { plan, checkout, target, pullRequest, tool: await findHostingTool(address) }
  if (isEmptyWork(plan)) {
    await out.message(`nothing to push: ${base.name} has all the work of ${processTitle(plan)}`)
    return printResult(out, push, NOTHING)
  }
  await printPlan(push, out)
  await checkPush(push, { isUnfinished: args.on('unfinished'), trustsPrograms: args.on('trust-programs') }, out)
  if (args.on('dry-run')) return printDryRun(push, out)
  const author = await authorOf(plan, checkout)
  const { commit } = await reeve.commitWork(plan.uuid, { author, unfinished: args.on('unfinished') })
  const output = await withWaitNote(
    out,
    () => ({ key: 'push', what: `git to push to ${remote}`, ends: 'Ctrl+C ends the push' }),
    checkout.push(remote, commit, branch),
  )
  await out.message(`pushed ${commit.slice(0, 12)} to ${oneLine(branch)} of ${oneLine(remote)}`)
  return printResult(out, push, { commit, ...(await openOrExplain(push, output, out)) })
}

/** Returns the remote to which `git push` goes from the checked-out branch. If none is configured, the only remote, or else `origin`. */
async function remoteOf(checkout: UserCheckout): Promise<string> {
  const branch = await checkout.branch()
  const settings = [`branch.${branch}.pushRemote`, 'remote.pushDefault', `branch.${branch}.remote`]
  for (const setting of settings) {
    const remote = (await checkout.read('config', '--get', setting)).trim()
    // A dot is this repository itself, which a branch may follow.
    if (remote !== '' && remote !== '.') return remote
  }
  const [only = 'origin', ...others] = await checkout.remotes()
  return others.length === 0 ? only : 'origin'
}

/** What the pull request is compared with. */
interface Base {
  readonly commit: string
  /** for the user */
  readonly name: string
}

/**
 * Returns the newest known commit of the branch to merge into. If this repository has never fetched that branch, the checked-out commit.
 */
async function findBase(checkout: UserCheckout, remote: string, base: string | undefined): Promise<Base> {
  const names = base === undefined ? ['HEAD', 'main', 'master'] : [base]
  for (const name of names) {
    const commit = (await checkout.read('rev-parse', '-q', '--verify', `refs/remotes/${remote}/${name}^{commit}`)).trim()
    if (commit !== '') return { commit, name: name === 'HEAD' ? remote : `${remote}/${name}` }
  }
  return { commit: checkout.head, name: await checkout.branch() }
}

/** Returns the owner of the remote, if the repository has an `upstream` for which pull requests are made. */
async function forkOwner(checkout: UserCheckout, remote: string, address: string): Promise<string | null> {
  return remote !== 'upstream' && (await checkout.remotes()).includes('upstream') ? repositoryOwner(address) : null
}

async function pullRequestOf(args: Args, plan: MergePlanView, readIntent: () => Promise<string>): Promise<PullRequest> {
  const given = { title: args.text('title'), body: args.text('body') }
  const described = describePullRequest(plan, await readIntent())
  return {
    title: given.title ?? described.title,
    body: given.body ?? described.body,
    isDraft: args.on('draft'),
    base: args.text('base'),
  }
}

async function printPlan({ plan, target }: Push, out: Output): Promise<void> {
  const { branch, remote, addresses } = target
  const renamed = branch === plan.branch ? '' : ` as ${oneLine(branch)}`
  await out.message(
    `${processTitle(plan)}: ${describeWork(plan)} on ${oneLine(plan.branch)}, to ${oneLine(remote)} (${oneLine(addresses)})${renamed}`,
  )
  await printCommits(plan, out)
  if (plan.conflicts.length > 0) await out.message(`the branch to merge into has other changes in ${pathsText(plan.conflicts)}`)
  else for (const line of statLines(plan, out, out.columns)) await out.message(line)
}

async function printDryRun(push: Push, out: Output): Promise<number> {
  const { pullRequest, tool } = push
  await out.message(`${tool ?? 'neither gh nor glab is installed; you'} would open the ${pullRequest.isDraft ? 'draft ' : ''}pull request:`)
  await out.message([pullRequest.title, '', ...pullRequest.body.split('\n')].map((line) => `  ${oneLine(line)}`.trimEnd()).join('\n'))
  await out.message('a dry run: nothing was changed')
  return printResult(out, push, NOTHING)
}

function withoutCredentials(address: string): string {
  return address.replace(/^(\w+:\/\/)[^/@]*@/, '$1')
}

interface CheckOptions {
  readonly isUnfinished: boolean
  readonly trustsPrograms: boolean
}

/** Checks all that would prevent the push, before anything changes. Errors: exit 1; exit 64 for a branch that cannot be pushed to. */
async function checkPush(
  { plan, checkout, target, pullRequest }: Push,
  { isUnfinished, trustsPrograms }: CheckOptions,
  out: Output,
): Promise<void> {
  const { branch, remote, addresses } = target
  checkOutsideWorktree(checkout, plan)
  if ((await checkout.read('check-ref-format', '--branch', branch)) === '') throw new UsageError(`"${branch}" is not a valid branch name`)
  // Empty if the default branch of the remote is not known; then only a given base is refused.
  const main = (await checkout.read('symbolic-ref', '-q', '--short', `refs/remotes/${remote}/HEAD`)).trim().slice(remote.length + 1)
  if (branch === (pullRequest.base ?? main))
    throw new UsageError(`${oneLine(branch)} is the branch to merge into`, '`--branch NAME` pushes to another branch.')
  if (!isUnfinished) checkEnded(plan, 'pr')
  if (trustsPrograms) return
  const programs = await changedPrograms(checkout, plan, PUSH_PROGRAMS)
  if (programs.length > 0)
    throw new Failure(
      1,
      `git would run programs that changed since ${processTitle(plan)} began: ${pathsText(programs)}`,
      `Read them. Then \`reeve pr --trust-programs ${plan.pid}\` pushes.`,
    )
  const settings = await changedAddresses(checkout, plan)
  if (settings.length === 0) return
  await out.message(`the address may have changed since ${processTitle(plan)} began: ${pathsText(settings)}`)
  if (out.isTerminal('stderr') && process.stdin.isTTY && !out.json && (await askToConfirm(`Push to ${oneLine(addresses)}?`))) return
  throw new Failure(
    1,
    `nothing was pushed to ${oneLine(addresses)}`,
    `If that is the right address, \`reeve pr --trust-programs ${plan.pid}\` pushes.`,
  )
}

/** Opens the pull request. Without a tool, explains how the user opens it. */
async function openOrExplain(
  { checkout, tool, target, pullRequest }: Push,
  output: string,
  out: Output,
): Promise<Pick<PrResult, 'opened' | 'url'>> {
  if (tool === null) {
    const url = pullRequestPage(output, target)
    await out.message(
      url === null
        ? `neither gh nor glab is installed: open the pull request of ${oneLine(target.branch)} on its hosting site`
        : 'neither gh nor glab is installed: open the pull request on this page',
    )
    return { opened: false, url }
  }
  const { url, wasOpen, text } = await withWaitNote(
    out,
    () => ({ key: 'open', what: `${tool} to open the pull request`, ends: `Ctrl+C ends ${tool}` }),
    openPullRequest(checkout, tool, target, pullRequest),
  )
  if (wasOpen) await out.message('the pull request is open already, and has the new commits')
  if (url === null && text !== '') await out.message(text)
  return { opened: !wasOpen, url }
}

async function printResult(out: Output, { plan, target, pullRequest, tool }: Push, result: PrResult): Promise<number> {
  const { commit, opened, url } = result
  const { version: _, files, conflicts, ...rest } = plan
  const { remote, branch, addresses } = target
  const { title, body, isDraft } = pullRequest
  if (out.json)
    await out.value({
      ...{ pushed: commit !== null, opened, url, commit, remote, address: addresses, branch, tool },
      request: { title, body, draft: isDraft, base: pullRequest.base ?? null },
      ...{ files, conflicts, plan: rest },
    })
  else if (url !== null) await out.line(url)
  return 0
}
