// A process that comes from elsewhere in the middle of something: it is ended, and nothing of it stays open for ever.
import { expect, test } from 'vitest'
import { tallyOf } from '../../src/kernel/accounts.ts'
import { fold } from '../../src/kernel/fold.ts'
import { endOfImported } from '../../src/kernel/importing.ts'
import { unsettled } from '../../src/kernel/spent.ts'
import { Player } from '../support/kernel/transcript.ts'
import type { Process } from '../../src/kernel/types.ts'

test('a call through the gateway that was open is charged its input, and reserves nothing any more', () => {
  const player = new Player()
  player.play('spawn a acp\nstart a metered\nreport a up\nreport a call x ask=700+5000 price=0.001,0.002')
  const before = player.world.row('a') as Process
  expect(tallyOf(before)).toMatchObject({ openCalls: 1, reservedTokens: 5_700 })
  const after = endOfImported(before).reduce((last, body) => fold(last, { uuid: 'a', seq: last.seq + 1, pid: last.pid, at: 0, body }), before)
  expect(after.life.state).toBe('dead')
  expect(tallyOf(after)).toMatchObject({ openCalls: 0, reservedTokens: 0, inputTokens: 700 })
  expect(unsettled(after), 'what it used before is no payer\'s business here').toBeNull()
})
