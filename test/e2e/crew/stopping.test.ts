// A crew that was stopped, reached its time limit or met a full disk continues after a resume. No starting or killed member is lost.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Crews } from '../../../src/api/client/crews.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { runCli } from '../../support/daemon/cli.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'

/** The first call of this worker ignores SIGTERM, so that only SIGKILL ends it. */
const DEAF_WORKER = `rules:
  - when: '/^Task/'
    steps: [{ tools: [{ name: bash, input: { command: 'trap "" TERM INT HUP; touch ~/begun; while :; do sleep 1; done' } }] }]
steps: [{ text: ready }]
`

/** The second call proves that a resumed task continued, because a task from the beginning would make the first call again. */
const TWO_CALL_WORKER = `rules:
  - when: '/^Task/'
    steps:
      - tools: [{ name: bash, input: { command: 'touch ~/begun; exec sleep 600' } }]
      - tools: [{ name: bash, input: { command: 'touch ~/again; exec sleep 600' } }]
steps: [{ text: ready }]
`

let daemon: LocalDaemon
let crews: Crews
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  crews = new Crews(daemon.client)
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors.map(String)).toEqual([])
})

const readProcesses = async (): Promise<readonly ProcessView[]> =>
  (JSON.parse((await runCli(daemon.home, ['ps', '-a', '--json'])).stdout) as { processes: ProcessView[] }).processes
const pathOf = (name: string): string => join(daemon.work, name)

/** Writes a git that waits while a file exists; returns a PATH with it. */
function writeSlowGit(): string {
  writeFileSync(
    pathOf('git'),
    `#!/bin/sh\nif [ -e ${pathOf('hold')} ]; then touch ${pathOf('held')}; while [ -e ${pathOf('hold')} ]; do sleep 0.05; done; fi\nPATH=$(echo "$PATH" | cut -d: -f2-) exec git "$@"\n`,
    { mode: 0o755 },
  )
  return `${daemon.work}:${process.env['PATH'] ?? ''}`
}

test('a crew requests a member again after a resume, when the stop of the crew prevented its start', async () => {
  const repository = Repository.make(pathOf('repo'), daemon.work)
  repository.commit({ 'README.md': 'hello\n' })
  writeFileSync(pathOf('worker.yaml'), DEAF_WORKER)
  const {
    process: { uuid: ref },
  } = await crews.up({
    cwd: repository.dir,
    env: { ...testEnv(daemon.work), PATH: writeSlowGit() },
    name: 'team',
    model: `script:${pathOf('worker.yaml')}`,
    workers: 1,
    maxWorkers: 2,
    reviews: false,
    stay: true,
    tasks: [{ id: 'one', text: 'Do it.' }],
  })
  await expect.poll(() => existsSync(pathOf('begun'))).toBe(true)
  writeFileSync(pathOf('hold'), '')
  await crews.command(ref, { type: 'spawn_worker', role: 'generic' })
  await expect.poll(() => existsSync(pathOf('held'))).toBe(true)
  await daemon.signal(ref, 'SIGTERM', { graceMs: 4_000 })
  rmSync(pathOf('hold'))
  expect(await daemon.waitForEnd(ref)).toMatchObject({ status: 'stopped' })
  expect((await crews.get(ref)).members.map(({ id, state }) => [id, state])).toEqual([
    ['worker-1', 'on'],
    ['worker-2', 'starting'],
  ])
  await daemon.client.post(`/v1/processes/${ref}/resume`, {})
  await expect.poll(async () => (await crews.get(ref)).members[1]?.state).toBe('on')
  await daemon.signal(ref, 'SIGKILL', { subtree: true })
  await daemon.waitForEnd(ref)
  // Both incarnations of the crew count.
  const { createdAt, exitedAt, elapsedMs } = await crews.report(ref)
  expect(elapsedMs).toBe(Date.parse(exitedAt ?? '') - Date.parse(createdAt))
}, 300_000)

test('a member killed with the crew keeps its task when the crew resumes', async () => {
  const repository = Repository.make(pathOf('repo'), daemon.work)
  repository.commit({ 'README.md': 'hello\n' })
  writeFileSync(pathOf('worker.yaml'), TWO_CALL_WORKER)
  const {
    process: { uuid: ref },
  } = await crews.up({
    cwd: repository.dir,
    env: testEnv(daemon.work),
    name: 'team',
    model: `script:${pathOf('worker.yaml')}`,
    workers: 1,
    reviews: false,
    tasks: [{ id: 'one', text: 'Do it.' }],
  })
  await expect.poll(() => existsSync(pathOf('begun'))).toBe(true)
  expect(await runCli(daemon.home, ['crew', 'stop', '--now', 'team'])).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/\(team\) stopped: SIGKILL from user/),
  })
  expect((await readProcesses()).filter(({ status }) => status !== 'stopped')).toEqual([])
  expect(await runCli(daemon.home, ['crew', 'resume', 'team'])).toMatchObject({ code: 0 })
  await expect.poll(() => existsSync(pathOf('again'))).toBe(true)
  const { members, tasks } = await crews.get(ref)
  expect([members.map(({ id, state }) => [id, state]), tasks.map(({ implementer, attempts }) => [implementer, attempts])]).toEqual([
    [['worker-1', 'on']],
    [['worker-1', 0]],
  ])
  expect(await runCli(daemon.home, ['crew', 'stop', '--now', 'team'])).toMatchObject({ code: 0 })
}, 300_000)

test('a crew at its time limit names the limit, closes its questions, and continues after a resume', async () => {
  const repository = Repository.make(pathOf('repo'), daemon.work)
  repository.commit({ 'README.md': 'hello\n' })
  writeFileSync(pathOf('worker.yaml'), TWO_CALL_WORKER)
  const runCrewCli = (...args: string[]): ReturnType<typeof runCli> =>
    runCli(daemon.home, ['crew', ...args], { cwd: repository.dir, env: { HOME: daemon.work } })
  writeFileSync(pathOf('tasks.yaml'), '- { id: one, text: Do it. }\n- { id: which, text: Which one?, kind: human }\n')
  const upResult = await runCrewCli(
    'up',
    '--name',
    'team',
    '--model',
    `script:${pathOf('worker.yaml')}`,
    '--workers',
    '1',
    '--no-reviews',
    '--tasks',
    pathOf('tasks.yaml'),
    '--timeout',
    '15s',
  )
  expect(upResult).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      'its time limit ended it; not finished: one (implementing), which (waiting)\n`reeve crew resume team` continues it, with the same time limit again\n',
    ),
  })
  for (const verb of ['ps', 'tasks', 'show']) {
    const { stdout, stderr } = await runCrewCli(verb, 'team')
    expect(`${stdout}${stderr}`).toContain(
      'its time limit ended it; not finished: one (implementing), which (waiting)\n`reeve crew resume team`',
    )
  }
  const { open } = await crews.report('team')
  expect(open).toEqual([
    {
      what: 'its time limit ended it; not finished: one (implementing), which (waiting). Continue it, with the same time limit again',
      how: 'reeve crew resume team',
    },
  ])
  expect((await crews.get('team')).members.map(({ note }) => note)).toEqual(['time limit of team'])

  // Open questions can be answered only after a resume.
  expect((await readProcesses()).map(({ name, asks }) => [name, asks])).toEqual([
    ['team.worker-1', []],
    ['team', []],
  ])
  expect((await runCrewCli('show', 'team')).stdout).not.toMatch(/waits for you|reeve answer/)
  const expectedError = 'PID 1 (team) has ended, and has no questions; `reeve crew resume team` continues it, and it asks again about which'
  expect(await runCli(daemon.home, ['answer', 'team'])).toMatchObject({ code: 0, stderr: `${expectedError}\n` })
  expect(await runCli(daemon.home, ['answer', 'team', 'the second'])).toMatchObject({ code: 1, stderr: `reeve: ${expectedError}\n` })
  // The commands below may take longer than its own time limit.
  expect(await runCrewCli('resume', '--timeout', '10m', 'team')).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/\nasks: which "Which one\?" .*; `reeve answer team TEXT` answers\n$/),
  })
  expect(await runCli(daemon.home, ['answer', 'team', 'the second'])).toMatchObject({ code: 0 })
  expect(await runCrewCli('stop', '--now', 'team')).toMatchObject({ code: 0 })
  expect((await runCrewCli('ps', 'team')).stderr).toContain(
    'it was stopped (SIGKILL from user); not finished: one (implementing)\n`reeve crew resume team` continues it\n',
  )
}, 300_000)

test("a full disk under the worktrees suspends a crew with git's message, until a resume", async () => {
  const repository = Repository.make(pathOf('repo'), daemon.work)
  repository.commit({ 'README.md': 'hello\n' })
  writeFileSync(pathOf('worker.yaml'), TWO_CALL_WORKER)
  // This git prints the message of git on a full disk.
  writeFileSync(
    pathOf('git'),
    `#!/bin/sh\ncase "$*" in *"worktree add"*|*reset*) if [ -e ${pathOf('full')} ]; then echo "error: unable to write file README.md: No space left on device" >&2; echo "fatal: Could not reset index file to revision 'HEAD'." >&2; exit 128; fi ;; esac\nPATH=$(echo "$PATH" | cut -d: -f2-) exec git "$@"\n`,
    { mode: 0o755 },
  )
  const {
    process: { uuid: ref },
  } = await crews.up({
    cwd: repository.dir,
    env: { ...testEnv(daemon.work), PATH: `${daemon.work}:${process.env['PATH'] ?? ''}` },
    name: 'team',
    model: `script:${pathOf('worker.yaml')}`,
    workers: 1,
    maxWorkers: 2,
    reviews: false,
    tasks: [{ id: 'one', text: 'Do it.' }],
  })
  await expect.poll(() => existsSync(pathOf('begun'))).toBe(true)
  writeFileSync(pathOf('full'), '')
  await crews.command(ref, { type: 'spawn_worker', role: 'generic' })
  await daemon.waitForStatus(ref, 'suspended')
  expect((await runCli(daemon.home, ['crew', 'ps', 'team'])).stderr).toMatch(
    /is suspended: supervisor \(the disk is full: .*unable to write file README.md: No space left on device.*\); `reeve crew resume team` continues it\n$/,
  )
  expect((await crews.get(ref)).tasks).toMatchObject([{ id: 'one', state: 'implementing', attempts: 0, asks: null }])
  rmSync(pathOf('full'))
  expect(await runCli(daemon.home, ['crew', 'resume', 'team'])).toMatchObject({ code: 0 })
  await crews.command(ref, { type: 'spawn_worker', role: 'generic' })
  await expect.poll(async () => (await crews.get(ref)).members.at(-1)?.status).toBe('ready')
  await daemon.signal(ref, 'SIGKILL', { subtree: true })
  await daemon.waitForEnd(ref)
}, 300_000)
