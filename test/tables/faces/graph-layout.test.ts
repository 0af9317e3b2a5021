// The layout of a run's graph, its longest path, and what depends on a node.
import { describe, expect, test } from 'vitest'
import { criticalPath, dependentsOf, layoutGraph } from '../../../src/faces/graph-layout.ts'

/** Makes the nodes from a text such as `a b:a c:a,b`: each node with the nodes that it needs. */
const graph = (text: string): { name: string; needs: string[] }[] =>
  text.split(' ').map((node) => {
    const [name = '', needs = ''] = node.split(':')
    return { name, needs: needs === '' ? [] : needs.split(',') }
  })
const placesOf = (text: string): string =>
  [...layoutGraph(graph(text)).nodes].map(([name, { rank, at }]) => `${name} ${rank}/${Math.round(at * 10) / 10}`).join(', ')

describe('the layout', () => {
  test.each([
    ['a', 'a 0/0'],
    ['a b:a c:b', 'a 0/0, b 1/0, c 2/0'],
    ['plan build:plan docs:plan test:build,docs', 'plan 0/0.5, build 1/0, docs 1/1, test 2/0.5'],
    // Without another order, the edges of c and d would cross.
    ['a b c:b d:a', 'a 0/0, b 0/1, c 1/1, d 1/0'],
  ])('of the graph `%s` has the places %s', (text, places) => {
    expect(placesOf(text)).toBe(places)
  })

  test('leads an edge past the ranks between, apart from their nodes', () => {
    const { edges, nodes, ranks, breadth } = layoutGraph(graph('a b:a c:a,b'))
    const long = edges.find(({ from, to }) => from === 'a' && to === 'c')
    expect(long?.points.map(({ rank }) => rank)).toEqual([0, 1, 2])
    expect(Math.abs((long?.points[1]?.at ?? 0) - (nodes.get('b')?.at ?? 0))).toBeGreaterThanOrEqual(1)
    expect([ranks, breadth]).toEqual([3, 2])
  })

  test('has no ranks for an empty graph, and places for a cycle and for a node with an unknown need', () => {
    expect(layoutGraph([])).toMatchObject({ ranks: 0, breadth: 0 })
    expect(layoutGraph(graph('a:b b:a')).nodes.size).toBe(2)
    expect(placesOf('a:gone')).toBe('a 0/0')
  })
})

test('the longest path is by time, not by the number of nodes', () => {
  const ms: Readonly<Record<string, number>> = { plan: 10, build: 500, docs: 20, check: 20, test: 1 }
  const nodes = graph('plan build:plan docs:plan check:docs test:build,check').map((node) => ({ ...node, elapsedMs: ms[node.name] ?? 0 }))
  expect(criticalPath(nodes)).toEqual(['plan', 'build', 'test'])
  expect(criticalPath(nodes.map((node) => ({ ...node, elapsedMs: 0 })))).toEqual([])
})

test('a node has as dependents all nodes that need it, also through others', () => {
  const nodes = graph('plan build:plan docs:plan test:build,docs ship:test')
  expect([...dependentsOf(nodes, 'build')]).toEqual(['test', 'ship'])
  expect([...dependentsOf(nodes, 'ship')]).toEqual([])
})
