// The spans of a long history: only the facts that change a status are read, and only as far back as needed.
import { expect, test } from 'vitest'
import { EventLoopTurns } from '../../../../src/drivers/common/event-loop-turns.ts'
import type { TreeDeps } from '../../../../src/daemon/views/descendants.ts'
import { spansView } from '../../../../src/daemon/views/spans.ts'
import { CommitMaker, stepOf } from '../../../support/store/facts.ts'
import { openTestStore } from '../../../support/store/test-store.ts'

const A = '01890000-0000-7000-8000-00000000000a'
const STEPS = 5_000

test('the spans of a process with 5,000 steps need fewer than 10 facts, and a shorter answer has the newest spans', async () => {
  await using fixture = await openTestStore()
  const { store } = fixture
  const maker = new CommitMaker()
  await store.commit(maker.spawn(A))
  await store.commit(maker.write(A, { type: 'process.working', turn: 1, message: null }))
  for (let step = 1; step <= STEPS; step += 50)
    await store.commit(maker.write(A, ...Array.from({ length: 50 }, (_, index) => stepOf(step + index)).flat()))
  const hold = { id: 'h', reason: 'user', by: `agent:${A}`, at: 1, note: null } as never
  await store.commit(maker.write(A, { type: 'process.held', hold, mono: 6 }))
  let read = 0
  const counted: TreeDeps = {
    store: {
      tail: async (...query) => {
        const page = await store.tail(...query)
        read += page.length
        return page
      },
    },
    reads: { find: async (uuid) => store.process(uuid) },
    slices: new EventLoopTurns().newQueue(),
  }
  const process = await store.process(A)
  if (!process) throw new Error('no process')
  const { processes } = await spansView(counted, process, { subtree: false, max: 2_000 })
  const spans = processes[0]?.spans ?? []
  expect(spans.map(({ status }) => status)).toEqual([...new Set(spans.map(({ status }) => status))])
  expect(spans.at(-1)).toMatchObject({ to: null, cause: 'paused by another process' })
  expect(spans.at(-2)?.to).toBe(spans.at(-1)?.from)
  expect(read).toBeLessThan(10)
  const [last] = (await spansView(counted, process, { subtree: false, max: 1 })).processes
  expect([last?.spans, last?.truncated]).toEqual([spans.slice(-1), true])
})
