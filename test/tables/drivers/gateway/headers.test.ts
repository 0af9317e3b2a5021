// The headers that the gateway forwards, in both directions.
import { expect, test } from 'vitest'
import { requestHeaders, responseHeaders } from '../../../../src/drivers/gateway/headers.ts'

const PARTS = { host: 'api.example', key: ['x-api-key', 'the key'], bytes: 12, isDecoded: false } as const

test('a request keeps its headers in order and spelling, except keys and those of the connection', () => {
  const raw = [
    'Host',
    '127.0.0.1:1',
    'Connection',
    'keep-alive, X-Mine',
    'X-Mine',
    '1',
    'Authorization',
    'Bearer token',
    'X-Api-Key',
    'token',
    'x-goog-api-key',
    'token',
    'api-key',
    'token',
    'Cookie',
    'c',
    'Origin',
    'http://page',
    'anthropic-version',
    '2023-06-01',
    'anthropic-beta',
    'a',
    'anthropic-beta',
    'b',
    'OpenAI-Organization',
    'o',
    'User-Agent',
    'agent/1',
    'Accept',
    'text/event-stream',
    'Accept-Encoding',
    'gzip',
    'Content-Type',
    'application/json',
    'Content-Length',
    '99',
    'Transfer-Encoding',
    'chunked',
    'TE',
    'trailers',
    'Upgrade',
    'websocket',
    'Expect',
    '100-continue',
    'Proxy-Authorization',
    'p',
    'X-Forwarded-For',
    'f',
  ]
  expect(requestHeaders(raw, PARTS)).toEqual([
    'host',
    'api.example',
    'anthropic-version',
    '2023-06-01',
    'anthropic-beta',
    'a',
    'anthropic-beta',
    'b',
    'OpenAI-Organization',
    'o',
    'User-Agent',
    'agent/1',
    'Accept',
    'text/event-stream',
    'Accept-Encoding',
    'gzip',
    'Content-Type',
    'application/json',
    'x-api-key',
    'the key',
    'content-length',
    '12',
  ])
})

test('a client that accepts no encoding gets none, and without a key no key is sent', () => {
  expect(requestHeaders(['Accept', '*/*'], { ...PARTS, key: null, bytes: null })).toEqual([
    'host',
    'api.example',
    'Accept',
    '*/*',
    'accept-encoding',
    'identity',
  ])
})

test('a decoded body loses its content encoding', () => {
  const raw = ['Content-Encoding', 'zstd', 'Accept-Encoding', 'br']
  expect(requestHeaders(raw, { ...PARTS, key: null, isDecoded: true })).toEqual([
    'host',
    'api.example',
    'Accept-Encoding',
    'br',
    'content-length',
    '12',
  ])
})

test('an answer keeps its headers, except those of the connection', () => {
  const raw = [
    'Date',
    'then',
    'Content-Type',
    'text/event-stream',
    'Set-Cookie',
    'a',
    'Set-Cookie',
    'b',
    'Connection',
    'close',
    'Keep-Alive',
    'timeout=5',
    'Transfer-Encoding',
    'chunked',
    'Trailer',
    'x',
    'request-id',
    'r',
    'Content-Encoding',
    'gzip',
    'Content-Length',
    '5',
  ]
  expect(responseHeaders(raw)).toEqual([
    'Date',
    'then',
    'Content-Type',
    'text/event-stream',
    'Set-Cookie',
    'a',
    'Set-Cookie',
    'b',
    'request-id',
    'r',
    'Content-Encoding',
    'gzip',
    'Content-Length',
    '5',
  ])
})
