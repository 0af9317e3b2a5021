// The setup of a new worker's worktree before its first task. A worker whose setup fails is lost without a failed attempt, and
// repeated failures halt the crew.
import { expect, test } from 'vitest'
import { memberOf, taskOf, transcriptOf, runUntil, runUntilTask, startedWorld } from '../../../../support/crew-world/prepared-world.ts'
import { setCrewPaused } from '../../../../support/crew-world/regular-work.ts'
import type { ShellCommandRun } from '../../../../../src/kernel/model/crew/shell-command-results.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { CrewShellCommand } from '../../../../../src/kernel/model/crew/words.ts'
import type { JobResult } from '../../../../../src/kernel/model/crew/facts.ts'

const SETUP: CrewShellCommand = { command: 'npm ci', timeoutMs: 600_000 }

function answerSetup(world: CrewWorld, ran: Partial<ShellCommandRun> | null): void {
  const job = world.jobs.find(({ type }) => type === 'setup')
  if (!job) throw new Error('nothing is set up')
  world.jobs = world.jobs.filter((otherJob) => otherJob !== job)
  const result: JobResult = {
    type: 'setUp',
    command: 'npm ci',
    ran: ran && { end: 'exited', code: 0, signal: null, ms: 3_000, output: '', left: 0, ...ran },
    copied: 2,
    skipped: [],
  }
  world.submit({ type: 'job_done', job: job.job, result })
}

const setupMembers = (world: CrewWorld): string[] => world.jobs.filter(({ type }) => type === 'setup').map(({ member }) => member)

test('setup runs before the first task, which waits for it', () => {
  const world = startedWorld({ setup: SETUP })
  expect(setupMembers(world)).toEqual(['worker-1', 'worker-2'])
  expect(world.jobs.some(({ type }) => type === 'prepare')).toBe(false)
  answerSetup(world, {})
  expect(memberOf(world, 'worker-1')).toMatchObject({ setUp: true, state: 'on' })
  expect(world.journal.findLast(({ type }) => type === 'crew.setup')).toMatchObject({ member: 'worker-1', ok: true, copied: 2 })
  runUntilTask(world, 'done')
})

test.each([
  ['each worker has a setup job for a command', { setup: SETUP }, 2],
  ['each worker has a setup job for files to copy', { copy: ['.env'] }, 2],
  ['no worker has a setup job without a command and files', { copy: [] }, 0],
  ['no worker has a setup job without a repository', { setup: SETUP, git: null }, 0],
])('%s', (_, spec, count) => {
  expect(setupMembers(startedWorld(spec))).toHaveLength(count)
})

test('a worker whose setup fails is lost with the reason, and no attempt counts', () => {
  const world = startedWorld({ setup: SETUP, staff: [{ role: 'generic', count: 1 }], maxWorkers: 1, reviews: false })
  answerSetup(world, { code: 1, output: 'npm error\nENOENT package-lock.json' })
  const reason = 'setup failed: `npm ci` ended with exit code 1 after 3.0 s: ENOENT package-lock.json'
  expect(memberOf(world, 'worker-1').leave).toEqual({ how: 'lost', reason })
  expect(taskOf(world).attempts).toBe(0)
  runUntil(world, () => setupMembers(world).includes('worker-2'))
})

test('after the second failed setup, the crew halts until the user resumes it, and halts again for each further failure', () => {
  const world = startedWorld({ setup: SETUP, staff: [{ role: 'generic', count: 3 }], maxWorkers: 3, reviews: false })
  expect(transcriptOf(world, () => answerSetup(world, { code: 1, output: 'no network' }))).not.toContain('hold')
  expect(transcriptOf(world, () => answerSetup(world, { code: 1, output: 'no network' }))).toContain('-> hold')
  answerSetup(world, { code: 1, output: 'no network' })
  for (let round = 0; round < 6; round += 1) {
    // The lost members have left, and no other was started.
    runUntil(world, () => !world.crew.members.some(({ state }) => state === 'on' || state === 'leaving'))
    expect([setupMembers(world), world.crew.halted]).toEqual([
      [],
      'no worktree can be set up: `npm ci` ended with exit code 1 after 3.0 s: no network',
    ])
    setCrewPaused(world, false)
    expect(world.crew).not.toHaveProperty('halted')
    runUntil(world, () => setupMembers(world).length > 0)
    expect(setupMembers(world)).toHaveLength(1)
    if (round < 5) answerSetup(world, { code: 1, output: 'no network' })
  }
  answerSetup(world, {})
  runUntilTask(world, 'done')
  expect(taskOf(world).attempts).toBe(0)
})

test('after one successful setup, later failures do not halt the crew', () => {
  const world = startedWorld({ setup: SETUP, staff: [{ role: 'generic', count: 3 }], maxWorkers: 3, reviews: false })
  answerSetup(world, {})
  answerSetup(world, { code: 1, output: 'no network' })
  answerSetup(world, { code: 1, output: 'no network' })
  expect(world.isPaused).toBe(false)
  runUntilTask(world, 'done')
})

test('a full disk halts the crew at once', () => {
  const world = startedWorld({ setup: SETUP, staff: [{ role: 'generic', count: 1 }], maxWorkers: 1, reviews: false })
  answerSetup(world, { code: 1, output: 'npm error\nnpm error ENOSPC: no space left on device, write\nnpm error' })
  expect([world.isPaused, world.crew.halted, memberOf(world, 'worker-1').leave]).toEqual([
    true,
    'the disk is full: npm error ENOSPC: no space left on device, write',
    null,
  ])
  setCrewPaused(world, false)
  answerSetup(world, {})
  runUntilTask(world, 'done')
})
