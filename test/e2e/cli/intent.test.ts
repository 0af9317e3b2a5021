// An intent that is too long for a command line comes from stdin or from a file. The command line and the daemon are real.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CliResult } from '../../support/daemon/cli.ts'
import { CLI, startCli } from '../../support/daemon/cli.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon
let model: string

beforeAll(async () => {
  daemon = await LocalDaemon.start()
  model = await daemon.writeScript([{ text: 'done' }])
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

async function runWithInput(input: string | null, ...args: string[]): Promise<CliResult> {
  const child = spawn(process.execPath, [CLI, 'run', '-q', '-d', '--model', model, ...args], {
    cwd: daemon.work,
    env: testEnv(daemon.home),
    stdio: 'pipe',
  })
  const written = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text
    })
  child.stdin.on('error', () => {}) // it may refuse before it has read all of it
  child.stdin.end(input ?? '')
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { code, ...written }
}

/** Longer than one argument can be. */
const LONG_INTENT = 'write a long é story. '.repeat(20_000)

test.each([
  ['from stdin', async () => runWithInput(`${LONG_INTENT}\n`, '-')],
  [
    'from a file',
    async () => {
      writeFileSync(join(daemon.work, 'long.txt'), LONG_INTENT)
      return runWithInput(null, '--intent-file', 'long.txt')
    },
  ],
  ['from stdin by the flag', async () => runWithInput(LONG_INTENT, '--intent-file=-')],
])('a long intent comes %s', async (_name, run) => {
  const { code, stdout, stderr } = await run()
  expect([code, stderr]).toEqual([0, ''])
  expect((await daemon.waitForEnd(stdout.trim())).intent).toBe(LONG_INTENT)
})

test.each<[string, string | null, string[], RegExp]>([
  ['nothing on stdin', '', ['-'], /stdin is empty/],
  ['a missing file', null, ['--intent-file', 'no.txt'], /no\.txt/],
  ['two intents', null, ['--intent-file', 'long.txt', 'and this'], /exclude each other/],
  ['an intent and a command', 'x', ['--intent-file=-', '--', 'true'], /exclude each other/],
  ['more than the daemon accepts', 'x'.repeat(1_000_001), ['-'], /at most 1000000 characters/],
])('%s is refused, and nothing starts', async (_name, input, args, why) => {
  const countBefore = (await daemon.client.get<{ processes: object[] }>('/v1/processes', { all: true })).processes.length
  const { code, stdout, stderr } = await runWithInput(input, ...args)
  expect([code, stdout]).toEqual([125, ''])
  expect(stderr).toMatch(why)
  expect((await daemon.client.get<{ processes: object[] }>('/v1/processes', { all: true })).processes.length).toBe(countBefore)
})

test('text on stdin is added to the intent of the command line, and a run without text waits for none', async () => {
  const { code, stdout, stderr } = await runWithInput('+ one line\n', 'review this')
  expect([code, stderr]).toEqual([0, ''])
  expect((await daemon.waitForEnd(stdout.trim())).intent).toBe('review this\n\n+ one line')
  const alone = await runWithInput(null, 'review that')
  expect((await daemon.waitForEnd(alone.stdout.trim())).intent).toBe('review that')
})

test('a silent pipe is reported, and the agent gets only the intent', async () => {
  const { code, stdout, stderr } = await startCli(daemon.home, ['run', '-d', '--model', model, 'review this'], {
    stdin: 'open',
    cwd: daemon.work,
  }).result
  expect([code, stderr]).toEqual([0, expect.stringContaining('nothing came from stdin within 3 s, so the agent gets only the intent')])
  expect((await daemon.waitForEnd(stdout.trim())).intent).toBe('review this')
})
