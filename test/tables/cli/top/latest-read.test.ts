// A read that is requested while another runs comes after it, once; so the last answer is the newest.
import { expect, test } from 'vitest'
import { LatestRead } from '../../../../src/cli/top/latest-read.ts'
import { waitUntil } from '../../../support/wait-until.ts'

test('reads run one after another, and requests during a read give one more', async () => {
  const ends: (() => void)[] = []
  using read = new LatestRead(0, () => new Promise((resolve) => ends.push(resolve)))
  read.request()
  await waitUntil(() => ends.length === 1, 'the first read runs')
  for (let request = 0; request < 3; request += 1) read.request()
  expect(ends).toHaveLength(1)
  ends[0]?.()
  await waitUntil(() => ends.length === 2, 'the second read runs')
  ends[1]?.()
  read.request()
  await waitUntil(() => ends.length === 3, 'a later request gives a third read')
})
