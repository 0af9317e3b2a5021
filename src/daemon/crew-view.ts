// A crew as people see it: its row, and what its members do. Owns nothing: it looks at rows, and shows copies.
// Test: test/tables/crew-view.test.ts.
import { waitsFor } from '../crew/waits.ts'
import { elapsedInAll } from './views.ts'
import { iso } from './times.ts'
import type { CrewMemberView, CrewTaskView, CrewView } from '../api/crew-views.ts'
import type { ProcessView } from '../api/views.ts'
import type { Crew, Member, Task } from '../crew/types.ts'
import type { Process, Uuid } from '../kernel/types.ts'

export interface CrewSight {
  readonly process: Process
  readonly view: Pick<ProcessView, 'status' | 'asks' | 'exit' | 'subtreeUsage' | 'note'>
  /** of its members, dead or alive */
  readonly members: ReadonlyMap<Uuid, Pick<ProcessView, (typeof MEMBER_FIELDS)[number]>>
  readonly mono: number
}

/** What is wanted of a member's process. */
export const MEMBER_FIELDS = ['pid', 'agent', 'status', 'worktree', 'queueCount', 'usage', 'elapsedMs', 'note', 'cwd'] as const

export function crewView({ process, view, members, mono }: CrewSight): CrewView {
  const { uuid, pid, spec, clock } = process
  const crew: Partial<Crew> = process.crew ?? {}
  const { crew: asked } = spec
  return {
    uuid, pid, name: spec.name, status: view.status, cwd: spec.cwd,
    coordinator: asked?.coordinator ?? 'engine', gate: asked?.gate ?? 'auto', merge: asked?.merge ?? 'auto', reviews: asked?.reviews ?? true,
    branch: asked?.git?.branch ?? null, base: asked?.git?.base ?? null,
    createdAt: iso(clock.createdAt), exitedAt: clock.exitedAt === null ? null : iso(clock.exitedAt), elapsedMs: elapsedInAll(clock, mono),
    costUsd: view.subtreeUsage.costUsd, unpriced: view.subtreeUsage.unpriced,
    note: view.note, waitsFor: waitsOf(process), asks: view.asks, exit: view.exit && { code: view.exit.code, reason: view.exit.reason },
    ending: crew.ending ? { outcome: crew.ending.outcome, summary: crew.ending.summary } : null,
    tasks: (crew.tasks ?? []).map(taskView),
    members: (crew.members ?? []).map((member) => memberView(member, member.uuid === null ? undefined : members.get(member.uuid))),
  }
}

/** Nothing, of one that has ended. */
function waitsOf({ crew, spec, life }: Process): string[] {
  return crew && spec.crew && life.state !== 'dead' ? [...waitsFor(crew, spec.crew)] : []
}

export function taskView({ seqs: _, prepared: _p, briefed: _b, cleared: _c, unreviewed: _u, commitTries: _t, asks: _a, ask, spent, times, needs, implementers, ...task }: Task): CrewTaskView {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0, costUsd = 0, unpriced = false } = spent
  return {
    ...task, needs: [...needs], implementers: [...implementers], asks: ask?.for ?? null,
    spent: { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd, unpriced },
    addedAt: iso(times.added), startedAt: times.started === null ? null : iso(times.started), endedAt: times.ended === null ? null : iso(times.ended),
  }
}

function memberView({ id, role, state, phase, task, leave, uuid }: Member, seen: Pick<ProcessView, (typeof MEMBER_FIELDS)[number]> | undefined): CrewMemberView {
  return {
    id, role, state, phase, task, leave: leave && { ...leave }, uuid,
    pid: seen?.pid ?? null, agent: seen?.agent ?? null, status: seen?.status ?? null,
    worktree: seen?.worktree ? { dir: seen.worktree.dir, branch: seen.worktree.branch } : null,
    queueCount: seen?.queueCount ?? 0, contextTokens: seen?.usage.contextTokens ?? 0, contextWindow: seen?.usage.contextWindow ?? null,
    costUsd: seen?.usage.costUsd ?? 0, unpriced: seen?.usage.unpriced ?? false, elapsedMs: seen?.elapsedMs ?? 0, note: seen?.note ?? null,
  }
}
