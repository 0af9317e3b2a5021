// Lists what the user still has to do for a crew: questions, failed tasks, branches to merge, salvaged files.
// Pure: takes the crew's view and git's report, returns sentences with commands. Test: test/tables/daemon/crew/open-items.test.ts.
import { earlyEndText, resumeAdvice } from '../../api/text/crew-end.ts'
import type { CrewReportView, ReportGitView } from '../../api/views/crew-report.ts'
import type { CrewView } from '../../api/views/crew.ts'

/** An action that is left to the user, with its command. */
type OpenItem = CrewReportView['open'][number]

/** The items for the user. `restartCommand`: the command line that starts the crew again; null if it is not known. */
export function openItems(crew: CrewView, git: ReportGitView | null, restartCommand: string | null = null): OpenItem[] {
  return [
    ...pauseItems(crew),
    ...questionItems(crew),
    ...waitItems(crew),
    ...unfinishedItems(crew, restartCommand),
    ...uncheckedItems(crew),
    ...(git ? [...branchItems(git, crew), ...leftoverItems(git, crew)] : []),
  ]
}

/** The crew's name or short id. */
function nameOf({ name, uuid }: CrewView): string {
  return name ?? uuid.slice(-8)
}

function questionItems(crew: CrewView): OpenItem[] {
  return crew.asks.map(({ text }) => ({ what: text, how: `reeve answer ${nameOf(crew)}` }))
}

/** The pause of a suspended crew, which waits until the user resumes it. */
function pauseItems(crew: CrewView): OpenItem[] {
  return crew.status === 'suspended' ? [{ what: crew.note ?? 'the crew is paused', how: `reeve crew resume ${nameOf(crew)}` }] : []
}

/** What the crew waits for, unless a question or a pause already shows it. Tasks that wait for other tasks need nothing from the user. */
function waitItems({ waitsFor, asks, status, tasks }: CrewView): OpenItem[] {
  if (asks.length > 0 || status === 'suspended') return []
  const ids = new Set(tasks.map(({ id }) => id))
  return waitsFor.filter((text) => !isWaitForTasks(text, ids)).map((what) => ({ what, how: null }))
}

/** Whether a text states that tasks wait for the tasks `ids`: `a "A" waits for b`, `3 tasks wait for b (a, c, d)`. */
function isWaitForTasks(text: string, ids: ReadonlySet<string>): boolean {
  const needs = /^(?:.*" waits|\d+ tasks wait) for ([^()]+?)(?: \([^()]*\))?$/.exec(text)?.[1]
  return needs?.split(', ').every((id) => ids.has(id)) ?? false
}

/** The unfinished tasks, with one command for all: a resume, or a new start that keeps the finished tasks. */
function unfinishedItems(crew: CrewView, restartCommand: string | null): OpenItem[] {
  const { tasks, exitedAt, resumable } = crew
  const failedTasks = tasks.filter(({ state }) => state === 'failed')
  const cause = earlyEndText(crew)
  if (exitedAt === null || cause !== null) {
    const resumeItems = cause === null ? [] : [{ what: `${cause}. ${resumeAdvice(crew)}`, how: `reeve crew resume ${nameOf(crew)}` }]
    return [
      ...resumeItems,
      ...failedTasks.map((task) => ({
        what: `${failedText(task)}${resumable ? '. When the crew continues' : ''}`,
        how: `reeve crew retry ${nameOf(crew)} ${task.id}`,
      })),
    ]
  }
  const unfinishedTexts = tasks.flatMap((task) =>
    task.state === 'failed'
      ? [failedText(task)]
      : task.state === 'done' || task.state === 'cancelled'
        ? []
        : [`${task.id} (${task.title}) was not finished: it was ${task.state.replaceAll('_', ' ')}`],
  )
  return [
    ...unfinishedTexts.map((what) => ({ what, how: null })),
    ...(unfinishedTexts.length > 0 && restartCommand !== null
      ? [{ what: 'start the crew again; tasks that are done stay done', how: restartCommand }]
      : []),
  ]
}

function failedText({ id, title, reason }: CrewView['tasks'][number]): string {
  return `${id} (${title}) failed: ${reason ?? 'no reason was given'}`
}

/** Tasks that were marked as done without a review or commit. The user should check them. */
function uncheckedItems(crew: CrewView): OpenItem[] {
  return crew.tasks.flatMap(({ id, title, reason, byWord: by }): OpenItem[] =>
    !by
      ? []
      : [
          {
            what: `${id} (${title}) was marked as done by the ${by}, without a review or commit: ${reason ?? 'no reason was given'}`,
            how: `reeve crew show ${nameOf(crew)} ${id}`,
          },
        ],
  )
}

function branchItems({ branch, unmerged }: ReportGitView, crew: CrewView): OpenItem[] {
  const { exitedAt, tasks } = crew
  const crewBranch =
    branch.commits > 0 && !branch.taken && exitedAt !== null
      ? [{ what: `${branch.name} has ${commitsText(branch.commits)} not in your checkout`, how: `reeve merge ${nameOf(crew)}` }]
      : []
  // Two branches may have the same commit: that of the task and that of the worker. Only the branch of the task is listed.
  const listedCommits = new Set<string>()
  const others = unmerged
    .toSorted((a, b) => Number(isMemberBranch(a.name)) - Number(isMemberBranch(b.name)))
    .filter(({ commit }) => !listedCommits.has(commit) && listedCommits.add(commit))
  return [...crewBranch, ...others.map(({ name, commits }) => unmergedBranchItem(name, commits, branch.name, tasks))]
}

/** The item for an unmerged branch. The branch of an earlier attempt at a landed task must not be merged. */
function unmergedBranchItem(name: string, commits: number, branch: string, tasks: CrewView['tasks']): OpenItem {
  const landedTask = tasks.find(
    ({ id, merged }) =>
      typeof merged === 'string' &&
      (name === `${branch}.${id}` || (name.startsWith(`${branch}.${id}-`) && /^\d+$/.test(name.slice(branch.length + id.length + 2)))),
  )
  if (landedTask)
    return {
      what: `${name} has an earlier attempt at ${landedTask.id}; ${landedTask.id} has landed with other commits`,
      how: `git branch -D ${name}`,
    }
  // A commit that is only on a worker's branch was never approved, so it is shown and not merged.
  return {
    what: `${name} has ${commitsText(commits)} not in ${branch}`,
    how: isMemberBranch(name) ? `git log -p ${branch}..${name}` : `git merge ${name}`,
  }
}

function leftoverItems({ salvaged, worktrees }: ReportGitView, { resumable }: CrewView): OpenItem[] {
  return [
    ...salvaged.map(({ ref, subject }) => ({
      what: `${ref} has files that were ${ref.startsWith('refs/reeve/review/') ? 'reported but not committed' : `not committed${salvageSubject(subject)}`}`,
      how: `git show ${ref}`,
    })),
    // A crew that can be resumed needs its worktrees.
    ...(resumable ? [] : worktrees).map(({ member, uuid, dir }) => ({
      what: `${member} still has its worktree ${dir}`,
      how: `reeve rm ${uuid.slice(-8)}`,
    })),
  ]
}

/** The member and task in the subject of a salvage commit, in brackets. Empty if the subject names none. */
function salvageSubject(subject: string): string {
  const text = subject.replace(/^reeve: /, '')
  return text === 'what was not committed' ? '' : ` (${text})`
}

function isMemberBranch(name: string): boolean {
  return /\.(worker|coordinator)(-\d+)?(-[0-9a-f]{8})?$/.test(name)
}

function commitsText(commits: number): string {
  return commits === 1 ? '1 commit that is' : `${commits} commits that are`
}
