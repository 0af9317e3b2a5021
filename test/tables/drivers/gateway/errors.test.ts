// The gateway's own error responses in each wire format.
import { expect, test } from 'vitest'
import { createErrorAnswer } from '../../../../src/drivers/gateway/errors.ts'

test('each format has its own error body', () => {
  expect(JSON.parse(createErrorAnswer('anthropic', 'token', 'who?').body)).toEqual({
    type: 'error',
    error: { type: 'authentication_error', message: 'who?' },
  })
  expect(JSON.parse(createErrorAnswer('responses', 'token', 'who?').body)).toEqual({
    error: { message: 'who?', type: 'invalid_request_error', param: null, code: 'invalid_api_key' },
  })
  expect(JSON.parse(createErrorAnswer('chat', 'wait', 'later', 3).body)).toEqual({
    error: { message: 'later', type: 'requests', param: null, code: 'rate_limit_exceeded' },
  })
  expect(JSON.parse(createErrorAnswer('gemini', 'wait', 'later', 3).body)).toEqual({
    error: {
      code: 429,
      message: 'later',
      status: 'RESOURCE_EXHAUSTED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3s' }],
    },
  })
})

test('a client that should retry gets the delay', () => {
  expect(createErrorAnswer('anthropic', 'wait', 'later', 3)).toMatchObject({
    status: 429,
    headers: { 'retry-after': '3', 'content-type': 'application/json' },
  })
  expect(createErrorAnswer('anthropic', 'budget', 'no').headers).toEqual({ 'content-type': 'application/json' })
})

test.each([
  ['token', 401],
  ['unknown', 404],
  ['large', 413],
  ['budget', 400],
  ['wait', 429],
  ['unreachable', 502],
  ['failed', 500],
] as const)('the status of %s is %d', (kind, status) => {
  expect((['anthropic', 'responses', 'chat', 'gemini'] as const).map((format) => createErrorAnswer(format, kind, '').status)).toEqual([
    status,
    status,
    status,
    status,
  ])
})
