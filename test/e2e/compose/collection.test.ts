// The nodes of an unfinished run. `inspect` lists the nodes, and the collector keeps them, because other nodes need their results.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { runCli } from '../../support/daemon/cli.ts'
import { waitForFileCommand, ComposeRuns, shellNode, stateList } from '../../support/compose/compose-runs.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import type { GcView } from '../../../src/api/views/gc.ts'

let daemon: LocalDaemon
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const collect = (): Promise<GcView> => daemon.client.post('/v1/gc', {})

test('the collector keeps an ended node while its run lasts, and does not count it towards max_entries', async () => {
  daemon = await LocalDaemon.start({ config: 'gc: { retention_days: 0, max_entries: 1 }\n' })
  const runs = new ComposeRuns(daemon)
  const { uuid } = await runs.start({
    first: shellNode('echo one'),
    second: shellNode('echo two'),
    last: {
      command: [
        'sh',
        '-c',
        `${waitForFileCommand('go')}; echo "$1 $2" > got`,
        'sh',
        '{{ nodes.first.result }}',
        '{{ nodes.second.result }}',
      ],
      depends_on: ['first', 'second'],
    },
  })
  await runs.waitForRun(uuid, ({ nodes }) => nodes[2]?.state === 'running')
  const other = await daemon.waitForEnd((await daemon.spawnShell('true')).uuid)
  const younger = await daemon.waitForEnd((await daemon.spawnShell('true')).uuid)
  expect((await collect()).entries.map((entry) => entry.uuid)).toEqual([other.uuid])
  const { stdout } = await runCli(daemon.home, ['inspect', uuid], { cwd: daemon.work })
  expect(stdout).toMatch(/^file +\/.*reeve\.yaml$/m)
  expect(stdout).toMatch(/^nodes +first {3}completed .*\n +second {2}completed .*\n +last {4}running {2}PID \d+ \(command\)$/m)
  writeFileSync(join(daemon.work, 'go'), '')
  const end = await runs.waitForEnd(uuid)
  expect(stateList(end)).toBe('first completed, second completed, last completed')
  // The run has ended: now its nodes count like any other process.
  expect((await collect()).entries.map((entry) => entry.uuid).toSorted()).toEqual(
    [...end.nodes.map(({ process }) => process?.uuid), younger.uuid].toSorted(),
  )
})
