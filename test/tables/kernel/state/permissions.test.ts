// The permissions of a process alone and under a parent, case by case, with the notes about unenforced ones.
// test/properties/permissions.test.ts checks that a child never has more permissions than its parent.
import { describe, expect, test } from 'vitest'
import { confinementObstacle, enforcementOf, fitToParent } from '../../../../src/kernel/state/permissions.ts'
import type { McpServer, Capabilities, Permissions } from '../../../../src/kernel/model/spec-parts.ts'
import { kernelSpec } from '../../../support/kernel/world.ts'
import type { ProcessSpec } from '../../../../src/kernel/model/process-spec.ts'
import type { SpecChanges } from '../../../support/spec-changes.ts'

const stdioServer = (name: string, changes: Partial<McpServer> = {}): McpServer =>
  ({ name, source: '/m.json', kind: 'stdio', argv: ['x'], env: {}, ...changes }) as McpServer
const httpServer = (name: string): McpServer => ({ name, source: '/m.json', kind: 'http', url: 'http://x/', headers: {} })
const PATHS = { paths: { read: ['/a'] } }
const specWith = (capabilities: Capabilities, changes: SpecChanges = {}): ProcessSpec => kernelSpec({ capabilities, ...changes })
const serverNames = ({ mcp = [] }: ProcessSpec): string[] => mcp.map(({ name }) => name)

describe('a process without a parent', () => {
  test('with limited paths has no shell, and may write where it may read', () => {
    expect(fitToParent(specWith(PATHS), null).spec).toMatchObject({
      deny: ['bash'],
      capabilities: { paths: { read: ['/a'], write: ['/a'] } },
    })
    expect(fitToParent(specWith({ paths: { write: ['/a'] } }), null).spec).toMatchObject({
      deny: ['bash'],
      capabilities: { paths: { write: ['/a'] } },
    })
  })

  test('may read writable paths, and its lists have no path below another one', () => {
    expect(fitToParent(specWith({ paths: { read: ['/a/b', '/a/b/c'], write: ['/x', '/x'] } }), null).spec.capabilities?.paths).toEqual({
      read: ['/a/b', '/x'],
      write: ['/x'],
    })
  })

  test.each<[SpecChanges, string[]]>([
    [{ tools: null }, ['web']],
    [{ tools: ['read', 'mcp__files'] }, ['files', 'web']],
    [{ tools: ['mcp__fi*'] }, ['files', 'web']],
    [{ tools: null, mcp: [stdioServer('files', { named: true }), stdioServer('other'), httpServer('web')] }, ['files', 'web']],
  ])('with limited paths has only the MCP programs that are named (%j)', (changes, expectedServers) => {
    expect(
      serverNames(
        fitToParent(specWith(PATHS, { mcp: [stdioServer('files'), stdioServer('other'), httpServer('web')], ...changes }), null).spec,
      ),
    ).toEqual(expectedServers)
  })

  test('without a network has no HTTP servers', () => {
    const { spec, removed } = fitToParent(specWith({ network: 'off' }, { mcp: [stdioServer('files'), httpServer('web')] }), null)
    expect([serverNames(spec), removed]).toEqual([['files'], ['the MCP server web']])
  })
})

describe('under a parent', () => {
  test.each<[string, SpecChanges, SpecChanges, object]>([
    [
      'a child has the tools that both allow',
      { tools: ['read', 'Bash', 'mcp__a'] },
      { tools: ['bash', 'mcp__a__get'], deny: ['ls'] },
      { tools: ['Bash', 'mcp__a__get'], deny: ['ls'] },
    ],
    [
      'a child has the paths that both allow',
      { capabilities: { paths: { read: ['/a/b', '/c'] } } },
      { capabilities: { paths: { read: ['/a'], write: ['/a/b/c'] } } },
      { capabilities: { paths: { read: ['/a/b'], write: ['/a/b/c'] } } },
    ],
    [
      'a child has no paths if no path is common',
      { capabilities: { paths: { read: ['/c'] } } },
      { capabilities: { paths: { read: ['/a'] } } },
      { capabilities: { paths: { read: [], write: [] } } },
    ],
    [
      'a child has the network, the signals and the children that both allow',
      { capabilities: { signals: 'children', spawns: ['a', 'b'] } },
      { capabilities: { network: 'off', signals: 'none', spawns: ['b', 'c'] } },
      { capabilities: { network: 'off', signals: 'none', spawns: ['b'] } },
    ],
  ])('%s', (_, child, parent, expected) => {
    expect(fitToParent(kernelSpec(child), fitToParent(kernelSpec(parent), null).spec).spec).toMatchObject(expected)
  })

  test.each<[string, SpecChanges, SpecChanges, Permissions | undefined]>([
    ['a native child of an external agent asks', {}, { driver: 'acp' }, { default: 'ask' }],
    [
      'a native child of an external agent cannot allow more',
      { permissions: { default: 'allow', allow: ['bash'] } },
      { driver: 'acp' },
      { default: 'ask' },
    ],
    ['a native child of an external agent may deny', { permissions: { default: 'deny' } }, { driver: 'acp' }, { default: 'deny' }],
    [
      'a native child of an external agent that follows its own settings asks',
      {},
      { driver: 'acp', permissions: { default: 'agent' } },
      { default: 'ask' },
    ],
    [
      'a native child of an external agent that is allowed everything is not limited',
      {},
      { driver: 'acp', permissions: { default: 'allow' } },
      undefined,
    ],
    [
      'a native child of an external agent with rules for tools has the strictest of them',
      {},
      { driver: 'acp', permissions: { default: 'allow', tools: { execute: 'deny', edit: 'ask' } } },
      { default: 'deny' },
    ],
    ['an external child of an external agent asks as its parent does', { driver: 'acp' }, { driver: 'acp' }, undefined],
    [
      'an external child of an external agent cannot be allowed more',
      { driver: 'acp', permissions: { default: 'allow' } },
      { driver: 'acp' },
      { default: 'ask' },
    ],
  ])('%s', (_, child, parent, expected) => {
    const { permissions } = fitToParent(kernelSpec(child), kernelSpec(parent)).spec
    expect(permissions && { default: permissions.default }).toEqual(expected)
    expect(permissions?.allow ?? []).toEqual([])
  })

  test('a child may use its worktree if its parent may read and write the repository', () => {
    const worktree = { repository: '/a/repo/.git', dir: '/state/w', branch: 'b', base: 'c' }
    const placesUnder = (paths: Capabilities['paths'], ownCapabilities?: Capabilities): unknown =>
      fitToParent(kernelSpec({ worktree, ...(ownCapabilities && { capabilities: ownCapabilities }) }), specWith(paths ? { paths } : {}))
        .spec.capabilities?.paths
    expect(placesUnder({ read: ['/a'], write: ['/a/repo'] })).toEqual({ read: ['/a', '/state/w'], write: ['/a/repo', '/state/w'] })
    expect(placesUnder({ read: ['/a'], write: ['/a/repo'] }, { paths: { write: ['/state/w/src'] } })).toEqual({
      read: ['/a', '/state/w'],
      write: ['/state/w/src'],
    })
    expect(placesUnder({ read: ['/a'], write: [] })).toEqual({ read: ['/a'], write: [] })
  })

  test.each<[string, SpecChanges, SpecChanges, string | null]>([
    ['a command may run under an agent without limits', { driver: 'command', argv: ['make'] }, {}, null],
    ['a command may run under an agent with a shell', { driver: 'command', argv: ['make'] }, { deny: ['write'] }, null],
    [
      'a command may not run under an agent without a shell',
      { driver: 'command', argv: ['make'] },
      { deny: ['bash'] },
      'a command cannot be limited to the permissions of its parent: it runs programs',
    ],
    [
      'an external agent may not run under a native agent with a list of tools',
      { driver: 'acp', agent: 'claude' },
      { tools: ['read'] },
      'agent claude cannot be limited to the permissions of its parent: it may use its tools without asking',
    ],
    ['an external agent may run under an external agent', { driver: 'acp' }, { driver: 'acp', tools: ['read'] }, null],
    ['a native agent may run under any parent', {}, { tools: [] }, null],
    ['a supervisor may run under any parent', { driver: 'supervisor' }, { tools: [] }, null],
  ])('%s', (_, childChanges, parentChanges, refusal) => {
    const parent = kernelSpec(parentChanges)
    expect(confinementObstacle(fitToParent(kernelSpec(childChanges), parent).spec, parent)).toBe(refusal)
  })
})

test.each<[string, SpecChanges, object]>([
  ['for a process without limits', {}, { tools: 'yes', paths: 'part', network: 'yes', notes: [] }],
  ['for limited paths without a shell', { deny: ['bash'], capabilities: PATHS }, { tools: 'yes', paths: 'yes', network: 'yes', notes: [] }],
  [
    'for limited paths with a shell',
    { capabilities: PATHS },
    { tools: 'yes', paths: 'part', network: 'yes', notes: ['paths: not enforced for bash'] },
  ],
  [
    'for limited paths with a program as MCP server',
    { deny: ['bash'], capabilities: PATHS, mcp: [stdioServer('fs')] },
    { tools: 'yes', paths: 'part', network: 'yes', notes: ['paths: not enforced for the MCP server fs'] },
  ],
  [
    'for an external agent, which asks',
    { driver: 'acp', tools: ['read'], capabilities: PATHS },
    {
      tools: 'asked',
      paths: 'asked',
      network: 'yes',
      notes: ['tools: enforced only when its agent asks first', 'paths: enforced only when its agent asks first, or works through reeve'],
    },
  ],
  [
    'for an external agent without a network',
    { driver: 'acp', capabilities: { network: 'off' } },
    {
      tools: 'asked',
      paths: 'asked',
      network: 'yes',
      notes: [
        'network: also off for its model calls, unless they need no network',
        "network: enforced while its programs cannot see the daemon's socket; as root they can undo this",
      ],
    },
  ],
  [
    'for a plain command',
    { driver: 'command', argv: ['make'], deny: ['bash'], capabilities: PATHS },
    { tools: 'no', paths: 'no', network: 'yes', notes: ['tools: not enforced for a command', 'paths: not enforced for a command'] },
  ],
])('the enforcement of the permissions %s', (_, spec, expected) => {
  expect(enforcementOf(kernelSpec(spec))).toEqual(expected)
})
