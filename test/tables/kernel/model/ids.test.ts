// The sender of a request: an agent has a UUID, every other sender has none.
import { expect, test } from 'vitest'
import { agentUuidIn } from '../../../../src/kernel/model/ids.ts'
import type { Sender } from '../../../../src/kernel/model/ids.ts'

test.each<[Sender, string | null]>([
  ['agent:0192f0c0', '0192f0c0'],
  ['user', null],
  ['system', null],
  ['coordinator', null],
])('the sender %s has the UUID %s', (sender, uuid) => {
  expect(agentUuidIn(sender)).toBe(uuid)
})
