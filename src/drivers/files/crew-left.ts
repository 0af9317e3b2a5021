// What git has of a crew that a person may want: its branch, those beside it that are not merged, and what was salvaged.
// Reads only. Test: test/processes/crew-git.test.ts.
import { placeOf } from './crew-merge.ts'
import type { CrewBranch } from './crew-merge.ts'
import type { Git, GitCall } from './git.ts'

/** So many branches and refs are told of. */
const MAX_TOLD = 200

export interface LeftBranch {
  readonly name: string
  readonly commit: string
  /** commits that the crew's branch does not have */
  readonly commits: number
}

export interface CrewLeft {
  /** null: somebody deleted it */
  readonly head: string | null
  /** commits since the crew began */
  readonly commits: number
  /** what is checked out in the repository has all of it */
  readonly taken: boolean
  readonly unmerged: readonly LeftBranch[]
  readonly salvaged: readonly { readonly ref: string; readonly commit: string; readonly at: number; readonly subject: string }[]
}

export interface LeftQuery {
  readonly base: string
  /** patterns of refs with what was salvaged */
  readonly salvages: readonly string[]
}

/** Errors: `GitError` where the repository is gone. */
export async function crewLeft(git: Git, crew: CrewBranch, { base, salvages }: LeftQuery): Promise<CrewLeft> {
  const { where, ...call } = await placeOf(crew)
  const { branch } = crew
  const head = await git.maybe([...where, 'rev-parse', '--verify', '-q', `refs/heads/${branch}^{commit}`], call)
  const count = async (...range: readonly string[]): Promise<number> => Number((await git.maybe([...where, 'rev-list', '--count', ...range, '--'], call)) ?? 0)
  const beside = await refsOf(git, where, call, [`refs/heads/${branch}.*`])
  const unmerged: LeftBranch[] = []
  for (const { ref, commit } of beside) {
    const commits = await count(commit, `^${head ?? base}`)
    if (commits > 0) unmerged.push({ name: ref.slice('refs/heads/'.length), commit, commits })
  }
  return {
    head, commits: head === null ? 0 : await count(head, `^${base}`),
    taken: head !== null && (await git.ask([...where, 'merge-base', '--is-ancestor', head, 'HEAD'], call)).code === 0,
    unmerged, salvaged: await refsOf(git, where, call, salvages),
  }
}

async function refsOf(git: Git, where: readonly string[], call: GitCall, patterns: readonly string[]): Promise<CrewLeft['salvaged']> {
  const format = '--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(contents:subject)'
  const lines = await git.line([...where, 'for-each-ref', '--sort=-committerdate', `--count=${MAX_TOLD}`, format, ...patterns], call)
  return lines === '' ? [] : lines.split('\n').map((line) => {
    const [ref = '', commit = '', at = '0', subject = ''] = line.split('\0')
    return { ref, commit, at: Number(at) * 1_000, subject }
  })
}
