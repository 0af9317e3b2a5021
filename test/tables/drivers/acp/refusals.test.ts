// Each refusal for an ACP agent is reported up to a limit, and so is the limit.
import { expect, test } from 'vitest'
import { refusalReporter } from '../../../../src/drivers/acp/refusals.ts'
import { ReportQueue } from '../../../../src/drivers/acp/report-queue.ts'
import { FakeKernel } from '../../../support/kernel/fake-kernel.ts'

test('each refusal is reported with its call and a shortened text, up to 1,000 refusals', async () => {
  const kernel = new FakeKernel()
  const reports = new ReportQueue(kernel)
  const refused = refusalReporter(reports)
  refused('tools', 'bash', 'c1')
  for (let count = 0; count < 1_500; count += 1) refused('paths', `${count} ${'x'.repeat(2_000)}`)
  await reports.send({ type: 'note', text: 'the end' })
  const refusals = kernel.factsOf('capability.refused')
  expect([refusals.length, refusals[0]]).toEqual([1_000, { type: 'capability.refused', what: 'tools', detail: 'bash', callId: 'c1' }])
  expect(refusals.at(-1)).toEqual({ type: 'capability.refused', what: 'paths', detail: expect.stringMatching(/^998 x{996}$/) })
  expect(kernel.factsOf('process.note').map(({ text }) => text)).toEqual([
    '1000 of its requests were refused: further refusals are not reported',
    'the end',
  ])
})
