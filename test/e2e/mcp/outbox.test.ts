// A report that was on disk when the daemon died reaches the crew at the next start, in its original turn. The report arrives once,
// whatever the worker does after its resume.
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { testEnv } from '../../support/env.ts'
import type { OutboxRecord } from '../../../src/api/views/mcp.ts'
import type { CrewUpView } from '../../../src/api/views/crew-up.ts'
import type { CrewView } from '../../../src/api/views/crew.ts'

/** Works until the test lets it continue, and then reports. */
const WORKER = `rules:
  - when: '/^Task (?<id>[\\w.-]+)/'
    steps:
      - tools: [{ name: bash, input: { command: 'touch held; until [ -e go ]; do sleep 0.05; done' } }]
      # The first call is interrupted.
      - tools: [{ name: bash, input: { command: 'until [ -e go ]; do sleep 0.05; done' } }]
      - tools: [{ name: mcp__reeve__report_implementation_complete, input: { summary: 'reported by itself' } }]
      - text: reported
steps:
  - tools: [{ name: mcp__reeve__signal_ready }]
  - text: ready
`

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const readReports = async (crew: string): Promise<unknown[]> =>
  (await daemon.readHistory(crew)).filter(({ fact }) => fact === 'task.reported').map(({ summary }) => summary)

test('a stored report is delivered once, and one of another incarnation never', async () => {
  await writeFile(join(daemon.work, 'worker.yaml'), WORKER)
  const {
    process: { uuid: crew },
  } = await daemon.client.post<CrewUpView>('/v1/crews', {
    cwd: daemon.work,
    env: testEnv(daemon.work),
    name: 'team',
    workers: 1,
    model: `script:${join(daemon.work, 'worker.yaml')}`,
    worktrees: false,
    reviews: false,
    tasks: [{ id: 'one', text: 'Do it.' }],
  })
  await expect.poll(() => readdir(daemon.work), { timeout: 60_000 }).toContain('held')
  const {
    crew: { members },
  } = await daemon.client.get<{ crew: CrewView }>(`/v1/crews/${crew}`)
  const worker = await daemon.view(members.find(({ id }) => id === 'worker-1')?.uuid ?? '')
  await daemon.client.post('/v1/daemon/stop', { drainMs: 0 })
  await daemon.stopped
  const outbox = join(daemon.home, 'outbox')
  await mkdir(outbox, { mode: 0o700 })
  const storedRecord: OutboxRecord = {
    version: 1,
    id: 'left-over-1',
    uuid: worker.uuid,
    pid: worker.pid,
    name: 'report_implementation_complete',
    input: { summary: 'reported before the end' },
    at: Date.now(),
  }
  for (const record of [storedRecord, { ...storedRecord, id: 'left-over-2', pid: worker.pid + 1_000, input: { summary: 'of nobody' } }])
    await writeFile(join(outbox, `${record.id}.json`), JSON.stringify(record))
  await daemon.start()
  await expect.poll(() => readdir(outbox), { timeout: 60_000 }).toEqual([])
  expect(await readReports(crew)).toEqual(['reported before the end'])
  await writeFile(join(daemon.work, 'go'), '')
  expect((await daemon.waitForEnd(crew)).exit).toMatchObject({ code: 0 })
  expect(await readReports(crew)).toEqual(['reported before the end'])
})
