// The daemon is killed with SIGKILL while it records files, and while it creates a worktree. Its git programs end too, earlier
// records stay intact, and the resumed process records its files again.
import { existsSync, mkdirSync, watch, writeFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { EventView } from '../../../src/api/views/daemon.ts'
import { DaemonHome } from '../../support/daemon/daemon-home.ts'
import { findProcessesWith, newToken } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { Repository, filesOf } from '../../support/git/repository.ts'

let home: DaemonHome
let repository: Repository
let token: string

beforeEach(async () => {
  home = await DaemonHome.create()
  repository = Repository.make(join(home.work, 'repo'), home.work)
  repository.commit({ 'a.txt': 'a' })
  token = newToken()
})

afterEach(() => home[Symbol.asyncDispose]())

/**
 * Writes a `git` that hangs at each call with these arguments, from the `nth` call on, and creates the file `called`. Once the file `go`
 * exists, no call hangs.
 */
function writeSlowGit(words: string, nth: number): { path: string; called: string; go: string } {
  const dir = join(home.work, 'bin')
  mkdirSync(dir)
  const [called, goFile, count] = [join(dir, 'called'), join(dir, 'go'), join(dir, 'count')]
  writeFileSync(
    join(dir, 'git'),
    [
      '#!/bin/sh',
      `case " $* " in *" ${words} "*) echo x >> '${count}'`,
      `[ $(wc -l < '${count}') -lt ${nth} ] || [ -e '${goFile}' ] || { : > '${called}'; exec sh -c 'while :; do sleep 0.05; done' ${token}; };;`,
      'esac',
      'exec /usr/bin/env PATH=/usr/local/bin:/usr/bin:/bin git "$@"',
      '',
    ].join('\n'),
    { mode: 0o755 },
  )
  return { path: `${dir}:${repository.env['PATH']}`, called, go: goFile }
}

async function waitForFile(path: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const watcher = watch(dirname(path), (_event, name) => {
    if (name === basename(path)) resolve()
  })
  if (existsSync(path)) resolve()
  await promise
  watcher.close()
}

async function readRecords(uuid: string): Promise<EventView[]> {
  const recordEvents: EventView[] = []
  for await (const event of home.client.events(`/v1/processes/${uuid}/events`, { query: { after: 0 } }))
    if (event['fact'] === 'files.recorded') recordEvents.push(event)
  return recordEvents
}

const waitForEnd = (uuid: string): Promise<unknown> =>
  home.client.get(`/v1/processes/${uuid}/wait`, { for: 'exited', timeoutMs: 60_000 }, { extraMs: 60_000 })
const resume = (uuid: string, body: object): Promise<unknown> => home.client.post(`/v1/processes/${uuid}/resume`, body)
const write = (path: string): object => ({ text: '', tools: [{ name: 'write', input: { path, content: path } }] })

test.each([
  ['while it adds files to the index', 'update-index'],
  ['while it writes the tree', 'write-tree'],
  ['before it writes the ref of the record', 'update-ref'],
])(
  'a kill of the daemon %s keeps the earlier records',
  async (_, gitCommand) => {
    await home.start()
    const slowGit = writeSlowGit(gitCommand, 3)
    const model = home.writeScript([write('one'), write('two'), write('three'), { text: 'done' }, { text: 'done' }])
    const { uuid } = await home.spawn({ cwd: repository.dir, worktree: true, model, env: { ...repository.env, PATH: slowGit.path } })
    await waitForFile(slowGit.called)
    await waitUntil(() => findProcessesWith(token).length > 0, 'the slow git runs')
    await home.kill()
    await waitUntil(() => findProcessesWith(token).length === 0, 'the slow git has ended, too')
    writeFileSync(slowGit.go, '')
    await home.start()
    const recordsBefore = await readRecords(uuid)
    expect(recordsBefore.map((event) => event['step'])).toEqual([0, 1])
    await resume(uuid, { message: 'go on' })
    await waitForEnd(uuid)
    const view = await home.view(uuid)
    expect(view.status).toBe('completed')
    const allRecords = await readRecords(uuid)
    expect(allRecords.slice(0, 2)).toEqual(recordsBefore)
    const lastRecord = allRecords.at(-1)
    expect(lastRecord?.['step']).toBe(view.worktree?.recordedStep)
    // The last record has the names of all files, and git finds no damage in any record.
    const git = `--git-dir=${join(home.paths.state, 'files', `${uuid}.git`)}`
    expect(repository.gitIn(home.work, git, 'ls-tree', '-r', '--name-only', String(lastRecord?.['commit'])).split('\n')).toEqual(
      Object.keys(filesOf(view.worktree?.dir ?? '')).toSorted(),
    )
    for (const event of allRecords) expect(repository.gitIn(home.work, git, 'fsck', '--no-dangling', String(event['commit']))).toBe('')
  },
  240_000,
)

test('a resume completes a worktree whose creation was interrupted by a kill of the daemon', async () => {
  await home.start()
  const slowGit = writeSlowGit('worktree add', 1)
  const { uuid } = await home.spawn({
    cwd: repository.dir,
    worktree: true,
    name: 'docs',
    model: home.writeScript([write('one'), { text: 'done' }, { text: 'done' }]),
    env: { ...repository.env, PATH: slowGit.path },
  })
  await waitForFile(slowGit.called)
  await waitUntil(() => findProcessesWith(token).length > 0, 'the slow git runs')
  await home.kill()
  await waitUntil(() => findProcessesWith(token).length === 0, 'the slow git has ended, too')
  writeFileSync(slowGit.go, '')
  // A killed `git worktree add` can leave this: a branch, a registration, and some of the files.
  await home.start()
  const dir = (await home.view(uuid)).worktree?.dir ?? ''
  repository.git('worktree', 'add', '-q', dir, 'reeve/docs')
  rmSync(join(dir, 'a.txt'))
  await resume(uuid, { message: 'go on' })
  await waitForEnd(uuid)
  expect((await home.view(uuid)).status).toBe('completed')
  expect(Object.keys(filesOf(dir))).toContain('a.txt')
}, 300_000)
