// What a person has to do after, or in the middle of, a crew's work: answers, failed tasks, branches to take, what was salvaged.
// Pure: a crew and what git has of it in, sentences out. Test: test/tables/crew-report-text.test.ts.
import type { CrewReportView, ReportGitView } from '../api/crew-report-views.ts'
import type { CrewView } from '../api/crew-views.ts'

type Open = CrewReportView['open'][number]

export function openOf(crew: CrewView, git: ReportGitView | null): Open[] {
  return [...held(crew), ...asked(crew), ...waiting(crew), ...unfinished(crew), ...(git ? [...toTake(git, crew), ...left(git)] : [])]
}

/** Who the crew is for a person. */
function nameOf({ name, uuid }: CrewView): string {
  return name ?? uuid.slice(-8)
}

function asked(crew: CrewView): Open[] {
  return crew.asks.map(({ text }) => ({ what: text, how: `reeve answer ${nameOf(crew)}` }))
}

/** It goes on when a person lets it. */
function held(crew: CrewView): Open[] {
  return crew.status === 'suspended' ? [{ what: crew.note ?? 'it is paused', how: `reeve crew resume ${nameOf(crew)}` }] : []
}

/** Why nothing goes on, or not all; a question is one thing that it waits for. */
function waiting({ waitsFor, asks, status }: CrewView): Open[] {
  return asks.length > 0 || status === 'suspended' ? [] : waitsFor.map((what) => ({ what, how: null }))
}

function unfinished({ tasks, exitedAt }: CrewView): Open[] {
  return tasks.flatMap(({ id, title, state, reason }): Open[] => {
    const words = `${id} (${title})`
    if (state === 'failed') return [{ what: `${words} failed: ${reason ?? 'no reason was given'}`, how: null }]
    const isOpen = state !== 'done' && state !== 'cancelled'
    return isOpen && exitedAt !== null ? [{ what: `${words} was not finished: it was ${state.replaceAll('_', ' ')}`, how: null }] : []
  })
}

function toTake({ branch, unmerged }: ReportGitView, { exitedAt }: CrewView): Open[] {
  const own = branch.commits > 0 && !branch.taken && exitedAt !== null ? [{ what: `${branch.name} has ${counted(branch.commits)} not in what you have checked out`, how: `git merge ${branch.name}` }] : []
  // One commit may be named twice: by its task and by who made it. The task's is said.
  const seen = new Set<string>()
  const others = unmerged.toSorted((a, b) => Number(isMembers(a.name)) - Number(isMembers(b.name))).filter(({ commit }) => !seen.has(commit) && seen.add(commit))
  return [...own, ...others.map(({ name, commits }) => ({ what: `${name} has ${counted(commits)} not in ${branch.name}`, how: `git merge ${name}` }))]
}

function left({ salvaged, worktrees }: ReportGitView): Open[] {
  return [
    ...salvaged.map(({ ref, subject }) => ({ what: `${ref} has what was not committed (${subject.replace(/^reeve: /, '')})`, how: `git show ${ref}` })),
    ...worktrees.map(({ member, uuid, dir }) => ({ what: `${member} still has its worktree ${dir}`, how: `reeve rm ${uuid.slice(-8)}` })),
  ]
}

function isMembers(name: string): boolean {
  return /\.(worker|coordinator)(-\d+)?(-[0-9a-f]{8})?$/.test(name)
}

function counted(commits: number): string {
  return commits === 1 ? '1 commit that is' : `${commits} commits that are`
}
