// `reeve crew` on a real daemon and a real repository; a script plays the members. A crew is followed to its end, led by the
// user, or followed on a terminal. Unknown names are refused.
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CLI, runCli, type CliResult } from '../../support/daemon/cli.ts'
import { ROOT, testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import { HAS_TERMINAL, Terminal } from '../../support/daemon/terminal.ts'
import type { CrewView } from '../../../src/api/views/crew.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })

describe('roles', () => {
  test('are listed with their sources, and one can be printed unchanged', async () => {
    mkdirSync(join(daemon.work, '.reeve/roles'), { recursive: true })
    writeFileSync(join(daemon.work, '.reeve/roles/reviewer.md'), 'Be kind.\n')
    const { code, stdout } = await reeve('crew', 'roles')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ROLE +SOURCE +FILE$/m)
    expect(stdout).toMatch(/^implementer +built-in +-$/m)
    expect(stdout).toMatch(/^reviewer +project +\/.*reviewer\.md$/m)
    expect((await reeve('crew', 'roles', 'reviewer')).stdout).toBe('Be kind.\n')
    expect(JSON.parse((await reeve('crew', 'roles', 'reviewer', '--json')).stdout)).toMatchObject({
      version: 1,
      role: 'reviewer',
      source: 'project',
      prompt: 'Be kind.',
    })
    expect(await reeve('crew', 'roles', 'reviwer')).toMatchObject({
      code: 64,
      stderr: 'reeve: no role "reviwer"\n       Did you mean reviewer?\n',
    })
    writeFileSync(join(daemon.work, '.reeve/roles/reviewer.md'), '\n')
    const emptyFileError = /^(reeve: )?\/.*reviewer\.md:1: the file is empty: write the prompt of the role, or remove the file\n/
    const listResult = await reeve('crew', 'roles')
    expect(listResult).toMatchObject({ code: 0, stderr: expect.stringMatching(emptyFileError) })
    expect(listResult.stdout.match(/^[a-z]+(?= +built-in)/gm)).toEqual(['coordinator', 'generic', 'implementer', 'researcher'])
    expect(JSON.parse((await reeve('crew', 'roles', '--json')).stdout)).toMatchObject({
      roles: { length: 4 },
      errors: [{ role: 'reviewer', file: join(daemon.work, '.reeve/roles/reviewer.md'), line: 1 }],
    })
    expect(await reeve('crew', 'roles', 'reviewer')).toMatchObject({ code: 64, stdout: '', stderr: expect.stringMatching(emptyFileError) })
    expect((await reeve('crew', 'roles', 'generic')).code).toBe(0)
  })
})

test('`reeve crew` lists its verbs, and an unknown verb gets the nearest one as a hint', async () => {
  expect((await reeve('crew')).stdout).toMatch(/^reeve crew roles +show the prompts/m)
  expect(await reeve('crew', 'rolse')).toMatchObject({
    code: 64,
    stderr: 'reeve: no verb "crew rolse"\n       Did you mean `reeve crew roles`?\n',
  })
  expect((await reeve('crew', 'roles', '--help')).stdout).toContain('reeve crew roles [ROLE]')
  expect((await reeve('help', 'crew', 'roles')).stdout).toContain('reeve crew roles [ROLE]')
})

const TIMEOUT_MS = 600_000
const WORKER = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`
const TASKS = `## lexer: The lexer
Write lexer.txt with tokens, carelessly.

### Acceptance
- It ends with a full stop.

## parser: The parser
needs: lexer
Write parser.txt with trees.
`

let repository: Repository
function writeProject(tasks = TASKS): void {
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.git('config', 'user.name', 'T')
  repository.git('config', 'user.email', 't@example.org')
  repository.commit({ 'README.md': 'hello\n', 'tasks.md': tasks })
}
const runInRepository = (...args: string[]): Promise<CliResult> =>
  runCli(daemon.home, args, { cwd: repository.dir, env: { HOME: daemon.work } })
const startCrew = (...flags: string[]): Promise<CliResult> =>
  runInRepository('crew', 'up', '--name', 'fix', '--workers', '2', '--tasks', 'tasks.md', '--model', WORKER, ...flags)
const crewOf = async (): Promise<CrewView> =>
  (JSON.parse((await runInRepository('crew', 'show', 'fix', '--json')).stdout) as { crew: CrewView }).crew
/** Waits until the crew matches. Checks it at each of its events. */
async function waitForCrew(isMatch: (crew: CrewView) => boolean): Promise<void> {
  const cursorBefore = await daemon.readCursor()
  const checkCrew = async (): Promise<boolean> => isMatch((await daemon.client.get<{ crew: CrewView }>('/v1/crews/fix')).crew)
  if (await checkCrew()) return
  for await (const _ of daemon.client.events('/v1/processes/fix/events', {
    query: { after: cursorBefore, follow: true },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })) {
    if (await checkCrew()) return
  }
}

test('`crew up` follows the crew to its end, with events on stderr and the tasks on stdout', { timeout: TIMEOUT_MS }, async () => {
  writeProject()
  const { code, stdout, stderr } = await startCrew()
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  expect(stderr).toMatch(/^crew fix \(PID \d+\) \| 2 tasks \| branch reeve\/fix from [0-9a-f]{10}$/m)
  expect(stderr).toMatch(/^\S+ {2}lexer +DENIED by worker-\d: lexer.txt:1: it must be tokens with a full stop$/m)
  expect(stderr).toMatch(/the work is on the branch reeve\/fix: `reeve diff fix`, then `reeve merge fix` or `reeve pr fix`/)
  expect(stdout).toMatch(/^lexer +done +worker-(\d) +worker-(?!\1)\d +2 +[0-9a-f]{10}/m)
  expect(repository.git('show', 'reeve/fix:lexer.txt', 'reeve/fix:parser.txt')).toBe('tokens.\ntrees.')
  expect((await runInRepository('crew', 'ps')).stdout).toBe('PID  ID  NAME  STATUS  TASKS  WORKERS  ELAPSED  COST  NOTE\n')
  expect((await runInRepository('crew', 'ps', '-a')).stdout).toMatch(/fix +completed +2\/2 done/)
  expect((await runInRepository('crew', 'ps', '-aq')).stdout.trim()).toBe((await crewOf()).uuid)
  expect((await runInRepository('crew', 'ps', 'fix')).stdout).toMatch(/^worker-1 +generic +idle +- +retired/m)
  expect((await runInRepository('crew', 'tasks')).stdout).toBe(stdout)
  expect((await runInRepository('crew', 'show', 'fix', 'lexer')).stdout).toMatch(/^acceptance\n {2}- It ends with a full stop\.$/m)
  expect(JSON.parse((await runInRepository('crew', 'show', 'fix', 'lexer', '--json')).stdout)).toMatchObject({
    task: { id: 'lexer', denials: 1, verdict: 'APPROVED' },
  })
  expect(await runInRepository('crew', 'show', 'fix', 'lexr')).toMatchObject({
    code: 3,
    stderr: 'reeve: the crew has no task "lexr"\n       Did you mean lexer?\n',
  })
  const secondFollow = await runInRepository('crew', 'follow', '-a')
  expect([secondFollow.code, secondFollow.stdout]).toEqual([0, stdout])
  expect(await runInRepository('crew', 'follow')).toMatchObject({ code: 0, stdout })
  const events = (await runInRepository('crew', 'follow', '-a', '--json')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string })
  expect(events.filter(({ type }) => type === 'task.merged').length).toBe(2)
})

test(
  'the user leads a crew: answers, adds a task, sends messages, denies, approves, pauses and stops',
  { timeout: TIMEOUT_MS },
  async () => {
    writeProject('## which: Which word?\nkind: human\nOne word.\n\n## lexer: The lexer\nneeds: which\nWrite lexer.txt with tokens.\n')
    expect(await startCrew('-d', '--gate', 'human')).toMatchObject({ code: 0 })
    await waitForCrew(({ asks, members }) => asks.length > 0 && members.every(({ state }) => state === 'on'))
    expect((await runInRepository('answer', 'fix')).stdout).toContain('  | One word.')
    expect((await runInRepository('crew', 'tasks')).stderr).toContain('asks: which "Which word?"')
    expect(await runInRepository('answer', 'fix', 'tokens')).toMatchObject({ code: 0 })
    await waitForCrew(({ tasks }) => tasks[1]?.asks === 'gate')
    expect((await runInRepository('ps')).stdout).toMatch(/fix +crew +waiting .*asks: May lexer/)
    const { implementer } = (await crewOf()).tasks[1] ?? {}
    expect((await runInRepository('logs', `fix.${implementer}`)).stdout).toContain('The user answered which: tokens')
    expect(await runInRepository('answer', 'fix', 'deny', 'lexer.txt:1: it must be tokens with a full stop')).toMatchObject({ code: 0 })
    await waitForCrew(({ tasks }) => tasks[1]?.denials === 1 && tasks[1].asks === 'gate')
    expect(
      await runInRepository(
        'crew',
        'add',
        'fix',
        'Write docs.txt with words.',
        '--id',
        'docs',
        '--needs',
        'lexer',
        '--acceptance',
        'It is short.',
      ),
    ).toMatchObject({ code: 0, stderr: expect.stringContaining('docs') })
    expect(await runInRepository('crew', 'approve', 'fix', 'lexer')).toMatchObject({ code: 0 })
    await waitForCrew(({ tasks }) => tasks[2]?.asks === 'gate')
    const { members, tasks } = await crewOf()
    expect(tasks[1]).toMatchObject({ state: 'done', verdict: 'APPROVED', attempts: 1 })
    expect(await runInRepository('crew', 'deny', 'fix', 'lexer', 'No.')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('`reeve crew reopen fix lexer --comments …` opens it again'),
    })
    expect(await runInRepository('crew', 'retry', 'fix', 'docs')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('`reeve crew deny` sends it back, `reeve crew approve` lets it be committed'),
    })
    expect(await runInRepository('crew', 'spawn', 'fix')).toMatchObject({
      code: 125,
      stderr: expect.stringContaining('Retire one first with `reeve crew retire`.'),
    })
    const holder = members.find(({ task, phase }) => task === 'docs' && phase === 'awaiting_review')
    expect((await runInRepository('inspect', `fix.${holder?.id}`)).stdout).toMatch(/^role +generic, awaiting review, docs$/m)
    expect((await runInRepository('ps')).stdout).toMatch(new RegExp(`fix\\.${holder?.id} .*awaiting review docs`))
    expect(await runInRepository('crew', 'send', 'fix', 'hello')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('the engine reads no messages'),
    })
    expect(await runInRepository('crew', 'send', '--to', 'lexer', 'fix', 'hello')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('the task lexer has no assignee (done)'),
    })
    expect(await runInRepository('crew', 'send', '--to', 'docs', 'fix', 'hello')).toMatchObject({
      code: 0,
      stderr: `sent to ${holder?.id}\n`,
    })
    expect(await runInRepository('crew', 'assign', 'fix', 'docs', 'worker-1')).toMatchObject({ code: 1 })
    expect(await runInRepository('send', 'fix', 'hello')).toMatchObject({ code: 64, stderr: expect.stringContaining('`reeve crew send`') })
    expect(await runInRepository('attach', 'fix')).toMatchObject({ code: 125, stderr: expect.stringContaining('`reeve crew follow') })
    expect((await runInRepository('logs', 'fix')).stdout).toContain('lexer: DENIED by the user: lexer.txt:1: it must be tokens')
    expect(await runInRepository('crew', 'pause')).toMatchObject({ code: 0, stderr: expect.stringContaining('suspended') })
    expect((await runInRepository('crew', 'ps', 'fix')).stderr).toContain('`reeve crew resume fix` continues it')
    expect(await runInRepository('crew', 'resume')).toMatchObject({ code: 0 })
    expect(await runInRepository('crew', 'cancel', 'fix', 'docs', 'not needed')).toMatchObject({ code: 0 })
    await daemon.waitForEnd('fix')
    expect((await runInRepository('crew', 'tasks')).stdout).toMatch(/^docs +cancelled .*\(not needed\)$/m)
    expect(
      await runInRepository('crew', 'up', '--workers', '2', '--tasks', 'tasks.md', '--model', WORKER, '-d', '--name', 'two'),
    ).toMatchObject({
      code: 0,
    })
    await daemon.waitForView('two', ({ children, status }) => children.length === 2 && status === 'waiting')
    expect(await runInRepository('crew', 'stop', 'two')).toMatchObject({ code: 0, stderr: expect.stringMatching(/two\) stopped/) })
    for (const verb of ['stop', 'pause'])
      expect(await runInRepository('crew', verb, 'two')).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(
          /^reeve: crew two \(PID \d+\) has ended: stopped [-\d]+ [:\d]+, (?:just now|\d+ s ago); 0 of \d tasks? done; it was stopped \(SIGTERM from user\); not finished: [^\n]+\n {7}`reeve crew resume two` continues it; `reeve crew report two` shows/,
        ),
      })
  },
)

test('several open questions are named by their tasks, and each printed command works', { timeout: TIMEOUT_MS }, async () => {
  writeProject(
    '## which: Which word?\nkind: human\nOne word.\n\n## where: Where?\nkind: human\nA place.\n\n## lexer: The lexer\nWrite lexer.txt with tokens.\n',
  )
  expect(await startCrew('-d', '--gate', 'human')).toMatchObject({ code: 0 })
  await waitForCrew(({ asks }) => asks.length === 3)
  expect((await runInRepository('ps')).stdout).toContain('(and 2 more); reeve answer --ask which fix TEXT\n')
  expect(await runInRepository('answer', 'fix', 'tokens')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('`reeve answer --ask which fix TEXT` answers the first'),
  })
  const { stdout } = await runInRepository('answer', 'fix')
  for (const command of [
    'answer --ask which fix TEXT',
    'answer --ask where fix TEXT',
    'crew approve fix lexer`, `reeve crew deny fix lexer TEXT',
  ])
    expect(stdout).toContain(`\`reeve ${command}\``)
  expect((await runInRepository('answer', '--ask', 'where', 'fix')).stdout).toMatch(/^where "Where\?"[^[]*$/)
  expect(await runInRepository('answer', '--ask', 'where', 'fix', 'here')).toMatchObject({ code: 0 })
  expect(await runInRepository('answer', '--ask', 'which', 'fix', 'tokens')).toMatchObject({ code: 0 })
  await waitForCrew(({ asks }) => asks.length === 1)
  expect((await runInRepository('ps')).stdout).toContain('; reeve crew approve fix lexer, reeve crew deny fix lexer TEXT\n')
  expect((await runInRepository('crew', 'ps', 'fix')).stderr).toContain(
    '`reeve crew approve fix lexer` or `reeve crew deny fix lexer TEXT` answers, `reeve crew diff fix lexer` shows the change',
  )
  expect(await runInRepository('crew', 'deny', 'fix', 'lexer', 'No.')).toMatchObject({ code: 0 })
  await waitForCrew(({ tasks }) => tasks[2]?.denials === 1 && tasks[2].asks === 'gate')
  expect(await runInRepository('crew', 'approve', 'fix', 'lexer')).toMatchObject({ code: 0 })
  await daemon.waitForEnd('fix')
})

test.runIf(HAS_TERMINAL)(
  'on a terminal the last rows show what each worker does; Ctrl+C asks, and detaches',
  { timeout: TIMEOUT_MS },
  async () => {
    writeProject('## which: Which word?\nkind: human\nOne word.\n')
    using terminal = new Terminal(
      daemon.home,
      [
        'crew',
        'up',
        '--cwd',
        repository.dir,
        '--name',
        'fix',
        '--workers',
        '1',
        '--tasks',
        join(repository.dir, 'tasks.md'),
        '--model',
        WORKER,
      ],
      { columns: 100, rows: 30, env: { HOME: daemon.work } },
    )
    await terminal.waitForText('asks: which "Which word?"')
    await terminal.waitForText('worker-1  idle')
    terminal.type('\x03')
    await terminal.waitForText('(d)etach, (s)top?')
    terminal.type('d')
    expect(await terminal.exitCode).toBe(0)
    expect(terminal.text).toContain('`reeve crew follow')
    expect(terminal.text).not.toContain('worker-1  idle')
    expect(terminal.isRestored).toBe(true)
    await daemon.waitForView('fix.worker-1', ({ status }) => status === 'ready')
    await runInRepository('crew', 'stop')
  },
)

test('the example runs with one command, offline', { timeout: TIMEOUT_MS }, async () => {
  // The daemon runs in this process, so that the test must not block its event loop.
  const run = promisify(execFile)('sh', [join(ROOT, 'examples/crew/try.sh'), join(daemon.work, 'example')], {
    env: { ...testEnv(daemon.home), HOME: daemon.work, REEVE: `${process.execPath} ${CLI}` },
    timeout: TIMEOUT_MS,
  })
  const { stdout, stderr } = await run
  expect(stdout).toMatch(/to pay: 216\.00\n$/)
  expect(stderr).toMatch(/discount +DENIED by worker-\d: discount\.js:1: /)
})
