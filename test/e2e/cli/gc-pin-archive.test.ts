// `reeve gc`, `pin`, `export` and `import` with a real daemon: their output, their questions, and their refusals without a terminal.
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { GcView } from '../../../src/api/views/gc.ts'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { writeEndedProcesses } from '../../support/daemon/ended-processes.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'

/** for a dozen commands, each of which may take seconds on a busy machine */
const SLOW_MS = 120_000

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_entries: 2 }\n' })
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { env: { COLUMNS: '100' } })
const readRemainingNames = async (): Promise<(string | null)[]> =>
  (await daemon.client.get<{ processes: { name: string | null }[] }>('/v1/processes', { all: true })).processes.map(({ name }) => name)

/** Restarts the daemon with this number of ended processes, and returns their UUIDs. */
async function startWithEnded(count: number): Promise<string[]> {
  await daemon.stop()
  const uuids = await writeEndedProcesses(daemon.paths.state, count)
  await daemon.start()
  return uuids
}

async function typeOnTerminal(keys: string, args: readonly string[]): Promise<{ code: number | null; text: string }> {
  using terminal = new Terminal(daemon.home, args, { columns: 100 })
  await terminal.waitForText('[y/N]')
  terminal.type(keys)
  return { code: await terminal.exitCode, text: terminal.text }
}

test(
  'gc lists the processes, collects them, and prints the freed space',
  async () => {
    const [first = '', second = ''] = await startWithEnded(4)
    const preview = await reeve('gc', '--dry-run')
    for (const [uuid, name] of [
      [first, 'old-1'],
      [second, 'old-2'],
    ] as const)
      expect(preview.stdout).toContain(`${uuid.slice(-8)}  ${name}  coder  `)
    expect(preview).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ID +NAME +AGENT +ENDED +SIZE +RULE\n(.* max_entries\n){2}$/),
      stderr: expect.stringMatching(/^2 ended processes would be collected, about [\d.]+ KiB\n$/),
    })
    expect(await readRemainingNames()).toHaveLength(4)
    const gcResult = await reeve('gc')
    expect(gcResult).toMatchObject({
      code: 0,
      stdout: preview.stdout,
      stderr: expect.stringMatching(/^2 ended processes were collected; [\d.]+ (B|KiB) are free again\n$/),
    })
    expect(await readRemainingNames()).toEqual(['old-3', 'old-4'])
    expect(await reeve('gc')).toEqual({ code: 0, stdout: '', stderr: 'nothing to collect\n' })
    expect(await reeve('inspect', 'old-1')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`process 1 (${first}) was removed at`),
    })
  },
  SLOW_MS,
)

test(
  'gc reports that all rules are off, and uses a changed rule at once',
  async () => {
    await startWithEnded(3)
    expect((await reeve('config', 'set', 'gc.max_entries', '0')).code).toBe(0)
    expect(await reeve('gc')).toEqual({ code: 0, stdout: '', stderr: 'nothing is collected: all rules are 0 (`reeve config show gc`)\n' })
    expect((await reeve('config', 'set', 'gc.retention_days', '30')).code).toBe(0)
    expect(JSON.parse((await reeve('gc', '--json')).stdout)).toMatchObject({
      version: 1,
      dryRun: false,
      count: 3,
      rules: { retentionDays: 30, maxEntries: 0, maxBytes: 0 },
    })
    expect(await readRemainingNames()).toEqual([])
    writeFileSync(daemon.paths.configFile, 'gc: { max_entries: many }\n')
    expect(await reeve('gc')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('config.yaml:1: gc.max_entries: must be a number'),
    })
  },
  SLOW_MS,
)

test(
  'a script may not collect more than a hundred processes without --force',
  async () => {
    await startWithEnded(104)
    expect(await reeve('gc')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('102 processes would be collected, and there is no terminal to ask on'),
    })
    expect(await readRemainingNames()).toHaveLength(104)
    const preview = JSON.parse((await reeve('gc', '--dry-run', '--json')).stdout) as GcView
    expect([preview.dryRun, preview.count, preview.entries.length, preview.freedBytes]).toEqual([true, 102, 102, null])
    expect(await reeve('gc', '--force')).toMatchObject({ code: 0, stderr: expect.stringContaining('102 ended processes were collected') })
    expect(await readRemainingNames()).toEqual(['old-103', 'old-104'])
  },
  SLOW_MS,
)

test(
  'gc --json asks no question',
  async () => {
    await startWithEnded(104)
    expect(JSON.parse((await reeve('gc', '--json')).stdout)).toMatchObject({ dryRun: false, count: 102, skipped: [] })
    expect(await readRemainingNames()).toHaveLength(2)
  },
  SLOW_MS,
)

test.runIf(HAS_TERMINAL)(
  'gc asks the user before it collects more than a hundred processes',
  async () => {
    await startWithEnded(104)
    expect(await typeOnTerminal('n\n', ['gc'])).toMatchObject({
      code: 1,
      text: expect.stringMatching(/Collect 102 ended processes with their history\? \[y\/N\] n\s+nothing was collected/) as string,
    })
    expect(await readRemainingNames()).toHaveLength(104)
    expect(await typeOnTerminal('y\n', ['gc'])).toMatchObject({
      code: 0,
      text: expect.stringContaining('102 ended processes were collected') as string,
    })
    expect(await readRemainingNames()).toHaveLength(2)
  },
  SLOW_MS,
)

test(
  'a pinned process is not collected, is marked, and is removed only with --force',
  async () => {
    await startWithEnded(4)
    const { uuid, pid } = await daemon.spawnScripted([{ text: 'hello' }], { interactive: true, intent: 'talk', name: 'lives' })
    expect(await reeve('pin', 'old-1', 'lives')).toEqual({
      code: 0,
      stdout: '',
      stderr: `PID 1 (old-1) is pinned: it is not collected\nPID ${pid} (lives) is pinned: it is not collected\n`,
    })
    expect(await reeve('pin', 'old-1')).toMatchObject({ code: 0, stderr: 'PID 1 (old-1) was already pinned\n' })
    expect((await reeve('ps', '-a')).stdout.split('\n').filter((line) => line.includes('pinned'))).toHaveLength(2)
    expect(JSON.parse((await reeve('gc', '--json')).stdout)).toMatchObject({ count: 1, entries: [{ name: 'old-2' }] })
    expect(await reeve('rm', 'old-1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'process 1 is pinned\n       Unpin it with `reeve pin --remove old-1`, or remove it with `reeve rm --force old-1`.',
      ),
    })
    expect(JSON.parse((await reeve('pin', '--remove', 'lives', 'nobody', '--json')).stdout)).toMatchObject({
      version: 1,
      results: [
        { ref: 'lives', uuid, pinned: false },
        { ref: 'nobody', error: { code: 'NOT_FOUND' } },
      ],
    })
    expect((await reeve('rm', '--force', 'old-1')).code).toBe(0)
    // A pin outlives the incarnation, and a restart.
    await reeve('pin', 'lives')
    await daemon.signal(uuid, 'SIGKILL')
    await daemon.waitForEnd(uuid)
    await daemon.restart()
    expect((await daemon.view('lives')).pinned).toBe(true)
    await daemon.resume(uuid, { message: 'again' })
    expect((await daemon.view('lives')).pinned).toBe(true)
  },
  SLOW_MS,
)

test(
  '`export` and `import` report what they did, and refuse existing and damaged exports',
  async () => {
    const [uuid = ''] = await startWithEnded(1)
    const dir = join(daemon.work, 'out')
    const target = join(dir, 'steps', uuid)
    expect(await runCli(daemon.home, ['export', 'old-1', 'out'], { cwd: daemon.work })).toMatchObject({
      code: 0,
      stdout: `${target}\n`,
      stderr: expect.stringMatching(/^PID 1 \(old-1\) was exported: 0 steps, 5 events, [\d.]+ KiB\n$/),
    })
    expect(readdirSync(target)).toContain('events.jsonl')
    expect(await reeve('export', 'old-1', dir)).toMatchObject({ code: 1, stderr: expect.stringContaining('already exists') })
    expect(await reeve('import', dir)).toMatchObject({ code: 1, stderr: expect.stringContaining('already exists here') })
    await reeve('rm', 'old-1')
    expect(await reeve('import', dir)).toEqual({ code: 0, stdout: `${uuid}\n`, stderr: 'PID 1 (old-1) was imported: 5 events\n' })
    expect(await reeve('logs', '--tail', '2', 'old-1')).toMatchObject({ code: 0, stdout: expect.stringContaining(uuid) })
    expect(JSON.parse((await reeve('export', uuid, join(daemon.work, 'more'), '--json')).stdout)).toMatchObject({
      version: 1,
      uuid,
      pid: 1,
      facts: 5,
      steps: 0,
    })
    await reeve('rm', 'old-1')
    await reeve('config', 'set', 'gc.retention_days', '30')
    expect(await reeve('import', dir)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /^PID 1 \(old-1\) was imported: 5 events\n {2}it ended \d+ days ago, so the next collection removes it, unless it is pinned \(`reeve pin`\)\n$/,
      ),
    })
    writeFileSync(join(target, 'events.jsonl'), 'x\n')
    await reeve('rm', 'old-1')
    expect(await reeve('import', target)).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('events.jsonl, line 1 (byte 0): the line has no checksum at its end'),
    })
    expect(await reeve('import', join(daemon.work, 'nothing'))).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('has no steps/UUID in it'),
    })
    expect(existsSync(target)).toBe(true)
  },
  SLOW_MS,
)
