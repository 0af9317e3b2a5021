// What servers list and answer, as our tools have it: names, schemas, results. Nothing that a server says is believed.
import { describe, expect, test } from 'vitest'
import type { CallToolResult, Tool } from '@modelcontextprotocol/client'
import { namedTools, outputOf, prefixOf } from '../../src/drivers/mcp/tools.ts'

const PROVIDERS_TAKE = /^[A-Za-z0-9_-]{1,64}$/
const listed = (name: string, more: object = {}): Tool => ({ name, inputSchema: { type: 'object' }, ...more }) as Tool

describe('names', () => {
  test.each([
    ['github', 'mcp__github'], ['My Server!', 'mcp__My_Server'], ['a__b', 'mcp__a_b'], ['_x_', 'mcp__x'], ['', 'mcp__server'], ['…', 'mcp__server'],
    ['ein-ziemlich-langer-name-eines-servers', expect.stringMatching(/^mcp__ein-ziemlich-langer-_[0-9a-f]{6}$/)],
  ])('of the server %j', (name, prefix) => {
    expect(prefixOf(name, new Set())).toEqual(prefix)
  })

  test('two servers whose names become the same have different ones, the same each time', () => {
    const second = prefixOf('a.b', new Set(['mcp__a_b']))
    expect(second).toMatch(/^mcp__a_b_[0-9a-f]{6}$/)
    expect(prefixOf('a.b', new Set(['mcp__a_b']))).toBe(second)
  })

  test('of tools: what every provider takes, each once', () => {
    const names = ['plain', 'with.dot', 'with dot', 'ü', 'x'.repeat(200), `${'x'.repeat(200)}y`, 'a__b']
    const { tools } = namedTools(names.map((name) => listed(name)), 'mcp__s')
    expect(tools.map(({ listed: one }) => one.name)).toEqual(names.toSorted())
    expect(tools.filter(({ name }) => !PROVIDERS_TAKE.test(name))).toEqual([])
    expect(new Set(tools.map(({ name }) => name)).size).toBe(names.length)
    expect(tools.slice(1, 3).map(({ name }) => name)).toEqual(['mcp__s__plain', 'mcp__s__with_dot'])
  })

  test('are the same in whatever order a server lists its tools', () => {
    const named = (...names: readonly string[]): unknown => namedTools(names.map((name) => listed(name)), 'mcp__s').tools.map(({ name, listed: one }) => [name, one.name])
    expect(named('b', 'with.dot', 'with dot', 'a')).toEqual(named('a', 'with dot', 'b', 'with.dot'))
  })
})

test('descriptions and schemas have limits; what has no schema of an object is left out', () => {
  const huge = { type: 'object', properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`property_${index}`, { type: 'string' }])) }
  const { tools, leftOut } = namedTools([
    listed('bare'), listed('full', { description: 'd'.repeat(10_000), inputSchema: { $schema: 'x', type: 'object', properties: { a: {} }, required: ['a'] } }),
    listed('list', { inputSchema: [] }), listed('text', { inputSchema: { type: 'string' } }), listed('none', { inputSchema: null }), listed('huge', { inputSchema: huge }),
  ], 'mcp__s')
  expect(tools.map(({ name, schema }) => [name, schema])).toEqual([
    ['mcp__s__bare', { type: 'object', properties: {} }],
    ['mcp__s__full', { type: 'object', properties: { a: {} }, required: ['a'] }],
  ])
  expect(tools[1]?.description.length).toBe(4_096)
  expect(leftOut).toBe(4)
  const big = { type: 'object', properties: { text: { const: 'x'.repeat(60_000) } } }
  expect(namedTools(Array.from({ length: 20 }, (_, index) => listed(`t${index}`, { inputSchema: big })), 'mcp__s')).toMatchObject({ leftOut: 3 })
})

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('results', () => {
  const output = (result: object): unknown => outputOf(result as CallToolResult, (text) => text.replaceAll('hunter2', '[secret]'))

  test.each<[string, object, object]>([
    ['texts, joined', { content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] }, { text: 'a\nb', images: [] }],
    ['nothing', { content: [] }, { text: '', images: [] }],
    ['what is structured, where there is no text', { content: [], structuredContent: { a: [1] } }, { text: '{"a":[1]}', images: [] }],
    ['but the text, where there is one', { content: [{ type: 'text', text: 'a' }], structuredContent: { a: 1 } }, { text: 'a', images: [] }],
    ['a picture, by its bytes', { content: [{ type: 'image', data: PNG, mimeType: 'image/gif' }] }, { text: 'image/png, 1 × 1, 1 KiB', images: [{ mediaType: 'image/png', data: PNG }] }],
    ['what is called a picture', { content: [{ type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' }] }, { text: '[a picture of a kind that cannot be shown]', images: [] }],
    ['a sound', { content: [{ type: 'audio', data: '', mimeType: 'audio/wav' }] }, { text: '[sound (audio/wav), which cannot be played]', images: [] }],
    ['a link', { content: [{ type: 'resource_link', name: 'doc', uri: 'file:///d', description: 'it' }] }, { text: '[doc: file:///d] it', images: [] }],
    ['a text that is embedded', { content: [{ type: 'resource', resource: { uri: 'x:1', text: 'in it' } }] }, { text: '[x:1]\nin it', images: [] }],
    ['bytes that are embedded', { content: [{ type: 'resource', resource: { uri: 'x:1', blob: 'AA==' } }] }, { text: '[x:1: not text (of an unknown kind)]', images: [] }],
    ['secrets are hidden', { content: [{ type: 'text', text: 'it is hunter2' }] }, { text: 'it is [secret]', images: [] }],
  ])('%s', (_, result, expected) => {
    expect(output(result)).toEqual(expected)
  })

  test('one that is an error, with its words or without', () => {
    expect(() => output({ isError: true, content: [{ type: 'text', text: 'no such hunter2' }] })).toThrow('no such [secret]')
    expect(() => output({ isError: true, content: [] })).toThrow('the tool says that it failed, and not why')
  })

  test('only so many pictures are shown', () => {
    expect(output({ content: Array.from({ length: 12 }, () => ({ type: 'image', data: PNG, mimeType: 'image/png' })) })).toMatchObject({ images: { length: 10 } })
  })
})
