// The tool `bash` with real programs: output, exits, time limits, background programs, hostile output.
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findSleepersWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { openNativeHarness } from '../../support/models/native-harness.ts'
import type { NativeHarness } from '../../support/models/native-harness.ts'
import type { BodyOf } from '../../../src/kernel/model/facts.ts'
import type { FakeKernel } from '../../support/kernel/fake-kernel.ts'

let harness: NativeHarness

beforeEach(async () => {
  harness = await openNativeHarness()
})
afterEach(() => harness[Symbol.asyncDispose]())

interface BashRun {
  readonly kernel: FakeKernel
  readonly end: BodyOf<'tool.finished'>
}

async function runBash(
  input: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>> = {},
  credentials: Readonly<Record<string, string>> = {},
): Promise<BashRun> {
  const spec = Object.keys(env).length === 0 ? {} : { env }
  const { kernel, runTurn } = await harness.run({ script: JSON.stringify([{ tools: [{ name: 'bash', input }] }]), spec, credentials })
  await runTurn('go')
  const [end] = kernel.factsOf('tool.finished')
  if (end === undefined) throw new Error('no tool has ended')
  return { kernel, end }
}

test('output of both streams is returned with the exit code; live output shows it, too', async () => {
  const { kernel, end } = await runBash({ command: 'echo out; echo err >&2; printf half; exit 3' })
  expect(end).toMatchObject({ outcome: 'ok', exitCode: 3, content: expect.stringMatching(/\[exit code 3\]$/) })
  for (const word of ['out\n', 'err\n', 'half']) expect(end.content).toContain(word)
  expect(
    kernel.liveOutputs
      .filter((live) => live.type === 'tool-output')
      .map((live) => live.text)
      .join(''),
  ).toContain('out\n')
})

test('a call without output reports its exit code; a shell that a signal ends reports the signal', async () => {
  expect((await runBash({ command: 'true' })).end).toMatchObject({ exitCode: 0, content: '[exit code 0]' })
  expect((await runBash({ command: 'kill -9 $$' })).end).toMatchObject({ exitCode: 137, content: '[ended by SIGKILL]' })
})

test("stdin is empty, and the working directory is the agent's", async () => {
  const { end } = await runBash({ command: 'cat; pwd' })
  expect(end.content).toBe(`${harness.dir}\n[exit code 0]`)
})

test('the environment is the recorded one, without the credentials of the agent', async () => {
  const { end } = await runBash({ command: 'echo "$FOO-$ANTHROPIC_API_KEY"' }, { FOO: 'foo' }, { ANTHROPIC_API_KEY: 'secret' })
  expect(end.content).toBe('foo-\n[exit code 0]')
})

test('a call that exceeds its time limit is ended; its result states that, with the output so far', async () => {
  const { end } = await runBash({ command: `echo before; sleep ${harness.token}`, timeout_ms: 3_000 })
  expect(end).toMatchObject({ outcome: 'error', content: 'the command timed out after 3000 ms and was ended\nbefore\n' })
  await waitUntil(() => findSleepersWith(harness.token).length === 0, 'the group is gone')
})

test('a time limit kills a program that ignores SIGTERM', async () => {
  const { end } = await runBash({ command: `trap "" TERM; sleep ${harness.token}; sleep ${harness.token}`, timeout_ms: 200 })
  expect(end.outcome).toBe('error')
  await waitUntil(() => findSleepersWith(harness.token).length === 0, 'the group is gone')
})

test('a background program that keeps the pipe does not delay the call, and ends with the agent', async () => {
  const { end } = await runBash({ command: `sleep ${harness.token} & echo started` })
  expect(end.content).toBe('started\n[exit code 0]')
  expect(findSleepersWith(harness.token)).toHaveLength(1)
  const { token } = harness
  await harness[Symbol.asyncDispose]()
  expect(findSleepersWith(token)).toEqual([])
  harness = await openNativeHarness()
})

test('endless output is cut in the middle; the beginning and the end are kept', async () => {
  const { end } = await runBash({ command: 'echo first; head -c 3000000 /dev/zero | tr "\\0" "é"; echo; echo last' })
  expect(end.content).toMatch(/^first\n/)
  expect(end.content).toMatch(/last\n\[exit code 0\]$/)
  expect(end.content).toMatch(/\[… \d+ bytes omitted …\]/)
  expect(Buffer.byteLength(end.content)).toBeLessThan(34_000)
})

test('without a recorded PATH, programs are still found', async () => {
  const { kernel, runTurn } = await harness.run({
    script: '- tools: [{ name: bash, input: { command: ls } }]',
    spec: { cwd: harness.dir, env: {} },
  })
  await runTurn('go')
  expect(kernel.factsOf('tool.finished')[0]).toMatchObject({ outcome: 'ok', content: expect.stringContaining('1.yaml') })
})

test('without bash the shell is sh', async () => {
  await symlink('/bin/sh', join(harness.dir, 'sh'))
  const { end } = await runBash({ command: 'echo "$0"' }, { PATH: harness.dir })
  expect(end.content).toBe(`${join(harness.dir, 'sh')}\n[exit code 0]`)
})

test('without any shell, the model gets the reason', async () => {
  const { end } = await runBash({ command: 'true' }, { PATH: '/nowhere' })
  expect(end).toMatchObject({ outcome: 'error', content: expect.stringContaining('sh') })
})
