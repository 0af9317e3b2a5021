// The repository that a crew is to work on: its branch, and the commit that this begins at. Owns that no branch of a person is
// taken: it is the crew's own, free or left by an earlier crew of that name, and checked out nowhere.
// Test: test/e2e/crew-up.test.ts.
import { GitError, userEnv, type Git } from '../drivers/files/git.ts'
import { checkWritable, findRepository } from '../drivers/files/worktree.ts'
import { KernelError } from '../kernel/errors.ts'
import { isRefName } from './worktrees.ts'
import type { CrewGitSpec } from '../crew/types.ts'

export interface Ground {
  readonly git: CrewGitSpec
  readonly notes: readonly string[]
}

export interface GroundAsked {
  readonly name: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

const WITHOUT = 'With --no-worktrees the members work in one directory, and nothing is committed.'

/** Errors: INVALID without a repository or a commit, or where nothing can be written to it, CONFLICT where the branch is somebody's. */
export async function findGround(git: Git, asked: GroundAsked): Promise<Ground> {
  const { dir: repository, head, branches } = await findRepository(git, asked.cwd, asked.env).catch((error: unknown) => {
    if (!(error instanceof KernelError) || error.code !== 'INVALID') throw error
    throw new KernelError('INVALID', error.message.replace('a worktree needs', 'a crew needs'), error.details, `\`git init\` and a first commit make one. ${WITHOUT}`)
  })
  const branch = `reeve/${asked.name}`
  if (!isRefName(asked.name)) throw new KernelError('INVALID', `git can have no branch ${branch}`, undefined, 'Give the crew another --name.')
  const within = branches.find((other) => other.startsWith(`${branch}/`))
  if (within !== undefined) throw new KernelError('CONFLICT', `the branch ${branch} cannot be made, as there is ${within}`, undefined, 'Give the crew another --name.')
  const call = { cwd: asked.cwd, env: userEnv(asked.env) }
  if ((await git.maybe([`--git-dir=${repository}`, 'rev-parse', '--verify', '-q', 'refs/heads/reeve'], call)) !== null) {
    throw new KernelError('CONFLICT', `the branch ${branch} cannot be made, as there is the branch reeve`, undefined, 'Git can have no branch below another one: `git branch -m reeve NAME` gives that one another name.')
  }
  await checkWritable(git, { repository, branch, commit: head, env: asked.env }).catch((error: unknown) => {
    if (!(error instanceof GitError)) throw error
    throw new KernelError('INVALID', `no worktree can be made of ${repository}: ${error.message}`, undefined, `The user of the daemon must be able to write there. ${WITHOUT}`)
  })
  const begins = branches.includes(branch) ? await goesOn(git, { call, repository, branch, head }) : { base: head, notes: [] }
  return { git: { repository, branch, base: begins.base }, notes: [...begins.notes, ...(await left(git, call, begins.base === head))] }
}

type Call = Parameters<Git['run']>[1]

/** What an earlier crew left and nobody has merged is gone on from; what is merged already is brought to where we are. */
async function goesOn(git: Git, { call, repository, branch, head }: { readonly call: Call; readonly repository: string; readonly branch: string; readonly head: string }): Promise<{ readonly base: string; readonly notes: readonly string[] }> {
  const where = `--git-dir=${repository}`
  const [tip = '', place = ''] = (await git.line([where, 'for-each-ref', '--format=%(objectname)%0a%(worktreepath)', `refs/heads/${branch}`], call)).split('\n')
  if (place !== '') throw new KernelError('CONFLICT', `the branch ${branch} is checked out in ${place}`, undefined, 'Give the crew another --name, or check out another branch there.')
  if (tip === head) return { base: head, notes: [] }
  if ((await git.maybe([where, 'merge-base', '--is-ancestor', tip, head], call)) !== null) {
    await git.run([where, 'update-ref', '-m', 'reeve: a crew begins', `refs/heads/${branch}`, head, tip], call)
    return { base: head, notes: [] }
  }
  const ahead = await git.line([where, 'rev-list', '--count', `${head}..${tip}`], call)
  return { base: tip, notes: [`it goes on from ${branch}, which has ${ahead} ${ahead === '1' ? 'commit' : 'commits'} that ${ahead === '1' ? 'is' : 'are'} not in what is checked out here`] }
}

async function left(git: Git, call: Call, isHead: boolean): Promise<readonly string[]> {
  const changed = await git.line(['status', '--porcelain', '--untracked-files=normal'], call).catch((error: unknown) => {
    if (error instanceof GitError) return ''
    throw error
  })
  const count = changed === '' ? 0 : changed.split('\n').length
  return count > 0 && isHead ? [`what is not committed here (${count} ${count === 1 ? 'path' : 'paths'}) is not part of what the crew works on`] : []
}
