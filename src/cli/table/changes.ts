// The rows of the verb table for verbs about the files that a process or a crew changed: `diff`, `merge` and `pr`.
// Test: test/tables/cli/table/verbs.test.ts.
import type { Flag } from '../input/args.ts'
import type { Verb } from './verb.ts'

const on = (help: string): Flag => ({ kind: 'on', help })
const text = (value: string, help: string): Flag => ({ kind: 'text', value, help })
const count = (help: string): Flag => ({ kind: 'count', value: 'N', help })
const ONE_WORD = [1, 1] as const

export const CHANGE_VERBS: Readonly<Record<'diff' | 'merge' | 'pr', Verb>> = {
  diff: {
    summary: 'Show what a process changed',
    usage: [
      'reeve diff [--from STATE] [--to STATE|--step N] [--path FILE] [--stat|--name-only|--steps] P',
      'reeve diff [--path FILE] [--stat|--name-only] CREW',
    ],
    about: [
      'Shows the files that a process changed in its worktree (`reeve run --worktree`), as a unified diff. They are compared with the commit from which the worktree began. Commits, uncommitted files and new files are included; ignored files and other repositories are not. The process may be running, paused or ended. Nothing is written to the repository.',
      'For a crew it shows what its branch changed since the crew began. `reeve crew diff` shows the change of one task, and the name of a member shows the worktree of that member.',
      '`--from` and `--to` compare two states: `base` (the beginning), `now`, `origin` (the files that a fork began with), or a step such as `12`. `NAME@12` and `NAME@now` are states of another process in the same repository, such as a fork.',
      'The files of a step are those that were recorded after it, or after the newest one before it. `--step N` is the same as `--to N`. If the worktree was removed, the salvaged files are shown, else the newest record, else the branch; the first line on stderr states which.',
      'An agent without a worktree has no recorded files. For such an agent, `diff` shows the edits that it reported itself, without line numbers. Changes by its programs are missing, and git cannot apply the diff.',
      'No diff driver and no text converter of the repository runs, and `.gitattributes` hides no change. On a terminal, control characters are shown as `^[`. Files and pipes get the diff unchanged, as a patch for `git apply`. A diff is cut at 8 MB or 1,000 files, and a line on stderr names the others.',
    ],
    wordRange: ONE_WORD,
    flags: {
      from: text('STATE', 'the state before (default `base`)'),
      to: text('STATE', 'the state after (default `now`)'),
      step: count('the files after this step'),
      path: text('FILE', 'only this file, or the files below this directory'),
      stat: on('only the files, with their number of changed lines'),
      'name-only': on('only the names of the files'),
      steps: on('only the files, with the steps that changed them'),
    },
    exits:
      '0; 3 no such process, or nothing is left of its worktree; 4 the daemon cannot be reached; 64 usage error, no worktree, or no such step',
    examples: [
      ['reeve diff docs', 'what it has changed so far'],
      ['reeve diff --stat docs', 'the files and their numbers of changed lines'],
      ['reeve diff --steps docs', 'which step changed which file'],
      ['reeve diff --from 3 --to 5 docs', 'what its steps 4 and 5 changed'],
      ['reeve diff --from docs@now docs-2', 'how a fork differs from its origin'],
      ['reeve diff docs | git apply', 'apply the changes to your own files'],
    ],
    load: () => import('../verbs/changes/diff.ts'),
  },
  merge: {
    summary: 'Merge the work of a process',
    usage: ['reeve merge [--dry-run] [--squash] [--unfinished] [--trust-programs] P|CREW'],
    about: [
      'Merges what a process did in its worktree (`reeve run --worktree`) into the branch that is checked out here. Run it in a checkout of the same repository. It first prints the commits and files that would change. If anything prevents the merge, nothing changes: conflicts, your own changes in the same files, or a process that has not ended.',
      'Uncommitted and new files of the worktree become one commit on its branch, with the intent as its message and you as its author. The merge itself is your own `git merge`, with your hooks, signatures and settings. It is a fast-forward where that is possible.',
      'A process with a shell can write the hooks and the configuration of your repository. If a program that `git merge` would run changed since the process began, it is named, and the merge is refused without `--trust-programs`.',
      'For a crew it merges the branch of the crew, with all landed tasks. With `--squash` everything becomes one commit in your name.',
      'If the worktree was removed, its salvaged files or its branch are merged. `reeve rm` removes the process afterwards.',
    ],
    wordRange: ONE_WORD,
    flags: {
      'dry-run': on('only show what would be merged, and what prevents it'),
      squash: on('make one commit of all changes'),
      unfinished: on('merge the present files of a process that has not ended'),
      'trust-programs': on('run changed hooks and programs of the repository'),
    },
    exits:
      '0 merged, or nothing to merge; 1 conflicts, changes in the way, or not ended; 3 no such process, or nothing is left of its worktree; 4 the daemon cannot be reached; 64 usage error, no worktree, or another repository',
    examples: [
      ['reeve merge --dry-run docs', 'what would change here'],
      ['reeve merge docs', 'take its work into this branch'],
      ['reeve merge --squash shop', 'the work of a crew as one commit'],
      ['reeve wait docs && reeve merge docs', 'as soon as it has succeeded'],
    ],
    load: () => import('../verbs/changes/merge.ts'),
  },
  pr: {
    summary: 'Open a pull request for the work of a process',
    usage: ['reeve pr [FLAG]... P|CREW'],
    about: [
      'Pushes what a process did in its worktree, or a crew on its branch, and opens a pull request with `gh` or `glab`. Without one of them it prints the address of the page where you can open it. Run it in a checkout of the same repository; that checkout does not change.',
      'It first prints the commits, the files, and the address of the remote. Uncommitted files become one commit, as with `reeve merge`. The push is your own `git push`, with your hooks and credentials. It never overwrites commits of the remote. If the pull request already exists, the push adds the new commits to it.',
      'The remote is the one that `git push` would use on your branch. The title is the first line of the intent, and the text is the whole intent; a crew has the list of its commits. `--dry-run` shows both.',
      'A process with a shell can write the hooks and the configuration of your repository. If a program that `git push` would run changed since the process began, it is named, and the push is refused. If the address of a remote may have changed, the command asks first; without a terminal it refuses. `--trust-programs` allows both.',
    ],
    wordRange: ONE_WORD,
    flags: {
      title: text('TEXT', 'the title of the pull request'),
      body: text('TEXT', 'the text of the pull request'),
      draft: on('open it as a draft'),
      base: text('BRANCH', 'the branch to merge into (default: that of the remote)'),
      remote: text('NAME', 'the remote to push to'),
      branch: text('NAME', 'the name of the branch on the remote (default: that of the worktree)'),
      'dry-run': on('only show what would be pushed, and what prevents it'),
      unfinished: on('push the present files of a process that has not ended'),
      'trust-programs': on('run changed hooks and programs, and push to a changed address'),
    },
    exits:
      '0 pushed, or nothing to push; 1 not ended, refused, or git, gh or glab failed; 3 no such process, or nothing is left of its worktree; 4 the daemon cannot be reached; 64 usage error, no worktree, no remote, or another repository',
    examples: [
      ['reeve pr --dry-run docs', 'what would be pushed, and where'],
      ['reeve pr docs', 'push it and open the pull request'],
      ["reeve pr --draft --title 'Shop: a cart' shop", 'the work of a crew, as a draft'],
      ['reeve pr --body "$(reeve crew report shop)" shop', 'with the report of the crew'],
    ],
    load: () => import('../verbs/changes/pr.ts'),
  },
}
