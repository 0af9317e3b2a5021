// A question about a change shows the changed lines in colour, and is reported only once.
import { expect, test } from 'vitest'
import { BlockNotices } from '../../../../src/cli/follow/block-notices.ts'
import type { AskView } from '../../../../src/api/views/process.ts'
import { captureOutput } from '../../../support/cli/captured-output.ts'
import { processView } from '../../../support/daemon/process-view.ts'

test('the changed lines of a question have colours, and the question is reported once', async () => {
  const screen = captureOutput({ tty: true, color: true })
  const ask = { id: 'a', text: 'Edit a.ts\n--- a.ts\n+++ a.ts\n-one\n+two\x1b[2J', options: [], diff: [{}], at: '2026-01-02T03:04:05Z' }
  const process = processView({ status: 'waiting', asks: [ask as unknown as AskView] })
  await using notices = new BlockNotices(screen.out)
  await notices.report([process])
  await notices.report([process])
  const { stderr } = screen.text()
  expect(stderr).toContain('\x1b[31m-one\x1b[0m\n  \x1b[32m+two\x1b[0m\n')
  expect(stderr.match(/Edit a\.ts/g)).toHaveLength(1)
  expect(stderr).not.toContain('\x1b[2J')
})
