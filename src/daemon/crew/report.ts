// Builds the report of a crew: tasks, members, costs, and what the user still has to do. Reads the rows and journals of the crew and its
// members, dead or alive, and git. Usage outside of tasks is the total minus the usage of all tasks. Must never change anything.
// Tests: test/e2e/crew/report.test.ts, test/tables/daemon/crew/history.test.ts.
import { knownCost } from '../../api/known-cost.ts'
import { setImmediate } from 'node:timers/promises'
import { CrewHistory, coveredMs, type TaskHistory } from './history.ts'
import { crewView, MEMBER_FIELDS, taskView } from './view.ts'
import { openItems } from './open-items.ts'
import { isoTime } from '../views/format-times.ts'
import { pathExists } from '../../drivers/common/path-exists.ts'
import type { CrewReportView, ReportGitView, ReportMemberView, ReportTaskView, ReportUsageView } from '../../api/views/crew-report.ts'
import type { CrewMemberView, CrewView } from '../../api/views/crew.ts'
import type { ProcessView } from '../../api/views/process.ts'
import type { CrewFact } from '../../kernel/model/crew/facts.ts'
import type { Task } from '../../kernel/model/crew/crew.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { Clock } from '../loop/clock.ts'
import type { CrewGit } from './jobs/git.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { UsageTotals } from '../../kernel/model/usage.ts'
import { errorText } from '../../kernel/util/error-text.ts'

/** facts per page */
const FACTS_PER_PAGE = 200

export interface CrewReportDeps {
  readonly reads: Pick<ProcessQueries, 'find' | 'view'>
  readonly store: Pick<Store, 'facts'>
  readonly clock: Clock
  readonly git: Pick<CrewGit, 'findLeftovers'>
  /** waits until the worktrees of retired members are removed */
  readonly waitForRemovals: () => Promise<void>
}

const MEMBER_REPORT_FIELDS = [...MEMBER_FIELDS, 'model', 'subtreeUsage'] as const
type MemberProcess = Pick<ProcessView, (typeof MEMBER_REPORT_FIELDS)[number]>

export async function buildCrewReport(process: Process, deps: CrewReportDeps): Promise<CrewReportView> {
  const { reads, clock } = deps
  await deps.waitForRemovals()
  const now = clock.now()
  const history = await readHistory(process, deps.store)
  const processes = await readMembers(process, reads)
  const view = reads.view(process, ['status', 'asks', 'exit', 'subtreeUsage', 'note', 'holds'])
  const crew = crewView({ process, view, members: processes, mono: now.mono })
  const tasks = (process.crew?.tasks ?? []).map((task) =>
    taskReport(task, history.taskHistory(task.id), process.clock.exitedAt ?? now.wall),
  )
  const members = crew.members.map((member) => memberReport(member, member.uuid === null ? undefined : processes.get(member.uuid), history))
  const usage = toUsageView(view.subtreeUsage)
  const { git, problems } = await gitReport(process, crew, deps.git)
  const { uuid, name, status, coordinator, gate, merge, reviews, createdAt, exitedAt, ending } = crew
  const elapsedMs = (process.clock.exitedAt ?? now.wall) - process.clock.createdAt
  return {
    version: 1,
    uuid,
    name,
    status,
    coordinator,
    gate,
    merge,
    reviews,
    createdAt,
    exitedAt,
    elapsedMs,
    ending,
    tasks,
    members,
    git,
    problems,
    totals: {
      tasks: Object.fromEntries(
        Map.groupBy(tasks, ({ state }) => state)
          .entries()
          .map(([state, all]) => [state, all.length]),
      ),
      commits: tasks.filter(({ commit, state }) => commit !== null && state === 'done').length,
      attempts: sum(tasks.map(({ attempts }) => attempts)),
      denials: sum(tasks.map(({ denials }) => denials)),
      usage,
      apart: unattributedUsage(
        usage,
        tasks.map((task) => task.usage),
      ),
    },
    open: openItems(crew, git, process.spec.crew?.again ?? null),
  }
}

/** Reads the whole journal in pages. Yields to the event loop after each page. */
async function readHistory({ uuid }: Process, store: CrewReportDeps['store']): Promise<CrewHistory> {
  const history = new CrewHistory()
  for (let lastSeq = 0; ;) {
    const page = await store.facts(uuid, lastSeq, FACTS_PER_PAGE)
    for (const fact of page) if (isCrewFact(fact)) history.addFact(fact)
    if (page.length < FACTS_PER_PAGE) return history
    lastSeq = page.at(-1)?.seq ?? lastSeq
    await setImmediate()
  }
}

function isCrewFact(fact: StoredFact): fact is StoredFact & { readonly body: CrewFact } {
  return fact.body.type.startsWith('crew.') || fact.body.type.startsWith('task.')
}

async function readMembers({ crew }: Process, reads: CrewReportDeps['reads']): Promise<ReadonlyMap<Uuid, MemberProcess>> {
  const processes = new Map<Uuid, MemberProcess>()
  for (const { uuid } of crew?.members ?? []) {
    const found = uuid === null ? undefined : await reads.find(uuid)
    if (found) processes.set(found.uuid, reads.view(found, MEMBER_REPORT_FIELDS))
  }
  return processes
}

/** `until`: the end of the crew; while it lives, the time now. Wall ms. */
function taskReport(
  task: Task,
  { reviewers, tries, verdicts, checks, spent, note, workSpans, questionSpans, openQuestionSince }: TaskHistory,
  until: number,
): ReportTaskView {
  const {
    id,
    kind,
    title,
    state,
    needs,
    implementer,
    implementers,
    reviewer,
    attempts,
    denials,
    base,
    commit,
    merged,
    conflict,
    reason,
    byWord,
    addedAt,
    startedAt,
    endedAt,
  } = taskView(task)
  const { added, ended } = task.times
  const workedMs = coveredMs(workSpans)
  return {
    id,
    kind,
    title,
    state,
    needs,
    implementer,
    implementers,
    reviewer,
    attempts,
    denials,
    base,
    commit,
    merged,
    conflict,
    reason,
    byWord,
    addedAt,
    startedAt,
    endedAt,
    reviewers: [...reviewers],
    tries,
    verdicts,
    checks,
    note,
    usage: toUsageView(spent),
    workedMs,
    waitedMs: Math.max(0, (ended ?? until) - added - workedMs),
    askedMs: coveredMs(openQuestionSince === null ? questionSpans : [...questionSpans, [openQuestionSince, ended ?? until]]),
  }
}

function memberReport(
  { id, role, uuid, agent, status, leave }: CrewMemberView,
  process: MemberProcess | undefined,
  history: CrewHistory,
): ReportMemberView {
  // If the process was removed, the crew still knows the usage of its turns.
  return {
    id,
    role,
    uuid,
    agent,
    model: process?.model ?? null,
    status,
    leave,
    setup: history.setupOf(id),
    usage: toUsageView(process?.subtreeUsage ?? history.usageOfMember(id)),
  }
}

type PartialUsage = { readonly [K in keyof ReportUsageView]?: ReportUsageView[K] }

export function toUsageView({
  steps = 0,
  turns = 0,
  toolCalls = 0,
  inputTokens = 0,
  outputTokens = 0,
  cacheReadTokens = 0,
  cacheWriteTokens = 0,
  costUsd = 0,
  unpriced = false,
  estimated = false,
}: PartialUsage | UsageTotals): ReportUsageView {
  return {
    steps,
    turns,
    toolCalls,
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    costUsd: knownCost({ costUsd: roundUsd(costUsd ?? 0), unpriced }),
    unpriced,
    estimated,
  }
}

/** The usage of the whole that no part accounts for. Never negative. */
export function unattributedUsage(whole: ReportUsageView, parts: readonly ReportUsageView[]): ReportUsageView {
  const remainderOf = (
    name: 'steps' | 'turns' | 'toolCalls' | 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'costUsd',
  ): number => Math.max(0, roundUsd((whole[name] ?? 0) - sum(parts.map((part) => part[name] ?? 0))))
  const unpriced = whole.unpriced && !parts.some((part) => part.unpriced)
  return {
    steps: remainderOf('steps'),
    turns: remainderOf('turns'),
    toolCalls: remainderOf('toolCalls'),
    inputTokens: remainderOf('inputTokens'),
    outputTokens: remainderOf('outputTokens'),
    cacheReadTokens: remainderOf('cacheReadTokens'),
    cacheWriteTokens: remainderOf('cacheWriteTokens'),
    costUsd: knownCost({ costUsd: remainderOf('costUsd'), unpriced }),
    unpriced,
    estimated: whole.estimated && !parts.some(({ estimated }) => estimated),
  }
}

async function gitReport(
  process: Process,
  crew: CrewView,
  git: CrewReportDeps['git'],
): Promise<{ readonly git: ReportGitView | null; readonly problems: string[] }> {
  try {
    const leftovers = await git.findLeftovers(process)
    if (!leftovers || crew.branch === null || crew.base === null) return { git: null, problems: [] }
    const { head, commits, taken, unmerged, salvaged } = leftovers
    return {
      git: {
        branch: { name: crew.branch, commit: head ?? crew.base, commits, base: crew.base, taken },
        unmerged: [...unmerged],
        salvaged: salvaged.map((entry) => ({ ...entry, at: isoTime(entry.at) })),
        worktrees: await remainingWorktrees(crew),
      },
      problems: head === null ? [`the branch ${crew.branch} no longer exists`] : [],
    }
  } catch (error) {
    return { git: null, problems: [errorText(error)] }
  }
}

/** The worktrees that still exist although their members have left. */
async function remainingWorktrees({ members, exitedAt }: CrewView): Promise<ReportGitView['worktrees']> {
  const found: ReportGitView['worktrees'] = []
  for (const { id, uuid, worktree, state } of members) {
    if (worktree && uuid !== null && (state === 'gone' || exitedAt !== null) && (await pathExists(worktree.dir)))
      found.push({ member: id, uuid, ...worktree })
  }
  return found
}

/** Rounds an amount in USD to a billionth, the unit of accounting. */
function roundUsd(value: number): number {
  return Math.round(value * 1e9) / 1e9
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
