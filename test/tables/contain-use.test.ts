// CPU time of members that come and go: counted once, whoever waits for them, and never going back.
import { expect, test } from 'vitest'
import { CpuTally } from '../../src/drivers/contain/use.ts'
import type { Use } from '../../src/drivers/contain/use.ts'

const [PARENT, CHILD, GRANDCHILD] = [10, 20, 30]
const PPID: Readonly<Record<number, number>> = { [PARENT]: 1, [CHILD]: PARENT, [GRANDCHILD]: CHILD }

/** `PID:OWN+WAITED` of each that lives. */
function look(text: string): Use[] {
  return text.split(' ').filter(Boolean).map((word) => {
    const [pid = 0, ownMs = 0, waitedMs = 0] = word.split(/[:+]/).map(Number)
    return { pid, ppid: PPID[pid] ?? 1, startTime: 's', ownMs, waitedMs, rssBytes: 0 }
  })
}

const ROWS: readonly (readonly [what: string, looks: readonly string[], totals: readonly number[]])[] = [
  ['one that works', ['10:5', '10:50', '10:80'], [5, 50, 80]],
  ['a child that was waited for is in its parent', ['10:5 20:40', '10:5+45'], [45, 50]],
  ['a child that nobody waited for stays counted', ['10:5 20:40', '10:6'], [45, 46]],
  ['a grandchild that its grandparent got with its parent', ['10:5 20:40 30:7', '10:5+60'], [52, 65]],
  ['two children, of which one was waited for', ['10:0 20:40 30:7', '10:0+40'], [47, 47]],
  ['who came and went between two looks', ['10:5', '10:5+100'], [5, 105]],
  ['all are gone', ['10:5 20:40', ''], [45, 45]],
  ['it never goes back', ['10:50', '10:40'], [50, 50]],
]

test.each(ROWS)('%s', (_, looks, totals) => {
  const tally = new CpuTally()
  expect(looks.map((text) => tally.count(look(text)))).toEqual(totals)
})

test('another one with the same number is another one', () => {
  const tally = new CpuTally()
  tally.count(look('10:50'))
  expect(tally.count(look('10:3').map((use) => ({ ...use, startTime: 'later' })))).toBe(53)
})

test('a child of ours has what we got when we waited for it, with what it had waited for', () => {
  const tally = new CpuTally()
  tally.count(look('10:50 20:40'))
  tally.ended(PARENT, 130)
  expect(tally.count([])).toBe(130)
})

test('a child of ours that was never looked at counts all the same', () => {
  const tally = new CpuTally()
  tally.ended(PARENT, 12)
  tally.ended(CHILD, 8)
  expect(tally.count(look('30:5'))).toBe(25)
})

test('a grandchild that lives on goes on counting', () => {
  const tally = new CpuTally()
  tally.count(look('10:50 20:40 30:7'))
  tally.ended(PARENT, 95)
  expect(tally.count(look('30:9'))).toBe(104)
})
