// An agent that may write files and run nothing cannot make reeve's own git run anything. This covers removal and
// collection of its process, its crew, and its children. Programs of git for a process that may run programs have that process's network.
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Crews } from '../../../src/api/client/crews.ts'
import type { CrewReportView } from '../../../src/api/views/crew-report.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { reeveToolCall, writeModelScript } from '../../support/crew/local-crew.ts'
import { Repository } from '../../support/git/repository.ts'

const TIMEOUT_MS = 300_000

let daemon: LocalDaemon
let repository: Repository
let marker: string
/** a program as a shell line: reports its run, and passes its input on */
let hostileProgram: string

beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.commit({ 'a.txt': 'a\n' })
  marker = join(daemon.work, 'ran')
  hostileProgram = `sh -c 'echo ran >> ${marker}; cat'`
})

afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const writeStep = (path: string, content: string): object => ({ text: '', tools: [{ name: 'write', input: { path, content } }] })
/** A repository in the worktree, named by its `.git`, with a filter that is a program. */
const attackSteps = (): object[] => [
  writeStep('evil/HEAD', 'ref: refs/heads/x\n'),
  writeStep(
    'evil/config',
    `[core]\n\trepositoryformatversion = 0\n[filter "x"]\n\tclean = ${hostileProgram}\n\tsmudge = ${hostileProgram}\n`,
  ),
  writeStep('evil/objects/x', 'x'),
  writeStep('evil/refs/heads/x.lock', 'x'),
  writeStep('.gitattributes', '* filter=x\n'),
  writeStep('a.txt', 'changed\n'),
  writeStep('.git', 'gitdir: evil\n'),
]
const FILES = ['read', 'write', 'edit']
const outcomesOf = (events: readonly EventView[]): string[] =>
  events.filter((event) => event['fact'] === 'tool.finished').map(({ outcome }) => String(outcome))
const removeProcess = (ref: string): ReturnType<typeof runCli> => runCli(daemon.home, ['rm', ref])

describe('an agent that may only write files, and redirects its worktree to its own repository', () => {
  const runHostileAgent = async (allow: readonly string[]): Promise<ProcessView> => {
    const { uuid } = await daemon.spawnScripted([...attackSteps(), { text: 'done' }], {
      cwd: repository.dir,
      worktree: true,
      name: 'evil',
      allow: [...allow],
      deny: ['network'],
    })
    return daemon.waitForEnd(uuid)
  }

  test('is denied the redirection if its folders are limited, and `rm` salvages its files', async () => {
    const { uuid } = await runHostileAgent([...FILES, 'read:.', 'write:.'])
    expect(outcomesOf(await daemon.readHistory(uuid))).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'denied'])
    const { code, stderr } = await removeProcess('evil')
    expect(existsSync(marker)).toBe(false)
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`PID 1 (evil) was removed; uncommitted files of its worktree are in refs/reeve/salvage/${uuid}\n`),
    ])
    expect(repository.git('show', `refs/reeve/salvage/${uuid}:a.txt`)).toBe('changed')
  })

  test('keeps its files where they are if its folders are not limited, and `rm` reports that', async () => {
    const { uuid, worktree } = await runHostileAgent(FILES)
    expect(outcomesOf(await daemon.readHistory(uuid))).toEqual(Array(7).fill('ok'))
    const { stderr } = await removeProcess('evil')
    expect(existsSync(marker)).toBe(false)
    expect(stderr).toContain('.git is not the file that git wrote there, so its files stay where they are')
    expect(readFileSync(join(worktree?.dir ?? '', 'a.txt'), 'utf8')).toBe('changed\n')
    await daemon.restart()
    await daemon.client.get('/v1/processes')
    expect([existsSync(join(worktree?.dir ?? '', 'a.txt')), existsSync(marker)]).toEqual([true, false])
  })

  test('may be a worker of a crew, whose report is not read through its own repository', { timeout: TIMEOUT_MS }, async () => {
    mkdirSync(join(repository.dir, '.reeve/agents'), { recursive: true })
    writeFileSync(join(repository.dir, '.reeve/agents/writer.md'), '---\ntools: [read, write, edit]\nnetwork: off\n---\nYou write.\n')
    repository.commit({})
    const model = writeModelScript(
      daemon.work,
      [
        {
          when: '/^Task/',
          steps: [...attackSteps(), reeveToolCall('report_implementation_complete', { summary: 'done' }), { text: 'reported' }],
        },
      ],
      { steps: [reeveToolCall('signal_ready'), { text: 'ready' }] },
    )
    const crews = new Crews(daemon.client)
    const { process } = await crews.up({
      cwd: repository.dir,
      env: repository.env,
      name: 'team',
      model,
      agent: 'writer',
      workers: 1,
      reviews: false,
      maxAttempts: 1,
      tasks: [{ id: 'one', title: 'one', text: 'one' }],
    })
    await expect
      .poll(async () => (await crews.get(process.uuid)).tasks.map(({ state }) => state), { timeout: TIMEOUT_MS / 2, interval: 100 })
      .toEqual(['failed'])
    await daemon.waitForEnd(process.uuid)
    expect(existsSync(marker)).toBe(false)
  })
})

test(
  'the work of a crew whose workers may run no programs is committed and merged, with a note that no hook ran',
  { timeout: TIMEOUT_MS },
  async () => {
    mkdirSync(join(repository.dir, '.reeve/agents'), { recursive: true })
    writeFileSync(
      join(repository.dir, '.reeve/agents/writer.md'),
      '---\ntools: [read, write, edit]\npaths: { write: [.] }\n---\nYou write.\n',
    )
    repository.commit({})
    repository.git('config', 'filter.x.clean', hostileProgram)
    repository.write({ '.git/info/attributes': '* filter=x\n' })
    writeFileSync(join(repository.dir, '.git/hooks/pre-commit'), `#!/bin/sh\necho hook >> ${marker}\n`, { mode: 0o755 })
    const model = writeModelScript(
      daemon.work,
      [
        {
          when: '/^Task/',
          steps: [
            writeStep('made.txt', 'made\n'),
            reeveToolCall('report_implementation_complete', { summary: 'done' }),
            { text: 'reported' },
          ],
        },
        { when: '/approved: commit it|not committed yet/', steps: [reeveToolCall('signal_ready'), { text: 'I cannot' }] },
      ],
      { steps: [reeveToolCall('signal_ready'), { text: 'ready' }] },
    )
    const crews = new Crews(daemon.client)
    const { process } = await crews.up({
      cwd: repository.dir,
      env: repository.env,
      name: 'team',
      model,
      agent: 'writer',
      workers: 1,
      reviews: false,
      tasks: [{ id: 'one', title: 'one', text: 'one' }],
    })
    expect((await daemon.waitForEnd(process.uuid)).status).toBe('completed')
    const report = await daemon.client.get<CrewReportView>('/v1/crews/team/report')
    expect(report.tasks.map(({ state, note }) => [state, note])).toEqual([
      ['done', expect.stringContaining('its worker must not run programs, so pre-commit did not run')],
    ])
    expect([repository.git('show', 'reeve/team:made.txt'), existsSync(marker)]).toEqual(['made', false])
  },
)

test('an agent with the repository as its folder configures no filter for its child in a worktree', async () => {
  repository.commit({ '.gitattributes': '* filter=x\n' })
  const child = await daemon.writeScript([{ text: 'I am a child' }])
  const steps = [
    writeStep('.git/config', `[filter "x"]\n\tsmudge = ${hostileProgram}\n`),
    reeveToolCall('spawn', { intent: 'x', model: child, worktree: true, name: 'child' }),
    { text: 'done' },
  ]
  const { uuid } = await daemon.spawnScripted(steps, {
    cwd: repository.dir,
    name: 'parent',
    allow: [...FILES, 'mcp__reeve__*', 'read:.', 'write:.'],
    deny: ['network'],
  })
  await daemon.waitForEnd(uuid)
  const childView = await daemon.waitForEnd('child')
  expect([outcomesOf(await daemon.readHistory(uuid))[0], childView.status, existsSync(marker)]).toEqual(['denied', 'completed', false])
  // Filters of the user do not run either for a child that may run no programs.
  repository.git('config', 'filter.x.smudge', hostileProgram)
  const secondAttempt = await daemon.spawnScripted(
    [reeveToolCall('spawn', { intent: 'x', model: child, worktree: true, name: 'again' }), { text: 'done' }],
    {
      cwd: repository.dir,
      allow: [...FILES, 'mcp__reeve__*', 'read:.', 'write:.'],
    },
  )
  await daemon.waitForEnd(secondAttempt.uuid)
  const { status, worktree } = await daemon.waitForEnd('again')
  expect([status, readFileSync(join(worktree?.dir ?? '', 'a.txt'), 'utf8'), existsSync(marker)]).toEqual(['completed', 'a\n', false])
  await daemon.waitForEnd((await daemon.spawnShell('cat a.txt', { cwd: repository.dir, worktree: true })).uuid)
  expect(existsSync(marker), 'a command runs programs, and so does git for it').toBe(true)
})

test('a fork with files, and a resumed import, run nothing for an agent that may run nothing', async () => {
  repository.git('config', 'filter.x.clean', hostileProgram)
  repository.git('config', 'filter.x.smudge', hostileProgram)
  repository.write({ '.git/info/attributes': '* filter=x\n' })
  const { uuid } = await daemon.spawnScripted([writeStep('a.txt', 'changed\n'), { text: 'done' }, { text: 'forked' }], {
    cwd: repository.dir,
    worktree: true,
    allow: [...FILES, 'read:.', 'write:.'],
  })
  await daemon.waitForEnd(uuid)
  const { process } = await daemon.resume(uuid, { fork: true, withFiles: true, message: 'on' })
  const fork = await daemon.waitForEnd(process.uuid)
  expect([fork.status, readFileSync(join(fork.worktree?.dir ?? '', 'a.txt'), 'utf8')]).toEqual(['completed', 'changed\n'])
  await daemon.client.post(`/v1/processes/${uuid}/export`, { dir: join(daemon.work, 'out') })
  await using other = await LocalDaemon.start()
  await other.client.post('/v1/import', { dir: join(daemon.work, 'out') })
  expect((await other.post(`/v1/processes/${uuid}/resume`, { fork: true, withFiles: true })).body.error?.message).toContain(
    'exports do not contain them',
  )
  await other.resume(uuid, { message: 'on' })
  await other.waitForEnd(uuid)
  await other.client.delete(`/v1/processes/${uuid}`)
  expect(existsSync(fork.worktree?.dir ?? '')).toBe(true)
  for (const one of [uuid, fork.uuid]) await daemon.client.delete(`/v1/processes/${one}`)
  expect([existsSync(fork.worktree?.dir ?? ''), existsSync(marker), repository.git('show', `refs/reeve/salvage/${uuid}:a.txt`)]).toEqual([
    false,
    false,
    'changed',
  ])
})

test('a filter of a process without a network runs without a network', async () => {
  await using server = createServer((socket) => socket.destroy())
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const program = join(daemon.work, 'dials.sh')
  writeFileSync(
    program,
    `#!/bin/bash\necho ran >> ${marker}\n(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo reached >> ${marker}\ncat\n`,
    { mode: 0o755 },
  )
  const set = `git config filter.x.clean ${program}; echo '* filter=x' > .gitattributes; echo changed > a.txt`
  for (const deny of [['network'], []])
    await daemon.waitForEnd((await daemon.spawnShell(set, { cwd: repository.dir, worktree: true, deny, name: deny[0] ?? 'open' })).uuid)
  await removeProcess('network')
  expect([readFileSync(marker, 'utf8').includes('ran'), connections]).toEqual([true, 0])
  await removeProcess('open')
  expect([readFileSync(marker, 'utf8').includes('reached'), connections > 0], 'the program can reach it where it may').toEqual([true, true])
})
