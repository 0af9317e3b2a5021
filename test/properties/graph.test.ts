// Graphs of needs by chance against slow and plain definitions: a cycle is one, an order is one, above and below are closures.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { above, below, cycleIn, layers, type Needing } from '../../src/crew/graph.ts'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const anyGraph = fc.integer({ min: 0, max: NAMES.length }).chain((count) => {
  const names = NAMES.slice(0, count)
  return fc.tuple(...names.map((id) => fc.subarray(names).map((needs): Needing => ({ id, needs }))))
})
/** Each needs none but those before it, and stands anywhere. */
const acyclic = fc.integer({ min: 0, max: NAMES.length }).chain((count) => {
  const names = NAMES.slice(0, count)
  return fc.tuple(...names.map((id, at) => fc.subarray(names.slice(0, at)).map((needs): Needing => ({ id, needs })))).chain((graph) => fc.shuffledSubarray(graph, { minLength: count }))
})

/** Whether a way of one need and more leads from one to another. */
function leads(graph: readonly Needing[], from: string, to: string): boolean {
  const isNeed = (a: string, b: string): boolean => graph.some(({ id, needs }) => id === a && needs.includes(b))
  let ends = [from]
  for (let steps = 0; steps < graph.length; steps += 1) {
    ends = graph.map(({ id }) => id).filter((id) => ends.some((end) => isNeed(end, id)))
    if (ends.includes(to)) return true
  }
  return false
}

test('a cycle is told where there is one, and it is one', () => {
  fc.assert(fc.property(anyGraph, (graph) => {
    const cycle = cycleIn(graph)
    expect(cycle !== null).toBe(graph.some(({ id }) => leads(graph, id, id)))
    if (!cycle) return
    expect(cycle.at(-1)).toBe(cycle[0])
    for (const [at, id] of cycle.slice(0, -1).entries()) expect(graph.find((one) => one.id === id)?.needs).toContain(cycle[at + 1])
    expect(new Set(cycle).size).toBe(cycle.length - 1)
  }))
})

test('what is above and below is what a way leads to', () => {
  fc.assert(fc.property(anyGraph, (graph) => {
    for (const { id } of graph) {
      const names = graph.map((one) => one.id)
      expect([...above(graph, [id])].sort()).toEqual(names.filter((other) => leads(graph, id, other)).sort())
      expect([...below(graph, [id])].sort()).toEqual(names.filter((other) => leads(graph, other, id)).sort())
    }
  }))
})

test('the rows hold all, each as early as it can be', () => {
  fc.assert(fc.property(acyclic, (graph) => {
    const rows = layers(graph)
    expect(rows.flat().sort()).toEqual(graph.map(({ id }) => id).sort())
    const rowOf = (id: string): number => rows.findIndex((row) => row.includes(id))
    for (const { id, needs } of graph) expect(rowOf(id)).toBe(Math.max(-1, ...needs.map(rowOf)) + 1)
  }))
})

test('what needs itself by others is in no row, and neither is what needs that', () => {
  expect(layers([{ id: 'a', needs: ['b'] }, { id: 'b', needs: ['a'] }, { id: 'c', needs: ['b'] }, { id: 'd', needs: [] }])).toEqual([['d']])
})

test('a chain of many is walked, and a name that nobody has is passed over', () => {
  const chain = Array.from({ length: 20_000 }, (_, at): Needing => ({ id: `${at}`, needs: [`${at + 1}`] }))
  expect(cycleIn(chain)).toBe(null)
  expect(cycleIn([...chain.slice(0, -1), { id: '19999', needs: ['0'] }])).toHaveLength(20_001)
  expect([...above([{ id: 'a', needs: ['nobody'] }], ['a'])]).toEqual([])
})
