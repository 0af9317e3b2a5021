// Builds the API view of a crew from its row and its members' processes. Test: test/e2e/crew/crew.test.ts.
import { knownCost } from '../../api/known-cost.ts'
import { describeWaits } from '../../kernel/crew/text/describe-waits.ts'
import { totalElapsedMs } from '../views/process-view.ts'
import { isoTime } from '../views/format-times.ts'
import { isLiving } from '../../kernel/model/status.ts'
import type { CrewMemberView, CrewTaskView, CrewView } from '../../api/views/crew.ts'
import type { ProcessView } from '../../api/views/process.ts'
import type { Crew, Member, Task } from '../../kernel/model/crew/crew.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

export interface CrewViewInput {
  readonly process: Process
  readonly view: Pick<ProcessView, 'status' | 'asks' | 'exit' | 'subtreeUsage' | 'note' | 'holds'>
  /** the members' processes, dead or alive */
  readonly members: ReadonlyMap<Uuid, Pick<ProcessView, (typeof MEMBER_FIELDS)[number]>>
  /** monotonic time in ms */
  readonly mono: number
}

/** The fields of a member's process that the view needs. */
export const MEMBER_FIELDS = [
  'pid',
  'agent',
  'status',
  'worktree',
  'queueCount',
  'usage',
  'elapsedMs',
  'note',
  'cwd',
  'holds',
  'asks',
] as const

export function crewView({ process, view, members, mono }: CrewViewInput): CrewView {
  const { uuid, pid, spec, clock } = process
  const crew: Partial<Crew> = process.crew ?? {}
  const { crew: crewSpec } = spec
  return {
    uuid,
    pid,
    name: spec.name,
    status: view.status,
    cwd: spec.cwd,
    coordinator: crewSpec?.coordinator ?? 'engine',
    gate: crewSpec?.gate ?? 'auto',
    merge: crewSpec?.merge ?? 'auto',
    reviews: crewSpec?.reviews ?? true,
    branch: crewSpec?.git?.branch ?? null,
    base: crewSpec?.git?.base ?? null,
    createdAt: isoTime(clock.createdAt),
    exitedAt: clock.exitedAt === null ? null : isoTime(clock.exitedAt),
    elapsedMs: totalElapsedMs(clock, mono),
    costUsd: view.subtreeUsage.costUsd,
    unpriced: view.subtreeUsage.unpriced,
    note: view.note,
    waitsFor: waitsOf(process),
    holds: view.holds,
    asks: view.asks,
    exit: view.exit && { code: view.exit.code, reason: view.exit.reason },
    resumable: !isLiving(process) && hasEndedEarly(process),
    ending: crew.ending ? { outcome: crew.ending.outcome, summary: crew.ending.summary } : null,
    // An ended crew has no open questions. After a resume, its tasks ask again.
    tasks: (crew.tasks ?? []).map((task) => (isLiving(process) ? taskView(task) : { ...taskView(task), asks: null })),
    members: (crew.members ?? []).map((member) => memberView(member, member.uuid === null ? undefined : members.get(member.uuid))),
  }
}

/** Whether an ended crew was stopped before its work was done. */
export function hasEndedEarly({ crew, retiredAt }: Pick<Process, 'crew' | 'retiredAt'>): boolean {
  return crew?.ending?.ended !== true && retiredAt === null
}

/** What the crew waits for, as texts. Empty for an ended crew. */
function waitsOf({ crew, spec, life }: Process): string[] {
  return crew && spec.crew && life.state !== 'dead' ? [...describeWaits(crew, spec.crew)] : []
}

export function taskView({
  byWord,
  seqs: _,
  prepared: _p,
  briefed: _b,
  cleared: _c,
  unreviewed: _u,
  silent: _s,
  begun: _g,
  losses: _l,
  keeps: _k,
  parked: _pa,
  commitTries: _t,
  asks: _a,
  landing: _d,
  viewed: _w,
  ask,
  spent,
  times,
  needs,
  implementers,
  check,
  verify,
  priority = 0,
  limits,
  who,
  used: _x,
  triedAt: _y,
  lostNeed: _n,
  earlier: _e,
  retries: _r,
  ...task
}: Task): CrewTaskView {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0, costUsd = 0, unpriced = false } = spent
  return {
    ...task,
    check: check ? { ...check } : null,
    verify: verify ?? null,
    priority,
    limits: limits ? { ...limits } : null,
    agent: who?.agent ?? null,
    model: who?.model ?? null,
    needs: [...needs],
    implementers: [...implementers],
    asks: ask?.for ?? null,
    byWord: byWord ?? null,
    spent: { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd: knownCost({ costUsd, unpriced }), unpriced },
    addedAt: isoTime(times.added),
    startedAt: times.started === null ? null : isoTime(times.started),
    endedAt: times.ended === null ? null : isoTime(times.ended),
  }
}

function memberView(
  { id, role, state, phase, task, leave, uuid }: Member,
  process: Pick<ProcessView, (typeof MEMBER_FIELDS)[number]> | undefined,
): CrewMemberView {
  return {
    id,
    role,
    state,
    phase,
    task,
    leave: leave && { ...leave },
    uuid,
    pid: process?.pid ?? null,
    agent: process?.agent ?? null,
    status: process?.status ?? null,
    worktree: process?.worktree ? { dir: process.worktree.dir, branch: process.worktree.branch } : null,
    queueCount: process?.queueCount ?? 0,
    contextTokens: process?.usage.contextTokens ?? 0,
    contextWindow: process?.usage.contextWindow ?? null,
    costUsd: process ? process.usage.costUsd : 0,
    unpriced: process?.usage.unpriced ?? false,
    elapsedMs: process?.elapsedMs ?? 0,
    note: process?.note ?? null,
    holds: process?.holds ?? [],
    asks: process?.asks ?? [],
  }
}
