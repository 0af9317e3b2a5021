// An import that names a worktree of another process or home does not touch this worktree.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ImportedView } from '../../../src/api/views/archive.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'

test('an import creates no worktree of another home, and its removal deletes none', async () => {
  await using one = await LocalDaemon.start()
  await using two = await LocalDaemon.start()
  const repository = Repository.make(join(one.work, 'repo'), one.work)
  repository.commit({ 'a.txt': 'a' })
  // The branch cannot be created, so its worktree cannot either.
  repository.git('branch', 'reeve/one/more')
  const { uuid } = await one.spawnScripted([{ text: 'done' }], { cwd: repository.dir, worktree: true, name: 'one' })
  const { note, cwd } = await one.waitForEnd(uuid)
  expect(note).toContain('its worktree cannot be created')
  await one.client.post(`/v1/processes/${uuid}/export`, { dir: join(one.work, 'out') })
  repository.git('branch', '-D', 'reeve/one/more')
  mkdirSync(cwd, { recursive: true })
  writeFileSync(join(cwd, 'precious.txt'), 'work')
  await two.client.post<ImportedView>('/v1/import', { dir: join(one.work, 'out') })
  const { status, body } = await two.post(`/v1/processes/${uuid}/resume`, {})
  expect([status, body.error?.code, body.error?.message]).toEqual([
    409,
    'NOT_RESUMABLE',
    expect.stringContaining('belongs to another home, which never created it'),
  ])
  expect(body.error?.hint).toContain('--fork --cwd DIR')
  await two.client.delete(`/v1/processes/${uuid}`)
  expect(existsSync(join(cwd, 'precious.txt'))).toBe(true)
  expect([...one.errors, ...two.errors]).toEqual([])
})
