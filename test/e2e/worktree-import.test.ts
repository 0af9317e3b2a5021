// A worktree that an import names is somebody else's: nothing of it is touched, whoever has it.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ImportedView } from '../../src/api/history-views.ts'
import { LocalDaemon } from '../support/local-daemon.ts'
import { Repository } from '../support/repository.ts'

test('what was to be made by another home is not made, and nothing is cleared away for it', async () => {
  await using one = await LocalDaemon.start()
  await using two = await LocalDaemon.start()
  const repository = Repository.make(join(one.work, 'repo'), one.work)
  repository.commit({ 'a.txt': 'a' })
  // Its branch cannot be made, and so neither can its worktree.
  repository.git('branch', 'reeve/one/more')
  const { uuid } = await one.play([{ text: 'done' }], { cwd: repository.dir, worktree: true, name: 'one' })
  const { note, cwd } = await one.ended(uuid)
  expect(note).toContain('its worktree cannot be made')
  await one.client.post(`/v1/processes/${uuid}/export`, { dir: join(one.work, 'out') })
  repository.git('branch', '-D', 'reeve/one/more')
  mkdirSync(cwd, { recursive: true })
  writeFileSync(join(cwd, 'precious.txt'), 'work')
  await two.client.post<ImportedView>('/v1/import', { dir: join(one.work, 'out') })
  const { status, body } = await two.post(`/v1/processes/${uuid}/resume`, {})
  expect([status, body.error?.code, body.error?.message]).toEqual([409, 'NOT_RESUMABLE', expect.stringContaining('was to be made by another home')])
  expect(body.error?.hint).toContain('--fork --cwd DIR')
  await two.client.delete(`/v1/processes/${uuid}`)
  expect(existsSync(join(cwd, 'precious.txt'))).toBe(true)
  expect([...one.errors, ...two.errors]).toEqual([])
})
