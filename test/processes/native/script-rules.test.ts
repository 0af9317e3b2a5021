// Scripts that react: rules for messages, choices by a tool result. Positions are restored after a resume and
// after a compaction; mistakes are reported with their lines.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness, Run } from '../../support/models/native-harness.ts'

let harness: NativeHarness

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(() => harness[Symbol.asyncDispose]())

const resultsOf = ({ kernel }: Run): (string | null | undefined)[] => kernel.factsOf('process.ready').map(({ result }) => result)

const RULES = `
rules:
  - when: '/review (?<task>\\S+)/i'
    nth: 1
    steps: [{ text: 'DENIED {{ task }}' }]
  - when: '/review (?<task>\\S+)/i'
    steps: [{ text: 'APPROVED {{task}}' }]
  - when: 'do (this)'
    steps: [{ text: 'literally: {{ message }}, {{ 0 }}, {{ 1 }}' }]
  - when: '/write (\\w+) to (\\S+)/'
    steps:
      - tools: [{ name: write, input: { path: '{{ 2 }}', content: 'it is {{ 1 }}' } }]
      - tools: [{ name: read, input: { path: '{{ 2 }}' } }]
      - choose:
          - { if: '/is (?<what>\\w+)/', text: 'it was {{ what }}' }
          - { text: 'never' }
steps:
  - text: 'what is "{{ message }}"?'
`

test('the first rule that matches a message answers it; groups, by number and by name, are inserted into texts and inputs', async () => {
  const run = await harness.run({ script: RULES })
  for (const words of ['please do (this)', 'write one to a.txt', 'write two to b.txt', 'hello']) await run.runTurn(words)
  expect(resultsOf(run)).toEqual(['literally: please do (this), do (this), {{ 1 }}', 'it was one', 'it was two', 'what is "hello"?'])
})

test('`nth` counts the messages with the same groups, despite others in between, also after a resume', async () => {
  const first = await harness.run({ script: RULES })
  for (const words of ['Review t1', 'review t2', 'hello', 'review t1']) await first.runTurn(words)
  const second = await harness.run({ script: RULES, earlierFacts: first.kernel.facts })
  for (const words of ['review t2', 'review t3']) await second.runTurn(words)
  expect(resultsOf(second)).toEqual(['DENIED t1', 'DENIED t2', 'what is "hello"?', 'APPROVED t1', 'APPROVED t2', 'DENIED t3'])
})

test('a choice takes the first item whose `if` matches the last result; without a match the turn ends', async () => {
  const script = `
rules:
  - when: look
    steps:
      - tools: [{ name: bash, input: { command: 'cat state' } }]
      - choose:
          - { if: good, text: fine }
          - { if: '/^ba+d/', text: '{{ lastResult }}' }
`
  await writeFile(join(harness.dir, 'state'), 'baad')
  const run = await harness.run({ script })
  await run.runTurn('look')
  await writeFile(join(harness.dir, 'state'), 'good')
  await run.runTurn('look')
  await writeFile(join(harness.dir, 'state'), 'neither')
  await run.runTurn('look')
  expect(resultsOf(run)).toEqual(['baad\n[exit code 0]', 'fine', ''])
})

test('the groups of a choice are known in the rest of the turn, and not in the next one', async () => {
  const script = `
rules:
  - when: go
    steps:
      - tools: [{ name: bash, input: { command: 'cat state' } }]
      - choose: [{ if: '/worker (?<who>\\d+)/', tools: [{ name: bash, input: { command: 'echo task 7' } }] }, { tools: [{ name: ls }] }]
      - choose: [{ if: '/task (?<what>\\d+)/', tools: [{ name: ls }] }, { tools: [{ name: ls }] }]
      - text: '{{ who }} does {{ what }}'
`
  await writeFile(join(harness.dir, 'state'), 'worker 3')
  const first = await harness.run({ script })
  await first.runTurn('go')
  await writeFile(join(harness.dir, 'state'), 'nobody')
  const second = await harness.run({ script, earlierFacts: first.kernel.facts })
  await second.runTurn('go')
  expect(resultsOf(second)).toEqual(['3 does 7', '{{ who }} does {{ what }}'])
})

test('a summary keeps the rule that is being answered, and its position', async () => {
  const largeFile = 'x'.repeat(6_000)
  const steps = [1, 2, 3, 4, 5].map((n) => `{ text: 'part ${n} of {{ 1 }}', tools: [{ name: read, input: { path: big.txt } }] }`)
  const script = `
context_window: 5000
rules:
  - when: '/^read (\\w+)/'
    steps: [${steps.join(', ')}, { text: 'read {{ 1 }}' }]
`
  await writeFile(join(harness.dir, 'big.txt'), largeFile)
  const first = await harness.run({ script })
  await first.runTurn('read alpha')
  const second = await harness.run({ script, earlierFacts: first.kernel.facts })
  await second.runTurn('read beta')
  expect(second.kernel.factsOf('context.compacted').length).toBeGreaterThan(2)
  const texts = second.kernel
    .factsOf('model.finished')
    .map(({ message }) => message.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(''))
  expect(texts).toEqual(['alpha', 'beta'].flatMap((word) => [...[1, 2, 3, 4, 5].map((n) => `part ${n} of ${word}`), `read ${word}`]))
})

const MISTAKES: readonly (readonly [what: string, script: string, line: number])[] = [
  ['an invalid regular expression', 'rules:\n  - when: fine\n    steps: []\n  - when: /a(b/\n    steps: []', 4],
  ['an unknown key of a rule', 'rules:\n  - when: a\n    stepps: []', 2],
  [
    'a wrong type in a step of a rule',
    'rules:\n  - when: a\n    steps:\n      - text: one\n      - tools:\n          - name: ls\n            input: 3',
    7,
  ],
  ['a choice without items', 'rules:\n  - when: a\n    steps:\n      - choose: []', 4],
  ['a mistake in a choice', 'rules:\n  - when: a\n    steps:\n      - choose:\n          - { if: x, text: y }\n          - { iff: x }', 6],
  ['a script without steps and rules', 'context_window: 100', 1],
]

test.each(MISTAKES)('%s is refused with the file and the line', async (_, script, line) => {
  const refusal = await harness.run({ script }).catch((error: unknown) => error)
  expect(refusal).toMatchObject({
    code: 'AGENT_INVALID',
    message: expect.stringContaining(join(harness.dir, `1.yaml:${line}:`)),
    details: { line },
  })
})

test('a pattern that backtracks for ever fails the call', async () => {
  const { kernel, runTurn } = await harness.run({ script: '{ rules: [{ when: "/(a+)+$/", steps: [{ text: found }] }] }' })
  await runTurn(`${'a'.repeat(60)}b`)
  expect(kernel.factsOf('process.ready')).toMatchObject([
    { outcome: 'error', error: 'a pattern of the script takes too long; make it simpler' },
  ])
})
