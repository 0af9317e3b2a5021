// Tasks that wait for the user: the worker of such a task does other tasks meanwhile, and gets its task back after the answer.
import { expect, test } from 'vitest'
import { answerQuestion, endProcess, playAct } from '../../../../support/crew-world/regular-work.ts'
import { memberOf, taskOf, runUntil, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { MemberId } from '../../../../../src/kernel/model/crew/words.ts'
import type { CrewSpec } from '../../../../../src/kernel/model/process-spec.ts'

const FIVE_TASKS = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, title: id, text: 'Do it.' }))

/** Returns a world that has run as far as it can without an answer from the user. */
function playWithoutUser(changes: Partial<CrewSpec> = {}): CrewWorld {
  const world = startedWorld({ gate: 'human', maxWorkers: 2, ...changes }, FIVE_TASKS)
  const openAsks = new Map<string, string>()
  for (;;) {
    for (const [id, task] of world.openQuestions) openAsks.set(id, task)
    world.openQuestions.clear()
    if (!playAct(world)) break
  }
  world.openQuestions = openAsks
  return world
}

test('two workers do five tasks before the user answers', () => {
  const world = playWithoutUser()
  expect(world.crew.tasks.map(({ state, ask, verdict }) => [state, ask?.for, verdict])).toEqual(
    FIVE_TASKS.map(() => ['waiting', 'gate', 'APPROVED']),
  )
  expect(world.crew.members).toHaveLength(2)
  expect(world.crew.tasks.filter(({ parked }) => parked)).toHaveLength(3)
})

test('an approval returns the files to the author, which commits', () => {
  const world = playWithoutUser()
  const { implementer } = taskOf(world, 'a')
  expect(taskOf(world, 'a')).toMatchObject({ parked: true, prepared: false })
  runUntil(world, () => world.outcome !== null)
  expect(world.crew.tasks.map(({ state, attempts }) => [state, attempts])).toEqual(FIVE_TASKS.map(() => ['done', 0]))
  expect(taskOf(world, 'a').implementer).toBe(implementer)
  expect(world.journal.filter(({ type }) => type === 'task.resumed').length).toBeGreaterThan(0)
})

test('a denial requeues the task, and the next worker continues with its files', () => {
  const world = playWithoutUser()
  const [id] = [...world.openQuestions].find(([, task]) => task === 'a') ?? []
  answerQuestion(world, id ?? '', 'deny', 'a test is missing')
  expect(taskOf(world, 'a')).toMatchObject({ attempts: 1, denials: 1, keeps: 'review' })
  runUntil(world, () => world.outcome !== null)
  expect(
    world.journal.some(
      (fact) => fact.type === 'crew.job' && fact.job.type === 'prepare' && fact.job.task === 'a' && fact.job.keeps === 'review',
    ),
  ).toBe(true)
  expect(taskOf(world, 'a').state).toBe('done')
})

const COMMENTS = 'a.ts:1: a map\n> one\n\na.ts:9: why twice?\n> nine'
const DENIAL_MESSAGE = `a "a"

Do it.

1 earlier attempt failed; the last reason: the user denied it

The user commented: ${COMMENTS}

Your worktree contains the files as FROM reported them, uncommitted (refs/review/a). Check them, finish what is missing, and report.

When the task is done, call report_implementation_complete with a summary. Do not commit yet: after the approval, a message asks you to commit.`

/** The message about task a to its next worker. */
function messageAboutA(world: CrewWorld, implementer: MemberId | null): string {
  const findMessage = (): string | undefined =>
    [...world.procs.values()].find(({ id, reading }) => id !== implementer && reading?.text.startsWith('Task a '))?.reading?.text
  runUntil(world, () => findMessage() !== undefined)
  return findMessage() ?? ''
}

test("the author gets the user's denial once, with the comments", () => {
  const world = playWithoutUser({ maxWorkers: 1, reviews: false, staff: [{ role: 'generic', count: 1 }] })
  answerQuestion(world, [...world.openQuestions].find(([, task]) => task === 'a')?.[0] ?? '', 'deny', COMMENTS)
  expect(messageAboutA(world, null)).toBe(`Task ${DENIAL_MESSAGE.replace('FROM', 'you')}`)
})

test('another worker learns whose files it continues with', () => {
  const world = playWithoutUser()
  const { implementer } = taskOf(world, 'a')
  endProcess(world, world.requireProcess(implementer ?? 'worker-9'), 'person')
  answerQuestion(world, [...world.openQuestions].find(([, task]) => task === 'a')?.[0] ?? '', 'deny', COMMENTS)
  expect(messageAboutA(world, implementer)).toBe(`Task ${DENIAL_MESSAGE.replace('FROM', implementer ?? '')}`)
})

test('after the author has left, another worker continues with its files', () => {
  const world = playWithoutUser({ maxWorkers: 3 })
  const { implementer } = taskOf(world, 'a')
  endProcess(world, world.requireProcess(implementer ?? 'worker-9'), 'person')
  runUntil(world, () => world.outcome !== null)
  expect(taskOf(world, 'a')).toMatchObject({ state: 'done', attempts: 0 })
  expect(taskOf(world, 'a').implementer).not.toBe(implementer)
})

test('a worker without other tasks keeps its files', () => {
  const world = startedWorld({ gate: 'human', maxWorkers: 2 })
  runUntil(world, () => taskOf(world).state === 'waiting')
  expect([taskOf(world).parked, memberOf(world, 'worker-1').phase]).toEqual([false, 'awaiting_review'])
})

test('a task that blocks the merge queue keeps its worker', () => {
  const world = startedWorld({ maxWorkers: 2 }, FIVE_TASKS)
  runUntil(world, () => world.jobs.some(({ type }) => type === 'merge'))
  const merge = world.jobs.find(({ type }) => type === 'merge')
  world.jobs = world.jobs.filter(({ job }) => job !== merge?.job)
  Object.assign(world, { spec: { ...world.spec, gate: 'human' } })
  world.submit({ type: 'job_done', job: merge?.job ?? 0, result: { type: 'conflict', files: ['a.txt'] } })
  const findConflict = () => world.crew.tasks.find(({ kind }) => kind === 'conflict')
  runUntil(world, () => findConflict()?.state === 'waiting')
  while (world.jobs.length > 0) playAct(world)
  expect(findConflict()).toMatchObject({ parked: false, prepared: true })
  runUntil(world, () => world.outcome !== null)
  expect(world.outcome).toBe('completed')
})

test('members that share a directory take the next task while a review waits for the user', () => {
  const world = playWithoutUser({ git: null, gate: 'auto', maxWorkers: 1, staff: [{ role: 'generic', count: 1 }] })
  expect(world.crew.tasks.map(({ state, ask }) => [state, ask?.for])).toEqual(FIVE_TASKS.map(() => ['waiting', 'review']))
})
