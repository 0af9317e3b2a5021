// The times of a row: the agent's last own activity, and its last usage. Requests of the user change neither.
import { expect, test } from 'vitest'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'

test('requests of the user to an idle process change neither its activity time nor its usage time', () => {
  const player = new TranscriptPlayer()
  player.play('.live a interactive\n.report a model 1\n.report a answer 1\n.report a ended 1')
  const before = player.world.row('a')?.clock
  player.play('.wind 5000\n.signal SIGPAUSE a\n.mask a SIGTERM\n.signal SIGTERM a by=agent:a\n.handle a SIGINT ignore\n.resume a')
  const after = player.world.row('a')?.clock
  expect(after?.updatedAt).toBe((before?.updatedAt ?? 0) + 5000)
  expect([after?.lastActivityAt, after?.usedAt]).toEqual([before?.lastActivityAt, before?.usedAt])
})
