// Uncommitted files of a crew. The report and the removal of the crew name each ref that has such files.
// The daemon and the repository are real, and a script plays the members.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { ROOT } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewView } from '../../../src/api/views/crew.ts'

const TIMEOUT_MS = 300_000
const WORKER = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`

let daemon: LocalDaemon
let repository: Repository
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.git('config', 'user.name', 'T')
  repository.git('config', 'user.email', 't@example.org')
  repository.commit({ 'README.md': 'hello\n' })
  writeFileSync(join(daemon.work, 'tasks.md'), '## a: The first\nWrite a.txt with tokens.\n')
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const runInRepository = (...args: string[]): Promise<CliResult> =>
  runCli(daemon.home, args, { cwd: repository.dir, env: { HOME: daemon.work } })

test('the report and the removal of a stopped crew name the ref of files that wait for an approval', { timeout: TIMEOUT_MS }, async () => {
  expect(
    await runInRepository(
      'crew',
      'up',
      '-d',
      '--name',
      'fix',
      '--workers',
      '2',
      '--gate',
      'human',
      '--tasks',
      join(daemon.work, 'tasks.md'),
      '--model',
      WORKER,
    ),
  ).toMatchObject({ code: 0 })
  for await (const _ of daemon.client.events('/v1/processes/fix/events', {
    query: { after: 0, follow: true },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })) {
    if ((await daemon.client.get<{ crew: CrewView }>('/v1/crews/fix')).crew.tasks[0]?.state === 'waiting') break
  }
  const ref = 'refs/reeve/review/fix/a'
  expect((await runInRepository('crew', 'report', 'fix')).stdout, 'while it lives').not.toContain(ref)
  expect(await runInRepository('crew', 'stop', '--now', 'fix')).toMatchObject({ code: 0 })
  expect((await runInRepository('crew', 'report', 'fix')).stdout).toContain(
    `- ${ref} has files that were reported but not committed: \`git show ${ref}\``,
  )
  const removal = await runInRepository('rm', 'fix')
  expect(`${removal.stdout}${removal.stderr}`).toContain(`uncommitted files are in ${ref}`)
  expect(repository.git('show', `${ref}:a.txt`)).toBe('tokens.')
})

/** Returns a script: the worker makes two files and commits one of them. `extraCommand` runs before the commit. */
const halfScript = (extraCommand: string): string => `rules:
  - when: '/^Task a /'
    steps: [{ tools: [{ name: bash, input: { command: 'echo one > one.txt; echo two > two.txt' } }] }, { tools: [{ name: mcp__reeve__report_implementation_complete, input: { summary: did it } }] }, { text: . }]
  - when: '/^Review a/'
    steps: [{ tools: [{ name: mcp__reeve__report_review_verdict, input: { verdict: APPROVED, comments: ok } }] }, { text: . }]
  - when: '/^a [^]*(approved: commit it|not committed yet)/'
    steps: [{ tools: [{ name: bash, input: { command: '${extraCommand} git add one.txt; git commit -qm half' } }] }, { tools: [{ name: mcp__reeve__signal_ready }] }, { text: . }]
steps: [{ tools: [{ name: mcp__reeve__signal_ready }] }, { text: . }]
`

test('the report names files that a worker did not commit, unless they landed', { timeout: TIMEOUT_MS }, async () => {
  for (const [name, more] of [
    ['landed', ''],
    ['lost', 'echo x > scratch.txt;'],
  ] as const) {
    writeFileSync(join(daemon.work, 'half.yaml'), halfScript(more))
    expect(
      await runInRepository(
        'crew',
        'up',
        '--name',
        name,
        '--workers',
        '2',
        '--tasks',
        join(daemon.work, 'tasks.md'),
        '--model',
        `script:${join(daemon.work, 'half.yaml')}`,
      ),
    ).toMatchObject({ code: 0 })
  }
  // Any worker may take the task. A worker that only reviews has too few steps for a checkpoint.
  expect(await runInRepository('resume', 'landed.worker-1')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^(?:resuming .*\n)?reeve: process \d+ was worker-1 of a crew and is retired: its worktree was removed\n.*`reeve crew up` with the same name continues the tasks\.\n$/,
    ),
  })
  expect(repository.git('show', 'reeve/landed:two.txt')).toBe('two')
  expect((await runInRepository('crew', 'report', 'landed')).stdout).not.toContain('refs/reeve/salvage/')
  const [, ref = ''] =
    /^- (refs\/reeve\/salvage\/\S+) has files that were not committed: `git show \1`$/m.exec(
      (await runInRepository('crew', 'report', 'lost')).stdout,
    ) ?? []
  expect(repository.git('show', `${ref}:scratch.txt`)).toBe('x')
})
