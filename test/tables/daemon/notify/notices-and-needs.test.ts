// The notices of the daemon and the needs that `reeve top`, the page and `reeve needs` show name the same things with the same words: each
// kind of need has a notice, which contains what the need says. What needs nobody has neither.
import { describe, expect, test } from 'vitest'
import type { NeedView } from '../../../../src/api/views/needs.ts'
import { Table } from '../../../../src/daemon/loop/table.ts'
import { needsOf } from '../../../../src/daemon/needs/needs-of.ts'
import { needView } from '../../../../src/daemon/needs/need-view.ts'
import type { NeedKind } from '../../../../src/daemon/needs/order.ts'
import { mayNotify, noticeOf } from '../../../../src/daemon/notify/notices.ts'
import { NO_CONTEXT, processView } from '../../../../src/daemon/views/process-view.ts'
import type { Ask, AskToolKind } from '../../../../src/kernel/model/asks.ts'
import type { FactBody, StoredFact } from '../../../../src/kernel/model/facts.ts'
import type { ExitStatus, Process } from '../../../../src/kernel/model/process.ts'
import { HOLD_REASONS, LIVENESS_WORDS, type HoldReason, type LivenessWord } from '../../../../src/kernel/model/words.ts'
import { fold } from '../../../../src/kernel/state/fold.ts'
import { specOf, stepOf, uuidOf } from '../../../support/store/facts.ts'

const UUID = uuidOf(1)
const AT = 1_700_000_000_000
const START: readonly FactBody[] = [
  { type: 'process.spawned', pid: 7, spec: specOf({ name: 'writer', limits: { budgetUsd: 2 } }), parentUuid: null, depth: 1, by: 'user' },
  { type: 'process.started', mono: 1_000, attached: true, containment: null },
  { type: 'process.ready', turn: 0 },
  { type: 'process.working', turn: 1, message: null },
]

const asked = (ask: Partial<Ask> = {}): FactBody => ({
  type: 'process.waiting',
  question: 'npm test',
  ask: { id: 'q1', kind: 'permission', text: 'npm test', options: [], callId: null, at: AT, ...ask },
})
const ofTool = (kind: AskToolKind): FactBody =>
  asked({ evidence: { source: 'said', tool: { name: 'x', kind, input: null, locations: [] }, diff: [] } })
const held = (reason: HoldReason, more: object = {}): FactBody => ({
  type: 'process.held',
  hold: { reason, by: reason === 'user' ? 'user' : 'system', at: AT, ...more },
  mono: 2_000,
})
const exited = (exit: Partial<ExitStatus> = {}): FactBody => ({
  type: 'process.exited',
  exit: { code: 0, reason: 'completed', cause: 'agent', ...exit },
  mono: 9_000,
})
const changed = (word: LivenessWord): FactBody => ({ type: 'liveness.changed', word, since: AT, evidence: 'in bash of step 3' })

const used = (costUsd: number): FactBody => ({
  type: 'usage.reported',
  usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd },
})

/** A crew's task. */
interface TaskFields {
  readonly kind?: string
  readonly ask?: { readonly id: string; readonly for: string }
  readonly blocked?: string
}

/** The process after the facts. `task`: it is the process of a crew with this task. */
function processAfter(bodies: readonly FactBody[], task?: TaskFields): Process {
  let process: Process | undefined
  for (const [index, body] of [...START, ...bodies].entries())
    process = fold(process, { uuid: UUID, pid: 7, seq: index + 1, at: AT + index, body })
  if (!process) throw new Error('no facts')
  if (!task) return process
  const { blocked, ...fields } = task
  const whole = {
    id: 'lexer',
    kind: 'work',
    seqs: { text: 3 },
    times: { added: AT },
    ...(blocked ? { landing: { blocked } } : {}),
    ...fields,
  }
  return { ...process, crew: { tasks: [whole], members: [], halted: null } } as unknown as Process
}

function needsAfter(process: Process): NeedView[] {
  const context = { table: new Table(0), wall: AT + 60_000, mono: 0 }
  const view = processView(process, NO_CONTEXT, 0)
  return needsOf(process, context).map((need) => needView(need, { ...context, top: null, view }))
}

/** The text of the notice about the last fact; null: none. */
function noticeText(body: FactBody, process: Process): string | null {
  const fact: StoredFact = { uuid: UUID, pid: 7, seq: 9, cursor: 9, at: AT, body }
  return mayNotify(body) ? (noticeOf(fact, process)?.text ?? null) : null
}

/** What a need says, without what changes with the time: that it is still draining, and since when it is silent. */
const wordsOf = ({ title }: NeedView): string[] => title.replace(' (draining)', '').split(/ since \d\d:\d\d, /)

type Case = readonly [facts: readonly FactBody[], task?: TaskFields]
const CASES: Readonly<Record<NeedKind, readonly Case[]>> = {
  command: [[[ofTool('execute')]]],
  edit: [[[ofTool('edit')]]],
  fetch: [[[ofTool('fetch')]]],
  permission: [[[asked()]]],
  plan: [[[asked({ kind: 'plan' })]]],
  choice: [[[asked({ kind: 'question', options: [{ id: 'a', name: 'A', kind: 'choice' }] })]]],
  text: [[[asked({ kind: 'question' })]]],
  gate: [[[asked({ kind: 'question' })], { ask: { id: 'q1', for: 'gate' } }]],
  review: [[[asked({ kind: 'question' })], { ask: { id: 'q1', for: 'review' } }]],
  'human-task': [[[asked({ kind: 'question' })], { kind: 'human', ask: { id: 'q1', for: 'human' } }]],
  merge: [[[{ type: 'task.blocked', task: 'lexer', reason: 'a file is in the way' }], { blocked: 'a file is in the way' }]],
  hold: HOLD_REASONS.filter((reason) => !['user', 'subtree', 'budget', 'disk-full', 'daemon-shutdown'].includes(reason)).flatMap(
    (reason) => [[[held(reason)]], [[{ type: 'process.note', text: '5 times the same: bash' } as const, held(reason)]]],
  ),
  failed: [
    [[exited({ code: 3, reason: 'exit code 3' })]],
    [[exited({ code: 1, reason: 'timed out', cause: 'limit' })]],
    [[exited({ code: 1, reason: 'context cancelled while paused', cause: 'daemon' })]],
  ],
  silent: LIVENESS_WORDS.filter((word) => word !== 'alive' && word !== 'waiting').map((word) => [[changed(word)]]),
  finished: [[[exited()]], [[...stepOf(1, 'All tests pass.\nThe rest.'), exited()]]],
}

describe.each(Object.entries(CASES))('the notice about what is a need of the kind %s', (kind, cases) => {
  test.each(cases.map(([facts, task]) => ({ facts, task })))('has its words: $facts', ({ facts, task }) => {
    const process = processAfter(facts, task)
    const needs = needsAfter(process)
    expect(needs.map((need) => need.kind)).toEqual([kind])
    const text = noticeText(facts.at(-1) as FactBody, process)
    for (const words of needs.flatMap(wordsOf)) expect(text).toContain(words)
  })
})

test('the notice about a budget has the words of its need', () => {
  const facts: FactBody[] = [
    { type: 'limit.reached', limit: 'budgetUsd', used: 2.001, of: 2, action: 'suspend', scope: UUID },
    held('budget'),
  ]
  const process = processAfter([used(2.001), ...facts])
  const [need] = needsAfter(process)
  expect(need).toMatchObject({ kind: 'hold', title: expect.stringContaining('$2.0010 of $2 are spent') })
  expect(noticeText(facts[0] as FactBody, process)).toContain('$2.0010 of $2 are spent')
})

test.each<readonly [string, FactBody]>([
  ['a pause by the user', held('user')],
  ['the hold of a subtree', held('subtree')],
  ['a hold that ends with its cause', held('disk-full')],
  ['a hold by a stopping daemon', held('daemon-shutdown')],
  ['a rate limit after which the process wakes', held('rate-limit', { until: AT + 9_000, wake: true })],
  ['an end by the user', exited({ code: 143, reason: 'SIGTERM from user', cause: 'person' })],
  ['an end by a parent', exited({ code: 143, reason: 'SIGTERM from agent', cause: 'parent' })],
  ['the end of a liveness problem', changed('alive')],
])('%s is no need and has no notice', (_, fact) => {
  const process = processAfter([fact])
  expect([needsAfter(process), noticeText(fact, process)]).toEqual([[], null])
})

test.each<readonly [string, readonly FactBody[], number]>([
  ['a report of a crew', [{ type: 'crew.notified', text: 'I begin' }], 0],
  ['the warning of a limit', [{ type: 'limit.warned', limit: 'budgetUsd', used: 1.6, of: 2 }], 0],
  ['a question that is still open, which is one need', [asked(), changed('waiting')], 1],
])('%s has a notice, and is no need of its own', (_, facts, needs) => {
  const process = processAfter(facts)
  expect(needsAfter(process)).toHaveLength(needs)
  expect(noticeText(facts.at(-1) as FactBody, process)).not.toBeNull()
})
