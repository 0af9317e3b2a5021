// The measured usage of a process's programs, as transcripts: it counts even after the exit, and reaches limits.
import { expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../../support/kernel/transcript.ts'

test('a running process is measured, and a zombie one last time', () => {
  expect(
    play(`
    .live a
    report a measured cpu=100 output=5 rss=1000
    report a exited 0
    report a measured cpu=3
    report a note
    released a
    report a measured cpu=3
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a measured cpu=100 output=5 rss=1000
    a.7 usage.measured
      -> ack ok
    > report a exited 0
    a.8 process.exited 0 completed (agent)
      -> release cancel a#1
      -> release await a#1
      -> ack ok
      == a zombie
    > report a measured cpu=3
    a.9 usage.measured
      -> ack ok
    > report a note
      -> ack late
    > released a
    a.10 process.reaped
      -> release channel a#1
      -> release context a#1
      -> release remove a#1
      == a completed
    > report a measured cpu=3
      -> ack late
    "
  `)
})

test('a limit on CPU time gives a warning, then ends the process', () => {
  expect(
    play(`
    .live a cpuTimeMs=1000
    report a measured cpu=799
    report a measured cpu=100
    report a measured cpu=100
    report a measured cpu=1
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a measured cpu=799
    a.7 usage.measured
      -> ack ok
    > report a measured cpu=100
    a.8 usage.measured
    a.9 limit.warned cpuTimeMs 899 of 1000
      -> ack ok
    > report a measured cpu=100
    a.10 usage.measured
      -> ack ok
    > report a measured cpu=1
    a.11 usage.measured
    a.12 limit.reached cpuTimeMs 1000 of 1000 -> terminate
    a.13 process.exited 2 budget_exceeded (limit)
      -> release cancel a#1
      -> release await a#1
      -> ack ok
      == a zombie
    "
  `)
})

test('a limit on memory counts the current usage', () => {
  expect(
    play(`
    .live a memoryBytes=1000
    report a measured rss=700
    report a measured rss=700
    report a measured rss=1000
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a measured rss=700
    a.7 usage.measured
      -> ack ok
    > report a measured rss=700
    a.8 usage.measured
      -> ack ok
    > report a measured rss=1000
    a.9 usage.measured
    a.10 limit.warned memoryBytes 1000 of 1000
    a.11 limit.reached memoryBytes 1000 of 1000 -> terminate
    a.12 process.exited 2 budget_exceeded (limit)
      -> release cancel a#1
      -> release await a#1
      -> ack ok
      == a zombie
    "
  `)
})

test('a limit of the payer ends the payer and the process that it pays for', () => {
  expect(
    play(`
    .live a outputBytes=1000
    .live b under=a
    .report a measured output=600
    report b measured output=399
    report b measured output=1
  `),
  ).toMatchInlineSnapshot(`
    "
    > report b measured output=399
    b.7 usage.measured
    a.9 limit.warned outputBytes 999 of 1000
      -> ack ok
    > report b measured output=1
    b.8 usage.measured
    a.10 limit.reached outputBytes 1000 of 1000 -> terminate
    b.9 limit.reached outputBytes 1000 of 1000 -> terminate by a
    a.11 child.spent b turns 1, outputBytes 400
    b.10 process.exited 2 budget_exceeded (limit)
    a.12 child.exited b 2 budget_exceeded
    b.11 process.reparented to PID 0
    a.13 process.exited 2 budget_exceeded (limit)
      -> release cancel b#2
      -> release await b#2
      -> release cancel a#1
      -> release await a#1
      -> ack ok
      == b zombie
      == a zombie
    "
  `)
})

test('when the system ends a program at the memory limit, that limit is the cause of the exit', () => {
  expect(
    play(`
    .live a memoryBytes=1000
    report a measured rss=10 out
    report a exited 137
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a measured rss=10 out
    a.7 usage.measured
    a.8 limit.reached memoryBytes 1000 of 1000 -> terminate
    a.9 process.exited 2 budget_exceeded (limit)
      -> release cancel a#1
      -> release await a#1
      -> ack ok
      == a zombie
    > report a exited 137
      -> ack late
    "
  `)
})

test('without a memory limit, the end of a program by the system counts as an exit of the agent', () => {
  expect(
    play(`
    .live a
    report a measured out
    report a exited 137
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a measured out
    a.7 usage.measured
      -> ack ok
    > report a exited 137
    a.8 process.exited 137 exit code 137 (agent)
      -> release cancel a#1
      -> release await a#1
      -> ack ok
      == a zombie
    "
  `)
})

test('usage adds up over incarnations; the peak of memory is the highest of all', () => {
  const player = new TranscriptPlayer()
  player.play(`
    live a
    report a measured cpu=100 output=5 rss=1000
    report a measured cpu=1 rss=10
    report a exited 1
    released a
    resume a
    start a
    report a up
    report a measured cpu=10 rss=20
  `)
  expect(player.world.row('a')?.usage).toMatchObject({ cpuTimeMs: 111, outputBytes: 5, rssBytes: 20, peakRssBytes: 1000 })
})

test('memory of ended programs does not count, so a process that its limit ended can be resumed', () => {
  const player = new TranscriptPlayer()
  player.play('live a memoryBytes=1000\nreport a measured rss=1200\nreleased a\nresume a\nstart a\nreport a up\nreport a model 1')
  expect(player.play('report a answer 1')).not.toContain('exited')
  player.play('live p memoryBytes=1000\nlive c under=p\nreport c measured rss=900\nsignal SIGPAUSE c\nboot c\nlive d under=p')
  expect(player.play('report d measured rss=200')).not.toContain('exited')
})
