// A child never has more than its parent, along any chain of parents, and being fitted once more changes nothing: held against
// what each rule says of a name or a path, one by one.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { beyond, enforcementOf, fitted, isBelow } from '../../src/kernel/permits.ts'
import { commonTools, isAllowed, mayUseServer, serverPrefix } from '../../src/kernel/tool-names.ts'
import type { Capabilities } from '../../src/kernel/permits.ts'
import type { McpServer } from '../../src/kernel/spec.ts'
import type { ProcessSpec } from '../../src/kernel/types.ts'
import { kernelSpec } from '../support/kernel/world.ts'

const PATHS = ['/', '/a', '/a/b', '/a/b/c', '/ab', '/a/bc', '/x/y']
const NAMES = ['read', 'write', 'bash', 'mcp__s__get', 'mcp__s__get_all', 'mcp__s__put', 'mcp__s_two__get', 'mcp__t__do']
const AGENTS = ['coder', 'reviewer', 'command']

const entry = fc.constantFrom('read', 'Write', 'bash', 'mcp__s', 'mcp__S__*', 'mcp__s__get', 'mcp__s__get*', 'mcp__s_*', 'mcp__*', 'mcp__t', 'mcp__s_two')
const entries = fc.array(entry, { maxLength: 4 })
const roots = fc.array(fc.constantFrom(...PATHS), { maxLength: 3 })
const sometimes = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })
const capabilities: fc.Arbitrary<Capabilities> = fc.record({
  paths: sometimes(fc.record({ read: sometimes(roots), write: sometimes(roots) })),
  network: sometimes(fc.constant('off' as const)),
  signals: sometimes(fc.constantFrom('none' as const, 'children' as const)),
  spawns: sometimes(fc.uniqueArray(fc.constantFrom(...AGENTS))),
}).map((loose) => JSON.parse(JSON.stringify(loose)) as Capabilities)
const server: fc.Arbitrary<McpServer> = fc.record({ name: fc.constantFrom('s', 's_two', 't'), kind: fc.constantFrom('stdio', 'http'), named: fc.boolean() }).map(({ name, kind, named }) => ({
  name, source: '/m.json', ...(named ? { named: true as const } : {}),
  ...(kind === 'stdio' ? { kind, argv: ['x'], env: {} } : { kind: 'http' as const, url: 'http://x/', headers: {} }),
}))
const spec: fc.Arbitrary<ProcessSpec> = fc.record({
  driver: fc.constantFrom('native' as const, 'acp' as const, 'command' as const),
  tools: fc.option(entries), deny: entries, capabilities: sometimes(capabilities),
  mcp: fc.uniqueArray(server, { selector: ({ name }) => name, maxLength: 3 }),
}).map(({ capabilities: limited, mcp, driver, ...rest }) => kernelSpec({ ...rest, driver, ...(driver === 'command' ? { argv: ['make'] } : {}), ...(limited ? { capabilities: limited } : {}), ...(mcp.length > 0 ? { mcp } : {}) }))

/** All that a spec allows of what there is. */
function powers({ tools, deny, capabilities: { paths, network, signals, spawns } = {}, mcp = [] }: ProcessSpec): ReadonlySet<string> {
  const writes = PATHS.filter((path) => !paths?.write || isBelow(paths.write, path))
  const reads = PATHS.filter((path) => !paths?.read || isBelow(paths.read, path))
  return new Set([
    ...NAMES.filter((name) => isAllowed(name, { tools, deny })).map((name) => `tool ${name}`),
    ...reads.map((path) => `read ${path}`), ...writes.map((path) => `write ${path}`),
    ...(network === 'off' ? [] : ['network']),
    ...(signals === 'none' ? [] : ['signal a child']), ...(signals === undefined ? ['signal all below'] : []),
    ...AGENTS.filter((agent) => !spawns || spawns.includes(agent)).map((agent) => `spawn ${agent}`),
    ...(paths ? mcp.filter(({ kind, name }) => kind === 'stdio' && mayUseServer(serverPrefix(name), { tools, deny })).map(({ name }) => `program ${name}`) : []),
  ])
}

const own = (one: ProcessSpec): ProcessSpec => fitted(one, null).spec

test('a child has nothing that its parent has not, and nothing that it did not ask for', () => {
  fc.assert(fc.property(spec, spec, (asked, above) => {
    const parent = own(above)
    const [child, wanted] = [powers(fitted(asked, parent).spec), powers(own(asked))]
    const most = powers(parent)
    const isProgram = (power: string): boolean => power.startsWith('program')
    // Under a parent that may go anywhere a program of the child's is no more than its parent could start.
    const isFree = !parent.capabilities?.paths
    expect([...child].filter((power) => !most.has(power) && !(isFree && isProgram(power)))).toEqual([])
    expect([...child].filter((power) => !wanted.has(power) && !isProgram(power))).toEqual([])
    // Shells and servers apart, it has all that both have.
    const lost = [...wanted].filter((power) => most.has(power) && !child.has(power))
    expect(lost.filter((power) => power !== 'tool bash' && !isProgram(power))).toEqual([])
  }), { numRuns: 2_000 })
})

test('being fitted once more changes nothing, not even the object', () => {
  fc.assert(fc.property(spec, spec, (asked, above) => {
    const parent = own(above)
    const child = fitted(asked, parent).spec
    expect(fitted(child, parent)).toEqual({ spec: child, cut: [] })
    expect(fitted(child, parent).spec).toBe(child)
    expect(own(child)).toBe(child)
  }), { numRuns: 2_000 })
})

test('along a chain nobody has more than any above it, whoever was fitted first', () => {
  fc.assert(fc.property(spec, spec, spec, (a, b, c) => {
    const [top, middle] = [own(a), fitted(b, own(a)).spec]
    const bottom = powers(fitted(c, middle).spec)
    for (const above of [top, middle]) {
      const most = powers(above)
      expect([...bottom].filter((power) => !most.has(power) && !power.startsWith('program'))).toEqual([])
    }
  }), { numRuns: 1_000 })
})

test('a spec without limits under a parent without limits stays the same object', () => {
  const plain = kernelSpec()
  expect(fitted(plain, kernelSpec()).spec).toBe(plain)
})

test('what two lists of tools share are the names that both allow', () => {
  fc.assert(fc.property(entries, entries, (some, others) => {
    const both = commonTools(some, others)
    const allowed = (tools: readonly string[] | null): string[] => NAMES.filter((name) => isAllowed(name, { tools, deny: [] }))
    expect(allowed(both)).toEqual(allowed(some).filter((name) => allowed(others).includes(name)))
  }), { numRuns: 2_000 })
})

test('who is let pass under a limited parent is a native agent, or no freer than its parent', () => {
  fc.assert(fc.property(spec, spec, (asked, above) => {
    const parent = own(above)
    const child = fitted(asked, parent).spec
    if (child.driver === 'native') expect(beyond(child, parent)).toBeNull()
    else if (parent.driver === 'native' && (parent.deny.includes('bash') || parent.tools?.length === 0)) {
      const limited = enforcementOf(parent).paths === 'yes' || parent.capabilities?.paths === undefined
      if (limited) expect(beyond(child, parent)).toMatch(/cannot be held to what its parent may/)
    }
  }), { numRuns: 2_000 })
})
