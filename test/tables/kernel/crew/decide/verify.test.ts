// Verify commands: which command applies, when it runs, and what follows when it passes, fails or cannot run.
import { describe, expect, test } from 'vitest'
import { hasJobsThatNeedMember, needsUnusedFiles } from '../../../../../src/kernel/crew/state/queries.ts'
import { verifyCommandOf } from '../../../../../src/kernel/crew/state/verify-rules.ts'
import { performJob } from '../../../../support/crew-world/regular-work.ts'
import {
  USER,
  refusalCode,
  taskOf,
  transcriptOf,
  runUntil,
  runUntilTask,
  startedWorld,
} from '../../../../support/crew-world/prepared-world.ts'
import type { CrewFact, Job } from '../../../../../src/kernel/model/crew/facts.ts'
import type { VerifyResult, ShellCommandRun } from '../../../../../src/kernel/model/crew/shell-command-results.ts'
import type { Task } from '../../../../../src/kernel/model/crew/crew.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { CrewShellCommand } from '../../../../../src/kernel/model/crew/words.ts'
import type { CrewSpec } from '../../../../../src/kernel/model/process-spec.ts'

const VERIFY: CrewShellCommand = { command: 'make check', timeoutMs: 600_000 }
const TASK = { id: 'one', title: 'the first', text: 'Do it.' }

function worldInVerify(changes: Partial<CrewSpec> = {}, tasks: Parameters<typeof startedWorld>[1] = [TASK]): CrewWorld {
  const world = startedWorld({ verify: VERIFY, ...changes }, tasks)
  return runUntil(world, () => world.jobs.some(({ type }) => type === 'verify'))
}

function verifyJob(world: CrewWorld): Job {
  const found = world.jobs.find(({ type }) => type === 'verify')
  if (!found) throw new Error('nothing is verified')
  return found
}

function answerVerify(world: CrewWorld, ran: Partial<ShellCommandRun>, changes: Partial<VerifyResult> = {}): void {
  const { job: number, member, ...verify } = verifyJob(world)
  const files =
    'merge' in verify && verify.merge ? (world.filesByCommit.get(verify.merge.candidate) ?? '') : world.requireProcess(member).files
  world.jobs = world.jobs.filter((job) => job.job !== number)
  world.submit({
    type: 'job_done',
    job: number,
    result: {
      type: 'verified',
      command: 'make check',
      ran: { end: 'exited', code: 0, signal: null, ms: 1_234, output: '', left: 0, ...ran },
      commit: files,
      tree: files,
      changed: [],
      ...changes,
    },
  })
}

const messagesTo = (world: CrewWorld, recipient: string): string[] =>
  world.acts.flatMap((act) => (act.type === 'message' && act.to === recipient ? [act.text] : []))

test('verify runs after the turn of the report, before the review', () => {
  const world = startedWorld({ verify: VERIFY })
  runUntilTask(world, 'awaiting_review')
  expect(world.jobs).toEqual([])
  runUntil(world, () => world.jobs.length > 0)
  expect(world.jobs).toMatchObject([{ type: 'verify', member: 'worker-1', task: 'one', read: [] }])
  expect(taskOf(world)).toMatchObject({ state: 'awaiting_review', reviewer: null })
})

test('a passed verify starts the review, and the reviewer is notified', () => {
  const world = worldInVerify()
  expect(transcriptOf(world, () => answerVerify(world, {}))).toMatchInlineSnapshot(`
    "
    crew.job.done 4 verified
    task.verify one worker-1 review true "make check" {"end":"exited","code":0,"signal":null,"ms":1234,"output":"","left":0} files-1 files-1 []
    task.review one worker-2
    crew.job brief worker-2 one
    "
  `)
  runUntilTask(world, 'in_review')
  runUntil(world, () => messagesTo(world, 'worker-2').length > 0)
  expect(messagesTo(world, 'worker-2').at(-1)).toContain('reeve ran `make check` on exactly these files, and it passed')
})

test('a failed verify returns the task to its implementer with the output, and no review starts', () => {
  const world = worldInVerify()
  expect(
    transcriptOf(world, () => answerVerify(world, { code: 1, output: 'not ok 3 - adds\nexpected 3', left: 2 }, { changed: ['out.snap'] })),
  ).toMatchInlineSnapshot(`
      "
      crew.job.done 4 verified
      task.verify one worker-1 review false "make check" {"end":"exited","code":1,"signal":null,"ms":1234,"output":"not ok 3 - adds\\nexpected 3","left":2} files-1 files-1 ["out.snap"]
        -> system to worker-1: one "the first" failed verify: \`make check\` ended with exit code 1 after 1.2 s; it left 2 processes behind, wh
      "
    `)
  expect(messagesTo(world, 'worker-1').at(-1)).toMatchInlineSnapshot(`
    "one "the first" failed verify: \`make check\` ended with exit code 1 after 1.2 s; it left 2 processes behind, which reeve killed. Its review starts only after this command passes.

    The end of the output:

    not ok 3 - adds
    expected 3

    The command changed files, and reeve restored them: out.snap.

    Find the cause and fix it. You can run \`make check\` yourself. Then call report_implementation_complete."
  `)
  expect(messagesTo(world, 'worker-2')).toEqual([])
  expect(taskOf(world)).toMatchObject({ attempts: 1, denials: 0, check: { ok: false, code: 1, command: 'make check' } })
})

test('the task fails after the last failed verify, with its result', () => {
  const world = worldInVerify({ maxAttempts: 2 })
  answerVerify(world, { code: 1 })
  runUntil(world, () => world.jobs.some(({ type }) => type === 'verify'))
  answerVerify(world, { code: 2 })
  expect(taskOf(world)).toMatchObject({
    state: 'failed',
    reason: 'all 2 attempts failed; the last reason: verify failed: `make check` ended with exit code 2 after 1.2 s',
  })
})

test.each<[string, Partial<ShellCommandRun>, string]>([
  ['that is killed by a signal', { code: null, signal: 'SIGSEGV' }, '`make check` was killed by SIGSEGV after 1.2 s'],
  ['that takes too long', { end: 'late', code: null, ms: 600_000 }, '`make check` took more than 600 s and was killed'],
  [
    'that cannot be started',
    { end: 'unable', code: 127, ms: 0, output: 'make: command not found' },
    '`make check` could not be started (127)',
  ],
])('a command %s counts as failed', (_, ran, problem) => {
  const world = worldInVerify()
  answerVerify(world, ran)
  expect(taskOf(world).state).toBe('addressing_feedback')
  expect(messagesTo(world, 'worker-1').at(-1)).toContain(problem)
  expect(world.notices.some((text) => text.includes('cannot be verified'))).toBe(ran.code === 127)
  expect(world.journal.some(({ type }) => type === 'crew.notified')).toBe(ran.code === 127)
})

test('a command that the daemon cannot run is a failed attempt with the reason', () => {
  const world = worldInVerify()
  const { job: number } = verifyJob(world)
  world.jobs = []
  world.submit({ type: 'job_done', job: number, result: { type: 'error', error: 'the worktree is gone' } })
  expect(world.journal.findLast(({ type }) => type === 'task.requeued')).toMatchObject({
    counts: true,
    reason: 'the verify command could not run: the worktree is gone',
  })
})

test('no review or approval is possible before verify has passed', () => {
  const world = worldInVerify()
  expect(refusalCode(world, { type: 'assign_review', task: 'one', member: 'worker-2' })).toBe('CONFLICT')
  expect(refusalCode(world, { type: 'ask_review', task: 'one' })).toBe('CONFLICT')
  expect(refusalCode(world, { type: 'approve_commit', task: 'one' }, USER)).toBe('CONFLICT')
  expect(world.lastRefusal?.message).toBe('one "the first" is being verified')
})

test('without reviews, verify decides alone before the commit', () => {
  const world = worldInVerify({ reviews: false })
  expect(taskOf(world).state).toBe('awaiting_review')
  answerVerify(world, {})
  expect(taskOf(world).state).toBe('committing')
})

test('a result for a reassigned task is ignored, and a new attempt is verified again', () => {
  const world = worldInVerify()
  const firstVerify = verifyJob(world)
  world.submit({ type: 'cancel_task', task: 'one', reason: 'wait', requeue: true }, USER)
  const before = taskOf(world)
  performJob(world, firstVerify)
  expect(taskOf(world).check ?? null).toBeNull()
  expect(before.attempts).toBe(0)
  runUntil(world, () => world.jobs.some((job) => job.type === 'verify' && job.job !== firstVerify.job))
})

test('a denied task is verified again when it is reported again', () => {
  const world = worldInVerify()
  answerVerify(world, {})
  runUntilTask(world, 'in_review')
  runUntil(world, () => world.procs.get('worker-2')?.plan[0] === 'verdict')
  const proc = world.requireProcess('worker-2')
  world.submit(
    { type: 'report_review_verdict', verdict: 'DENIED', comments: 'no' },
    { type: 'member', id: 'worker-2', turn: proc.turn, call: 'x' },
  )
  runUntil(world, () => world.jobs.some(({ type }) => type === 'verify'))
  expect(taskOf(world)).toMatchObject({ state: 'awaiting_review', check: null })
})

test('after a daemon crash, verify is requested again', () => {
  const world = worldInVerify()
  const before = verifyJob(world)
  world.crash()
  expect(world.jobs).toEqual([before])
})

test.each<[string, Partial<CrewSpec>, object, CrewShellCommand | null]>([
  ['the command of the crew applies to a task', { verify: VERIFY }, {}, VERIFY],
  ['no command applies in a crew without one', {}, {}, null],
  [
    'the command of the role has precedence over that of the crew',
    { verify: VERIFY, verifyBy: { generic: { command: ['npm', 'test'], timeoutMs: 1 } } },
    {},
    { command: ['npm', 'test'], timeoutMs: 1 },
  ],
  ['a role may have no command in a crew with one', { verify: VERIFY, verifyBy: { generic: false } }, {}, null],
  ['the setting of another role changes nothing', { verify: VERIFY, verifyBy: { reviewer: false } }, {}, VERIFY],
  [
    'the command of the task has precedence over that of the role',
    { verifyBy: { generic: false } },
    { verify: { command: 'x', timeoutMs: 2 } },
    { command: 'x', timeoutMs: 2 },
  ],
  ['a task may have no command in a crew with one', { verify: VERIFY }, { verify: false }, null],
  ['no command of the crew applies to a task of a researcher, whose result is an answer', { verify: VERIFY }, { role: 'researcher' }, null],
  [
    'a command of its own applies to a task of a researcher',
    { verify: VERIFY },
    { role: 'researcher', verify: { command: 'x', timeoutMs: 2 } },
    { command: 'x', timeoutMs: 2 },
  ],
])('%s', (_, spec, task, expected) => {
  const world = startedWorld(spec, [{ ...TASK, ...task }])
  runUntilTask(world, 'implementing')
  const facts = [world.journal[taskOf(world).seqs.text - 1]] as CrewFact[]
  expect(verifyCommandOf(world.crew, world.spec, taskOf(world), facts)).toEqual(expected)
})

describe('the merged files', () => {
  const TWO = [TASK, { id: 'two', title: 'the second', text: 'Do that.' }]

  /** Returns a world in which one task has landed, and the merge of the other one is being verified. */
  function worldInMerge(changes: Partial<CrewSpec> = {}): CrewWorld {
    const world = startedWorld({ verify: VERIFY, staff: [{ role: 'generic', count: 3 }], ...changes }, TWO)
    return runUntil(world, () => world.jobs.some((job) => job.type === 'verify' && job.merge !== undefined))
  }

  const landingTask = (world: CrewWorld): Task => world.crew.tasks.find(({ state }) => state === 'merging') ?? taskOf(world, 'none')

  test('are not verified again when they equal the verified files', () => {
    const world = runUntilTask(startedWorld({ verify: VERIFY }), 'done')
    expect(world.journal.flatMap((fact) => (fact.type === 'task.verify' ? [fact.stage] : []))).toEqual(['review'])
  })

  test('are verified when another task landed meanwhile, and the branch moves when verify passes', () => {
    const world = worldInMerge()
    const { id } = landingTask(world)
    expect(transcriptOf(world, () => answerVerify(world, {}))).toMatchInlineSnapshot(`
      "
      crew.job.done 17 verified
      task.verify one worker-1 merge true "make check" {"end":"exited","code":0,"signal":null,"ms":1234,"output":"","left":0} "files-1 and two" "files-1 and two" []
      crew.job land worker-1 one
      "
    `)
    runUntilTask(world, 'done', id)
  })

  test('leave the branch unchanged if verify fails: the task goes back with files, output and landed tasks, and the queue continues', () => {
    const world = worldInMerge()
    const { id, implementer } = landingTask(world)
    expect(transcriptOf(world, () => answerVerify(world, { code: 1, output: 'not ok: no such function' }))).toMatchInlineSnapshot(`
      "
      crew.job.done 17 verified
      task.verify one worker-1 merge false "make check" {"end":"exited","code":1,"signal":null,"ms":1234,"output":"not ok: no such function","left":0} "files-1 and two" "files-1 and two" []
      task.requeued one "the merged files failed verify (with two, landed since): \`make check\` ended with exit code" false review
      task.assigned one worker-1
      crew.job prepare worker-1 one
      "
    `)
    expect(taskOf(world, id)).toMatchObject({ attempts: 1, denials: 0, merged: null, commit: null })
    expect(taskOf(world, id).implementer).toBe(implementer)
    runUntil(world, () => taskOf(world, id).prepared)
    expect(messagesTo(world, implementer ?? '').at(-1)).toMatchInlineSnapshot(`
      "Task one "the first"

      Do it.

      1 earlier attempt failed; the last reason: the merged files failed verify (with two, landed since): \`make check\` ended with exit code 1 after 1.2 s

      The change was reviewed and approved, and \`make check\` passed on it alone. Merged with the changes that landed since, it failed.

      Your worktree contains the merged files: the head of the crew's branch plus the change, uncommitted.

      The end of the output:

      not ok: no such function

      Make both changes work together. You can run \`make check\` yourself.

      When the task is done, call report_implementation_complete with a summary. Do not commit yet: after the approval, a message asks you to commit."
    `)
    runUntil(world, () => world.outcome !== null)
  })

  test('fail the task after the last attempt, and the commit is kept', () => {
    const world = worldInMerge({ maxAttempts: 1 })
    const { id } = landingTask(world)
    answerVerify(world, { code: 1 })
    expect(taskOf(world, id)).toMatchObject({
      state: 'failed',
      merged: null,
      reason: expect.stringContaining('the merged files failed verify (with ') as string,
    })
    expect(taskOf(world, id).commit).not.toBeNull()
  })

  test('are still verified by an ending crew, but the task is not started again', () => {
    const world = worldInMerge()
    const { id } = landingTask(world)
    world.submit({ type: 'complete_crew', outcome: 'cancelled', summary: 'enough' }, USER)
    expect(world.outcome).toBeNull()
    answerVerify(world, { code: 1 })
    expect(taskOf(world, id)).toMatchObject({ state: 'failed', reason: expect.stringContaining('and the crew ends') as string })
    expect(world.outcome).toBe('cancelled')
  })

  test('do not need the worker during the verify', () => {
    const world = worldInMerge()
    const verify = verifyJob(world)
    expect([needsUnusedFiles(verify), hasJobsThatNeedMember({ ...world.crew, jobs: [verify] }, verify.member)]).toEqual([false, false])
  })
})
