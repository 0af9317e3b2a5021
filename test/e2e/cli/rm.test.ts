// `reeve rm` with a real daemon: removals, refusals and questions.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args)

async function runToEnd(name: string): Promise<string> {
  const { uuid } = await daemon.spawnShell('echo hello', { name })
  await daemon.waitForEnd(uuid)
  return uuid
}

test('`rm` removes several processes and reports each, and later verbs report the removal', async () => {
  const [one, two] = [await runToEnd('one'), await runToEnd('two')]
  const { pid } = await daemon.view(two)
  expect(await reeve('rm', 'one', `id:${two.slice(-8)}`)).toEqual({
    code: 0,
    stdout: '',
    stderr: `PID 1 (one) was removed\nPID ${pid} (two) was removed\n`,
  })
  expect((await reeve('ps', '-aq')).stdout).toBe('')
  for (const verb of ['inspect', 'logs', 'steps', 'resume', 'rm']) {
    const { code, stderr } = await reeve(verb, one)
    expect([verb, code, stderr]).toEqual([verb, 3, expect.stringContaining('removed') as string])
  }
})

test('a process that has not ended is refused with the next step, and the others are removed', async () => {
  const { uuid } = await daemon.spawnShell('sleep 600', { name: 'busy' })
  await runToEnd('done')
  const { code, stderr } = await reeve('rm', 'busy', 'done', 'none')
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /^reeve: process 1 has not ended\n {7}Stop it first with `reeve stop busy`, or remove it with `reeve rm --force busy`\.\nPID 2 \(done\) was removed\nreeve: no process "none"\n/,
    ),
  ])
  expect((await daemon.view(uuid)).state).toBe('running')
  expect(await reeve('rm', '--force', 'busy')).toEqual({ code: 0, stdout: '', stderr: 'PID 1 (busy) was removed\n' })
})

test('--json prints one object', async () => {
  const uuid = await runToEnd('one')
  const { code, stdout } = await reeve('rm', '--json', 'one', 'none')
  expect([code, JSON.parse(stdout)]).toEqual([
    3,
    {
      version: 1,
      results: [
        { ref: 'one', uuid, pid: 1, name: 'one', removedAt: expect.any(String) as string },
        { ref: 'none', error: expect.objectContaining({ code: 'NOT_FOUND' }) as object },
      ],
    },
  ])
})

/** Runs `reeve ARGS` on a terminal, and types the keys at its question. */
async function typeOnTerminal(keys: string, args: readonly string[]): Promise<{ code: number | null; text: string }> {
  const terminal = new Terminal(daemon.home, args)
  await terminal.waitForText('[y/N]')
  terminal.type(keys)
  return { code: await terminal.exitCode, text: terminal.text }
}

test.runIf(HAS_TERMINAL)(
  'on a terminal, more than ten removals need one confirmation',
  async () => {
    const names = Array.from({ length: 11 }, (_, i) => `p${i}`)
    for (const name of names) await runToEnd(name)
    const countLeft = async (): Promise<number> =>
      (await daemon.client.get<{ processes: unknown[] }>('/v1/processes', { all: true })).processes.length
    expect(await typeOnTerminal('n\n', ['rm', ...names])).toMatchObject({
      code: 1,
      text: expect.stringMatching(/Remove 11 processes with their history\? \[y\/N\] n\s+nothing was removed/) as string,
    })
    expect(await countLeft()).toBe(11)
    expect(await typeOnTerminal('\x04', ['rm', ...names])).toMatchObject({ code: 1 })
    expect(await countLeft()).toBe(11)
    expect(await typeOnTerminal('y\n', ['rm', ...names])).toMatchObject({
      code: 0,
      text: expect.stringContaining('PID 11 (p10) was removed') as string,
    })
    expect(await countLeft()).toBe(0)
    for (const name of names) await runToEnd(name)
    expect(await reeve('rm', ...names), 'a script has named them on purpose').toMatchObject({ code: 0 })
    expect(await countLeft()).toBe(0)
  },
  90_000,
)
