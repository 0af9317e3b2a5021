// A malformed answer of an external agent is an error that names the request.
import { methods } from '@agentclientprotocol/sdk'
import { expect, test } from 'vitest'
import { readSession } from '../../../../src/drivers/acp/message-schemas.ts'

const { session } = methods.agent

test.each([session.new, session.load, session.resume, 'session/fork', session.setConfigOption])('a malformed answer to %s', (method) => {
  expect(() => readSession('yes', method)).toThrow(`its answer to ${method} is malformed: `)
  expect(readSession(null, method).configOptions).toEqual([])
})
