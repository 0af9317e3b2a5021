// A crew on a real repository, where a worktree loses its `.git` in the middle of the work.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Crews } from '../../../src/api/client/crews.ts'
import { testEnv } from '../../support/env.ts'
import { LocalDaemon } from '../../support/daemon/local-daemon.ts'
import { Repository } from '../../support/git/repository.ts'
import type { CrewUpBody, CrewUpView } from '../../../src/api/views/crew-up.ts'

/** The first worker of the task `a` loses the `.git` of its worktree, after it wrote its file. */
const WORKER = `rules:
  - when: '/^Task (?<id>[a-z]+) /'
    steps:
      - tools: [{ name: bash, input: { command: 'ls {{ id }}.txt 2> /dev/null; echo {{ id }} > {{ id }}.txt; [ {{ id }} != a ] || [ -e ~/broken ] || { touch ~/broken; rm .git; }' } }]
      - tools: [{ name: mcp__reeve__report_implementation_complete, input: { summary: did it } }]
      - text: reported
  - when: '/^Review (?<id>[a-z]+)/'
    steps:
      - tools: [{ name: mcp__reeve__report_review_verdict, input: { verdict: APPROVED, comments: good } }]
      - text: reviewed
  - when: '/^(?<id>[a-z]+) [^]*(approved: commit it|not committed yet)/'
    steps:
      - tools: [{ name: bash, input: { command: 'git add -A; git commit -qm "{{ id }}: done"' } }]
      - text: committed
steps:
  - tools: [{ name: mcp__reeve__signal_ready }]
  - text: ready
`
const TIMEOUT_MS = 300_000

let daemon: LocalDaemon
let repository: Repository
let crews: Crews
beforeEach(async () => {
  daemon = await LocalDaemon.start()
  crews = new Crews(daemon.client)
  repository = Repository.make(join(daemon.work, 'repo'), daemon.work)
  repository.git('config', 'user.name', 'P')
  repository.git('config', 'user.email', 'p@example.org')
  repository.commit({ 'README.md': 'hello\n' })
  writeFileSync(join(daemon.work, 'worker.yaml'), WORKER)
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors.map(String)).toEqual([])
})

const startCrew = (body: Partial<CrewUpBody> = {}): Promise<CrewUpView> =>
  crews.up({
    cwd: repository.dir,
    env: testEnv(daemon.work),
    model: `script:${join(daemon.work, 'worker.yaml')}`,
    name: 'fix',
    workers: 3,
    tasks: ['a', 'b', 'c', 'd'].map((id) => ({ id, title: id, text: 'Do it.' })),
    ...body,
  })

test(
  'a worktree that loses its .git costs no attempt: its worker is lost, and another one does the task',
  async () => {
    const { process } = await startCrew()
    await daemon.waitForEnd('fix')
    const { status, tasks, members } = await crews.get(process.uuid)
    expect([status, ...tasks.map(({ id, state, attempts, reason }) => [id, state, attempts, id === 'a' ? null : reason])]).toEqual([
      'completed',
      ...['a', 'b', 'c', 'd'].map((id) => [id, 'done', 0, null]),
    ])
    expect(tasks.find(({ id }) => id === 'a')?.implementers).toHaveLength(2)
    const lostMembers = members.filter(({ leave }) => leave?.how === 'lost')
    expect(lostMembers).toMatchObject([
      { leave: { reason: expect.stringMatching(/^the files of worker-\d cannot be used: .* has no \.git any more/) } },
    ])
    expect(repository.git('ls-tree', '-r', '--name-only', 'reeve/fix')).toBe(['README.md', 'a.txt', 'b.txt', 'c.txt', 'd.txt'].join('\n'))
    expect((await daemon.readHistory('fix')).filter((event) => event['fact'] === 'task.asked')).toEqual([])
  },
  TIMEOUT_MS,
)
