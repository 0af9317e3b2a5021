// Any fact of a crew, for property tests: one arbitrary per fact type. The part of store-arbitraries.ts that is about crews.
import fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import type { CrewFact, CrewFactType } from '../../src/crew/facts.ts'
import type { Job, JobResult, MemberId } from '../../src/crew/types.ts'
import type { Sender, Uuid } from '../../src/kernel/types.ts'

type Fields<T extends CrewFactType> = Omit<Extract<CrewFact, { type: T }>, 'type'>
type All<T extends CrewFactType> = { [K in keyof Fields<T>]-?: Arbitrary<NonNullable<Fields<T>[K]> | Fields<T>[K]> }
type CrewFields = { readonly [T in CrewFactType]: readonly [fields: All<T>, optional?: readonly (keyof Fields<T>)[]] }

interface Given {
  readonly text: Arbitrary<string>
  readonly sender: Arbitrary<Sender>
  readonly uuid: Arbitrary<Uuid>
}

/** One row per fact type; the second list names the optional fields, which are left out at times. */
export function crewFields({ text, sender, uuid }: Given): CrewFields {
  const number = fc.nat()
  const member: Arbitrary<MemberId> = fc.oneof(fc.constant<MemberId>('coordinator'), fc.integer({ min: 1, max: 9 }).map((n): MemberId => `worker-${n}`))
  const task = fc.constantFrom('task-1', 'task-2', 'login')
  const hash = fc.constantFrom('0'.repeat(40), 'a'.repeat(40))
  const role = fc.constantFrom('generic', 'implementer', 'reviewer', 'researcher')
  const how = fc.constantFrom('retired', 'stopped', 'lost', 'replaced')
  const job: Arbitrary<Job> = fc.oneof(
    fc.record({ type: fc.constant('spawn' as const), job: number, member }),
    fc.record({ type: fc.constant('commit' as const), job: number, member, task, base: fc.option(hash), force: fc.boolean() }),
  )
  const result: Arbitrary<JobResult> = fc.oneof(
    fc.record({ type: fc.constant('error' as const), error: text }),
    fc.record({ type: fc.constant('conflict' as const), files: fc.array(text, { maxLength: 3 }) }),
    fc.record({ type: fc.constant('left' as const), branch: text, reason: text }),
  )
  const outcome = fc.constantFrom('completed', 'failed', 'cancelled')
  return {
    'crew.begun': [{}],
    'crew.member': [{ member, role }],
    'crew.joined': [{ member, process: uuid, inherits: fc.constant(true as const) }, ['inherits']],
    'crew.inherited': [{ member }],
    'crew.leaving': [{ member, how, reason: text }],
    'crew.left': [{ member, how, reason: text, by: fc.constant('user' as const) }, ['by']],
    'crew.replaced': [{ member, heir: member, summary: text }],
    'crew.held': [{ member, held: fc.boolean(), reason: text }, ['reason']],
    'crew.kept': [{ member }],
    'crew.full': [{ member, share: fc.double({ min: 0, max: 1, noNaN: true }).map(Math.abs) }],
    'crew.turn.begun': [{ member, turn: number, resets: fc.boolean() }],
    'crew.turn': [{ member, turn: number, outcome: fc.constantFrom('ok', 'error', 'interrupted'), end: fc.constantFrom('complete', 'exempt', 'waits', 'reminded', 'through', 'failed'), queued: number, task, spent: fc.record({ inputTokens: number }), error: text }, ['task', 'spent', 'error']],
    'crew.heard': [{ member, call: fc.option(text), tool: text, note: text }],
    'crew.job': [{ job }],
    'crew.job.done': [{ job: number, result }],
    'crew.sent': [{ message: number, to: member, from: sender, task }, ['task']],
    'crew.notified': [{ text }],
    'crew.stalled': [{}],
    'crew.ending': [{ outcome, summary: text }],
    'crew.ended': [{}],
    'task.added': [{ task, kind: fc.constantFrom('work', 'human', 'conflict'), title: text, text, acceptance: text, needs: fc.array(task, { maxLength: 3 }), role: fc.option(role), reviews: fc.boolean(), by: sender }, ['acceptance']],
    'task.assigned': [{ task, member }],
    'task.prepared': [{ task, base: fc.option(hash), salvaged: text }, ['salvaged']],
    'task.reported': [{ task, member, summary: text }],
    'task.review': [{ task, member, earlier: fc.constant(true as const) }, ['earlier']],
    'task.briefed': [{ task }],
    'task.unreviewed': [{ task, member, reason: text, by: fc.constant('user' as const) }, ['by']],
    'task.verdict': [{ task, member: fc.option(member), verdict: fc.constantFrom('APPROVED', 'DENIED'), comments: text }],
    'task.asked': [{ task, id: text, for: fc.constantFrom('human', 'gate', 'review'), question: text, options: fc.array(text, { maxLength: 3 }) }],
    'task.answered': [{ task, option: fc.option(text), text: fc.option(text) }],
    'task.approved': [{ task, by: fc.option(sender) }],
    'task.committing': [{ task }],
    'task.uncommitted': [{ task, reason: text }],
    'task.committed': [{ task, commit: hash }],
    'task.merged': [{ task, merged: hash }],
    'task.conflict': [{ task, conflict: task, files: fc.array(text, { maxLength: 3 }) }],
    'task.requeued': [{ task, reason: text, counts: fc.boolean() }],
    'task.done': [{ task, reason: fc.option(text) }],
    'task.failed': [{ task, reason: text }],
    'task.cancelled': [{ task, reason: text }],
    'task.message': [{ task: fc.option(task), from: member, to: text, text }],
  }
}
