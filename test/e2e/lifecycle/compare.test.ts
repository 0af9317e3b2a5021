// `lineage` lists the tree of forks with what each fork changed, and `compare` shows what two processes have in common.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect } from '../../../src/index.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'

let daemon: LocalDaemon

beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const ls = { text: 'I look.', tools: [{ name: 'ls', input: {} }] }

test('`lineage` and `compare` show the common step and the changes of a fork, and of a fork of that fork', async () => {
  await using reeve = connect({ home: daemon.home, start: false })
  const { uuid } = await daemon.spawnScripted([ls, ls, ls, { text: 'The end.' }], { name: 'first' })
  await daemon.waitForEnd(uuid)
  const forkOf = async (ref: string, fromStep: number, more: object): Promise<void> => {
    const { process } = await daemon.client.post<{ process: { uuid: string } }>(`/v1/processes/${ref}/resume`, {
      fork: true,
      fromStep,
      ...more,
    })
    await daemon.waitForEnd(process.uuid)
  }
  await forkOf('first', 2, { name: 'second', limits: { maxSteps: 50 } })
  await forkOf('second', 1, { name: 'third' })
  const { processes } = await reeve.lineage('third')
  expect(processes.map(({ name, originStep, changed }) => [name, originStep, changed])).toEqual([
    ['first', null, []],
    ['second', 2, ['limits']],
    ['third', 1, expect.any(Array)],
  ])
  expect(processes[0]).toMatchObject({ exit: { code: 0, reason: 'completed' }, lastText: 'The end.', costUsd: expect.any(Number) })
  expect(processes[0]?.createdAt).toMatch(/^\d{4}-/)
  expect(processes[0]?.endedAt).toMatch(/^\d{4}-/)
  const compared = await reeve.compare('first', 'second')
  expect([compared.a.name, compared.b.name, compared.commonStep]).toEqual(['first', 'second', 2])
  expect(compared.changed).toEqual([{ field: 'limits', a: expect.anything(), b: '{"maxSteps":50}' }])
  expect((await reeve.compare('third', 'first')).commonStep).toBe(1)
  expect((await reeve.compare('second', 'third')).commonStep).toBe(1)
  const stranger = await daemon.spawnShell('true', { name: 'stranger' })
  await daemon.waitForEnd(stranger.uuid)
  expect(await reeve.compare('first', 'stranger')).toMatchObject({ commonStep: null, b: { model: null } })
  expect((await runCli(daemon.home, ['lineage', 'first'])).stdout).toContain(' after step 2, with another limits)')
})
