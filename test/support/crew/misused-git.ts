// Harmful git operations in a worktree, by its worker or by a program that the worker left running. Git may refuse each of them.
// real-git.ts calls them; test/support/simulated-git/simulated-repository.ts does the same on the simulated git.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const GIT_MISUSES = [
  /** drops all changes, and resets the branch to `main` */
  'reset',
  'stash',
  /** commits, but without a new file */
  'half',
  /** commits a change without a review */
  'other',
  /** stages a file, and changes it again */
  'staged',
  /** deletes a file */
  'deleted',
  /** checks out the commit of the user's branch */
  'foreign',
  /** checks out the user's branch */
  'theirs',
  /** merges the branch of another worker */
  'neighbour',
  /** checks out a new branch */
  'branch',
  /** moves the worker's branch to `main` */
  'moved',
  /** commits the markers of a conflict */
  'markers',
  /** merges a branch, but none of its changes */
  'ours',
  /** deletes the worktree's folder */
  'gone',
  /** removes the worktree with `git worktree remove` */
  'removed',
  /** deletes the worktree's `.git` */
  'broken',
  /** amends the last commit */
  'amend',
] as const
export type GitMisuse = (typeof GIT_MISUSES)[number]

interface MisusePlace {
  readonly dir: string
  /** a different number for each misuse, for new names, contents and commits */
  readonly number: number
  /** the branch of another worker */
  readonly neighbour: string
  /** the worker's own branch */
  readonly branch: string
  readonly run: (...args: readonly string[]) => unknown
}

export function performMisuse(kind: GitMisuse, { dir, number, neighbour, branch, run }: MisusePlace): void {
  const write = (name: string, text: string): void => {
    writeFileSync(join(dir, name), text)
  }
  switch (kind) {
    case 'reset':
      return void [run('reset', '-q', '--hard', 'main'), run('clean', '-fdq')]
    case 'stash':
      return void run('stash', '-q', '-u')
    case 'half':
      return void [write(`new-${number}.txt`, `left out ${number}\n`), run('commit', '-q', '-a', '-m', 'half of it')]
    case 'other':
      return void [write('main.txt', `steal() ${number}\n`), run('add', '-A'), run('commit', '-q', '-m', 'not what was reviewed')]
    case 'staged':
      return void [
        write(`staged-${number}.txt`, `staged ${number}\n`),
        run('add', '-A'),
        write(`staged-${number}.txt`, `and changed ${number}\n`),
      ]
    case 'deleted':
      return rmSync(join(dir, 'main.txt'), { force: true })
    case 'foreign':
      return void run('checkout', '-q', '-f', '--detach', 'wip')
    case 'theirs':
      return void run('checkout', '-q', '-f', 'wip')
    case 'neighbour':
      return void run('merge', '-q', '-m', `a merge ${number}`, neighbour)
    case 'branch':
      return void run('checkout', '-q', '-b', `private-${number}`)
    case 'moved':
      return void run('update-ref', `refs/heads/${branch}`, 'main')
    case 'markers':
      return void [
        write('index.txt', `<<<<<<< ours\na\n=======\nb ${number}\n>>>>>>> theirs\n`),
        run('add', '-A'),
        run('commit', '-q', '-m', 'resolved'),
      ]
    case 'ours':
      return void run('merge', '-q', '-m', `a merge ${number}`, '-s', 'ours', number % 2 === 0 ? 'wip' : 'reeve/crew')
    case 'amend':
      return void run('commit', '-q', '--amend', '--allow-empty', '-m', `amended ${number}`)
    case 'removed':
      return void run('worktree', 'remove', '--force', dir)
    case 'gone':
      return rmSync(dir, { recursive: true, force: true })
    case 'broken':
      return rmSync(join(dir, '.git'), { force: true })
  }
}
