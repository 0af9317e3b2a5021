// A child never has more permissions than its parent, along any chain of parents, and fitting it again changes nothing. Each rule is
// checked name by name and path by path.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { confinementObstacle, enforcementOf, fitToParent, isBelow, isWritable } from '../../src/kernel/state/permissions.ts'
import { intersectToolLists, isToolAllowed, mayUseServer, serverPrefix } from '../../src/kernel/state/tool-lists.ts'
import type { McpServer, Capabilities, Permissions } from '../../src/kernel/model/spec-parts.ts'
import { CallPolicy } from '../../src/drivers/native/permissions/call-policy.ts'
import { deep } from '../support/deep.ts'
import { kernelSpec } from '../support/kernel/world.ts'
import type { ProcessSpec } from '../../src/kernel/model/process-spec.ts'

const PATHS = ['/', '/a', '/a/b', '/a/b/c', '/ab', '/a/bc', '/x/y', '/a/.git', '/a/.git/hooks', '/a/b/.git/x']
const NAMES = ['read', 'write', 'bash', 'mcp__s__get', 'mcp__s__get_all', 'mcp__s__put', 'mcp__s_two__get', 'mcp__t__do']
const AGENTS = ['coder', 'reviewer', 'command']

const entry = fc.constantFrom(
  'read',
  'Write',
  'bash',
  'mcp__s',
  'mcp__S__*',
  'mcp__s__get',
  'mcp__s__get*',
  'mcp__s_*',
  'mcp__*',
  'mcp__t',
  'mcp__s_two',
)
const entries = fc.array(entry, { maxLength: 4 })
const roots = fc.array(fc.constantFrom(...PATHS), { maxLength: 3 })
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })
const capabilities: fc.Arbitrary<Capabilities> = fc
  .record({
    paths: optional(fc.record({ read: optional(roots), write: optional(roots) })),
    network: optional(fc.constant('off' as const)),
    signals: optional(fc.constantFrom('none' as const, 'children' as const)),
    spawns: optional(fc.uniqueArray(fc.constantFrom(...AGENTS))),
  })
  .map((loose) => JSON.parse(JSON.stringify(loose)) as Capabilities)
const server: fc.Arbitrary<McpServer> = fc
  .record({ name: fc.constantFrom('s', 's_two', 't'), kind: fc.constantFrom('stdio', 'http'), named: fc.boolean() })
  .map(({ name, kind, named }) => ({
    name,
    source: '/m.json',
    ...(named ? { named: true as const } : {}),
    ...(kind === 'stdio' ? { kind, argv: ['x'], env: {} } : { kind: 'http' as const, url: 'http://x/', headers: {} }),
  }))
const spec: fc.Arbitrary<ProcessSpec> = fc
  .record({
    driver: fc.constantFrom('native' as const, 'acp' as const, 'command' as const),
    tools: fc.option(entries),
    deny: entries,
    capabilities: optional(capabilities),
    mcp: fc.uniqueArray(server, { selector: ({ name }) => name, maxLength: 3 }),
  })
  .map(({ capabilities: limited, mcp, driver, ...rest }) =>
    kernelSpec({
      ...rest,
      driver,
      ...(driver === 'command' ? { argv: ['make'] } : {}),
      ...(limited ? { capabilities: limited } : {}),
      ...(mcp.length > 0 ? { mcp } : {}),
    }),
  )

/** All permissions of a spec, among the paths, names and agents of this test. */
function permissionsOf({
  tools,
  deny,
  capabilities: { paths, network, signals, spawns } = {},
  mcp = [],
}: ProcessSpec): ReadonlySet<string> {
  const writes = PATHS.filter((path) => !paths?.write || isWritable(paths.write, path))
  const reads = PATHS.filter((path) => !paths?.read || isBelow(paths.read, path))
  return new Set([
    ...NAMES.filter((name) => isToolAllowed(name, { tools, deny })).map((name) => `tool ${name}`),
    ...reads.map((path) => `read ${path}`),
    ...writes.map((path) => `write ${path}`),
    ...(network === 'off' ? [] : ['network']),
    ...(signals === 'none' ? [] : ['signal a child']),
    ...(signals === undefined ? ['signal all below'] : []),
    ...AGENTS.filter((agent) => !spawns || spawns.includes(agent)).map((agent) => `spawn ${agent}`),
    ...(paths
      ? mcp
          .filter(({ kind, name }) => kind === 'stdio' && mayUseServer(serverPrefix(name), { tools, deny }))
          .map(({ name }) => `program ${name}`)
      : []),
  ])
}

const fitAlone = (unfitted: ProcessSpec): ProcessSpec => fitToParent(unfitted, null).spec

test('a child has no permission that its parent lacks, and none that it did not request', () => {
  fc.assert(
    fc.property(spec, spec, (requested, parentSpec) => {
      const parent = fitAlone(parentSpec)
      const [child, wanted] = [permissionsOf(fitToParent(requested, parent).spec), permissionsOf(fitAlone(requested))]
      const parentPermissions = permissionsOf(parent)
      const isProgram = (permission: string): boolean => permission.startsWith('program')
      // Under a parent without folder limits, a program of the child can do no more than one of the parent.
      const isFree = !parent.capabilities?.paths
      expect([...child].filter((permission) => !parentPermissions.has(permission) && !(isFree && isProgram(permission)))).toEqual([])
      expect([...child].filter((permission) => !wanted.has(permission) && !isProgram(permission))).toEqual([])
      // Apart from shells and servers, the child has all that both have.
      const lostPermissions = [...wanted].filter((permission) => parentPermissions.has(permission) && !child.has(permission))
      expect(lostPermissions.filter((permission) => permission !== 'tool bash' && !isProgram(permission))).toEqual([])
    }),
    { numRuns: 2_000 },
  )
})

test('a second fitting to the same parent returns the same object', () => {
  fc.assert(
    fc.property(spec, spec, (requested, parentSpec) => {
      const parent = fitAlone(parentSpec)
      const child = fitToParent(requested, parent).spec
      expect(fitToParent(child, parent)).toEqual({ spec: child, removed: [] })
      expect(fitToParent(child, parent).spec).toBe(child)
      expect(fitAlone(child)).toBe(child)
    }),
    { numRuns: 2_000 },
  )
})

test('along a chain of parents, no process has more permissions than its ancestors, in any order of fitting', () => {
  fc.assert(
    fc.property(spec, spec, spec, (a, b, c) => {
      const [top, middle] = [fitAlone(a), fitToParent(b, fitAlone(a)).spec]
      const bottom = permissionsOf(fitToParent(c, middle).spec)
      for (const parentSpec of [top, middle]) {
        const parentPermissions = permissionsOf(parentSpec)
        expect([...bottom].filter((permission) => !parentPermissions.has(permission) && !permission.startsWith('program'))).toEqual([])
      }
    }),
    { numRuns: 1_000 },
  )
})

test('a spec without limits under a parent without limits stays the same object', () => {
  const unlimited = kernelSpec()
  expect(fitToParent(unlimited, kernelSpec()).spec).toBe(unlimited)
})

test('the common tools of two lists are those that both lists allow', () => {
  fc.assert(
    fc.property(entries, entries, (firstList, secondList) => {
      const common = intersectToolLists(firstList, secondList)
      const allowedNames = (tools: readonly string[] | null): string[] => NAMES.filter((name) => isToolAllowed(name, { tools, deny: [] }))
      expect(allowedNames(common)).toEqual(allowedNames(firstList).filter((name) => allowedNames(secondList).includes(name)))
    }),
    { numRuns: 2_000 },
  )
})

test('a parent without bash refuses each child that is not native, because that child cannot be limited', () => {
  fc.assert(
    fc.property(spec, spec, (requested, parentSpec) => {
      const parent = fitAlone(parentSpec)
      const child = fitToParent(requested, parent).spec
      if (child.driver === 'native') expect(confinementObstacle(child, parent)).toBeNull()
      else if (parent.driver === 'native' && (parent.deny.includes('bash') || parent.tools?.length === 0)) {
        const limited = enforcementOf(parent).paths === 'yes' || parent.capabilities?.paths === undefined
        if (limited) expect(confinementObstacle(child, parent)).toMatch(/cannot be limited to the permissions of its parent/)
      }
    }),
    { numRuns: 2_000 },
  )
})

const RULES = [
  'bash',
  'edit',
  'write',
  'mcp__s',
  'bash(npm test:*)',
  'bash(npm:*)',
  'bash(rm:*)',
  'edit(src/**)',
  'edit(**/*.lock)',
  'write(src/**)',
]
const rules = fc.uniqueArray(fc.constantFrom(...RULES), { maxLength: 3 })
const callPermissions: fc.Arbitrary<Permissions> = fc.record({
  default: fc.constantFrom('allow' as const, 'ask' as const, 'deny' as const, 'plan' as const),
  allow: rules,
  ask: rules,
  deny: rules,
})
const CALLS: readonly (readonly [name: string, input: object])[] = [
  ...['npm test', 'npm publish', 'rm x', 'npm test; rm x', 'npm test $(x)', 'ls'].map((command) => ['bash', { command }] as const),
  ...['src/a', 'src/x.lock', 'a'].flatMap((path) => [['edit', { path }] as const, ['write', { path }] as const]),
  ['mcp__s__get', {}],
  ['read', { path: 'a' }],
]

test('a call of a child needs at least the approval that it would need from the parent', async () => {
  const strictness = { allow: 0, ask: 1, deny: 2, plan: 2, agent: 0 }
  const specWith = (driver: 'native' | 'acp', permissions: Permissions | undefined): ProcessSpec =>
    kernelSpec({ driver, ...(driver === 'acp' ? { argv: ['x'] } : {}), ...(permissions ? { permissions } : {}) })
  await fc.assert(
    fc.asyncProperty(callPermissions, optional(callPermissions), async (above, own) => {
      const parent = specWith('native', above)
      const { spec: child } = fitToParent(specWith('native', own), parent)
      expect(fitToParent(child, parent).spec.permissions).toEqual(child.permissions)
      for (const [name, input] of CALLS) {
        const call = { type: 'tool-call', callId: 'c', name, input } as const
        const decided = async ({ permissions }: ProcessSpec): Promise<number> =>
          strictness[await new CallPolicy(permissions, '/project').decide(call)]
        expect(await decided(child), `${name} ${JSON.stringify(input)}`).toBeGreaterThanOrEqual(await decided(parent))
        expect(await decided(child)).toBeGreaterThanOrEqual(await decided(specWith('native', own)))
      }
      const external = fitToParent(specWith('acp', own && { default: own.default }), parent).spec.permissions
      if (above.default !== 'allow') expect(strictness[external?.default ?? 'allow']).toBeGreaterThanOrEqual(strictness[above.default])
    }),
    { numRuns: deep(200, 1_000) },
  )
})

const externalPermissions: fc.Arbitrary<Permissions | undefined> = optional(
  fc.record({
    default: fc.constantFrom('allow' as const, 'ask' as const, 'deny' as const, 'agent' as const),
    tools: fc.dictionary(fc.constantFrom('execute', 'edit'), fc.constantFrom('allow' as const, 'ask' as const, 'deny' as const), {
      maxKeys: 2,
    }),
  }),
)

test('a native child of an external agent needs at least the approval that any call of its parent needs', async () => {
  const strictness = { allow: 0, ask: 1, deny: 2, agent: 1, plan: 2 }
  await fc.assert(
    fc.asyncProperty(externalPermissions, optional(callPermissions), async (above, own) => {
      const parent = kernelSpec({ driver: 'acp', argv: ['x'], ...(above ? { permissions: above } : {}) })
      const { permissions } = fitToParent(kernelSpec(own ? { permissions: own } : {}), parent).spec
      const needed = Math.max(...[above?.default ?? 'ask', ...Object.values(above?.tools ?? {})].map((policy) => strictness[policy]))
      const call = { type: 'tool-call', callId: 'c', name: 'bash', input: { command: 'npm test' } } as const
      expect(strictness[await new CallPolicy(permissions, '/project').decide(call)]).toBeGreaterThanOrEqual(needed)
    }),
    { numRuns: deep(200, 1_000) },
  )
})
