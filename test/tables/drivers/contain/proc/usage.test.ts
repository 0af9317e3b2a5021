// The tally of the CPU time of a containment's members, which come and go. It counts the CPU time of each member once, even if its
// parent has waited for it. It never decreases.
import { expect, test } from 'vitest'
import { CpuTally } from '../../../../../src/drivers/contain/proc/usage.ts'
import type { ProcessUsage } from '../../../../../src/drivers/contain/proc/usage.ts'

const [PARENT, CHILD, GRANDCHILD] = [10, 20, 30]
const PPID: Readonly<Record<number, number>> = { [PARENT]: 1, [CHILD]: PARENT, [GRANDCHILD]: CHILD }

/** Parses `PID:OWN+WAITED` of each living process. */
function parseMembers(text: string): ProcessUsage[] {
  return text
    .split(' ')
    .filter(Boolean)
    .map((word) => {
      const [pid = 0, ownMs = 0, waitedMs = 0] = word.split(/[:+]/).map(Number)
      return { pid, ppid: PPID[pid] ?? 1, startTime: 's', ownMs, waitedMs, rssBytes: 0 }
    })
}

const ROWS: readonly (readonly [what: string, measurements: readonly string[], totals: readonly number[]])[] = [
  ['a process that computes counts', ['10:5', '10:50', '10:80'], [5, 50, 80]],
  ['a child that was waited for counts in its parent', ['10:5 20:40', '10:5+45'], [45, 50]],
  ['a child without a waiting parent stays counted', ['10:5 20:40', '10:6'], [45, 46]],
  ['a grandchild counts in its grandparent after both waits', ['10:5 20:40 30:7', '10:5+60'], [52, 65]],
  ['a grandchild that was not waited for stays counted', ['10:0 20:40 30:7', '10:0+40'], [47, 47]],
  ['a child that began and ended between two measurements counts', ['10:5', '10:5+100'], [5, 105]],
  ['the total stays when all processes have ended', ['10:5 20:40', ''], [45, 45]],
  ['the total never decreases', ['10:50', '10:40'], [50, 50]],
]

test.each(ROWS)('%s', (_, measurements, totals) => {
  const tally = new CpuTally()
  expect(measurements.map((text) => tally.count(parseMembers(text)))).toEqual(totals)
})

test('a new OS process with the same OS pid is another one', () => {
  const tally = new CpuTally()
  tally.count(parseMembers('10:50'))
  expect(tally.count(parseMembers('10:3').map((usage) => ({ ...usage, startTime: 'later' })))).toBe(53)
})

test('the exit of a child of the daemon adds its total usage, with the children for which it waited', () => {
  const tally = new CpuTally()
  tally.count(parseMembers('10:50 20:40'))
  tally.addEnded(PARENT, 130)
  expect(tally.count([])).toBe(130)
})

test('a child of the daemon that was never measured counts all the same', () => {
  const tally = new CpuTally()
  tally.addEnded(PARENT, 12)
  tally.addEnded(CHILD, 8)
  expect(tally.count(parseMembers('30:5'))).toBe(25)
})

test('a living grandchild keeps counting', () => {
  const tally = new CpuTally()
  tally.count(parseMembers('10:50 20:40 30:7'))
  tally.addEnded(PARENT, 95)
  expect(tally.count(parseMembers('30:9'))).toBe(104)
})
