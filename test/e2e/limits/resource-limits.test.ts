// The resources of an agent's programs, through the daemon. The end of a process has its usage, and a process that exceeds a limit is
// stopped with the right reason, while others survive. Runs in each kind of containment that works here; the memory is real.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findWorkingKinds } from '../../support/agents/containment-harness.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { runCli } from '../../support/daemon/cli.ts'
import type { ProcessView, SpawnBody } from '../../../src/api/views/process.ts'

const kinds = await findWorkingKinds()
const MB = 1_000_000

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const spawnNode = (script: string, body: Partial<SpawnBody> = {}): Promise<ProcessView> =>
  daemon.spawn({ argv: [process.execPath, '-e', script], ...body })

const WAIT = 'setInterval(() => {}, 1e6)'
/** Allocates 100 MB a second, without end, in a grandchild. */
const ALLOCATE = 'const held = []; setInterval(() => held.push(Buffer.alloc(5e6, 1)), 50)'
const ALLOCATE_IN_CHILD = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(ALLOCATE)}])`

describe.each(kinds)('%s', (containment) => {
  test('a process that allocates without end is stopped at its memory limit, and another process survives', async () => {
    const other = await spawnNode(WAIT, { containment })
    const { uuid } = await spawnNode(ALLOCATE_IN_CHILD, { containment, limits: { memoryBytes: 150 * MB } })
    const startedContainment = (await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.started'))['containment'] as {
      holdsMemory?: true
    }
    const endedView = await daemon.waitForEnd(uuid)
    expect(endedView.memoryLimit).toBe(startedContainment.holdsMemory ? 'held' : 'measured')
    expect(endedView).toMatchObject({
      status: 'failed',
      exit: { code: 2, reason: 'budget_exceeded', error: expect.stringMatching(/of memory/) },
      containment,
    })
    expect(endedView.usage.peakRssBytes).toBeGreaterThanOrEqual(150 * MB)
    expect(endedView.usage.rssBytes).toBeNull()
    expect(await daemon.view(other.uuid)).toMatchObject({ state: 'running' })
    await daemon.signal(other.uuid, 'SIGKILL')
  })
})

test('a process that calculates without end is stopped at its limit of CPU time', async () => {
  const { uuid } = await spawnNode('for (;;);', { limits: { cpuTimeMs: 1_500 } })
  const endedView = await daemon.waitForEnd(uuid)
  expect(endedView).toMatchObject({ exit: { code: 2, reason: 'budget_exceeded', error: expect.stringMatching(/of CPU time/) } })
  expect(endedView.usage.cpuTimeMs).toBeGreaterThanOrEqual(1_500)
})

test('a process that writes too much is stopped at its limit of output', async () => {
  const { uuid } = await spawnNode(`process.stdout.write('a line of words\\n'.repeat(1e5)); ${WAIT}`, { limits: { outputBytes: MB } })
  const { exit, usage } = await daemon.waitForEnd(uuid)
  expect(exit).toMatchObject({ code: 2, reason: 'budget_exceeded', error: expect.stringMatching(/of output/) })
  expect(usage.outputBytes).toBeGreaterThanOrEqual(MB)
})

test('the memory of programs counts towards the limit of their native agent', async () => {
  const { uuid } = await daemon.spawnScripted(
    [{ tools: [{ name: 'bash', input: { command: `exec '${process.execPath}' -e '${ALLOCATE}'` } }] }, { text: 'done' }],
    { limits: { memoryBytes: 150 * MB } },
  )
  expect(await daemon.waitForEnd(uuid)).toMatchObject({
    exit: { code: 2, reason: 'budget_exceeded', error: expect.stringMatching(/of memory/) },
  })
})

test('usage before a stop of the daemon is not lost', async () => {
  const { uuid } = await spawnNode(
    `const begun = process.cpuUsage(); while (process.cpuUsage(begun).user < 200e3); console.log('used'); ${WAIT}`,
  )
  await daemon.waitForEvent(uuid, ({ fact }) => fact === 'process.output')
  await daemon.restart()
  expect((await daemon.view(uuid)).usage.cpuTimeMs).toBeGreaterThan(180)
})

test('a limit with the action suspend holds the process', async () => {
  const { uuid } = await spawnNode(`process.stdout.write('x\\n'.repeat(1e4)); ${WAIT}`, {
    limits: { outputBytes: 15_000, actions: { outputBytes: 'suspend' } },
  })
  expect((await daemon.waitForStatus(uuid, 'suspended')).holds).toMatchObject([{ reason: 'budget' }])
  await daemon.signal(uuid, 'SIGKILL')
  await daemon.waitForEnd(uuid)
})

test('an ended process shows its CPU time and output', async () => {
  const { uuid, pid } = await spawnNode(
    `const begun = process.cpuUsage(); while (process.cpuUsage(begun).user < 200e3); process.stdout.write('four'); process.stderr.write('five!')`,
    { limits: { memoryBytes: 2000 * MB } },
  )
  const { usage } = await daemon.waitForEnd(uuid)
  expect(usage.cpuTimeMs).toBeGreaterThan(180)
  expect(usage).toMatchObject({ outputBytes: 9, rssBytes: null })
  const { stdout } = await runCli(daemon.home, ['inspect', String(pid)])
  expect(stdout).toMatch(/CPU time +\d/)
  expect(stdout).toMatch(/output +9 B/)
  expect(stdout).toMatch(/limits .*1\.9 GiB of memory.*\((measured every second|enforced by the system)\)/)
})
