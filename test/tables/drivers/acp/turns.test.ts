// The error of an external agent is described by its message and its details.
import { expect, test } from 'vitest'
import { RequestError } from '@agentclientprotocol/sdk'
import { describeAgentError } from '../../../../src/drivers/acp/turns.ts'

test.each([
  [undefined, 'no model'],
  ['}', 'no model'],
  [' }\n', 'no model'],
  [{}, 'no model'],
  [null, 'no model'],
  ['no model', 'no model'],
  ['set a key', 'no model: set a key'],
  [{ details: 'set a key' }, 'no model: set a key'],
  [{ code: 7 }, 'no model: {"code":7}'],
])('an error with the data %j becomes its message, with the additional details', (data, message) => {
  expect(describeAgentError(new RequestError(-32_603, 'no model', data))).toBe(message)
})
