// The conversion of the tools and results of MCP servers: names, schemas and results. A server's data is never trusted.
import { describe, expect, test } from 'vitest'
import type { CallToolResult, Tool } from '@modelcontextprotocol/client'
import { nameTools, toolPrefix } from '../../../../src/drivers/mcp/tool-list.ts'
import { toToolOutput } from '../../../../src/drivers/mcp/tool-result.ts'

const ACCEPTED_NAME = /^[A-Za-z0-9_-]{1,64}$/
const listedTool = (name: string, fields: object = {}): Tool => ({ name, inputSchema: { type: 'object' }, ...fields })

describe('the names', () => {
  test.each([
    ['github', 'mcp__github'],
    ['My Server!', 'mcp__My_Server'],
    ['a__b', 'mcp__a_b'],
    ['_x_', 'mcp__x'],
    ['', 'mcp__server'],
    ['…', 'mcp__server'],
    ['ein-ziemlich-langer-name-eines-servers', expect.stringMatching(/^mcp__ein-ziemlich-langer-_[0-9a-f]{6}$/)],
  ])('of the tools of the server %j have its prefix', (name, prefix) => {
    expect(toolPrefix(name, new Set())).toEqual(prefix)
  })

  test('of two servers with the same prefix get different prefixes, the same each time', () => {
    const second = toolPrefix('a.b', new Set(['mcp__a_b']))
    expect(second).toMatch(/^mcp__a_b_[0-9a-f]{6}$/)
    expect(toolPrefix('a.b', new Set(['mcp__a_b']))).toBe(second)
  })

  test('of tools are unique, and every provider accepts them', () => {
    const names = ['plain', 'with.dot', 'with dot', 'ü', 'x'.repeat(200), `${'x'.repeat(200)}y`, 'a__b']
    const { tools } = nameTools(
      names.map((name) => listedTool(name)),
      'mcp__s',
    )
    expect(tools.map(({ listed }) => listed.name)).toEqual(names.toSorted())
    expect(tools.filter(({ name }) => !ACCEPTED_NAME.test(name))).toEqual([])
    expect(new Set(tools.map(({ name }) => name)).size).toBe(names.length)
    expect(tools.slice(1, 3).map(({ name }) => name)).toEqual(['mcp__s__plain', 'mcp__s__with_dot'])
  })

  test("do not depend on the order of a server's list", () => {
    const namesOf = (...names: readonly string[]): unknown =>
      nameTools(
        names.map((name) => listedTool(name)),
        'mcp__s',
      ).tools.map(({ name, listed }) => [name, listed.name])
    expect(namesOf('b', 'with.dot', 'with dot', 'a')).toEqual(namesOf('a', 'with dot', 'b', 'with.dot'))
  })
})

test('descriptions and schemas have limits; a tool without an object schema is omitted', () => {
  const hugeSchema = {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`property_${index}`, { type: 'string' }])),
  }
  const { tools, omittedCount } = nameTools(
    [
      listedTool('bare'),
      listedTool('full', {
        description: 'd'.repeat(10_000),
        inputSchema: { $schema: 'x', type: 'object', properties: { a: {} }, required: ['a'] },
      }),
      listedTool('list', { inputSchema: [] }),
      listedTool('text', { inputSchema: { type: 'string' } }),
      listedTool('none', { inputSchema: null }),
      listedTool('huge', { inputSchema: hugeSchema }),
    ],
    'mcp__s',
  )
  expect(tools.map(({ name, schema }) => [name, schema])).toEqual([
    ['mcp__s__bare', { type: 'object', properties: {} }],
    ['mcp__s__full', { type: 'object', properties: { a: {} }, required: ['a'] }],
  ])
  expect(tools[1]?.description.length).toBe(4_096)
  expect(omittedCount).toBe(4)
  const bigSchema = { type: 'object', properties: { text: { const: 'x'.repeat(60_000) } } }
  expect(
    nameTools(
      Array.from({ length: 20 }, (_, index) => listedTool(`t${index}`, { inputSchema: bigSchema })),
      'mcp__s',
    ),
  ).toMatchObject({ omittedCount: 3 })
})

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('the result of a call has', () => {
  const outputOf = (result: object): unknown => toToolOutput(result as CallToolResult, (text) => text.replaceAll('hunter2', '[secret]'))

  test.each<[string, object, object]>([
    [
      'its texts in one text',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { text: 'a\nb', images: [] },
    ],
    ['an empty text if the result is empty', { content: [] }, { text: '', images: [] }],
    ['its structured content, if there is no text', { content: [], structuredContent: { a: [1] } }, { text: '{"a":[1]}', images: [] }],
    [
      'its text, if there is structured content too',
      { content: [{ type: 'text', text: 'a' }], structuredContent: { a: 1 } },
      { text: 'a', images: [] },
    ],
    [
      'an image whose type is recognized by its bytes',
      { content: [{ type: 'image', data: PNG, mimeType: 'image/gif' }] },
      { text: 'image/png, 1 × 1, 1 KiB', images: [{ mediaType: 'image/png', data: PNG }] },
    ],
    [
      'a note for a text that is declared as an image',
      { content: [{ type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' }] },
      { text: '[an image in a format that cannot be shown]', images: [] },
    ],
    [
      'a note for a sound',
      { content: [{ type: 'audio', data: '', mimeType: 'audio/wav' }] },
      { text: '[audio (audio/wav), which cannot be played]', images: [] },
    ],
    [
      'a link as text',
      { content: [{ type: 'resource_link', name: 'doc', uri: 'file:///d', description: 'it' }] },
      { text: '[doc: file:///d] it', images: [] },
    ],
    [
      'an embedded text with its address',
      { content: [{ type: 'resource', resource: { uri: 'x:1', text: 'in it' } }] },
      { text: '[x:1]\nin it', images: [] },
    ],
    [
      'a note for embedded bytes',
      { content: [{ type: 'resource', resource: { uri: 'x:1', blob: 'AA==' } }] },
      { text: '[x:1: not text (unknown type)]', images: [] },
    ],
    ['no secrets', { content: [{ type: 'text', text: 'it is hunter2' }] }, { text: 'it is [secret]', images: [] }],
  ])('%s', (_, result, expected) => {
    expect(outputOf(result)).toEqual(expected)
  })

  test('an error text, with a message or without', () => {
    expect(() => outputOf({ isError: true, content: [{ type: 'text', text: 'no such hunter2' }] })).toThrow('no such [secret]')
    expect(() => outputOf({ isError: true, content: [] })).toThrow('the tool failed without giving a reason')
  })

  test('a limited number of images', () => {
    expect(outputOf({ content: Array.from({ length: 12 }, () => ({ type: 'image', data: PNG, mimeType: 'image/png' })) })).toMatchObject({
      images: { length: 10 },
    })
  })
})
