// Models that are played from a file: the format of the file, mistakes in it, played errors, resumes, and changed files.
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness } from '../../support/models/native-harness.ts'

let harness: NativeHarness

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(() => harness[Symbol.asyncDispose]())

test('after the last item of a script the turn ends with the last text, at no cost', async () => {
  const { kernel, runTurn } = await harness.run({
    script: '- { text: hello, tools: [{ name: ls, input: {} }], usage: { input: 7, output: 3 } }',
  })
  await runTurn('go')
  const none = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0 }
  expect(kernel.factsOf('model.finished').map(({ usage, finish }) => [finish, usage])).toEqual([
    ['tool-calls', { ...none, inputTokens: 7, outputTokens: 3 }],
    ['stop', none],
  ])
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'ok', result: 'hello' }])
})

test('the last result is inserted into texts and inputs at any depth, literally', async () => {
  const { kernel, runTurn } = await harness.run({
    script: `
- tools: [{ name: bash, input: { command: 'printf "%s" "\\$& {{lastResult}}"' } }]
- tools: [{ name: write, input: { path: out.txt, content: '<{{ lastResult }}>' } }]
- tools: [{ name: read, input: { path: out.txt } }]
- text: '{{lastResult}} twice {{lastResult}}'
`,
  })
  await runTurn('go')
  expect(kernel.factsOf('process.ready')[0]?.result).toBe('<$& \n[exit code 0]> twice <$& \n[exit code 0]>')
})

test('an error fails the first attempt of its step; with an answer the next one succeeds', async () => {
  const { kernel, runTurn } = await harness.run({ script: '- { text: fine, error: busy }\n- { error: { message: no, status: 400 } }' })
  await runTurn('go')
  await runTurn('again')
  expect(kernel.factsOf('model.failed').map(({ step, error, status, retryInMs }) => [step, error, status, retryInMs === null])).toEqual([
    [1, 'busy', null, false],
    [2, 'no', 400, true],
  ])
  expect(kernel.factsOf('process.ready')).toMatchObject([
    { outcome: 'ok', result: 'fine' },
    { outcome: 'error', error: 'no' },
  ])
})

test('an error without an answer fails every attempt', async () => {
  const { kernel, runTurn } = await harness.run({ script: '- { error: { message: overloaded, status: 529 } }' })
  await runTurn('go')
  expect(kernel.factsOf('model.failed')).toHaveLength(4)
  expect(kernel.factsOf('process.ready')).toMatchObject([{ outcome: 'error', error: 'overloaded' }])
})

test('a resumed process continues at the item of its step', async () => {
  const script = '- text: one\n- text: two\n- text: three'
  const first = await harness.run({ script })
  await first.runTurn('a')
  await first.runTurn('b')
  const second = await harness.run({ script, earlierFacts: first.kernel.facts })
  await second.runTurn('c')
  expect(second.kernel.factsOf('process.ready').map(({ result }) => result)).toEqual(['one', 'two', 'three'])
})

const MISTAKES: readonly (readonly [what: string, script: string, line: number])[] = [
  ['a text instead of a list', 'text: hello', 1],
  ['invalid YAML', '- text: one\n- text: "two', 2],
  ['an unknown key', '- text: one\n- text: two\n- txt: three', 3],
  ['a wrong type, deep inside', '- text: one\n- tools:\n  - name: ls\n    input: 3', 4],
  ['a negative delay', '- text: one\n  delay_ms: -1', 2],
]

test.each(MISTAKES)('%s is refused with the file and the line', async (_, script, line) => {
  const refusal = await harness.run({ script }).catch((error: unknown) => error)
  expect(refusal).toMatchObject({
    code: 'AGENT_INVALID',
    message: expect.stringContaining(join(harness.dir, `1.yaml:${line}:`)),
    details: { line },
  })
})

test('a file that is not a script is refused, and the error states what a script must be', async () => {
  const refusal = await harness.run({ script: 'a text' }).catch((error: unknown) => error)
  expect(refusal).toMatchObject({
    code: 'AGENT_INVALID',
    message: `${join(harness.dir, '1.yaml')}:1: a script must be a list, or have a list as \`steps\` or \`rules\``,
  })
})

test('a mistake in the YAML of a script, and a binary file, are reported in one line', async () => {
  const refusal = await harness.run({ script: 'steps: [\n  {text: a' }).catch((error: unknown) => error)
  expect(refusal).toMatchObject({
    message: expect.stringMatching(
      /1\.yaml:2: not valid YAML: Flow map in block collection must be sufficiently indented and end with a }$/,
    ),
  })
  await writeFile(join(harness.dir, 'bytes.yaml'), Buffer.from([0x2d, 0x20, 0xff, 0xfe]))
  const bytes = await harness.run({ spec: { model: 'script:bytes.yaml' } }).catch((error: unknown) => error)
  expect(bytes).toMatchObject({ code: 'AGENT_INVALID', message: expect.stringMatching(/^script .*bytes\.yaml is not UTF-8 text$/) })
})

test('a directory, or a device without an end, is refused and never read', async () => {
  for (const file of [harness.dir, '/dev/zero']) {
    const refusal = await harness.run({ spec: { model: `script:${file}` } }).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'AGENT_INVALID', message: `script ${file} is not a regular file` })
  }
})

test('a missing or too large file is refused with its name', async () => {
  const missing = await harness.run({ spec: { model: 'script:none.yaml' } }).catch((error: unknown) => error)
  expect(missing).toMatchObject({ code: 'AGENT_INVALID', message: expect.stringContaining('none.yaml cannot be read: ENOENT') })
  const refusal = await harness.run({ script: `- text: ${'x'.repeat(5 * 1024 * 1024)}` }).catch((error: unknown) => error)
  expect(refusal).toMatchObject({ code: 'AGENT_INVALID', message: expect.stringContaining('more than 1048576') })
})

test('processes that start later read a changed file again', async () => {
  const file = join(harness.dir, 'same.yaml')
  await writeFile(file, '- text: old')
  const firstRun = await harness.run({ spec: { model: 'script:same.yaml' } })
  await rm(file)
  await writeFile(file, '- text: newer')
  const changed = await harness.run({ spec: { model: `script:${file}` } })
  await Promise.all([firstRun.runTurn('go'), changed.runTurn('go')])
  expect([firstRun, changed].map(({ kernel }) => kernel.factsOf('process.ready')[0]?.result)).toEqual(['old', 'newer'])
})
