// Arbitrary facts of a crew for property tests: one arbitrary per fact type. Used by test/support/store/arbitraries.ts.
import fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import type { CrewFact, CrewFactType, Job, JobResult } from '../../../src/kernel/model/crew/facts.ts'
import type { Sender, Uuid } from '../../../src/kernel/model/ids.ts'
import { WORKER_ROLES, type MemberId } from '../../../src/kernel/model/crew/words.ts'

type Fields<T extends CrewFactType> = Omit<Extract<CrewFact, { type: T }>, 'type'>
type All<T extends CrewFactType> = { [K in keyof Fields<T>]-?: Arbitrary<NonNullable<Fields<T>[K]> | Fields<T>[K]> }
type CrewFields = { readonly [T in CrewFactType]: readonly [fields: All<T>, optional?: readonly (keyof Fields<T>)[]] }

interface BaseArbitraries {
  readonly text: Arbitrary<string>
  readonly sender: Arbitrary<Sender>
  readonly uuid: Arbitrary<Uuid>
}

/** One row per fact type. The second list names the optional fields, which are sometimes left out. */
export function crewFields({ text, sender, uuid }: BaseArbitraries): CrewFields {
  const number = fc.nat()
  const member: Arbitrary<MemberId> = fc.oneof(
    fc.constant<MemberId>('coordinator'),
    fc.integer({ min: 1, max: 9 }).map((n): MemberId => `worker-${n}`),
  )
  const task = fc.constantFrom('task-1', 'task-2', 'login')
  const hash = fc.constantFrom('0'.repeat(40), 'a'.repeat(40))
  const role = fc.constantFrom(...WORKER_ROLES)
  const leaveReason = fc.constantFrom('retired', 'stopped', 'lost', 'replaced')
  const job: Arbitrary<Job> = fc.oneof(
    fc.record({ type: fc.constant('spawn' as const), job: number, member }),
    fc.record({ type: fc.constant('commit' as const), job: number, member, task, base: fc.option(hash), force: fc.boolean() }),
  )
  const result: Arbitrary<JobResult> = fc.oneof(
    fc.record({ type: fc.constant('error' as const), error: text }),
    fc.record({ type: fc.constant('conflict' as const), files: fc.array(text, { maxLength: 3 }) }),
    fc.record({ type: fc.constant('left' as const), branch: text, reason: text }),
  )
  const commandRun = fc.record({
    end: fc.constantFrom('exited', 'late', 'unable'),
    code: fc.option(number),
    signal: fc.option(text),
    ms: number,
    output: text,
    left: number,
  })
  const agentFields = fc.record({ agent: fc.constant('claude'), model: text }, { requiredKeys: [] })
  const outcome = fc.constantFrom('completed', 'failed', 'cancelled')
  return {
    'crew.begun': [{}],
    'crew.member': [{ member, role, who: agentFields, via: text }, ['who', 'via']],
    'crew.joined': [{ member, process: uuid, inherits: fc.constant(true as const) }, ['inherits']],
    'crew.inherited': [{ member }],
    'crew.leaving': [{ member, how: leaveReason, reason: text, via: text }, ['via']],
    'crew.left': [{ member, how: leaveReason, reason: text, by: fc.constant('user' as const), via: text }, ['by', 'via']],
    'crew.replaced': [{ member, heir: member, summary: text, via: text }, ['via']],
    'crew.held': [{ member, held: fc.boolean(), reason: text, wakes: fc.constant(true as const) }, ['reason', 'wakes']],
    'crew.kept': [{ member }],
    'crew.full': [{ member, share: fc.double({ min: 0, max: 1, noNaN: true }).map(Math.abs) }],
    'crew.turn.begun': [{ member, turn: number, resets: fc.boolean() }],
    'crew.turn': [
      {
        member,
        turn: number,
        outcome: fc.constantFrom('ok', 'error', 'interrupted'),
        end: fc.constantFrom('complete', 'exempt', 'waits', 'reminded', 'through', 'failed'),
        queued: number,
        task,
        spent: fc.record({ inputTokens: number }),
        error: text,
      },
      ['task', 'spent', 'error'],
    ],
    'crew.heard': [{ member, call: fc.option(text), tool: text, note: text }],
    'crew.job': [{ job }],
    'crew.job.done': [{ job: number, result }],
    'crew.sent': [{ message: number, to: member, from: sender, task, via: text }, ['task', 'via']],
    'crew.notified': [{ text, via: text }, ['via']],
    'crew.stalled': [{}],
    'crew.halted': [{ reason: fc.option(text) }],
    'crew.ending': [{ outcome, summary: text, via: text }, ['via']],
    'crew.ended': [{}],
    'task.added': [
      {
        task,
        kind: fc.constantFrom('work', 'human', 'conflict'),
        title: text,
        text,
        acceptance: text,
        needs: fc.array(task, { maxLength: 3 }),
        role: fc.option(role),
        reviews: fc.boolean(),
        by: sender,
        priority: fc.integer(),
        verify: fc.constantFrom(false as const, { command: 'npm test', timeoutMs: 600_000 }, { command: ['make', 'check'], timeoutMs: 1 }),
        limits: fc.record({ maxSteps: number }),
        who: agentFields,
        via: text,
      },
      ['acceptance', 'limits', 'priority', 'verify', 'who', 'via'],
    ],
    'task.ordered': [{ task, priority: fc.integer(), before: task, by: sender, via: text }, ['before', 'via']],
    'task.assigned': [{ task, member, via: text }, ['via']],
    'task.prepared': [{ task, base: fc.option(hash), salvaged: text }, ['salvaged']],
    'task.reported': [{ task, member, summary: text }],
    'task.review': [{ task, member, earlier: fc.constant(true as const), via: text }, ['earlier', 'via']],
    'crew.setup': [
      {
        member,
        ok: fc.boolean(),
        command: fc.option(text),
        ran: fc.option(commandRun),
        copied: number,
        skipped: fc.array(text, { maxLength: 3 }),
      },
    ],
    'task.verify': [
      {
        task,
        member,
        stage: fc.constantFrom('review', 'merge'),
        ok: fc.boolean(),
        command: text,
        ran: commandRun,
        commit: fc.option(hash),
        tree: fc.option(hash),
        changed: fc.array(text, { maxLength: 3 }),
      },
    ],
    'task.briefed': [{ task, head: hash }, ['head']],
    'task.unreviewed': [{ task, member, reason: text, by: fc.constant('user' as const) }, ['by']],
    'task.verdict': [{ task, member: fc.option(member), verdict: fc.constantFrom('APPROVED', 'DENIED'), comments: text }],
    'task.asked': [
      { task, id: text, for: fc.constantFrom('human', 'gate', 'review'), question: text, options: fc.array(text, { maxLength: 3 }) },
    ],
    'task.answered': [{ task, option: fc.option(text), text: fc.option(text) }],
    'task.approved': [{ task, by: fc.option(sender), via: text }, ['via']],
    'task.committing': [{ task }],
    'task.uncommitted': [{ task, reason: text }],
    'task.committed': [{ task, commit: hash, note: text }, ['note']],
    'task.merged': [{ task, merged: hash }],
    'task.conflict': [{ task, conflict: task, files: fc.array(text, { maxLength: 3 }) }],
    'task.resolving': [{ task, files: fc.array(text, { maxLength: 3 }), tasks: fc.array(task, { maxLength: 2 }) }],
    'task.differs': [{ task, commit: hash, from: hash, files: fc.array(text, { maxLength: 3 }) }],
    'task.resolved': [{ task, conflict: task, unmerged: fc.constant(true as const) }, ['unmerged']],
    'task.parked': [{ task }],
    'task.resumed': [{ task, member }],
    'task.blocked': [{ task, reason: text }],
    'task.requeued': [
      {
        task,
        reason: text,
        counts: fc.boolean(),
        lost: fc.constant(true as const),
        keeps: fc.constantFrom('review' as const, 'salvage' as const),
        via: text,
      },
      ['lost', 'keeps', 'via'],
    ],
    'task.done': [{ task, reason: fc.option(text), by: sender, via: text }, ['by', 'via']],
    'task.failed': [{ task, reason: text, need: task, via: text }, ['need', 'via']],
    'task.taken': [
      { task, crew: uuid, name: text, commit: fc.option(hash), merged: fc.option(hash), report: text, byWord: sender },
      ['report', 'byWord'],
    ],
    'task.retried': [{ task, by: sender, via: text }, ['via']],
    'task.reopened': [{ task, comments: text, by: sender, via: text }, ['via']],
    'task.edited': [
      {
        task,
        title: text,
        text,
        acceptance: text,
        needs: fc.array(task, { maxLength: 3 }),
        role,
        reviews: fc.boolean(),
        by: sender,
        limits: fc.record({ maxSteps: number }),
        who: agentFields,
        via: text,
      },
      ['title', 'text', 'acceptance', 'needs', 'role', 'reviews', 'limits', 'who', 'via'],
    ],
    'task.cancelled': [{ task, reason: text, via: text }, ['via']],
    'task.message': [{ task: fc.option(task), from: member, to: text, text }],
  }
}
