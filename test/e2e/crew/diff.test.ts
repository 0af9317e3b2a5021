// The user reads and judges the change of a task. The daemon and the repository are real, and a script plays the members.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli, type CliResult } from '../../support/daemon/cli.ts'
import { ROOT } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewDiffView } from '../../../src/api/views/crew-diff.ts'
import type { CrewView, TaskDetailView } from '../../../src/api/views/crew.ts'

let daemon: LocalDaemon
let repository: Repository
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.git('config', 'user.name', 'T')
  repository.git('config', 'user.email', 't@example.org')
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const TIMEOUT_MS = 300_000
const WORKER = `script:${join(ROOT, 'test/support/crew-scripts/worker.yaml')}`
const runInRepository = (...args: string[]): Promise<CliResult> =>
  runCli(daemon.home, args, { cwd: repository.dir, env: { HOME: daemon.work, COLUMNS: '80' } })
const diffOf = async (task: string, ...flags: string[]): Promise<CrewDiffView> =>
  JSON.parse((await runInRepository('crew', 'diff', '--json', ...flags, 'fix', task)).stdout) as CrewDiffView
const commentsOf = async (task: string): Promise<string | null> =>
  (await daemon.client.get<{ task: TaskDetailView }>('/v1/crews/fix/task', { id: task })).task.comments
/** The messages to a member, without the mark of the log before each line. */
const readMessagesTo = async (member = ''): Promise<string> =>
  (await runInRepository('logs', `fix.${member}`)).stdout.replaceAll(/^> ?/gm, '')
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
/** Waits until the gate of a task asks the user, and the turn in which its author reported has ended. */
async function waitUntilAsked(id: string, asks = 1): Promise<void> {
  let author = ''
  await waitForCrew(({ tasks }) => {
    const task = tasks.find((each) => each.id === id && each.asks === 'gate' && each.denials === asks - 1)
    author = task?.implementer ?? ''
    return task !== undefined
  })
  await daemon.waitUntilReady(`fix.${author}`)
}

test('`crew diff` shows the change under review, and later the landed one', { timeout: TIMEOUT_MS }, async () => {
  repository.commit({
    'README.md': 'hello\n',
    'tasks.md':
      '## lexer: The lexer\nWrite lexer.txt with tokens.\n\n## docs: The docs\nneeds: lexer\nreviews: false\nWrite docs.txt with words.\n',
  })
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
      'tasks.md',
      '--model',
      WORKER,
    ),
  ).toMatchObject({ code: 0 })
  await waitUntilAsked('lexer')

  const diffResult = await runInRepository('crew', 'diff', 'fix', 'lexer')
  expect(diffResult).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^lexer \(The lexer\): made by worker-\d and approved by worker-\d; not committed: 1 file, \+1 -0\n$/),
  })
  expect(diffResult.stdout).toMatch(
    /^diff --git a\/lexer.txt b\/lexer.txt\nnew file mode 100644\nindex [^]*\n@@ -0,0 \+1 @@\n\+tokens\.\n$/,
  )
  expect(await runInRepository('crew', 'diff', '-q', '--stat', 'fix', 'lexer')).toMatchObject({
    stdout: ' lexer.txt | 1 + (new)\n 1 file, +1 -0\n',
    stderr: '',
  })
  expect((await runInRepository('crew', 'diff', '--name-only', 'fix', 'lexer')).stdout).toBe('lexer.txt\n')
  const reviewed = await diffOf('lexer')
  expect(reviewed).toMatchObject({
    of: 'review',
    to: repository.git('rev-parse', 'refs/reeve/review/fix/lexer'),
    from: repository.git('rev-parse', 'main'),
    left: [],
  })
  expect(await runInRepository('crew', 'diff', '--committed', 'fix', 'lexer')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'lexer is not committed\n',
  })
  expect(await runInRepository('crew', 'diff', 'fix', 'docs')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'docs is queued, and it has no files\n',
  })
  expect(await runInRepository('crew', 'diff', 'fix', 'lexr')).toMatchObject({
    code: 3,
    stderr: 'reeve: the crew has no task "lexr"\n       Did you mean lexer?\n',
  })

  const asks = await runInRepository('answer', 'fix')
  expect(asks.stdout).toMatch(
    /\n {2}\| reported: wrote lexer.txt\n\n lexer.txt \| 1 \+ \(new\)\n 1 file, \+1 -0 \(`reeve crew diff fix lexer`\)\n$/,
  )
  expect((await runInRepository('answer', '--diff', 'fix')).stdout).toMatch(
    /\nlexer \(The lexer\): made by worker-\d and [^\n]*\ndiff --git [^]*\n\+tokens\.\n$/,
  )
  expect(await runInRepository('answer', '--diff', 'fix', 'approve')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('excludes an answer'),
  })
  expect((await runInRepository('crew', 'show', 'fix', 'lexer')).stdout).toContain(
    '\nchange\n  lexer.txt | 1 + (new)\n  1 file, +1 -0 (`reeve crew diff fix lexer`)\n\nhistory\n',
  )

  await runInRepository('crew', 'approve', 'fix', 'lexer')
  // This change has no review, so that its diff is not yet recorded.
  await waitUntilAsked('docs')
  expect(repository.git('for-each-ref', 'refs/reeve/review/')).toBe('')
  expect(await diffOf('docs')).toMatchObject({
    of: 'review',
    from: repository.git('rev-parse', 'reeve/fix'),
    files: [{ path: 'docs.txt', change: 'added', insertions: 1, deletions: 0 }],
    diff: expect.stringContaining('+words.\n'),
  })
  expect(await diffOf('lexer')).toMatchObject({
    of: 'landed',
    from: repository.git('rev-parse', 'main'),
    to: repository.git('rev-parse', 'reeve/fix'),
    files: [{ path: 'lexer.txt' }],
  })

  await runInRepository('crew', 'approve', 'fix', 'docs')
  await daemon.waitForEnd('fix')
  const landedDiff = await runInRepository('crew', 'diff', 'fix', 'docs')
  expect(landedDiff.stderr).toMatch(/^docs \(The docs\): landed on the crew's branch as [0-9a-f]{10}: 1 file, \+1 -0\n$/)
  expect(landedDiff.stdout).toContain('+words.\n')
  expect(await diffOf('docs', '--committed')).toMatchObject({ of: 'commit', files: [{ path: 'docs.txt' }] })
})

test('comments on lines, of a reviewer and of the user, reach the author with the lines quoted', { timeout: TIMEOUT_MS }, async () => {
  repository.commit({
    'README.md': 'hello\n',
    'tasks.md':
      '## lexer: The lexer\nWrite lexer.txt with tokens, carelessly.\n\n## docs: The docs\nneeds: lexer\nWrite docs.txt with words.\n',
  })
  const scriptWithLineComments = readFileSync(join(ROOT, 'test/support/crew-scripts/worker.yaml'), 'utf8').replace(
    "comments: '{{ file }}:1: it must be {{ word }} with a full stop'",
    "comments: Nearly., lines: [{ file: '{{ file }}', line: 1, text: 'it must be {{ word }} with a full stop' }]",
  )
  writeFileSync(join(daemon.work, 'worker.yaml'), scriptWithLineComments)
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
      'tasks.md',
      '--model',
      `script:${join(daemon.work, 'worker.yaml')}`,
    ),
  ).toMatchObject({ code: 0 })
  await waitUntilAsked('lexer', 2)
  expect(await commentsOf('lexer')).toBe('lexer.txt is right')
  const author = (await daemon.client.get<{ crew: CrewView }>('/v1/crews/fix')).crew.tasks[0]?.implementer ?? ''
  expect(await readMessagesTo(author)).toContain(
    'back:\n\nNearly.\n\nlexer.txt:1: it must be tokens with a full stop\n> tokens\n\nAddress each comment in the code',
  )

  for (const [comment, message, hint] of [
    ['lexer.txt:2=why?', 'lexer.txt has 1 line, so there is no line 2', 'Lines are counted in the file as this change leaves it.'],
    ['lexr.txt:1=why?', 'the file lexr.txt does not exist in this change', 'Did you mean lexer.txt?'],
    ['/etc/passwd:1=why?', 'the file /etc/passwd does not exist in this change', 'The change has lexer.txt.'],
  ] as const)
    expect(await runInRepository('crew', 'deny', 'fix', 'lexer', '--comment', comment)).toEqual({
      code: 64,
      stdout: '',
      stderr: `reeve: ${message}\n       ${hint}\n`,
    })
  expect(await runInRepository('crew', 'deny', 'fix', 'lexer')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('the comments are missing'),
  })
  expect(await runInRepository('answer', 'fix', 'approve', '--comment', 'lexer.txt:1=why?')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('--comment needs deny'),
  })

  const denied = await runInRepository(
    'crew',
    'deny',
    'fix',
    'lexer',
    'Nearly.',
    '--comment',
    'lexer.txt:1=it must be tokens with a full stop',
    '--comment',
    'README.md:1=and why not here, too?',
  )
  expect(denied).toMatchObject({ code: 0, stderr: `lexer went back to ${author}\n` })
  await waitUntilAsked('lexer', 3)
  expect(await readMessagesTo(author)).toContain(
    'The user sent lexer "The lexer" back:\n\nNearly.\n\nlexer.txt:1: it must be tokens with a full stop\n> tokens.\n\nREADME.md:1: and why not here, too?\n> hello\n',
  )
  expect((await diffOf('lexer')).diff).toContain('+tokens.\n')
  expect(await runInRepository('crew', 'deny', 'fix', 'docs', 'no')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no question about docs is open: it is queued'),
  })

  await runInRepository('crew', 'approve', 'fix', 'lexer')
  await waitUntilAsked('docs')
  expect(
    await runInRepository(
      'crew',
      'reopen',
      'fix',
      'lexer',
      '--comment',
      'lexer.txt:1=it must be tokens with a full stop',
      '--comments',
      'Once more.',
    ),
  ).toMatchObject({ code: 0 })
  const { history } = (await daemon.client.get<{ task: TaskDetailView }>('/v1/crews/fix/task', { id: 'lexer' })).task
  expect(history.find(({ type }) => type === 'task.reopened')?.text).toBe(
    'Once more.\n\nlexer.txt:1: it must be tokens with a full stop\n> tokens.',
  )
  expect(
    await runInRepository('answer', 'fix', 'deny', '--ask', 'docs.1', '--comment', 'docs.txt:1=it must be words with a full stop'),
  ).toMatchObject({ code: 0 })
})
