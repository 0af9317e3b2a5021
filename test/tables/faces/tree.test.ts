// Rows as a tree and in flat orders.
import { describe, expect, test } from 'vitest'
import * as fc from 'fast-check'
import { flatOrder, subtreeOf, treeLines } from '../../../src/faces/tree.ts'
import { rowMap, rowOf } from '../../support/faces/rows.ts'

const root = rowOf({ uuid: 'a', name: 'root' })
const first = rowOf({ uuid: 'b', parent: 'a', name: 'first' })
const grandchild = rowOf({ uuid: 'c', parent: 'b', name: 'grandchild' })
const second = rowOf({ uuid: 'd', parent: 'a', name: 'second' })
const other = rowOf({ uuid: 'e', name: 'other' })
const rows = rowMap(other, grandchild, second, root, first)

function drawn(options: Parameters<typeof treeLines<typeof root>>[1] = {}): string[] {
  return treeLines(rows, options).map(
    ({ uuid, depth, hasChildren, isFolded, isContext }) =>
      `${'  '.repeat(depth)}${uuid}${hasChildren ? (isFolded ? ' +' : ' -') : ''}${isContext ? ' (context)' : ''}`,
  )
}

describe('the tree', () => {
  test('has each row after its parent, and siblings in the order of birth', () => {
    expect(drawn()).toEqual(['a -', '  b -', '    c', '  d', 'e'])
  })

  test('leaves out what is below a folded row', () => {
    expect(drawn({ folded: new Set(['b']) })).toEqual(['a -', '  b +', '  d', 'e'])
    expect(drawn({ folded: new Set(['a', 'e']) })).toEqual(['a +', 'e'])
  })

  test('shows matches with their ancestors, and opens the folds above a match', () => {
    const isMatch = ({ name }: { name: string | null }): boolean => name === 'grandchild'
    expect(drawn({ isMatch, folded: new Set(['a', 'b']) })).toEqual(['a - (context)', '  b - (context)', '    c'])
    expect(drawn({ isMatch: () => false })).toEqual([])
  })

  test('has a row without its parent in the list as a root', () => {
    expect(treeLines(rowMap(grandchild)).map(({ uuid, depth }) => [uuid, depth])).toEqual([['c', 0]])
  })

  test('has each row once, at a depth one below its parent, whatever the list and its order', () => {
    const forest = fc
      .array(fc.nat(), { maxLength: 40 })
      .map((parents) =>
        parents.map((parent, i) =>
          rowOf({ uuid: String(i).padStart(3, '0'), parent: i === 0 || parent % 3 === 0 ? null : String(parent % i).padStart(3, '0') }),
        ),
      )
    fc.assert(
      fc.property(forest, (list) => {
        const lines = treeLines(rowMap(...list))
        expect(lines.map(({ uuid }) => uuid).sort()).toEqual(list.map(({ uuid }) => uuid))
        const depths = new Map(lines.map(({ uuid, depth }) => [uuid, depth]))
        for (const { uuid, parent } of list) expect(depths.get(uuid)).toBe(parent === null ? 0 : (depths.get(parent) ?? 0) + 1)
      }),
    )
  })
})

test('a subtree has the process and all below it', () => {
  expect([...subtreeOf(rows, 'a')].sort()).toEqual(['a', 'b', 'c', 'd'])
  expect([...subtreeOf(rows, 'e')]).toEqual(['e'])
})

test.each([
  ['urgency', ['late', 'dear', 'plain']],
  ['recent', ['late', 'plain', 'dear']],
  ['cost', ['dear', 'plain', 'late']],
  ['name', ['dear', 'late', 'plain']],
] as const)('a flat list is ordered by %s', (order, names) => {
  const list = [
    rowOf({ uuid: '1', name: 'plain', cost: { usd: 1, unpriced: false, estimated: false }, since: '2026-11-20T11:00:00Z' }),
    rowOf({ uuid: '2', name: 'dear', cost: { usd: 7, unpriced: false, estimated: false }, attention: 1 }),
    rowOf({ uuid: '3', name: 'late', attention: 9, since: '2026-11-20T12:00:00Z' }),
  ]
  expect(flatOrder(list, order).map(({ name }) => name)).toEqual(names)
})
