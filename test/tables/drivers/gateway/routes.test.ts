// The method and path of a request decide its provider, its wire format and its URL: for model calls, and for other forwarded or refused
// requests.
import { describe, expect, test } from 'vitest'
import { gatewayBaseURL, keyHeader, readPath, findRoute, providerURL } from '../../../../src/drivers/gateway/routes.ts'
import type { ProviderConfig } from '../../../../src/drivers/native/models/resolve-model.ts'

type Kind = ProviderConfig['kind']

describe('the path', () => {
  test.each([
    ['/anthropic/v1/messages?beta=true', { name: 'anthropic', rest: 'v1/messages', query: '?beta=true', key: null }],
    [
      '/google/v1beta/models/m:streamGenerateContent?alt=sse&key=TOKEN',
      { name: 'google', rest: 'v1beta/models/m:streamGenerateContent', query: '?alt=sse', key: 'TOKEN' },
    ],
    ['/openai/v1/models?key=T', { name: 'openai', rest: 'v1/models', query: '', key: 'T' }],
    ['/anthropic', { name: 'anthropic', rest: '', query: '', key: null }],
    ['/anthropic/', { name: 'anthropic', rest: '', query: '', key: null }],
    ['/my.host-2/v1/x', { name: 'my.host-2', rest: 'v1/x', query: '', key: null }],
  ])('%s names its provider', (url, expected) => {
    expect(readPath(url)).toEqual(expected)
  })

  test.each([
    '',
    '/',
    '//x',
    'http://other/anthropic',
    '/a b/x',
    '/anthropic/../openai',
    '/anthropic/v1/./messages',
    '/anthropic/%2e%2e/x',
    '/anthropic/v1%2Fmessages',
    '/anthropic/..',
    '/anthropic/a\\b',
  ])('%j names no provider', (url) => {
    expect(readPath(url)).toBeNull()
  })
})

describe('a request', () => {
  test.each<[string, string, Kind, string, boolean, string | null]>([
    ['POST', 'v1/messages', 'anthropic', 'anthropic', true, null],
    ['POST', 'v1/messages/count_tokens', 'anthropic', 'anthropic', false, null],
    ['GET', 'v1/models', 'anthropic', 'anthropic', false, null],
    ['HEAD', '', 'anthropic', 'anthropic', false, null],
    ['POST', 'v1/responses', 'openai', 'responses', true, null],
    ['POST', 'v1/responses/compact', 'openai', 'responses', true, null],
    ['POST', 'responses', 'openai', 'responses', true, null],
    ['GET', 'v1/responses/resp_1', 'openai', 'responses', false, null],
    ['POST', 'v1/chat/completions', 'openai', 'chat', true, null],
    ['POST', 'v1/chat/completions', 'openai-compatible', 'chat', true, null],
    ['POST', 'v1/messages', 'openai-compatible', 'anthropic', true, null],
    ['POST', 'v1beta/models/gemini-x:generateContent', 'google', 'gemini', true, 'gemini-x'],
    ['POST', 'v1beta/models/gemini-x:streamGenerateContent', 'google', 'gemini', true, 'gemini-x'],
    ['POST', 'v1/models/gemini-x:streamGenerateContent', 'google', 'gemini', true, 'gemini-x'],
    ['POST', 'v1beta/models/gemini-x:countTokens', 'google', 'gemini', false, 'gemini-x'],
    ['GET', 'v1beta/models', 'google', 'gemini', false, null],
  ])('%s %s to %s has its format and model', (method, path, kind, format, isCall, model) => {
    expect(findRoute(method, path, kind)).toEqual({ format, isCall, model })
  })

  test.each<[string, string, Kind]>([
    ['POST', 'v1/embeddings', 'openai'],
    ['POST', 'v1/images/generations', 'openai'],
    ['POST', 'v1/completions', 'openai-compatible'],
    ['POST', 'v1/messages/batches', 'anthropic'],
    ['DELETE', 'v1/messages', 'anthropic'],
    ['PUT', 'v1/messages', 'anthropic'],
    ['POST', 'v1beta/models/x:embedContent', 'google'],
    ['POST', 'v1beta/cachedContents', 'google'],
    ['POST', 'constructor', 'openai'],
    ['POST', 'api/event_logging/batch', 'anthropic'],
  ])('%s %s to %s is refused as unknown', (method, path, kind) => {
    expect(findRoute(method, path, kind)).toBeNull()
  })
})

describe('the URL', () => {
  test.each<[Kind, string, string, string]>([
    ['anthropic', 'https://api.anthropic.com/v1', 'v1/messages', 'https://api.anthropic.com/v1/messages'],
    ['anthropic', 'https://corp/llm/', 'v1/messages', 'https://corp/llm/v1/messages'],
    ['openai', 'https://api.openai.com/v1', 'v1/responses', 'https://api.openai.com/v1/responses'],
    ['openai-compatible', 'https://host/api/paas/v4/', 'v1/chat/completions', 'https://host/api/paas/v4/chat/completions'],
    [
      'google',
      'https://generativelanguage.googleapis.com/v1beta',
      'v1beta/models/m:generateContent',
      'https://generativelanguage.googleapis.com/v1beta/models/m:generateContent',
    ],
    ['google', 'https://generativelanguage.googleapis.com', 'v1alpha/models', 'https://generativelanguage.googleapis.com/v1alpha/models'],
    ['anthropic', 'https://api.anthropic.com/v1', '', 'https://api.anthropic.com/'],
  ])('of a provider %s at %s for the path %s is %s', (kind, baseURL, path, url) => {
    expect(providerURL({ rest: path, query: '' }, { kind, baseURL }).href).toBe(url)
    expect(providerURL({ rest: path, query: '?a=%20b' }, { kind, baseURL }).href).toBe(`${url}?a=%20b`)
  })

  test('that a client calls has the name of its provider, and each kind of provider has its own key header', () => {
    expect(
      (['anthropic', 'openai', 'openai-compatible', 'google'] as const).map((kind) =>
        gatewayBaseURL('http://127.0.0.1:9', { name: 'n', kind }),
      ),
    ).toEqual(['http://127.0.0.1:9/n', 'http://127.0.0.1:9/n/v1', 'http://127.0.0.1:9/n/v1', 'http://127.0.0.1:9/n'])
    expect((['anthropic', 'openai', 'openai-compatible', 'google'] as const).map((kind) => keyHeader(kind, 'k').join(': '))).toEqual([
      'x-api-key: k',
      'authorization: Bearer k',
      'authorization: Bearer k',
      'x-goog-api-key: k',
    ])
  })
})
