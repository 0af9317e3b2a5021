// References to what nodes gave: what is one, and that what is filled in is never read as one.
import { expect, test } from 'vitest'
import { fillIn, isMalformed, isReference, referencesIn } from '../../src/crew/compose-template.ts'

test.each([
  ['{{ nodes.a.result }}', [{ node: 'a', field: 'result' }]],
  ['{{nodes.a.result}} and {{ nodes.b-2.uuid }}', [{ node: 'a', field: 'result' }, { node: 'b-2', field: 'uuid' }]],
  ['{{ nodes.v1.2.result }}', [{ node: 'v1.2', field: 'result' }]],
  ['{{\nnodes.a.result\n}}', [{ node: 'a', field: 'result' }]],
  ['{ { nodes.a.result } }', []],
  ['{{ user.name }} {{}} {{ node.a.result }}', []],
])('%j', (text, references) => {
  expect(referencesIn(text)).toEqual(references)
  expect(isMalformed(text)).toBe(false)
})

test.each(['{{ nodes.a }}', '{{ nodes }}', '{{ nodes.a.result', '{{ nodes.a.result | upper }}', '{{ nodes.a.result }} {{ nodes..x }}', '{{ nodes["a"].result }}'])('%j is meant as one and is none', (text) => {
  expect(isMalformed(text)).toBe(true)
})

test('one reference and nothing else', () => {
  expect(isReference('{{ nodes.a.result }}')).toBe(true)
  expect(isReference(' {{ nodes.a.result }}')).toBe(false)
  expect(isReference('{{ nodes.a.result }}{{ nodes.a.result }}')).toBe(false)
  expect(isReference('')).toBe(false)
})

test('what is filled in is text: no reference in it is followed, and no pattern of a replacement', () => {
  const said: Readonly<Record<string, string>> = { a: '{{ nodes.b.result }}', b: '$& $1 $$ {{ nodes.a.result }}', c: '' }
  expect(fillIn('<{{ nodes.a.result }}|{{ nodes.b.result }}|{{ nodes.c.result }}>', ({ node }) => said[node] ?? '')).toBe('<{{ nodes.b.result }}|$& $1 $$ {{ nodes.a.result }}|>')
})
