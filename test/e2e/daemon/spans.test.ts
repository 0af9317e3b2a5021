// The status spans of the processes of a tree: which status each process had, from when to when, and why.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect } from '../../../src/index.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

test('spans show the status changes of a tree with their causes, and can be limited to a time', async () => {
  await using reeve = connect({ home: daemon.home, start: false })
  const root = await daemon.spawnShell(`until test -e ${daemon.work}/end; do sleep 0.02; done`, { name: 'root' })
  await daemon.waitForEnd((await daemon.spawnShell('exit 3', { name: 'child', parent: root.uuid })).uuid)
  await daemon.pause(root.uuid)
  await daemon.resume(root.uuid)
  await daemon.spawnShell(`touch ${daemon.work}/end`)
  await daemon.waitForEnd(root.uuid)
  const { processes, more } = await reeve.spans('root', { subtree: true })
  expect([processes.map(({ name }) => name), more]).toEqual([['root', 'child'], 0])
  const [first, second] = processes
  const statuses = first?.spans.map(({ status }) => status) ?? []
  expect(statuses).toContain('suspended')
  expect(statuses.every((status, index) => status !== statuses[index + 1])).toBe(true)
  expect(first?.spans.find(({ status }) => status === 'suspended')?.cause).toBe('paused by user')
  for (const [index, { to }] of (first?.spans ?? []).entries()) expect(to).toBe(first?.spans[index + 1]?.from ?? null)
  expect(second?.spans.at(-1)).toMatchObject({ status: 'failed', to: null })
  const pausedAt = first?.spans.find(({ status }) => status === 'suspended')?.from ?? ''
  const [later] = (await reeve.spans('root', { since: pausedAt })).processes
  expect(later?.spans[0]?.from).toBe(pausedAt)
  const [earlier] = (await reeve.spans('root', { until: pausedAt })).processes
  expect(earlier?.spans.map(({ status }) => status)).not.toContain('suspended')
})
