// A crew's branch in the user's repository: made, merged into, and what is left beside it for a person. Works on objects and refs alone.
// Owns that a ref is only moved from where it was seen. Must never touch a checkout, an index, a branch outside `reeve/`, or one
// that somebody has checked out. Tests: test/processes/crew-git.test.ts.
import { access } from 'node:fs/promises'
import { GitError, names, userEnv } from './git.ts'
import { JOB_MS, identity } from './crew-tree.ts'
import { dropBranch } from './worktree.ts'
import type { Git, GitCall } from './git.ts'

/** How often a branch that others move at the same time is merged into anew. */
const MAX_TRIES = 5
/** So many branches of one name are told apart. */
const MAX_NUMBER = 100
/** How far back a merge is looked for. */
const MAX_LOOKED_AT = 10_000
const MAX_FILES = 100
/** What git answers to a call that it does not know. */
const UNKNOWN = 129
/** What is told is to be there after a loss of power, too. */
const DURABLE = ['-c', 'core.fsync=committed,reference', '-c', 'core.fsyncMethod=fsync']

export interface CrewBranch {
  /** the git directory that all worktrees share */
  readonly repository: string
  /** short name */
  readonly branch: string
  readonly env: Readonly<Record<string, string>>
  /** where git looks for attributes (`merge=union`): a worktree; default: nowhere */
  readonly dir?: string
  readonly lockMs?: number
}

export type MergeEnd =
  | { readonly type: 'merged'; readonly commit: string; readonly notes: readonly string[] }
  /** the branch has what could not be merged */
  | { readonly type: 'conflict'; readonly files: readonly string[]; readonly more: number; readonly branch: string }
  | { readonly type: 'left'; readonly branch: string; readonly reason: string }

/** Where the branch is; made at a commit if it is not there. Errors: `GitError`. */
export async function crewHead(git: Git, crew: CrewBranch, otherwise: string): Promise<string> {
  const call = await placeOf(crew)
  const ref = `refs/heads/${crew.branch}`
  const head = await git.maybe([...call.where, 'rev-parse', '--verify', '-q', `${ref}^{commit}`], call)
  if (head !== null) return head
  const made = await git.run([...DURABLE, ...call.where, 'update-ref', '-m', 'reeve: the branch of a crew', '--create-reflog', ref, otherwise, ''], call).then(() => null, (error: unknown) => error)
  if (made === null) return otherwise
  // Members begin at the same time: another one may have made it meanwhile.
  const other = await git.maybe([...call.where, 'rev-parse', '--verify', '-q', `${ref}^{commit}`], call)
  if (other === null) throw made
  return other
}

export interface MergeRequest {
  readonly commit: string
  readonly message: string
  /** short name of the branch that has the commit where it cannot be merged */
  readonly left: string
}

/** Merges a commit into the crew's branch. Called again for the same commit it gives the same. Errors: `GitError`. */
export async function mergeInto(git: Git, crew: CrewBranch, request: MergeRequest): Promise<MergeEnd> {
  const call = await placeOf(crew)
  const leave = async (reason: string): Promise<MergeEnd> => ({ type: 'left', branch: await leaveBranch(git, crew, request), reason })
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const head = await git.maybe([...call.where, 'rev-parse', '--verify', '-q', `refs/heads/${crew.branch}^{commit}`], call)
    if (head === null) throw new GitError(`there is no branch ${crew.branch} any more`)
    if (await isIn(git, call, request.commit, head)) return done(git, crew, request, await mergedAs(git, call, request.commit, head), [])
    const user = await checkedOutAt(git, call, crew.branch)
    if (user !== null) return leave(`${crew.branch} is checked out in ${user}, and what is checked out is not moved: check out another branch there`)
    const next = await mergeCommits(git, crew, { head, commit: request.commit, message: request.message })
    if (next.type === 'unable') return leave(next.reason)
    if (next.type === 'conflict') return { ...next, branch: await leaveBranch(git, crew, request) }
    if (await moveTo(git, crew, next.commit, head)) return done(git, crew, request, next.commit, next.notes)
  }
  return leave(`others moved ${crew.branch} ${MAX_TRIES} times meanwhile`)
}

/** A branch of the crew's at a commit, for a person or for whoever resolves it; a second one where that name is taken. */
export async function leaveBranch(git: Git, crew: CrewBranch, { commit, left }: Pick<MergeRequest, 'commit' | 'left'>): Promise<string> {
  const call = await placeOf(crew)
  for (let number = 1; number <= MAX_NUMBER; number += 1) {
    const name = number === 1 ? left : `${left}-${number}`
    const at = await git.maybe([...call.where, 'rev-parse', '--verify', '-q', `refs/heads/${name}`], call)
    if (at === commit) return name
    if (at !== null) continue
    await git.run([...DURABLE, ...call.where, 'update-ref', '-m', 'reeve: not merged', '--create-reflog', `refs/heads/${name}`, commit, ''], call)
    return name
  }
  throw new GitError(`there are ${MAX_NUMBER} branches ${left}-* already: merge or delete some`)
}

/** One commit that has all of these, on a ref that is no branch; for a task that goes on from others which are not merged. */
export async function together(git: Git, crew: CrewBranch, head: string, { commits, ref }: { readonly commits: readonly string[]; readonly ref: string }): Promise<{ readonly commit: string } | { readonly problem: string }> {
  const call = await placeOf(crew)
  let at = head
  for (const commit of commits) {
    if (await isIn(git, call, commit, at)) continue
    const next = await mergeCommits(git, crew, { head: at, commit, message: `Merge ${commit.slice(0, 12)}, which this goes on from\n` })
    if (next.type === 'conflict') return { problem: `what it needs does not go together: conflicts in ${next.files.join(', ')}` }
    if (next.type === 'unable') return { problem: next.reason }
    at = next.commit
  }
  if (at !== head) await git.run([...call.where, 'update-ref', ref, at], call)
  return { commit: at }
}

type Next =
  | { readonly type: 'next'; readonly commit: string; readonly notes: readonly string[] }
  | { readonly type: 'conflict'; readonly files: readonly string[]; readonly more: number }
  | { readonly type: 'unable'; readonly reason: string }

async function mergeCommits(git: Git, crew: CrewBranch, { head, commit, message }: { readonly head: string; readonly commit: string; readonly message: string }): Promise<Next> {
  const call = await placeOf(crew)
  if (await isIn(git, call, head, commit)) return { type: 'next', commit, notes: [] }
  const { code, stdout, stderr } = await git.ask([...DURABLE, ...call.where, 'merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', head, commit], call)
  if (code === UNKNOWN) return { type: 'unable', reason: 'this git cannot merge without a checkout: 2.38 and later can' }
  const [tree = Buffer.alloc(0), ...files] = names(stdout)
  if (code === 1) return { type: 'conflict', files: files.slice(0, MAX_FILES).map(String), more: Math.max(0, files.length - MAX_FILES) }
  if (code !== 0) return { type: 'unable', reason: stderr.toString().trim().split('\n').at(-1)?.replace(/^(fatal|error): /, '') || 'git could not merge it' }
  const who = await identity(git, call, crew.env)
  const merge = await git.line([...DURABLE, ...call.where, 'commit-tree', tree.toString().trim(), '-p', head, '-p', commit, '-F', '-'], { ...call, env: who.env, input: Buffer.from(message) })
  return { type: 'next', commit: merge, notes: who.notes }
}

/** False if it is elsewhere by now. */
async function moveTo(git: Git, crew: CrewBranch, to: string, from: string): Promise<boolean> {
  const call = await placeOf(crew)
  const ref = `refs/heads/${crew.branch}`
  const { code, stderr } = await git.ask([...DURABLE, ...call.where, 'update-ref', '-m', 'reeve: merged', ref, to, from], call)
  if (code === 0) return true
  if ((await git.maybe([...call.where, 'rev-parse', '--verify', '-q', ref], call)) !== from) return false
  throw new GitError(stderr.toString().trim())
}

/** What was left beside it is of no use any more. */
async function done(git: Git, crew: CrewBranch, request: MergeRequest, commit: string, notes: readonly string[]): Promise<MergeEnd> {
  const call = await placeOf(crew)
  const left = await git.line([...call.where, 'for-each-ref', '--format=%(refname:lstrip=2)', '--points-at', request.commit, `refs/heads/${request.left}`, `refs/heads/${request.left}-*`], call)
  for (const branch of left === '' ? [] : left.split('\n')) await dropBranch(git, { ...call, cwd: crew.repository }, branch)
  return { type: 'merged', commit, notes }
}

/** The commit that brought it in: itself, or the merge of it. */
async function mergedAs(git: Git, call: Where, commit: string, head: string): Promise<string> {
  const line = await git.line([...call.where, 'rev-list', '--first-parent', '--parents', '-n', String(MAX_LOOKED_AT), head], call)
  for (const [own = '', , ...merged] of line.split('\n').map((one) => one.split(' '))) {
    if (own === commit || merged.includes(commit)) return own
  }
  return head
}

/** Whether the first is the second, or was before it. */
async function isIn(git: Git, call: Where, commit: string, head: string): Promise<boolean> {
  const { code, stderr } = await git.ask([...call.where, 'merge-base', '--is-ancestor', commit, head], call)
  if (code !== 0 && code !== 1) throw new GitError(stderr.toString().trim())
  return code === 0
}

/** The worktree that has it checked out. */
async function checkedOutAt(git: Git, call: Where, branch: string): Promise<string | null> {
  const at = await git.line([...call.where, 'for-each-ref', '--format=%(worktreepath)', `refs/heads/${branch}`], call)
  return at !== '' && (await isThere(at)) ? at : null
}

type Where = GitCall & { readonly where: readonly string[] }

/** Errors: `GitError` where the repository is gone. */
export async function placeOf({ repository, dir, env, lockMs }: CrewBranch): Promise<Where> {
  if (!(await isThere(repository))) throw new GitError(`the repository ${repository} is gone: if it was moved, move it back`)
  const call = { cwd: repository, env: userEnv(env), where: [`--git-dir=${repository}`], limitMs: JOB_MS, ...(lockMs === undefined ? {} : { lockMs }) }
  return dir !== undefined && (await isThere(dir)) ? { ...call, cwd: dir, where: [...call.where, `--work-tree=${dir}`] } : call
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false)
}
