// The account of a crew: its tasks, who did them, what they cost, and what is left for a person. From the rows and the journal of
// the crew and its members, dead or alive, and from git. Owns how the figures add up: what was about no task is the rest of the sum.
// Must never change anything. Tests: test/e2e/crew-report.test.ts, test/tables/crew-history.test.ts.
import { access } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { CrewHistory, covered, type TaskHistory } from './crew-history.ts'
import { crewView, MEMBER_FIELDS, taskView } from './crew-view.ts'
import { openOf } from './crew-open.ts'
import { iso } from './times.ts'
import type { CrewReportView, ReportGitView, ReportMemberView, ReportTaskView, ReportUsageView } from '../api/crew-report-views.ts'
import type { CrewMemberView, CrewView } from '../api/crew-views.ts'
import type { ProcessView } from '../api/views.ts'
import type { CrewFact } from '../crew/facts.ts'
import type { Task } from '../crew/types.ts'
import type { StoredFact } from '../kernel/facts.ts'
import type { Spent } from '../kernel/spent.ts'
import type { Process, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from './clock.ts'
import type { CrewGit } from './crew-git.ts'
import type { Reads } from './reads.ts'

/** Facts that are read in one go. */
const PAGE = 200

export interface CrewReportParts {
  readonly reads: Pick<Reads, 'find' | 'view'>
  readonly store: Pick<Store, 'facts'>
  readonly clock: Clock
  readonly git: Pick<CrewGit, 'left'>
  /** resolves when the worktrees of who has retired are gone */
  readonly settled: () => Promise<void>
}

const FIELDS = [...MEMBER_FIELDS, 'model', 'subtreeUsage'] as const
type Seen = Pick<ProcessView, (typeof FIELDS)[number]>

export async function crewReport(process: Process, parts: CrewReportParts): Promise<CrewReportView> {
  const { reads, clock } = parts
  await parts.settled()
  const now = clock.now()
  const history = await historyOf(process, parts.store)
  const seen = await membersOf(process, reads)
  const view = reads.view(process, ['status', 'asks', 'exit', 'subtreeUsage', 'note'])
  const crew = crewView({ process, view, members: seen, mono: now.mono })
  const tasks = (process.crew?.tasks ?? []).map((task) => taskReport(task, history.task(task.id), process.clock.exitedAt ?? now.wall))
  const members = crew.members.map((member) => memberReport(member, member.uuid === null ? undefined : seen.get(member.uuid), history))
  const usage = usageOf(view.subtreeUsage)
  const { git, problems } = await gitReport(process, crew, parts.git)
  const { uuid, name, status, coordinator, gate, merge, reviews, createdAt, exitedAt, ending } = crew
  const elapsedMs = (process.clock.exitedAt ?? now.wall) - process.clock.createdAt
  return {
    version: 1, uuid, name, status, coordinator, gate, merge, reviews, createdAt, exitedAt, elapsedMs, ending, tasks, members, git, problems,
    totals: {
      tasks: Object.fromEntries(Map.groupBy(tasks, ({ state }) => state).entries().map(([state, all]) => [state, all.length])),
      commits: tasks.filter(({ commit, state }) => commit !== null && state === 'done').length,
      attempts: sum(tasks.map(({ attempts }) => attempts)), denials: sum(tasks.map(({ denials }) => denials)),
      usage, apart: restOf(usage, tasks.map((task) => task.usage)),
    },
    open: openOf(crew, git),
  }
}

/** From beginning to end, in pages, with a turn of the loop between two. */
async function historyOf({ uuid }: Process, store: CrewReportParts['store']): Promise<CrewHistory> {
  const history = new CrewHistory()
  for (let after = 0; ;) {
    const page = await store.facts(uuid, after, PAGE)
    for (const fact of page) if (isCrewFact(fact)) history.take(fact)
    if (page.length < PAGE) return history
    after = page.at(-1)?.seq ?? after
    await setImmediate()
  }
}

function isCrewFact(fact: StoredFact): fact is StoredFact & { readonly body: CrewFact } {
  return fact.body.type.startsWith('crew.') || fact.body.type.startsWith('task.')
}

async function membersOf({ crew }: Process, reads: CrewReportParts['reads']): Promise<ReadonlyMap<Uuid, Seen>> {
  const seen = new Map<Uuid, Seen>()
  for (const { uuid } of crew?.members ?? []) {
    const found = uuid === null ? undefined : await reads.find(uuid)
    if (found) seen.set(found.uuid, reads.view(found, FIELDS))
  }
  return seen
}

function taskReport(task: Task, { reviewers, tries, verdicts, spent, note, worked, asked, askedAt }: TaskHistory, now: number): ReportTaskView {
  const { id, kind, title, state, needs, implementer, implementers, reviewer, attempts, denials, base, commit, merged, conflict, reason, addedAt, startedAt, endedAt } = taskView(task)
  const { added, ended } = task.times
  const workedMs = covered(worked)
  return {
    id, kind, title, state, needs, implementer, implementers, reviewer, attempts, denials, base, commit, merged, conflict, reason, addedAt, startedAt, endedAt,
    reviewers: [...reviewers], tries, verdicts, note, usage: usageOf(spent),
    workedMs, waitedMs: Math.max(0, (ended ?? now) - added - workedMs),
    askedMs: covered(askedAt === null ? asked : [...asked, [askedAt, ended ?? now]]),
  }
}

function memberReport({ id, role, uuid, agent, status, leave }: CrewMemberView, seen: Seen | undefined, history: CrewHistory): ReportMemberView {
  // Of one that was removed the crew knows what its turns used.
  return { id, role, uuid, agent, model: seen?.model ?? null, status, leave, usage: usageOf(seen?.subtreeUsage ?? history.spentBy(id)) }
}

type Used = { readonly [K in keyof ReportUsageView]?: ReportUsageView[K] }

export function usageOf({ steps = 0, turns = 0, toolCalls = 0, inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0, costUsd = 0, unpriced = false, estimated = false }: Used | Spent): ReportUsageView {
  return { steps, turns, toolCalls, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd: usd(costUsd), unpriced, estimated }
}

/** What is in the whole and in none of its parts. */
export function restOf(whole: ReportUsageView, parts: readonly ReportUsageView[]): ReportUsageView {
  const left = (name: 'steps' | 'turns' | 'toolCalls' | 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'costUsd'): number => Math.max(0, usd(whole[name] - sum(parts.map((part) => part[name]))))
  return {
    steps: left('steps'), turns: left('turns'), toolCalls: left('toolCalls'), inputTokens: left('inputTokens'), outputTokens: left('outputTokens'),
    cacheReadTokens: left('cacheReadTokens'), cacheWriteTokens: left('cacheWriteTokens'), costUsd: left('costUsd'),
    unpriced: whole.unpriced && !parts.some(({ unpriced }) => unpriced), estimated: whole.estimated && !parts.some(({ estimated }) => estimated),
  }
}

async function gitReport(process: Process, crew: CrewView, git: CrewReportParts['git']): Promise<{ readonly git: ReportGitView | null; readonly problems: string[] }> {
  try {
    const left = await git.left(process)
    if (!left || crew.branch === null || crew.base === null) return { git: null, problems: [] }
    const { head, commits, taken, unmerged, salvaged } = left
    return {
      git: {
        branch: { name: crew.branch, commit: head ?? crew.base, commits, base: crew.base, taken }, unmerged: [...unmerged], salvaged: salvaged.map((one) => ({ ...one, at: iso(one.at) })),
        worktrees: await staying(crew),
      },
      problems: head === null ? [`there is no branch ${crew.branch} any more`] : [],
    }
  } catch (error) {
    return { git: null, problems: [error instanceof Error ? error.message : String(error)] }
  }
}

/** Of members that are gone and did not retire. */
async function staying({ members, exitedAt }: CrewView): Promise<ReportGitView['worktrees']> {
  const found: ReportGitView['worktrees'] = []
  for (const { id, uuid, worktree, state } of members) {
    if (worktree && uuid !== null && (state === 'gone' || exitedAt !== null) && (await isThere(worktree.dir))) found.push({ member: id, uuid, ...worktree })
  }
  return found
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false)
}

/** USD to the billionth, as it is counted. */
function usd(value: number): number {
  return Math.round(value * 1e9) / 1e9
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
