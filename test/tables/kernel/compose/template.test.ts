// References to results of nodes: their syntax. Inserted text is never read as a reference.
import { expect, test } from 'vitest'
import { fillReferences, hasMalformedReference, isReference, findReferences } from '../../../../src/kernel/compose/template.ts'

test.each([
  ['{{ nodes.a.result }}', [{ node: 'a', field: 'result' }]],
  [
    '{{nodes.a.result}} and {{ nodes.b-2.uuid }}',
    [
      { node: 'a', field: 'result' },
      { node: 'b-2', field: 'uuid' },
    ],
  ],
  ['{{ nodes.v1.2.result }}', [{ node: 'v1.2', field: 'result' }]],
  ['{{\nnodes.a.result\n}}', [{ node: 'a', field: 'result' }]],
  ['{ { nodes.a.result } }', []],
  ['{{ user.name }} {{}} {{ node.a.result }}', []],
])('the references in %j are found', (text, references) => {
  expect(findReferences(text)).toEqual(references)
  expect(hasMalformedReference(text)).toBe(false)
})

test.each([
  '{{ nodes.a }}',
  '{{ nodes }}',
  '{{ nodes.a.result',
  '{{ nodes.a.result | upper }}',
  '{{ nodes.a.result }} {{ nodes..x }}',
  '{{ nodes["a"].result }}',
])('%j has an invalid reference', (text) => {
  expect(hasMalformedReference(text)).toBe(true)
})

test('a text that is exactly one reference is recognized', () => {
  expect(isReference('{{ nodes.a.result }}')).toBe(true)
  expect(isReference(' {{ nodes.a.result }}')).toBe(false)
  expect(isReference('{{ nodes.a.result }}{{ nodes.a.result }}')).toBe(false)
  expect(isReference('')).toBe(false)
})

test('references and replacement patterns in inserted results have no effect', () => {
  const results: Readonly<Record<string, string>> = { a: '{{ nodes.b.result }}', b: '$& $1 $$ {{ nodes.a.result }}', c: '' }
  expect(fillReferences('<{{ nodes.a.result }}|{{ nodes.b.result }}|{{ nodes.c.result }}>', ({ node }) => results[node] ?? '')).toBe(
    '<{{ nodes.b.result }}|$& $1 $$ {{ nodes.a.result }}|>',
  )
})
