// Compares the functions for dependency graphs with slow, simple definitions of a cycle, an order and the closures.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { dependenciesOf, dependentsOf, findCycle, layersOf, type GraphNode } from '../../src/kernel/util/graph.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const anyGraph = fc.integer({ min: 0, max: NAMES.length }).chain((count) => {
  const names = NAMES.slice(0, count)
  return fc.tuple(...names.map((id) => fc.subarray(names).map((needs): GraphNode => ({ id, needs }))))
})
/** Each node needs only nodes before it, and is listed anywhere. */
const acyclic = fc.integer({ min: 0, max: NAMES.length }).chain((count) => {
  const names = NAMES.slice(0, count)
  return fc
    .tuple(...names.map((id, index) => fc.subarray(names.slice(0, index)).map((needs): GraphNode => ({ id, needs }))))
    .chain((graph) => fc.shuffledSubarray(graph, { minLength: count }))
})

/** Whether a path of at least one need leads from one node to another. */
function hasPath(graph: readonly GraphNode[], from: string, to: string): boolean {
  const isNeed = (a: string, b: string): boolean => graph.some(({ id, needs }) => id === a && needs.includes(b))
  let reachedNodes = [from]
  for (let steps = 0; steps < graph.length; steps += 1) {
    reachedNodes = graph.map(({ id }) => id).filter((id) => reachedNodes.some((node) => isNeed(node, id)))
    if (reachedNodes.includes(to)) return true
  }
  return false
}

test('findCycle returns a real cycle exactly if the graph has one', () => {
  fc.assert(
    fc.property(anyGraph, (graph) => {
      const cycle = findCycle(graph)
      expect(cycle !== null).toBe(graph.some(({ id }) => hasPath(graph, id, id)))
      if (!cycle) return
      expect(cycle.at(-1)).toBe(cycle[0])
      for (const [at, id] of cycle.slice(0, -1).entries()) expect(graph.find((node) => node.id === id)?.needs).toContain(cycle[at + 1])
      expect(new Set(cycle).size).toBe(cycle.length - 1)
    }),
  )
})

test('the dependencies of a node are all nodes that its paths reach, and its dependents are all whose paths reach it', () => {
  fc.assert(
    fc.property(anyGraph, (graph) => {
      for (const { id } of graph) {
        const names = graph.map((node) => node.id)
        expect([...dependenciesOf(graph, [id])].sort()).toEqual(names.filter((name) => hasPath(graph, id, name)).sort())
        expect([...dependentsOf(graph, [id])].sort()).toEqual(names.filter((name) => hasPath(graph, name, id)).sort())
      }
    }),
  )
})

test('the layers have all nodes, each in the earliest possible layer', () => {
  fc.assert(
    fc.property(acyclic, (graph) => {
      const layers = layersOf(graph)
      expect(layers.flat().sort()).toEqual(graph.map(({ id }) => id).sort())
      const rowOf = (id: string): number => layers.findIndex((row) => row.includes(id))
      for (const { id, needs } of graph) expect(rowOf(id)).toBe(Math.max(-1, ...needs.map(rowOf)) + 1)
    }),
  )
})

test('a node that needs itself through other nodes is in no layer, and neither are its dependents', () => {
  expect(
    layersOf([
      { id: 'a', needs: ['b'] },
      { id: 'b', needs: ['a'] },
      { id: 'c', needs: ['b'] },
      { id: 'd', needs: [] },
    ]),
  ).toEqual([['d']])
})

test('findCycle follows a chain of 20,000 nodes to its end, and dependenciesOf skips an unknown name', () => {
  const chain = Array.from({ length: 20_000 }, (_, index): GraphNode => ({ id: `${index}`, needs: [`${index + 1}`] }))
  expect(findCycle(chain)).toBe(null)
  expect(findCycle([...chain.slice(0, -1), { id: '19999', needs: ['0'] }])).toHaveLength(20_001)
  expect([...dependenciesOf([{ id: 'a', needs: ['nobody'] }], ['a'])]).toEqual([])
})
