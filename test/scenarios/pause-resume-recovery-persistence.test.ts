// The reference of pause, resume and recovery, third part: persistence. Checkpoints, the exported directory, restarts
// of the daemon, collection. Each test is named by the sentence, bullet or line of the reference that it checks.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from 'vitest'
import type { GcView } from '../../src/api/views/gc.ts'
import type { ProcessView } from '../../src/api/views/process.ts'
import { CHECK_MS } from '../../src/daemon/operations/collector.ts'
import type { ProcessRow } from '../../src/store/rows/row-types.ts'
import { processSum } from '../../src/store/rows/checksums.ts'
import { runCli, type CliResult } from '../support/daemon/cli.ts'
import { ManualClock } from '../support/clock.ts'
import { TranscriptPlayer } from '../support/kernel/transcript.ts'
import { waitUntil } from '../support/wait-until.ts'
import { LocalDaemon } from '../support/daemon/local-daemon.ts'
import { writeEndedProcesses } from '../support/daemon/ended-processes.ts'
import { changeStoreFile } from '../support/store/test-store.ts'
import { HAS_TERMINAL, Terminal } from '../support/daemon/terminal.ts'

const bashCall = (command: string): object => ({ tools: [{ name: 'bash', input: { command } }] })
const SIX_STEPS = [bashCall('echo 1'), bashCall('echo 2'), bashCall('echo 3'), bashCall('echo 4'), bashCall('echo 5'), { text: 'six' }]
const DAY_MS = 86_400_000

describe('checkpoint system', () => {
  /** Plays the whole steps from `first` to `last`; returns the output of the last one. */
  function steps(player: TranscriptPlayer, first: number, lastStep: number): string {
    let output = ''
    for (let step = first; step <= lastStep; step++) output = player.play(`.report a model ${step}\nreport a answer ${step}`)
    return output
  }

  test('frequency: every 5 reasoning steps', () => {
    const player = new TranscriptPlayer()
    player.play('.live a')
    expect(steps(player, 1, 4)).not.toContain('-> checkpoint')
    expect(steps(player, 5, 5)).toContain('-> checkpoint a#1')
  })

  test('frequency: or 30 seconds, whichever comes first', () => {
    const player = new TranscriptPlayer()
    player.play('.live a')
    player.play('wind 29000')
    expect(steps(player, 1, 1)).not.toContain('-> checkpoint')
    player.play('wind 1000')
    expect(steps(player, 2, 2)).toContain('-> checkpoint a#1')
    player.play('checkpoint a')
    expect(steps(player, 3, 6)).not.toContain('-> checkpoint')
    expect(steps(player, 7, 7)).toContain('-> checkpoint a#1')
  })

  test('failure semantics: a checkpoint that fails to be written does not block the reasoning loop', () => {
    const player = new TranscriptPlayer()
    player.play('.live a')
    expect(steps(player, 1, 5)).toContain('-> checkpoint a#1\n  -> ack ok')
    expect(player.play('checkpoint a error=EIO')).toContain('checkpoint.failed step 5 EIO')
    expect(player.world.row('a')).toMatchObject({ note: 'checkpoint failed: EIO', life: { state: 'running', holds: [] } })
    expect(steps(player, 6, 6)).toContain('-> ack ok')
  })
})

describe('the directory of a process', () => {
  let daemon: LocalDaemon
  let origin: ProcessView
  let dir: string
  const readText = (name: string): string => readFileSync(join(dir, name), 'utf8')
  const lines = (name: string): Record<string, unknown>[] =>
    readText(name)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  beforeAll(async () => {
    daemon = await LocalDaemon.start()
    origin = await daemon.waitForEnd(
      (await daemon.spawnScripted(SIX_STEPS, { name: 'docs', intent: 'count to six', limits: { maxSteps: 20 } })).uuid,
    )
    dir = (await runCli(daemon.home, ['export', 'docs', daemon.work])).stdout.trimEnd()
  })
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]()
    expect(daemon.errors).toEqual([])
  })

  test('departure: steps/<uuid>/ is written by `reeve export`, on request', () => {
    expect(dir).toBe(join(daemon.work, 'steps', origin.uuid))
    expect(readdirSync(dir).toSorted()).toEqual([
      'checkpoint.json',
      'ctx-profile.json',
      'events.jsonl',
      'proc-info.json',
      'process-meta.json',
      'steps.jsonl',
    ])
  })

  test('steps.jsonl: reasoning steps (model requests and responses)', () => {
    expect(lines('steps.jsonl').map(({ step, request, response }) => [step, typeof request, typeof response])).toEqual(
      [1, 2, 3, 4, 5, 6].map((step) => [step, 'object', 'object']),
    )
    expect(lines('steps.jsonl')[0]).toMatchObject({ request: { messages: [{ role: 'user', text: 'count to six' }] } })
    expect(lines('steps.jsonl')[5]).toMatchObject({ response: { message: [{ type: 'text', text: 'six' }] } })
  })

  test('events.jsonl: the events, in real time', async () => {
    const history = await daemon.readHistory(origin.uuid)
    expect(lines('events.jsonl').map(({ fact }) => fact)).toEqual(history.map(({ fact }) => fact))
    expect(lines('events.jsonl').map(({ at }) => Date.parse(String(at)))).toEqual(history.map(({ at }) => Date.parse(at)))
  })

  test('ctx-profile.json: the heat map of the context', () => {
    const profile = JSON.parse(readText('ctx-profile.json')) as { steps: { step: number }[]; estimated: Record<string, number> }
    expect(profile.steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6])
    expect(profile.estimated).toMatchObject({ user: expect.any(Number) as number, result: expect.any(Number) as number })
  })

  test('process-meta.json: system prompt and tool definitions', () => {
    const meta = JSON.parse(readText('process-meta.json')) as { system: string; tools: { name: string; schema: object }[] }
    expect(typeof meta.system).toBe('string')
    expect(meta.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['read', 'write', 'bash']))
  })

  test('proc-info.json: the metadata of the process', () => {
    expect(JSON.parse(readText('proc-info.json'))).toMatchObject({
      uuid: origin.uuid,
      pid: origin.pid,
      dead_at: expect.any(String) as string,
      process: { name: 'docs', status: 'completed', step: 6 },
    })
  })

  test('departure: checkpoint.json has the full context, tool state and progress; in the store it names journal ranges, at most 4 KiB', async () => {
    const checkpoint = JSON.parse(readText('checkpoint.json')) as { step: number; ranges: unknown; messages: { role: string }[] }
    expect(checkpoint).toMatchObject({ step: 5, ranges: [[1, expect.any(Number) as number]], turn: 1, openCalls: [] })
    expect(checkpoint.messages.map(({ role }) => role)).toEqual(
      ['user', ...Array.from({ length: 5 }, () => ['assistant', 'tool']).flat()].slice(0, checkpoint.messages.length),
    )
    const [written] = (await daemon.readHistory(origin.uuid)).filter(({ fact }) => fact === 'checkpoint.written')
    expect(Buffer.byteLength(JSON.stringify(written))).toBeLessThan(4096)
    expect(JSON.stringify(written)).not.toContain('count to six')
  })
})

describe('daemon restart persistence', () => {
  let daemon: LocalDaemon
  beforeEach(async () => {
    daemon = await LocalDaemon.start()
  })
  afterEach(async () => {
    await daemon[Symbol.asyncDispose]()
    expect(daemon.errors).toEqual([])
  })
  const runPs = async (): Promise<string[][]> => {
    const { stdout } = await runCli(daemon.home, ['ps'], { env: { REEVE_ASCII: '1' } })
    const [head, ...rows] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.trim().split(/ {2,}/))
    const cellOf = (row: string[], title: string): string => row[head?.indexOf(title) ?? -1] ?? ''
    return rows.map((row) => [cellOf(row, 'PID'), cellOf(row, 'NAME'), cellOf(row, 'STATUS')])
  }
  const startChat = async (name: string): Promise<string> => {
    const { uuid } = await daemon.spawnScripted([{ text: 'heard' }], { interactive: true, name })
    await daemon.waitUntilReady(uuid)
    return uuid
  }

  test('on shutdown suspended processes are on the disk, on startup they are suspended again', async () => {
    const uuid = await startChat('coder')
    await daemon.pause(uuid)
    const viewBefore = await daemon.view(uuid)
    await daemon.restart()
    expect(await daemon.view(uuid)).toMatchObject({
      status: 'suspended',
      holds: viewBefore.holds,
      pausedAt: viewBefore.pausedAt,
      elapsedMs: viewBefore.elapsedMs,
    })
  })

  test('PID seeding: no PID is assigned again, even if its process was removed', async () => {
    const { uuid, pid } = await daemon.waitForEnd((await daemon.spawnShell('true')).uuid)
    expect((await runCli(daemon.home, ['rm', uuid])).code).toBe(0)
    await daemon.restart()
    expect((await daemon.spawnShell('true')).pid).toBeGreaterThan(pid)
  })

  test('placeholder: it holds the state until it is resumed, and the resume inherits its PID', async () => {
    const uuid = await startChat('coder')
    await daemon.pause(uuid)
    await daemon.send(uuid, 'waiting')
    await daemon.restart()
    const placeholder = await daemon.view(uuid)
    expect(placeholder).toMatchObject({ status: 'suspended', queueCount: 1, usage: { rssBytes: null } })
    expect((await runCli(daemon.home, ['resume', '-d', uuid])).code).toBe(0)
    expect(await daemon.waitForView(uuid, ({ turn, status }) => turn === 1 && status === 'ready')).toMatchObject({
      pid: placeholder.pid,
      lastText: 'heard',
    })
  })

  test('departure: $ reeve ps after a restart lists the suspended coder under a new PID, and the orchestrator as well', async () => {
    await startChat('orchestrator')
    await daemon.pause(await startChat('coder'))
    expect(await runPs()).toEqual([
      ['1', 'orchestrator', 'ready'],
      ['2', 'coder', '[P] suspended'],
    ])
    await daemon.restart()
    await daemon.waitUntilReady('orchestrator')
    const listAfter = await runPs()
    expect(listAfter.map(([pid, ...rest]) => [Number(pid) > 2, ...rest]).toSorted()).toEqual([
      [true, 'coder', '[P] suspended'],
      [true, 'orchestrator', 'ready'],
    ])
  })
})

describe('garbage collection', () => {
  let daemon: LocalDaemon
  let clock: ManualClock
  const startWithConfig = async (config: string): Promise<void> => {
    clock = new ManualClock()
    daemon = await LocalDaemon.start({ config, clock })
  }
  afterEach(async () => {
    await daemon[Symbol.asyncDispose]()
    expect(daemon.errors).toEqual([])
  })
  const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args)
  const writeEnded = async (count: number): Promise<string[]> => {
    await daemon.stop()
    const uuids = await writeEndedProcesses(daemon.paths.state, count)
    await daemon.start()
    return uuids
  }
  const readNames = async (): Promise<(string | null)[]> =>
    (await daemon.client.get<{ processes: ProcessView[] }>('/v1/processes', { all: true })).processes.map(({ name }) => name)
  const rules = async (): Promise<string[]> =>
    (JSON.parse((await reeve('gc', '--dry-run', '--json')).stdout) as GcView).entries.map(({ name, rule }) => `${name} ${rule}`)

  test('retention_days: 30 deletes entries older than 30 days; 0 = disabled', async () => {
    await startWithConfig('gc: { retention_days: 30, max_entries: 0 }\n')
    await writeEnded(2)
    expect(await rules()).toEqual([])
    clock.jump(31 * DAY_MS)
    expect(await rules()).toEqual(['old-1 retention_days', 'old-2 retention_days'])
    expect((await reeve('config', 'set', 'gc.retention_days', '0')).code).toBe(0)
    expect(await rules()).toEqual([])
  })

  test('max_entries keeps at most so many; 0 = disabled', async () => {
    await startWithConfig('gc: { retention_days: 0, max_entries: 2 }\n')
    await writeEnded(3)
    expect(await rules()).toEqual(['old-1 max_entries'])
    expect((await reeve('config', 'set', 'gc.max_entries', '0')).code).toBe(0)
    expect(await rules()).toEqual([])
  })

  test('interval_seconds: the background scan; min 60, default 1h', async () => {
    await startWithConfig('gc: { retention_days: 0, max_entries: 1, interval_seconds: 60 }\n')
    await writeEnded(2)
    clock.wind(CHECK_MS)
    await waitUntil(() => daemon.logMessages.some((line) => line.startsWith('collected 1 ended process')), 'it collected')
    expect(await readNames()).toEqual(['old-2'])
    expect((await reeve('config', 'show', 'gc')).stdout).toContain('interval_seconds: 60')
    const refusal = await reeve('config', 'set', 'gc.interval_seconds', '59')
    expect([refusal.code, refusal.stderr]).toEqual([64, expect.stringContaining('60') as string])
    writeFileSync(daemon.paths.configFile, '')
    expect((await reeve('config', 'show', 'gc')).stdout).toMatch(/interval_seconds: 3600/)
    expect((await reeve('config', 'show', 'gc')).stdout).toMatch(/retention_days: 30[^]*max_entries: 500/)
  })

  test('the rules are combined: hitting either triggers cleanup', async () => {
    await startWithConfig('gc: { retention_days: 30, max_entries: 1 }\n')
    await writeEnded(2)
    expect(await rules()).toEqual(['old-1 max_entries'])
    clock.jump(31 * DAY_MS)
    expect(await rules()).toEqual(['old-1 retention_days', 'old-2 retention_days'])
  })

  test('both 0 disable the collector entirely', async () => {
    await startWithConfig('gc: { retention_days: 0, max_entries: 0 }\n')
    await writeEnded(2)
    clock.jump(1000 * DAY_MS)
    expect(await reeve('gc')).toEqual({ code: 0, stdout: '', stderr: 'nothing is collected: all rules are 0 (`reeve config show gc`)\n' })
    expect(await readNames()).toEqual(['old-1', 'old-2'])
  })

  test('running and suspended processes are permanently exempt', async () => {
    await startWithConfig('gc: { retention_days: 1, max_entries: 1 }\n')
    for (const name of ['running', 'suspended'])
      await daemon.waitUntilReady((await daemon.spawnScripted([], { interactive: true, name })).uuid)
    await daemon.pause('suspended')
    clock.jump(1000 * DAY_MS)
    expect(await rules()).toEqual([])
    expect((await readNames()).toSorted()).toEqual(['running', 'suspended'])
  })

  test('a row that cannot be read, or has no exit time, is skipped with a warning', async () => {
    await startWithConfig('gc: { retention_days: 0, max_entries: 100 }\n')
    const [first = '', second = ''] = await writeEnded(105)
    await daemon.stop()
    // The newest facts are checked when the store is opened; the rest, when they are read.
    changeStoreFile(daemon.paths.state, (db) => {
      db.prepare("UPDATE processes SET body = body || ' ' WHERE key = 1").run()
      const row = db.prepare('SELECT * FROM processes WHERE key = 2').get() as unknown as ProcessRow
      db.prepare('UPDATE processes SET exited_at = NULL, sum = ? WHERE key = 2').run(processSum({ ...row, exited_at: null }))
    })
    await daemon.start()
    const { code, stdout, stderr } = await reeve('gc', '--force')
    expect(code).toBe(0)
    expect(stderr).toMatch(new RegExp(`^${first.slice(-8)} is skipped: .*the row is damaged`, 'm'))
    expect(stderr).toMatch(new RegExp(`^${second.slice(-8)} is skipped: it has no exit time$`, 'm'))
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((line) => line.split(/ {2,}/)[1]),
    ).toEqual([3, 4, 5, 6, 7].map((number) => `old-${number}`))
  })

  describe('CLI', () => {
    test('reeve gc --dry-run: preview candidates (table)', async () => {
      await startWithConfig('gc: { retention_days: 0, max_entries: 1 }\n')
      await writeEnded(3)
      expect(await reeve('gc', '--dry-run')).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^ID +NAME +AGENT +ENDED +SIZE +RULE\n.*old-1 .*\n.*old-2 .*\n$/) as string,
      })
      expect(await readNames()).toHaveLength(3)
    })

    test('reeve gc --dry-run --json: preview candidates (JSON, script-friendly)', async () => {
      await startWithConfig('gc: { retention_days: 0, max_entries: 1 }\n')
      await writeEnded(3)
      expect(JSON.parse((await reeve('gc', '--dry-run', '--json')).stdout)).toMatchObject({
        version: 1,
        dryRun: true,
        count: 2,
        entries: [{ name: 'old-1' }, { name: 'old-2' }],
      })
      expect(await readNames()).toHaveLength(3)
    })

    test('reeve gc: execute cleanup', async () => {
      await startWithConfig('gc: { retention_days: 0, max_entries: 1 }\n')
      await writeEnded(3)
      expect(await reeve('gc')).toMatchObject({ code: 0, stderr: expect.stringMatching(/^2 ended processes were collected; /) as string })
      expect(await readNames()).toEqual(['old-3'])
    })

    test.runIf(HAS_TERMINAL)('reeve gc: more than 100 entries prompt [y/N]; reeve gc --force skips the confirmation', async () => {
      await startWithConfig('gc: { retention_days: 0, max_entries: 1 }\n')
      await writeEnded(102)
      using terminal = new Terminal(daemon.home, ['gc'])
      await terminal.waitForText('[y/N]')
      terminal.type('\n')
      expect(await terminal.exitCode).toBe(1)
      expect(await readNames()).toHaveLength(102)
      expect((await reeve('gc', '--force')).code).toBe(0)
      expect(await readNames()).toEqual(['old-102'])
    })

    test('reeve gc --json: JSON output (implies --force)', async () => {
      await startWithConfig('gc: { retention_days: 0, max_entries: 1 }\n')
      await writeEnded(102)
      expect(JSON.parse((await reeve('gc', '--json')).stdout)).toMatchObject({ version: 1, dryRun: false, count: 101 })
      expect(await readNames()).toEqual(['old-102'])
    })
  })
})
