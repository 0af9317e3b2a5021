// Finds the work that a crew left in git: its branch, unmerged branches beside it, and salvaged files. Must never change anything. Test:
// test/processes/crew/git.test.ts.
import { crewCall } from './merge.ts'
import { splitNames } from '../git.ts'
import type { CrewBranch } from './merge.ts'
import type { Git, GitCall } from '../git.ts'

/** maximum number of refs for each of the three patterns: side branches, salvaged files, temporary refs */
const MAX_REFS = 200
/** maximum number of changed files of a commit that is compared with the branch */
const MAX_PATHS = 500

export interface LeftBranch {
  readonly name: string
  readonly commit: string
  /** number of commits that the crew's branch does not have */
  readonly commits: number
}

export interface CrewLeftovers {
  /** the last commit of the crew's branch; null if the branch was deleted */
  readonly head: string | null
  /** number of commits on the branch since the crew began */
  readonly commits: number
  /** true if the repository's HEAD contains the whole branch */
  readonly taken: boolean
  readonly unmerged: readonly LeftBranch[]
  /** refs with salvaged files; `at`: the time of the commit in wall ms */
  readonly salvaged: readonly { readonly ref: string; readonly commit: string; readonly at: number; readonly subject: string }[]
}

export interface LeftoverQuery {
  readonly base: string
  /** patterns of refs with salvaged files */
  readonly salvagePatterns: readonly string[]
  /** refs that the crew used for reviews and handovers; the result has those whose files no other ref has */
  readonly temporaryRefs: {
    readonly refs: readonly string[]
    /** the end of the crew, as wall time in ms; younger refs belong to a later crew of the same name */
    readonly until: number
  }
}

/** Finds what a crew left in git. Errors: `GitError` if the repository is gone. */
export async function findCrewLeftovers(
  git: Git,
  crew: CrewBranch,
  { base, salvagePatterns, temporaryRefs }: LeftoverQuery,
): Promise<CrewLeftovers> {
  const call = await crewCall(crew)
  const { branch } = crew
  const head = await git.tryLine(['rev-parse', '--verify', '-q', `refs/heads/${branch}^{commit}`], call)
  const count = async (...range: readonly string[]): Promise<number> =>
    Number((await git.tryLine(['rev-list', '--count', ...range, '--'], call)) ?? 0)
  const sideBranches = await refsOf(git, call, [`refs/heads/${branch}.*`])
  const unmerged: LeftBranch[] = []
  for (const { ref, commit } of sideBranches) {
    const commits = await count(commit, `^${head ?? base}`)
    if (commits > 0) unmerged.push({ name: ref.slice('refs/heads/'.length), commit, commits })
  }
  const salvaged: CrewLeftovers['salvaged'][number][] = []
  for (const found of await refsOf(git, call, salvagePatterns))
    if (head === null || !(await hasLanded(git, call, found.commit, head))) salvaged.push(found)
  const ownTemporaryRefs = (await refsOf(git, call, temporaryRefs.refs)).filter(({ at }) => at <= temporaryRefs.until)
  return {
    head,
    commits: head === null ? 0 : await count(head, `^${base}`),
    taken: head !== null && (await git.tryRun(['merge-base', '--is-ancestor', head, 'HEAD'], call)).code === 0,
    unmerged,
    salvaged: [
      ...salvaged,
      ...(await refsWithUniqueTree(git, call, ownTemporaryRefs, [
        head ?? base,
        base,
        ...salvaged.map(({ commit }) => commit),
        ...unmerged.map(({ commit }) => commit),
      ])),
    ],
  }
}

/** Whether the crew's branch has each changed file of a commit. It has them if reeve committed the files after the review. */
async function hasLanded(git: Git, call: GitCall, commit: string, head: string): Promise<boolean> {
  const [, parent, ...others] = (await git.line(['rev-list', '--parents', '-n', '1', commit, '--'], call)).split(' ')
  if (parent === undefined || others.length > 0) return false
  const paths = splitNames(await git.run(['diff-tree', '-r', '-z', '--no-renames', '--name-only', parent, commit], call)).map(String)
  if (paths.length === 0 || paths.length > MAX_PATHS) return false
  return (
    (await git.tryRun(['diff-tree', '-r', '--quiet', commit, head, '--', ...paths.map((path) => `:(top,literal)${path}`)], call)).code === 0
  )
}

/** The refs whose tree neither the commits in `others` nor an earlier ref has. */
async function refsWithUniqueTree(
  git: Git,
  call: GitCall,
  refs: CrewLeftovers['salvaged'],
  others: readonly string[],
): Promise<CrewLeftovers['salvaged']> {
  const tree = (commit: string): Promise<string | null> => git.tryLine(['rev-parse', '--verify', '-q', `${commit}^{tree}`], call)
  const known = new Set<string | null>()
  if (refs.length > 0) for (const commit of others) known.add(await tree(commit))
  const found: CrewLeftovers['salvaged'][number][] = []
  for (const ref of refs) {
    const treeOfRef = await tree(ref.commit)
    if (!known.has(treeOfRef)) found.push(ref)
    known.add(treeOfRef)
  }
  return found
}

async function refsOf(git: Git, call: GitCall, patterns: readonly string[]): Promise<CrewLeftovers['salvaged']> {
  if (patterns.length === 0) return []
  const format = '--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents:subject)'
  const lines = await git.line(['for-each-ref', '--sort=-committerdate', `--count=${MAX_REFS}`, format, ...patterns], call)
  return lines === ''
    ? []
    : lines.split('\n').map((line) => {
        const [ref = '', commit = '', at = '0', subject = ''] = line.split('\0')
        return { ref, commit, at: Number(at) * 1_000, subject }
      })
}
