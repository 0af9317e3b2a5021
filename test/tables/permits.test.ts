// What a process may do by itself and under a parent, case by case, and what is said of what does not hold. That nothing is ever
// widened is held by test/properties/permits.test.ts.
import { describe, expect, test } from 'vitest'
import { beyond, enforcementOf, fitted } from '../../src/kernel/permits.ts'
import type { Capabilities } from '../../src/kernel/permits.ts'
import type { McpServer } from '../../src/kernel/spec.ts'
import type { ProcessSpec } from '../../src/kernel/types.ts'
import { kernelSpec } from '../support/kernel/world.ts'

const program = (name: string, more: Partial<McpServer> = {}): McpServer => ({ name, source: '/m.json', kind: 'stdio', argv: ['x'], env: {}, ...more } as McpServer)
const remote = (name: string): McpServer => ({ name, source: '/m.json', kind: 'http', url: 'http://x/', headers: {} })
const PATHS = { paths: { read: ['/a'] } }
const held = (capabilities: Capabilities, more: Partial<ProcessSpec> = {}): ProcessSpec => kernelSpec({ capabilities, ...more })
const names = ({ mcp = [] }: ProcessSpec): string[] => mcp.map(({ name }) => name)

describe('by itself', () => {
  test('with places it has no shell, and writes where it reads', () => {
    expect(fitted(held(PATHS), null).spec).toMatchObject({ deny: ['bash'], capabilities: { paths: { read: ['/a'], write: ['/a'] } } })
    expect(fitted(held({ paths: { write: ['/a'] } }), null).spec).toMatchObject({ deny: ['bash'], capabilities: { paths: { write: ['/a'] } } })
  })

  test('what may be written may be read, and what lies below another place is not said twice', () => {
    expect(fitted(held({ paths: { read: ['/a/b', '/a/b/c'], write: ['/x', '/x'] } }), null).spec.capabilities?.paths).toEqual({ read: ['/a/b', '/x'], write: ['/x'] })
  })

  test.each<[Partial<ProcessSpec>, string[]]>([
    [{ tools: null }, ['web']],
    [{ tools: ['read', 'mcp__files'] }, ['files', 'web']],
    [{ tools: ['mcp__fi*'] }, ['files', 'web']],
    [{ tools: null, mcp: [program('files', { named: true }), program('other'), remote('web')] }, ['files', 'web']],
  ])('with places it has the MCP programs that somebody names (%j)', (more, left) => {
    expect(names(fitted(held(PATHS, { mcp: [program('files'), program('other'), remote('web')], ...more }), null).spec)).toEqual(left)
  })

  test('without a network it has no servers that are reached by it', () => {
    const { spec, cut } = fitted(held({ network: 'off' }, { mcp: [program('files'), remote('web')] }), null)
    expect([names(spec), cut]).toEqual([['files'], ['the MCP server web']])
  })
})

describe('under a parent', () => {
  test.each<[string, Partial<ProcessSpec>, Partial<ProcessSpec>, object]>([
    ['lists of tools', { tools: ['read', 'Bash', 'mcp__a'] }, { tools: ['bash', 'mcp__a__get'], deny: ['ls'] }, { tools: ['Bash', 'mcp__a__get'], deny: ['ls'] }],
    ['places', { capabilities: { paths: { read: ['/a/b', '/c'] } } }, { capabilities: { paths: { read: ['/a'], write: ['/a/b/c'] } } }, { capabilities: { paths: { read: ['/a/b'], write: ['/a/b/c'] } } }],
    ['no places at all', { capabilities: { paths: { read: ['/c'] } } }, { capabilities: { paths: { read: ['/a'] } } }, { capabilities: { paths: { read: [], write: [] } } }],
    ['the rest', { capabilities: { signals: 'children', spawns: ['a', 'b'] } }, { capabilities: { network: 'off', signals: 'none', spawns: ['b', 'c'] } }, { capabilities: { network: 'off', signals: 'none', spawns: ['b'] } }],
  ])('%s', (_, child, parent, expected) => {
    expect(fitted(kernelSpec(child), fitted(kernelSpec(parent), null).spec).spec).toMatchObject(expected)
  })

  test('a worktree of its own is a place of its own where its parent may read and write the repository', () => {
    const worktree = { repository: '/a/repo/.git', dir: '/state/w', branch: 'b', base: 'c' }
    const placesUnder = (paths: Capabilities['paths'], own?: Capabilities): unknown => fitted(kernelSpec({ worktree, ...(own && { capabilities: own }) }), held(paths ? { paths } : {})).spec.capabilities?.paths
    expect(placesUnder({ read: ['/a'], write: ['/a/repo'] })).toEqual({ read: ['/a', '/state/w'], write: ['/a/repo', '/state/w'] })
    expect(placesUnder({ read: ['/a'], write: ['/a/repo'] }, { paths: { write: ['/state/w/src'] } })).toEqual({ read: ['/a', '/state/w'], write: ['/state/w/src'] })
    expect(placesUnder({ read: ['/a'], write: [] })).toEqual({ read: ['/a'], write: [] })
  })

  test.each<[string, Partial<ProcessSpec>, Partial<ProcessSpec>, string | null]>([
    ['a command under a free agent', { driver: 'command', argv: ['make'] }, {}, null],
    ['a command under one with a shell', { driver: 'command', argv: ['make'] }, { deny: ['write'] }, null],
    ['a command under one without', { driver: 'command', argv: ['make'] }, { deny: ['bash'] }, 'a command cannot be held to what its parent may: it runs programs'],
    ['an agent that asks under one that is held', { driver: 'acp', agent: 'claude' }, { tools: ['read'] }, 'agent claude cannot be held to what its parent may: it has tools of its own, and does not ask for each'],
    ['an agent that asks under another', { driver: 'acp' }, { driver: 'acp', tools: ['read'] }, null],
    ['a native agent under anybody', {}, { tools: [] }, null],
    ['a supervisor under anybody', { driver: 'supervisor' }, { tools: [] }, null],
  ])('%s', (_, asked, above, why) => {
    const parent = kernelSpec(above)
    expect(beyond(fitted(kernelSpec(asked), parent).spec, parent)).toBe(why)
  })
})

test.each<[string, Partial<ProcessSpec>, object]>([
  ['nothing is limited', {}, { tools: 'yes', paths: 'part', network: 'yes', notes: [] }],
  ['a native agent without a shell', { deny: ['bash'], capabilities: PATHS }, { tools: 'yes', paths: 'yes', network: 'yes', notes: [] }],
  ['with a shell', { capabilities: PATHS }, { tools: 'yes', paths: 'part', network: 'yes', notes: ['paths: not enforced for bash'] }],
  ['with a program as server', { deny: ['bash'], capabilities: PATHS, mcp: [program('fs')] }, { tools: 'yes', paths: 'part', network: 'yes', notes: ['paths: not enforced for the MCP server fs'] }],
  ['an agent that asks', { driver: 'acp', tools: ['read'], capabilities: PATHS }, { tools: 'asked', paths: 'asked', network: 'yes', notes: ['tools: as far as its agent asks', 'paths: as far as its agent asks, or works through reeve'] }],
  ['an agent that calls its model by itself', { driver: 'acp', capabilities: { network: 'off' } }, { tools: 'asked', paths: 'asked', network: 'yes', notes: ['network: off for its model calls, too, unless they need none'] }],
  ['a command', { driver: 'command', argv: ['make'], deny: ['bash'], capabilities: PATHS }, { tools: 'no', paths: 'no', network: 'yes', notes: ['tools: not enforced for a command', 'paths: not enforced for a command'] }],
])('what holds: %s', (_, spec, expected) => {
  expect(enforcementOf(kernelSpec(spec))).toEqual(expected)
})
