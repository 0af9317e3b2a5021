// The files of an external agent are recorded at the end of each step, if the agent reports its steps, and at the end of each turn.
import { existsSync, mkdirSync, watch, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as lines from '../../support/agents/agent-lines.ts'
import { writeScriptedProgram } from '../../support/programs/scripted-program.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'

let daemon: LocalDaemon
let repository: Repository

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'a' })
})

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const recordsOf = async (uuid: string): Promise<EventView[]> =>
  (await daemon.readHistory(uuid)).filter((event) => event['fact'] === 'files.recorded')
const namesAt = (uuid: string, commit: unknown): string =>
  repository.gitIn(
    daemon.work,
    `--git-dir=${join(daemon.paths.state, 'files', `${uuid}.git`)}`,
    'ls-tree',
    '-r',
    '--name-only',
    String(commit),
  )

test('a step with calls is recorded when the next one begins, and the last one before the turn ends', async () => {
  const goFile = join(daemon.work, 'go')
  const [init, ...rest] = lines.CLAUDE_TOOLS
  const program = await writeScriptedProgram(daemon.work, 'claude', [{ line: init }, { until: goFile }, ...rest.map((line) => ({ line }))])
  const { uuid } = await daemon.spawn({
    argv: [program, '-p', 'x', '--output-format', 'stream-json', '--verbose'],
    cwd: repository.dir,
    worktree: true,
  })
  const recordEvent = await daemon.waitForEvent(uuid, ({ fact }) => fact === 'files.recorded')
  expect([recordEvent['step'], namesAt(uuid, recordEvent['commit'])]).toEqual([0, 'a.txt'])
  writeFileSync(join((await daemon.view(uuid)).worktree?.dir ?? '', 'by-agent.txt'), 'x')
  writeFileSync(goFile, '')
  expect((await daemon.waitForEnd(uuid)).status).toBe('completed')
  const records = await recordsOf(uuid)
  expect(records.map((event) => event['step'])).toEqual([0, 1])
  expect(namesAt(uuid, records[1]?.['commit'])).toBe('a.txt\nby-agent.txt')
  const facts = await daemon.readFactTypes(uuid)
  expect(facts.indexOf('files.recorded'), 'tools do not wait, so the record begins later').toBeLessThan(facts.indexOf('process.handle'))
  expect(facts.lastIndexOf('files.recorded')).toBeLessThan(facts.indexOf('process.exited'))
})

/** A `git` that announces its call for `verb`, and then waits until `go` exists. */
function writeSlowGit(dir: string, verb: string): { path: string; called: string; go: string } {
  mkdirSync(dir)
  const [called, goFile] = [join(dir, 'called'), join(dir, 'go')]
  writeFileSync(
    join(dir, 'git'),
    `#!/bin/sh\ncase " $* " in *" ${verb} "*) : > '${called}'; while [ ! -e '${goFile}' ]; do sleep 0.02; done;; esac\nexec /usr/bin/env PATH=/usr/local/bin:/usr/bin:/bin git "$@"\n`,
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

test('a slow record delays no stop', async () => {
  const slowGitDir = writeSlowGit(join(daemon.work, 'bin'), 'write-tree')
  const { uuid } = await daemon.spawnScripted(
    [{ text: '', tools: [{ name: 'write', input: { path: 'b.txt', content: 'b' } }] }, { text: 'done' }],
    {
      cwd: repository.dir,
      worktree: true,
      env: { ...repository.env, PATH: slowGitDir.path },
    },
  )
  await waitForFile(slowGitDir.called)
  await daemon.signal(uuid, 'SIGKILL')
  const { status } = await daemon.waitForEnd(uuid)
  expect([status, await recordsOf(uuid), (await daemon.readFactTypes(uuid)).includes('files.failed')]).toEqual(['stopped', [], false])
  writeFileSync(slowGitDir.go, '')
  await daemon.resume(uuid, { message: 'on' })
  expect((await daemon.waitForEnd(uuid)).status).toBe('completed')
  expect((await recordsOf(uuid))[0], 'the next incarnation begins with it').toMatchObject({ step: 0 })
})
