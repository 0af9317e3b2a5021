// A process that was imported during its work: the import ends it, and none of its calls stay open.
import { expect, test } from 'vitest'
import { tallyOf } from '../../../../src/kernel/state/accounts.ts'
import { fold } from '../../../../src/kernel/state/fold.ts'
import { closingFactsOf } from '../../../../src/kernel/state/imported-process.ts'
import { unsettledUsage } from '../../../../src/kernel/model/usage-totals.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'

test('an open gateway call is charged its input, and its reserve is released', () => {
  const player = new TranscriptPlayer()
  player.play('spawn a acp\nstart a metered\nreport a up\nreport a call x ask=700+5000 price=0.001,0.002')
  const before = player.world.row('a') as Process
  expect(tallyOf(before)).toMatchObject({ openCalls: 1, reservedTokens: 5_700 })
  const after = closingFactsOf(before).reduce((row, body) => fold(row, { uuid: 'a', seq: row.seq + 1, pid: row.pid, at: 0, body }), before)
  expect(after.life.state).toBe('dead')
  expect(tallyOf(after)).toMatchObject({ openCalls: 0, reservedTokens: 0, inputTokens: 700 })
  expect(unsettledUsage(after), 'no payer is charged its earlier usage').toBeNull()
})
