// Limits of a task: the usage of one attempt with its reviews, and the end of an attempt that exceeds a limit.
import { describe, expect, test } from 'vitest'
import { reachedLimitText } from '../../../../../src/kernel/crew/decide/task-limits.ts'
import { toFileTasks, tasksRule } from '../../../../../src/config/crew/tasks.ts'
import { senderOfMember, endTurn } from '../../../../support/crew-world/regular-work.ts'
import { taskOf, transcriptOf, runUntil, runUntilTask, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { TaskLimits } from '../../../../../src/kernel/model/crew/words.ts'

/** Returns a world in which the worker of task one is in a turn for it. */
function worldInTurn(limits: TaskLimits, maxAttempts = 3): CrewWorld {
  const world = startedWorld({ maxAttempts }, [{ id: 'one', title: 'the first', text: 'Do it.', limits }])
  return runUntil(world, () => [...world.procs.values()].some(({ reading }) => reading?.text.startsWith('Task one') === true))
}

const implementerOf = (world: CrewWorld): 'worker-1' => taskOf(world).implementer as 'worker-1'
const spendOnTask = (world: CrewWorld, spent: object): string =>
  transcriptOf(world, () => world.submit({ type: 'member_usage', member: implementerOf(world), spent }))

describe('a task', () => {
  test.each<[TaskLimits, object, number, string | null]>([
    [{ budgetUsd: 1 }, { costUsd: 0.99 }, 0, null],
    [{ budgetUsd: 1 }, { costUsd: 1 }, 0, 'it has cost $1.00 of $1'],
    [
      { budgetTokens: 100 },
      { inputTokens: 60, outputTokens: 20, cacheReadTokens: 10, cacheWriteTokens: 10 },
      0,
      'it has used 100 of 100 tokens',
    ],
    [{ maxSteps: 3 }, { steps: 3 }, 0, 'it has taken 3 of 3 steps'],
    [{ timeoutMs: 5_000 }, {}, 4_999, null],
    [{ timeoutMs: 5_000 }, {}, 5_000, 'it has taken 5 of 5 s'],
  ])('with the limits %j and the usage %j after %d ms, the reached limit is: %s', (limits, used, ms, reason) => {
    expect(reachedLimitText({ limits, used, triedAt: 1_000 }, {}, 1_000 + ms)).toBe(reason)
    expect(reachedLimitText({ limits, used: {}, triedAt: 1_000 }, used, 1_000 + ms)).toBe(reason)
  })

  test('reaches no limit if it has none', () => {
    expect(reachedLimitText({}, { costUsd: 1e9 }, 0)).toBeNull()
  })
})

describe('an attempt that exceeds a limit', () => {
  test('ends in the middle of a turn, and counts as failed', () => {
    const world = worldInTurn({ budgetUsd: 0.5 })
    expect(spendOnTask(world, { costUsd: 0.4 })).toBe('\n\n')
    expect(spendOnTask(world, { costUsd: 0.6 })).toContain(
      'task.requeued one "an attempt reached its limit: it has cost $0.60 of $0.5" true\n',
    )
    expect(taskOf(world).attempts).toBe(1)
    expect(world.acts.some((act) => act.type === 'interrupt')).toBe(true)
    runUntilTask(world, 'done')
    expect(world.foldJournal()).toEqual(world.crew)
  })

  test('ends at the end of a turn, too, and the next attempt counts from 0', () => {
    const world = worldInTurn({ maxSteps: 2 })
    const proc = world.requireProcess(implementerOf(world))
    endTurn(world, proc, 'interrupted')
    expect(taskOf(world)).toMatchObject({ attempts: 0, used: { steps: 1 } })
    runUntil(world, () => proc.reading !== null)
    endTurn(world, proc, 'interrupted')
    expect(taskOf(world)).toMatchObject({ attempts: 1, reason: 'an attempt reached its limit: it has taken 2 of 2 steps' })
    runUntil(world, () => taskOf(world).state === 'implementing')
    expect(taskOf(world)).toMatchObject({ used: {}, spent: { steps: 2 } })
  })

  test('fails the task when it was the last attempt', () => {
    const world = worldInTurn({ budgetTokens: 10 }, 1)
    spendOnTask(world, { inputTokens: 10 })
    expect(taskOf(world)).toMatchObject({
      state: 'failed',
      reason: 'its only attempt failed; the last reason: an attempt reached its limit: it has used 10 of 10 tokens',
    })
  })

  test('does not end after its report', () => {
    const world = worldInTurn({ budgetUsd: 0.5 })
    world.submit({ type: 'report_implementation_complete', summary: 'done' }, senderOfMember(world.requireProcess(implementerOf(world))))
    expect(spendOnTask(world, { costUsd: 9 })).toBe('\n\n')
    runUntilTask(world, 'done')
  })
})

test('a file names the limits of a task like other limits', () => {
  const [one] = toFileTasks(tasksRule.parse([{ text: 'x', limits: { budgetUsd: 2, timeout: '10m', maxSteps: 40 } }]))
  expect(one?.limits).toEqual({ budgetUsd: 2, timeoutMs: 600_000, maxSteps: 40 })
  expect(tasksRule.safeParse([{ text: 'x', limits: { maxTurns: 2 } }]).error?.issues[0]?.message).toContain('no other limits')
})
