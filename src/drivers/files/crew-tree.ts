// The worktree of a crew's member between two tasks: brought to a commit, given on to a successor, and committed by reeve where the
// agent did not. Owns that what is in it is salvaged to a ref before anything in it changes; each function may be cut off at any
// instruction and called again. Must never run while its process is in a turn, nor touch another worktree or a branch of the user.
// Tests: test/processes/crew-git.test.ts.
import { access, mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { GitError, IDENTITY, names, personEnv, userEnv } from './git.ts'
import { unlock } from './locks.ts'
import { addAll, commitAll, dirtyNames, lookAtAll, salvageNext, submodules, untrackedRepositories } from './salvage.ts'
import type { Git, GitCall } from './git.ts'

/** Filters and hooks of the user may run, which fetch, build and test. */
const LONG_MS = 600_000
/** A status of a large repository, with filters of the user: a job that is cut off here costs a try. */
export const JOB_MS = 120_000
/** How much of what hooks say is kept, in characters: the end. */
const MAX_OUTPUT_CHARS = 4_000
/** So many files are named. */
const MAX_NAMED = 20

/** Of the whole worktree, from wherever in it. */
const CLEAN = ['clean', '-q', '-f', '-d', '--', ':/']

/** What is half done, by the place where git keeps it, and how git lets go of it without touching files. */
const HALF_DONE = { 'rebase-merge': 'rebase', 'rebase-apply': 'rebase', sequencer: 'cherry-pick' } as const

export interface MemberTree {
  readonly dir: string
  /** the git directory that all worktrees share */
  readonly repository: string
  /** the member's own branch */
  readonly branch: string
  /** below `dir`, where its process works: it stays, also when no commit has it, as a program whose directory was removed is lost */
  readonly cwd?: string
  readonly env: Readonly<Record<string, string>>
  /** how long a lock that a killed git left is waited for */
  readonly lockMs?: number
}

/** What is salvaged goes to `NAME-N`. */
export interface SalvageName {
  readonly name: string
  readonly message: string
}

interface Place {
  readonly here: GitCall
  /** of this worktree alone */
  readonly gitDir: string
}

/** The member's branch is checked out at a commit, and nothing else is there; what was there is salvaged: to that ref. Ignored files stay. */
export async function bringTo(git: Git, tree: MemberTree, at: string, salvage: SalvageName): Promise<string | null> {
  const place = await open(git, tree)
  const { here } = place
  await checkFree(git, here, tree)
  const first = await salvageNext(git, here, { ...salvage, branch: tree.branch })
  const inside = await standing(git, here, tree)
  await git.run(CLEAN, inside)
  await dropHalfDone(git, place)
  await git.run(['checkout', '-q', '-f', '-B', tree.branch, at], { ...inside, limitMs: LONG_MS })
  // Else the next commit would take back what others did to them. One whose commit is not here, or has changes, stays.
  if ((await submodules(git, here)).length > 0) await git.maybe(['submodule', '--quiet', 'update', '--no-fetch', '--recursive'], { ...here, limitMs: LONG_MS })
  // Other files are ignored at that commit than were here.
  const repositories = await untrackedRepositories(git, here)
  const others = (await dirtyNames(git, here, repositories)).length > 0 ? await salvageNext(git, here, { ...salvage, branch: tree.branch }) : null
  if (others) await git.run(CLEAN, inside)
  if (tree.cwd !== undefined) await mkdir(tree.cwd, { recursive: true }).catch((error: Error) => { throw new GitError(error.message) })
  return (first ?? others)?.ref ?? null
}

/**
 * The successor's worktree becomes what the old one's is: its commits, what was staged, changed and new. The ref has it from
 * then on, so that a second call gives the same, whatever became of the old one.
 */
export async function handOver(git: Git, { from, to, ref, salvage }: { readonly from: MemberTree; readonly to: MemberTree; readonly ref: string; readonly salvage: SalvageName }): Promise<{ readonly head: string; readonly salvaged: string | null }> {
  const { here } = await open(git, to)
  const snapshot = await giveAway(git, from, ref)
  const [, head = '', staged = head] = (await git.line(['rev-list', '--parents', '-n', '1', snapshot], here)).split(' ')
  const salvaged = await bringTo(git, to, head, salvage)
  await git.run(['read-tree', '--reset', '-u', snapshot], { ...await standing(git, here, to), limitMs: LONG_MS })
  await git.run(['read-tree', staged], here)
  await git.maybe(['update-index', '-q', '--refresh'], here)
  return { head, salvaged }
}

/** A commit with all that is in it, under a ref; what is checked out if that is all. The worktree stays as it is. */
export async function viewOf(git: Git, tree: MemberTree, ref: string): Promise<string> {
  const { here } = await open(git, tree)
  await lookAtAll(git, here)
  const repositories = await untrackedRepositories(git, here)
  const dirty = (await dirtyNames(git, here, repositories)).length > 0
  const commit = dirty ? await commitAll(git, here, { message: 'reeve: what is to be reviewed', repositories }) : await git.line(['rev-parse', 'HEAD'], here)
  await git.run(['update-ref', ref, commit], here)
  return commit
}

export async function dropView(git: Git, { dir, env }: MemberTree, ref: string): Promise<void> {
  await git.maybe(['update-ref', '-d', ref], { cwd: dir, env: userEnv(env) })
}

/** What is in no commit, and commits that nothing else names, on a ref; the worktree stays as it is. Null: nothing is, or there is no worktree. */
export async function keepFiles(git: Git, tree: MemberTree, salvage: SalvageName): Promise<string | null> {
  if (!(await isThere(tree.dir))) return null
  const { here } = await open(git, tree)
  return (await salvageNext(git, here, { ...salvage, branch: null }))?.ref ?? null
}

/** All that is in it is on a ref, for a successor; what is there already stays. The commit. */
export async function giveAway(git: Git, from: MemberTree, ref: string): Promise<string> {
  const known = await git.maybe([`--git-dir=${from.repository}`, 'rev-parse', '--verify', '-q', ref], { cwd: from.repository, env: userEnv(from.env) })
  if (known !== null) return known
  const { here } = await open(git, from)
  await lookAtAll(git, here)
  const repositories = await untrackedRepositories(git, here)
  const commit = await commitAll(git, here, { message: 'reeve: what was handed over', repositories })
  await git.run(['update-ref', '-m', 'reeve: handed over', ref, commit], here)
  return commit
}

export interface CommitRequest {
  /** where the task began */
  readonly base: string
  /** short name; what it has is no work of this task */
  readonly crew: string
  readonly message: string
  /** reeve commits what there is */
  readonly own: boolean
}

export type CommitEnd =
  | { readonly type: 'committed'; readonly commit: string; readonly commits: number; readonly notes: readonly string[] }
  /** nothing was changed */
  | { readonly type: 'nothing' }
  /** something was changed, and nobody has committed it */
  | { readonly type: 'uncommitted'; readonly files: readonly string[]; readonly more: number }
  /** a hook said no, or git did */
  | { readonly type: 'refused'; readonly output: string }

/** Whether the head has moved since the task began; else, if that is asked for, reeve commits what there is. */
export async function commitTask(git: Git, tree: MemberTree, request: CommitRequest): Promise<CommitEnd> {
  const { here, gitDir } = await open(git, tree)
  const halfDone = await unfinished(git, here, gitDir)
  if (halfDone !== null) return { type: 'refused', output: halfDone }
  await lookAtAll(git, here)
  const repositories = await untrackedRepositories(git, here)
  const files = await dirtyNames(git, here, repositories)
  const done = await moved(git, here, request)
  if (done) return { type: 'committed', ...done, notes: files.length > 0 ? [`its worker left ${files.length} changed file${files.length === 1 ? '' : 's'} out of it`] : [] }
  if (files.length === 0) return { type: 'nothing' }
  if (!request.own) return { type: 'uncommitted', files: files.slice(0, MAX_NAMED), more: Math.max(0, files.length - MAX_NAMED) }
  await addAll(git, here, repositories)
  // What git made of it, by line ends or filters, may be what was there before.
  if ((await git.ask(['diff', '--cached', '--quiet'], here)).code === 0) return { type: 'nothing' }
  const { env, notes } = await identity(git, here, tree.env)
  const { code, stdout, stderr } = await git.ask(['commit', '-q', '--cleanup=verbatim', '-F', '-'], { ...here, env, hooks: true, input: Buffer.from(request.message), limitMs: LONG_MS })
  if (code !== 0) return { type: 'refused', output: `${stdout.toString()}${stderr.toString()}`.trim().slice(-MAX_OUTPUT_CHARS) }
  const commit = await git.line(['rev-parse', 'HEAD'], here)
  return { type: 'committed', commit, commits: 1, notes: [...notes, ...repositories.map((name) => `${name.toString()} is another repository, and was left out`)] }
}

/** What would be committed half done. */
async function unfinished(git: Git, here: GitCall, gitDir: string): Promise<string | null> {
  for (const [name, verb] of Object.entries(HALF_DONE)) if (await isThere(join(gitDir, name))) return `a ${verb} is not finished: \`git ${verb} --continue\` or \`git ${verb} --abort\``
  const open = new Set(names(await git.run(['ls-files', '-z', '-u'], here)).map((line) => line.subarray(line.indexOf(0x09) + 1).toString()))
  return open.size === 0 ? null : `conflicts are not resolved in ${[...open].slice(0, MAX_NAMED).join(', ')}: resolve them, then \`git add\` and \`git commit\``
}

/** What was committed since: never by what is checked out alone, which may be where others have been. */
async function moved(git: Git, here: GitCall, { base, crew }: CommitRequest): Promise<{ readonly commit: string; readonly commits: number } | null> {
  const commit = await git.line(['rev-parse', 'HEAD'], here)
  if (commit === base) return null
  const since = Number(await git.line(['rev-list', '--count', commit, `^${base}`], here))
  const isAfter = (await git.ask(['merge-base', '--is-ancestor', base, commit], here)).code === 0
  // It went back, or elsewhere: then what counts is what the crew does not have.
  const own = isAfter ? since : Number(await git.line(['rev-list', '--count', commit, `^${base}`, '--not', `refs/heads/${crew}`], here))
  return own === 0 ? null : { commit, commits: own }
}

/** Of a commit that reeve makes for a task: who they are as git is told; else reeve, and it is said. */
export async function identity(git: Git, here: GitCall, env: MemberTree['env']): Promise<{ readonly env: Readonly<Record<string, string>>; readonly notes: readonly string[] }> {
  const own = personEnv(env)
  const known = await Promise.all(['GIT_AUTHOR_IDENT', 'GIT_COMMITTER_IDENT'].map((name) => git.maybe(['-c', 'user.useConfigOnly=true', 'var', name], { ...here, env: own })))
  if (!known.includes(null)) return { env: own, notes: [] }
  return { env: { ...own, ...IDENTITY }, notes: ['git has no user.name and user.email here, so the author is reeve'] }
}

async function open(git: Git, { dir, branch, env, lockMs }: MemberTree): Promise<Place> {
  const here = { cwd: dir, env: userEnv(env), limitMs: JOB_MS, ...(lockMs === undefined ? {} : { lockMs }) }
  if (!(await isThere(dir))) throw new GitError(`the worktree ${dir} is gone`)
  const [top, gitDir = '', common = ''] = (await git.line(['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-dir', '--git-common-dir'], here)).split('\n')
  // Without its own `.git` the question was answered by a repository above it.
  if (top !== (await realpath(dir))) throw new GitError(`${dir} is no worktree any more`)
  // Nobody but its member and reeve works in this worktree, and the member is not in a turn.
  await unlock([join(gitDir, 'index.lock'), join(gitDir, 'HEAD.lock'), join(common, 'refs', 'heads', `${branch}.lock`)], lockMs)
  return { here, gitDir }
}

/** Git removes no directory that it stands in itself. A link, or another repository, is no place to stand in. */
async function standing(git: Git, here: GitCall, { dir, cwd = dir }: MemberTree): Promise<GitCall> {
  if (cwd === dir || !(await isThere(cwd))) return here
  const inside = { ...here, cwd }
  return (await git.maybe(['rev-parse', '--show-toplevel'], inside)) === (await realpath(dir)) ? inside : here
}

/** Errors: `GitError` if somebody has the branch checked out elsewhere: older gits would move it under them. */
async function checkFree(git: Git, here: GitCall, { branch }: MemberTree): Promise<void> {
  const all = (await git.line(['worktree', 'list', '--porcelain'], here)).split('\n\n').map((one) => one.split('\n'))
  const own = await git.line(['rev-parse', '--show-toplevel'], here)
  for (const lines of all) {
    const at = lines[0]?.slice('worktree '.length) ?? ''
    if (lines.includes(`branch refs/heads/${branch}`) && at !== own && (await isThere(at))) throw new GitError(`${branch} is checked out in ${at}: check out another branch there`)
  }
}

async function dropHalfDone(git: Git, { here, gitDir }: Place): Promise<void> {
  for (const [name, verb] of Object.entries(HALF_DONE)) if (await isThere(join(gitDir, name))) await git.maybe([verb, '--quit'], here)
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false)
}
