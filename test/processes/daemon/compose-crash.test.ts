// Runs of compose files under a daemon that is killed with `kill -9`. The run continues, completed nodes do not run again, and the
// user's decisions hold.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bashCall, waitForFileCommand, ComposeRuns, shellNode, stateList } from '../../support/compose/compose-runs.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** the longest wait for a state of a run: a daemon starts slowly on a busy machine */
const WAIT_MS = 90_000
const TEST_OPTIONS = { timeout: 180_000 }

const readLines = (home: DaemonHome, file: string): string[] =>
  existsSync(join(home.work, file)) ? readFileSync(join(home.work, file), 'utf8').trim().split('\n') : []
const createFile = (home: DaemonHome, file: string): void => writeFileSync(join(home.work, file), '')

/** Writes a model script and returns its name. */
function writeScript(home: DaemonHome, items: readonly object[]): string {
  const file = join(home.work, 'script.yaml')
  writeFileSync(file, JSON.stringify(items))
  return `script:${file}`
}

async function restartAfterKill(home: DaemonHome): Promise<void> {
  await home.kill()
  await home.start()
}

test(
  'after a kill of the daemon in the middle of two nodes, every node completes once, and results are passed on',
  TEST_OPTIONS,
  async () => {
    await using home = await DaemonHome.create()
    const runs = new ComposeRuns(home, WAIT_MS)
    await home.start()
    const { uuid } = await runs.start({
      early: shellNode('echo early >> early'),
      think: {
        model: writeScript(home, [bashCall('echo asked >> asked'), bashCall(waitForFileCommand('go')), { text: 'thought' }]),
        intent: 'Think of {{ nodes.early.uuid }}',
        depends_on: ['early'],
      },
      again: shellNode(`echo try >> tries; ${waitForFileCommand('go2')}`, { retries: 5 }),
      late: { command: ['sh', '-c', 'echo "$1" >> late', 'sh', '{{ nodes.think.result }}'], depends_on: ['think', 'again'] },
    })
    await runs.waitForRun(uuid, ({ nodes }) => nodes[1]?.process?.step === 2 && nodes[2]?.process?.status === 'working')
    const think = await runs.processOf(uuid, 'think')
    // An attempt counts here after it has recorded itself.
    const waitForTries = (times: number): Promise<unknown> =>
      waitUntil(() => readLines(home, 'tries').length === times, `${times} tries have begun`)
    await waitForTries(1)
    await restartAfterKill(home)
    createFile(home, 'go')
    await runs.waitForRun(uuid, (view) => stateList(view) === 'early completed, think completed, again running, late waiting')
    await waitForTries(2)
    await restartAfterKill(home)
    createFile(home, 'go2')
    const end = await runs.waitForEnd(uuid)
    expect(stateList(end)).toBe('early completed, think completed, again completed, late completed')
    expect(end).toMatchObject({ status: 'completed', exit: { code: 0 } })
    expect(await runs.processOf(uuid, 'think')).toBe(think)
    expect([readLines(home, 'early'), readLines(home, 'asked'), readLines(home, 'late')]).toEqual([['early'], ['asked'], ['thought']])
    expect(readLines(home, 'tries').length).toBe(1 + (end.nodes[2]?.attempts ?? 0))
  },
)

test(
  'after two kills of the daemon right after its start, the run completes, and each start of a node is a counted attempt',
  TEST_OPTIONS,
  async () => {
    await using home = await DaemonHome.create()
    const runs = new ComposeRuns(home, WAIT_MS)
    await home.start()
    const names = ['a', 'b', 'c', 'd']
    const { uuid } = await runs.start(
      Object.fromEntries(
        names.map((name, index) => [
          name,
          shellNode(`echo ${name} >> log`, { retries: 50, ...(index === 0 ? {} : { depends_on: [names[index - 1]] }) }),
        ]),
      ),
    )
    // A daemon that died three times in ten minutes would hold the processes that it restores.
    await restartAfterKill(home)
    await restartAfterKill(home)
    const end = await runs.waitForEnd(uuid)
    expect(stateList(end)).toBe('a completed, b completed, c completed, d completed')
    expect([...new Set(readLines(home, 'log'))]).toEqual(names)
    expect(readLines(home, 'log').length).toBeLessThanOrEqual(names.length + end.nodes.reduce((sum, { attempts }) => sum + attempts, 0))
  },
)

test('paused nodes stay paused, and stopped nodes stay stopped, until the user resumes them', TEST_OPTIONS, async () => {
  await using home = await DaemonHome.create()
  const runs = new ComposeRuns(home, WAIT_MS)
  await home.start()
  const first = await runs.start({
    one: { model: writeScript(home, [bashCall(waitForFileCommand('go')), { text: 'so' }]), intent: 'x' },
    two: shellNode('true', { depends_on: ['one'] }),
  })
  await runs.waitForRun(first.uuid, ({ nodes }) => nodes[0]?.process?.step === 1)
  const second = await runs.start({ slow: shellNode('sleep 600') })
  await runs.waitForRun(second.uuid, ({ nodes }) => nodes[0]?.process?.status === 'working')
  await home.client.post(`/v1/processes/${second.uuid}/signal`, { signal: 'SIGKILL' })
  await runs.waitForEnd(second.uuid)
  await home.client.post(`/v1/processes/${first.uuid}/pause`, { subtree: true })
  await restartAfterKill(home)
  createFile(home, 'go')
  expect(await runs.read(first.uuid)).toMatchObject({
    status: 'suspended',
    nodes: [{ state: 'running', process: { status: 'suspended' } }, { state: 'waiting' }],
  })
  expect(await runs.read(second.uuid)).toMatchObject({ status: 'stopped', nodes: [{ state: 'cancelled' }] })
  await home.client.post(`/v1/processes/${first.uuid}/resume`, { subtree: true })
  expect(stateList(await runs.waitForEnd(first.uuid))).toBe('one completed, two completed')
})
