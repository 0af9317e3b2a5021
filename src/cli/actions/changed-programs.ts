// Finds programs that `git merge` or `git push` would run and that changed since a process began: hooks, and programs in the settings of
// the repository. Finds changed addresses of remotes, too. The process may have written all of them. Reads only.
// Tests: test/e2e/worktree/merge.test.ts, test/e2e/worktree/pr.test.ts.
import { stat } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import type { MergePlanView } from '../../api/views/diff.ts'
import type { UserCheckout } from './checkout.ts'

/** What a command of git can run. */
interface GitPrograms {
  readonly hooks: readonly string[]
  /** matches settings that name a program, or another file with settings */
  readonly settings: string
}

const COMMON_SETTINGS = ['core\\.(hookspath|fsmonitor|sshcommand)', 'gpg\\.(.*\\.)?program', 'include\\.path', 'includeif\\..*\\.path']
const patternOf = (...settings: readonly string[]): string => `^(${[...COMMON_SETTINGS, ...settings].join('|')})$`

/** what `git merge` runs, and `git commit` after a squash */
export const MERGE_PROGRAMS: GitPrograms = {
  hooks: [
    'pre-merge-commit',
    'pre-commit',
    'post-commit',
    'prepare-commit-msg',
    'commit-msg',
    'post-merge',
    'post-checkout',
    'post-index-change',
    'reference-transaction',
  ],
  settings: patternOf('filter\\..*\\.(clean|smudge|process)', 'merge\\..*\\.driver'),
}

/** what `git push` runs */
export const PUSH_PROGRAMS: GitPrograms = {
  hooks: ['pre-push', 'reference-transaction'],
  settings: patternOf(
    'core\\.(gitproxy|askpass)',
    'credential\\.(.*\\.)?helper',
    'remote\\..*\\.(receivepack|vcs)',
    'protocol\\.(.*\\.)?allow',
  ),
}

/** The settings that decide where a push and a pull request go. */
const ADDRESS_SETTINGS =
  '^(remote\\..*\\.(url|pushurl|proxy|gh-resolved)|url\\..*\\.(insteadof|pushinsteadof)|http\\.(.*\\.)?(proxy|sslverify|sslcainfo|curloptresolve))$'

/** Lists the changed hooks and settings, each as a text for the user. */
export async function changedPrograms(
  checkout: UserCheckout,
  { createdAt, files }: Pick<MergePlanView, 'createdAt' | 'files'>,
  { hooks: names, settings }: GitPrograms,
): Promise<string[]> {
  const since = Date.parse(createdAt)
  const hooksDir = resolve(checkout.top, (await checkout.read('rev-parse', '--git-path', 'hooks')).trimEnd())
  const hooks = await Promise.all(
    names.map((name) => join(hooksDir, name)).map(async (path) => ((await changedSince(path, since)) ? [path] : [])),
  )
  const hooksPath = relative(checkout.top, hooksDir)
  // A hook that the work contains is in the checkout as soon as it is merged.
  const merged =
    settings !== MERGE_PROGRAMS.settings || hooksPath.startsWith('..')
      ? []
      : files.flatMap(({ path }) => (isHook(path, hooksPath, names) ? [`${path} (of this merge)`] : []))
  return [...hooks.flat(), ...merged, ...(await changedSettings(checkout, since, settings))]
}

/** Lists the settings of remotes in those configuration files of the repository that changed since a process began. */
export function changedAddresses(checkout: UserCheckout, { createdAt }: Pick<MergePlanView, 'createdAt'>): Promise<string[]> {
  return changedSettings(checkout, Date.parse(createdAt), ADDRESS_SETTINGS)
}

async function changedSettings(checkout: UserCheckout, since: number, pattern: string): Promise<string[]> {
  const settings = await Promise.all(
    ['config', 'config.worktree'].map(async (name) => {
      const path = resolve(checkout.top, (await checkout.read('rev-parse', '--git-path', name)).trimEnd())
      if (!(await changedSince(path, since))) return []
      const found = await checkout.read('config', '--file', path, '--name-only', '--get-regexp', pattern)
      return [...new Set(found.split('\n'))].flatMap((setting) => (setting === '' ? [] : [`${setting} in ${path}`]))
    }),
  )
  return settings.flat()
}

function isHook(path: string, hooksDir: string, names: readonly string[]): boolean {
  return names.some((name) => path === [...hooksDir.split(sep), name].filter((part) => part !== '').join('/'))
}

/** Whether a file exists and changed after a time. The change time counts, because a program can set the modification time. */
async function changedSince(path: string, since: number): Promise<boolean> {
  return stat(path).then(
    ({ ctimeMs }) => ctimeMs >= since,
    // A missing or unreadable file names no program that this user's git could run.
    () => false,
  )
}
