// Refusals of an agent of the protocol are told, up to a limit, which is told too.
import { expect, test } from 'vitest'
import { refusalsTo } from '../../src/drivers/acp/refusals.ts'
import { Saying } from '../../src/drivers/acp/saying.ts'
import { TestKernel } from '../support/native-kernel.ts'

test('each is told with its call, cut to a length, and after 1,000 no more', async () => {
  const kernel = new TestKernel()
  const saying = new Saying(kernel)
  const refused = refusalsTo(saying)
  refused('tools', 'bash', 'c1')
  for (let count = 0; count < 1_500; count += 1) refused('paths', `${count} ${'x'.repeat(2_000)}`)
  await saying.say({ type: 'note', text: 'the end' })
  const told = kernel.of('capability.refused')
  expect([told.length, told[0]]).toEqual([1_000, { type: 'capability.refused', what: 'tools', detail: 'bash', callId: 'c1' }])
  expect(told.at(-1)).toEqual({ type: 'capability.refused', what: 'paths', detail: expect.stringMatching(/^998 x{996}$/) })
  expect(kernel.of('process.note').map(({ text }) => text)).toEqual(['it was refused 1000 things: what comes is refused, and not told any more', 'the end'])
})
