// The pull request of a pushed branch: its title and text, and the programs gh and glab, which open it. If none that fits the
// remote is installed, the page on which the user opens it. Test: test/e2e/worktree/pr.test.ts.
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { MergePlanView } from '../../api/views/diff.ts'
import { Failure } from '../errors.ts'
import { stripControls } from '../print/text.ts'
import type { UserCheckout } from './checkout.ts'

/** the longest title that is made from an intent, in characters */
const MAX_TITLE_CHARS = 72
/** the longest text; GitHub takes 65,536 characters */
const MAX_BODY_CHARS = 60_000
/** the greatest number of commits that the text of a crew lists */
const MAX_COMMITS = 50
const URL_IN_TEXT = /https?:\/\/[^\s'"<>]+/

export interface PullRequest {
  readonly title: string
  readonly body: string
  readonly isDraft: boolean
  /** the branch to merge into; undefined: the default branch of the remote */
  readonly base: string | undefined
}

/** Returns the default title and text, made from the intent. The text of a crew lists its commits, oldest first; at most the newest 50. */
export function describePullRequest(
  { pid, name, of, commits }: Pick<MergePlanView, 'pid' | 'name' | 'of' | 'commits'>,
  intent: string,
): Pick<PullRequest, 'title' | 'body'> {
  const origin = `Made by reeve, process ${pid}${name === null ? '' : ` (${name})`}.`
  const whole = stripControls(intent).trim()
  // A crew without a goal has the number of its tasks as its intent.
  const isCount = of === 'crew' && /^\d+ tasks?$/.test(whole)
  const first = isCount ? `${name ?? 'crew'}: ${whole}` : (whole.split('\n', 1)[0] ?? '').trim()
  const title = first.length > MAX_TITLE_CHARS ? `${first.slice(0, MAX_TITLE_CHARS - 1).trimEnd()}…` : first
  const listed = commits.slice(0, MAX_COMMITS).map(({ subject }) => `- ${stripControls(subject)}`)
  const text = of === 'crew' ? listed.toReversed().join('\n') : whole === title ? '' : whole
  return {
    title: title || `Work of ${name ?? `process ${pid}`}`,
    body: [...(text === '' ? [] : [text.slice(0, MAX_BODY_CHARS)]), origin].join('\n\n'),
  }
}

export type HostingTool = 'gh' | 'glab'

/** A pushed branch. `address`: that of the remote. `fork`: the owner of the remote, if the pull request is for another repository. */
export interface PushedBranch {
  readonly branch: string
  readonly address: string
  readonly fork: string | null
}

const TOOL_ARGS: Readonly<Record<HostingTool, (pushed: PushedBranch, pullRequest: PullRequest) => string[]>> = {
  gh: ({ branch, fork }, { title, body, isDraft, base }) => [
    ...['pr', 'create', '--head', fork === null ? branch : `${fork}:${branch}`, '--title', title, '--body', body],
    ...(base === undefined ? [] : ['--base', base]),
    ...(isDraft ? ['--draft'] : []),
  ],
  glab: ({ branch }, { title, body, isDraft, base }) => [
    ...['mr', 'create', '--source-branch', branch, '--title', title, '--description', body, '--yes'],
    ...(base === undefined ? [] : ['--target-branch', base]),
    ...(isDraft ? ['--draft'] : []),
  ],
}

/** Returns the installed tool for the remote; for an unknown host, the first that is installed. */
export async function findHostingTool(address: string): Promise<HostingTool | null> {
  const fitting: readonly HostingTool[] = /gitlab/i.test(address) ? ['glab'] : /github/i.test(address) ? ['gh'] : ['gh', 'glab']
  for (const name of fitting) if (await isInstalled(name)) return name
  return null
}

async function isInstalled(program: string): Promise<boolean> {
  const dirs = (process.env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '')
  const found = await Promise.all(
    dirs.map((dir) =>
      access(join(dir, program), constants.X_OK).then(
        () => true,
        // A missing file and one that this user cannot run mean the same here.
        () => false,
      ),
    ),
  )
  return found.includes(true)
}

export interface OpenedPullRequest {
  /** the page of the pull request; null: the tool named none */
  readonly url: string | null
  /** it was open before, so the push has added the commits to it */
  readonly wasOpen: boolean
  /** what the tool wrote */
  readonly text: string
}

/** Opens the pull request of a pushed branch. Errors: exit 1 with the message of the tool. */
export async function openPullRequest(
  checkout: UserCheckout,
  tool: HostingTool,
  pushed: PushedBranch,
  pullRequest: PullRequest,
): Promise<OpenedPullRequest> {
  const { code, stdout, stderr } = await checkout.runTool(tool, TOOL_ARGS[tool](pushed, pullRequest))
  const text = stripControls(`${stdout}\n${stderr}`).trim()
  const url = URL_IN_TEXT.exec(text)?.[0] ?? null
  const wasOpen = code !== 0 && /already exists/i.test(text)
  if (code === 0 || wasOpen) return { url, wasOpen, text }
  throw new Failure(
    1,
    `${tool} failed: ${text || `it ended with code ${code}`}`,
    `The branch ${pushed.branch} is pushed. Repeat the command, or open the pull request by hand.`,
  )
}

/** Returns the page on which the user opens a pull request: the one that the remote named, else that of a known host. */
export function pullRequestPage(output: string, { address, branch }: PushedBranch): string | null {
  const reported = output.split('\n').filter((line) => line.startsWith('remote:'))
  const named = URL_IN_TEXT.exec(reported.join('\n'))?.[0]
  if (named !== undefined) return named
  const [, host = '', path = ''] = /^(?:\w+:\/\/)?(?:[^@/]*@)?([^:/]+)(?::\d+)?[:/](.+?)(?:\.git)?\/?$/.exec(address) ?? []
  if (/(^|\.)github\./i.test(host)) return `https://${host}/${path}/pull/new/${encodeURI(branch)}`
  if (/(^|\.)gitlab\./i.test(host))
    return `https://${host}/${path}/-/merge_requests/new?merge_request%5Bsource_branch%5D=${encodeURIComponent(branch)}`
  return null
}

/** Returns the owner of a repository on GitHub: `ann` of `git@github.com:ann/shop.git`; null if the address has none. */
export function repositoryOwner(address: string): string | null {
  return /[:/]([^:/]+)\/[^/]+\/?$/.exec(address)?.[1] ?? null
}
