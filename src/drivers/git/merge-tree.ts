// Merges two commits without a checkout. Works on git objects alone; must never write a ref or a checked-out file.
// Tests: test/processes/crew/git.test.ts, test/e2e/worktree/merge.test.ts.
import { splitNames } from './git.ts'
import type { Git, GitCall } from './git.ts'

/** git's exit code for an unknown option */
const EXIT_UNKNOWN_OPTION = 129

export type MergedTree = { readonly tree: string; readonly files: readonly string[] } | { readonly unable: string }

/** Merges two commits into a tree. `files` are the conflicting files, which have conflict markers in the tree. */
export async function mergeTrees(git: Git, call: GitCall, ours: string, theirs: string): Promise<MergedTree> {
  const { code, stdout, stderr } = await git.tryRun(
    [
      '-c',
      'core.fsync=committed,reference',
      '-c',
      'core.fsyncMethod=fsync',
      'merge-tree',
      '--write-tree',
      '-z',
      '--name-only',
      '--no-messages',
      ours,
      theirs,
    ],
    call,
  )
  if (code === EXIT_UNKNOWN_OPTION) return { unable: 'this git cannot merge without a checkout: install git 2.38 or later' }
  const [tree = Buffer.alloc(0), ...files] = splitNames(stdout)
  if (code === 0 || code === 1) return { tree: tree.toString().trim(), files: code === 1 ? files.map(String) : [] }
  return {
    unable:
      stderr
        .toString()
        .trim()
        .split('\n')
        .at(-1)
        ?.replace(/^(fatal|error): /, '') || 'git could not merge the commits',
  }
}
