// Finds programs that `git merge` would run and that changed since a process began: hooks, and programs in the configuration of the
// repository. The process may have written them. Reads only. Test: test/e2e/worktree/merge.test.ts.
import { stat } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import type { MergePlanView } from '../../api/views/diff.ts'
import type { UserCheckout } from './checkout.ts'

/** the hooks that `git merge` runs, and `git commit` after a squash */
const MERGE_HOOKS = [
  'pre-merge-commit',
  'pre-commit',
  'post-commit',
  'prepare-commit-msg',
  'commit-msg',
  'post-merge',
  'post-checkout',
  'post-index-change',
  'reference-transaction',
]
/** matches settings that name a program for a merge, or another file with settings */
const PROGRAM_SETTINGS =
  '^(core\\.(hookspath|fsmonitor|sshcommand)|filter\\..*\\.(clean|smudge|process)|merge\\..*\\.driver|gpg\\.(.*\\.)?program|include\\.path|includeif\\..*\\.path)$'

/** Lists the changed hooks and settings, each as a text for the user. */
export async function changedPrograms(
  checkout: UserCheckout,
  { createdAt, files }: Pick<MergePlanView, 'createdAt' | 'files'>,
): Promise<string[]> {
  const since = Date.parse(createdAt)
  const hooksDir = resolve(checkout.top, (await checkout.read('rev-parse', '--git-path', 'hooks')).trimEnd())
  const hooks = await Promise.all(
    MERGE_HOOKS.map((name) => join(hooksDir, name)).map(async (path) => ((await changedSince(path, since)) ? [path] : [])),
  )
  const inCheckout = relative(checkout.top, hooksDir)
  const merged = inCheckout.startsWith('..')
    ? []
    : files.flatMap(({ path }) => (isMergeHook(path, inCheckout) ? [`${path} (of this merge)`] : []))
  const settings = await Promise.all(
    ['config', 'config.worktree'].map(async (name) => {
      const path = resolve(checkout.top, (await checkout.read('rev-parse', '--git-path', name)).trimEnd())
      if (!(await changedSince(path, since))) return []
      const found = await checkout.read('config', '--file', path, '--name-only', '--get-regexp', PROGRAM_SETTINGS)
      return found.split('\n').flatMap((setting) => (setting === '' ? [] : [`${setting} in ${path}`]))
    }),
  )
  return [...hooks.flat(), ...merged, ...settings.flat()]
}

function isMergeHook(path: string, hooksDir: string): boolean {
  return MERGE_HOOKS.some((name) => path === [...hooksDir.split(sep), name].filter((part) => part !== '').join('/'))
}

/** Whether a file exists and changed after a time. The change time counts, because a program can set the modification time. */
async function changedSince(path: string, since: number): Promise<boolean> {
  return stat(path).then(
    ({ ctimeMs }) => ctimeMs >= since,
    // A missing or unreadable file names no program that this user's git could run.
    () => false,
  )
}
