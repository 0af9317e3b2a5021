// Two requests of the page: `batch` does the same to many processes, and `places` lists the directories in which processes were started.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
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

test('`batch` has a result for each process, and an error concerns only its own process', async () => {
  await using reeve = connect({ home: daemon.home, start: false })
  const wait = `until test -e ${daemon.work}/end; do sleep 0.02; done`
  for (const name of ['a', 'b']) await daemon.spawnShell(wait, { name })
  const paused = await reeve.batch({ verb: 'pause', refs: ['a', 'nobody', 'b', 'a'] })
  expect(paused.map(({ ref, ok, error }) => [ref, ok, error?.code])).toEqual([
    ['a', true, undefined],
    ['nobody', false, 'NOT_FOUND'],
    ['b', true, undefined],
  ])
  for (const name of ['a', 'b']) expect((await daemon.view(name)).status).toBe('suspended')
  expect((await reeve.batch({ verb: 'pin', refs: ['a'] })).map(({ ok }) => ok)).toEqual([true])
  await reeve.batch({ verb: 'unpin', refs: ['a'] })
  expect((await reeve.batch({ verb: 'remove', refs: ['a'] }))[0]?.error).toMatchObject({ code: 'CONFLICT' })
  await reeve.batch({ verb: 'kill', refs: ['a', 'b'] })
  for (const name of ['a', 'b']) await daemon.waitForEnd(name)
  expect((await reeve.batch({ verb: 'remove', refs: ['a', 'b'] })).every(({ ok }) => ok)).toBe(true)
  await expect(reeve.batch({ verb: 'send', refs: ['a'] })).rejects.toThrow('needs a `text`')
})

test('`places` lists the directories in which processes were started, the most recently used one first', async () => {
  const [one, two] = ['one', 'two'].map((name) => join(daemon.work, name)) as [string, string]
  for (const dir of [one, two]) mkdirSync(dir)
  for (const cwd of [one, two, one]) await daemon.waitForEnd((await daemon.spawnShell('true', { cwd })).uuid)
  rmSync(two, { recursive: true })
  await using reeve = connect({ home: daemon.home, start: false })
  expect(await reeve.places()).toMatchObject([
    { dir: one, exists: true, living: 0, processes: 2, trusted: false },
    { dir: two, exists: false, living: 0, processes: 1 },
  ])
})
