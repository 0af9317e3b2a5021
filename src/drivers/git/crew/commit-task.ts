// Commits the files of a member for its task, unless the member has committed them itself. The result has notes about hooks that did not
// run, and about the author. May be interrupted at any instruction, and repeated. Must never run while the member is in a turn, nor move a
// branch of the user. Tests: test/processes/crew/git.test.ts, test/processes/crew/git-crash.test.ts.
import { readdir } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { REEVE_IDENTITY, splitNames, userGitEnv } from '../git.ts'
import { LONG_CALL_MS, mergeHeads, openMember, removeMergeFiles, UNFINISHED_OPERATIONS } from './member-worktree.ts'
import { addAll, clearSkipFlags, dirtyNames, untrackedRepositories } from '../uncommitted-files.ts'
import { pathExists } from '../../common/path-exists.ts'
import type { MemberTree } from './member-worktree.ts'
import type { Git, GitCall, GitUser } from '../git.ts'
import type { OpenWorktree } from '../open-worktree.ts'

/** maximum length of the output of hooks, in characters; its end is kept */
const MAX_OUTPUT_CHARS = 4_000
/** maximum number of files in a result */
const MAX_NAMED_FILES = 20
/** Hooks that a commit runs. */
const COMMIT_HOOKS = ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit']

export interface CommitRequest {
  /** the commit at which the task began */
  readonly base: string
  /** short name of the crew's branch; its commits do not belong to this task */
  readonly crew: string
  readonly message: string
  /** true: reeve commits uncommitted files itself */
  readonly mayCommit: boolean
}

export type CommitEnd =
  /** `left` is the number of changed files that are not in the commit. `files` has the first of these. */
  | {
      readonly type: 'committed'
      readonly commit: string
      readonly commits: number
      readonly left: number
      readonly files: readonly string[]
      readonly notes: readonly string[]
    }
  /** the task has changed nothing */
  | { readonly type: 'nothing' }
  /** files are changed, and not committed */
  | { readonly type: 'uncommitted'; readonly files: readonly string[]; readonly more: number }
  /** a hook or git refused the commit */
  | { readonly type: 'refused'; readonly output: string }

/**
 * Returns the commit of a task, if its member has committed since the task began. Otherwise commits the files, if `mayCommit` allows it.
 */
export async function commitTask(git: Git, member: MemberTree, request: CommitRequest): Promise<CommitEnd> {
  const tree = await openMember(git, member)
  const problem = await findUnfinished(git, tree)
  if (problem !== null) return { type: 'refused', output: problem }
  await clearSkipFlags(git, tree)
  const repositories = await untrackedRepositories(git, tree)
  const files = await dirtyNames(git, tree, repositories)
  const newCommit = await newCommits(git, tree.refs, request)
  if (newCommit)
    return {
      type: 'committed',
      ...newCommit,
      left: files.length,
      files: files.slice(0, MAX_NAMED_FILES),
      notes: files.length > 0 ? [`its worker did not commit ${files.length} changed file${files.length === 1 ? '' : 's'}`] : [],
    }
  if (files.length === 0) return { type: 'nothing' }
  if (!request.mayCommit)
    return { type: 'uncommitted', files: files.slice(0, MAX_NAMED_FILES), more: Math.max(0, files.length - MAX_NAMED_FILES) }
  await detachFromOtherBranch(git, tree, member.branch)
  await addAll(git, tree, repositories)
  const staged = await git.line(['write-tree'], tree.files)
  // Line end conversion and filters may have undone all changes.
  if (staged === (await git.line(['rev-parse', 'HEAD^{tree}'], tree.refs))) return { type: 'nothing' }
  const identity = await commitIdentity(git, tree.refs, member.env)
  const end =
    tree.head === null
      ? await commitWithHooks(git, tree, { env: { ...userGitEnv(member.env), ...identity.env }, message: request.message })
      : await commitTree(git, tree, { env: identity.env, message: request.message, staged })
  if ('output' in end) return { type: 'refused', output: end.output }
  const commit = await git.line(['rev-parse', 'HEAD'], tree.refs)
  return {
    type: 'committed',
    commit,
    commits: 1,
    left: 0,
    files: [],
    notes: [
      ...identity.notes,
      ...end.notes,
      ...repositories.map((name) => `${name.toString()} is another repository and was not committed`),
    ],
  }
}

/** Detaches HEAD if it is on another branch than the member's. That branch may be the user's, and reeve's commit must not move it. */
async function detachFromOtherBranch(git: Git, { refs }: OpenWorktree, ownBranch: string): Promise<void> {
  const current = await git.tryLine(['symbolic-ref', '-q', 'HEAD'], refs)
  if (current === null || current === `refs/heads/${ownBranch}`) return
  await git.run(['update-ref', '--no-deref', '-m', 'reeve: checkout', 'HEAD', await git.line(['rev-parse', 'HEAD'], refs)], refs)
}

type CommitResult = { readonly notes: readonly string[] } | { readonly output: string }

async function commitWithHooks(
  git: Git,
  { files }: OpenWorktree,
  { env, message }: { readonly env: GitUser['env']; readonly message: string },
): Promise<CommitResult> {
  const { code, stdout, stderr } = await git.tryRun(['commit', '-q', '--cleanup=verbatim', '-F', '-'], {
    ...files,
    env,
    hooks: true,
    input: Buffer.from(message),
    limitMs: LONG_CALL_MS,
  })
  return code === 0 ? { notes: [] } : { output: `${stdout.toString()}${stderr.toString()}`.trim().slice(-MAX_OUTPUT_CHARS) }
}

/** Commits without hooks, for a member that may run no programs. A note names the hooks that did not run. */
async function commitTree(
  git: Git,
  tree: OpenWorktree,
  { env, message, staged }: { readonly env: GitUser['env']; readonly message: string; readonly staged: string },
): Promise<CommitResult> {
  const { refs } = tree
  const head = await git.line(['rev-parse', 'HEAD'], refs)
  const parents = [head, ...(await mergeHeads(tree))]
  const call = { ...refs, env: { ...refs.env, ...env } }
  const commit = await git.line(['commit-tree', staged, ...parents.flatMap((parent) => ['-p', parent]), '-F', '-'], {
    ...call,
    input: Buffer.from(message),
  })
  await git.run(['update-ref', '-m', 'reeve: commit', 'HEAD', commit, head], call)
  await removeMergeFiles(tree)
  return { notes: await hooksNote(git, tree, 'its worker must not run programs') }
}

/** A note that hooks did not run. Empty if the repository has none. */
export async function hooksNote(git: Git, tree: OpenWorktree, why: string): Promise<readonly string[]> {
  const hooks = await hooksOf(git, tree)
  return hooks.length === 0 ? [] : [`${why}, so ${hooks.join(', ')} did not run`]
}

/** The hooks of the repository that a commit would run. */
async function hooksOf(git: Git, { dir, refs }: OpenWorktree): Promise<readonly string[]> {
  // With the option `hooks`, git reports the path of the repository, and not the empty folder that reeve sets.
  const path = await git.tryLine(['config', '--path', '--get', 'core.hooksPath'], { ...refs, hooks: true })
  const hooks = path === null ? join(refs.at?.commonDir ?? '', 'hooks') : isAbsolute(path) ? path : join(dir, path)
  // A folder that cannot be listed has no hooks that git could run.
  const entries = await readdir(hooks).catch((): string[] => [])
  return COMMIT_HOOKS.filter((name) => entries.includes(name))
}

/** Describes an unfinished operation or unresolved conflicts. Null if there are none. */
async function findUnfinished(git: Git, { files, gitDir }: OpenWorktree): Promise<string | null> {
  for (const [name, verb] of Object.entries(UNFINISHED_OPERATIONS))
    if (await pathExists(join(gitDir, name))) return `a ${verb} is not finished: \`git ${verb} --continue\` or \`git ${verb} --abort\``
  const conflicts = new Set(
    splitNames(await git.run(['ls-files', '-z', '-u'], files)).map((line) => line.subarray(line.indexOf(0x09) + 1).toString()),
  )
  return conflicts.size === 0
    ? null
    : `conflicts are not resolved in ${[...conflicts].slice(0, MAX_NAMED_FILES).join(', ')}: resolve them, then \`git add\` and \`git commit\``
}

/** The last commit of the task and the number of its commits. Null if the task has none: HEAD may be at a commit of another member. */
async function newCommits(
  git: Git,
  refs: GitCall,
  { base, crew }: CommitRequest,
): Promise<{ readonly commit: string; readonly commits: number } | null> {
  const commit = await git.line(['rev-parse', 'HEAD'], refs)
  if (commit === base) return null
  const since = Number(await git.line(['rev-list', '--count', commit, `^${base}`], refs))
  const isAfter = (await git.tryRun(['merge-base', '--is-ancestor', base, commit], refs)).code === 0
  // If HEAD is not after `base`, only commits count that the crew's branch does not have.
  const ownCommits = isAfter
    ? since
    : Number(await git.line(['rev-list', '--count', commit, `^${base}`, '--not', `refs/heads/${crew}`], refs))
  return ownCommits === 0 ? null : { commit, commits: ownCommits }
}

/** An identity as `git var` prints it. */
const IDENTITY_PATTERN = /^(.*) <(.*)> \d+ [-+]\d+$/

/** The author and committer of reeve's commits: the user of git's configuration. Without one, reeve itself, with a note. */
export async function commitIdentity(
  git: Git,
  refs: GitCall,
  env: MemberTree['env'],
): Promise<{ readonly env: GitUser['env']; readonly notes: readonly string[] }> {
  const call = { ...refs, env: userGitEnv(env) }
  const identities = await Promise.all(
    ['AUTHOR', 'COMMITTER'].map(async (role) => {
      const [, name, email] =
        IDENTITY_PATTERN.exec((await git.tryLine(['-c', 'user.useConfigOnly=true', 'var', `GIT_${role}_IDENT`], call)) ?? '') ?? []
      return name === undefined || email === undefined ? null : { [`GIT_${role}_NAME`]: name, [`GIT_${role}_EMAIL`]: email }
    }),
  )
  const [author, committer] = identities
  if (author && committer) return { env: { ...author, ...committer }, notes: [] }
  return { env: REEVE_IDENTITY, notes: ['git has no user.name and user.email here, so the author is reeve'] }
}
