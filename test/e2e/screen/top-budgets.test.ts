// The budgets of `reeve top` with thousands of rows. On a busy machine they grow as the start of Node slows down. `npm run bench top`
// measures a quiet machine.
import { beforeAll, describe, expect, test } from 'vitest'
import { HAS_TERMINAL } from '../../support/daemon/terminal.ts'
import { FORM } from '../../support/env.ts'
import { drawFrames, MeasuredTop, measureSlowdown, TOP_BUDGETS } from '../../support/faces/top-measurements.ts'

let slower: number
beforeAll(async () => {
  slower = await measureSlowdown()
})

test.each([1_000, 10_000] as const)('a frame of %i rows keeps its budgets of CPU time and bytes', async (count) => {
  const { cpuMs, bytes } = drawFrames(count, 200)
  expect(cpuMs / slower).toBeLessThan(TOP_BUDGETS.frameMs[count])
  expect(bytes).toBeLessThan(TOP_BUDGETS.frameBytes)
})

describe.runIf(HAS_TERMINAL)('the program', () => {
  test('with 1,000 rows keeps the budgets of its start, its idle time and its memory', async () => {
    await using top = await MeasuredTop.open(1_000)
    const firstFrameMs = top.cpuMs
    // The sources are stripped of their types at each start: only a build is as quick as what users run.
    if (FORM === 'bundle') expect(firstFrameMs / slower).toBeLessThan(TOP_BUDGETS.firstFrameMs)
    const idle = await top.measureIdlePercent(4)
    expect(idle / slower).toBeLessThan(TOP_BUDGETS.idlePercent)
    if (FORM === 'bundle') expect(top.residentMb).toBeLessThan(TOP_BUDGETS.residentMb)
  })

  test.runIf(FORM === 'bundle')('with 10,000 rows keeps the budget of its memory', async () => {
    await using top = await MeasuredTop.open(10_000)
    expect(top.residentMb).toBeLessThan(TOP_BUDGETS.residentMb)
  })
})
