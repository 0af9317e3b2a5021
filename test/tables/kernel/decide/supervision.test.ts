// Restarts and supervisors, as transcripts: facts, their order, and inputs that arrive during a restart.
import { expect, test } from 'vitest'
import { play, TranscriptPlayer } from '../../../support/kernel/transcript.ts'

test('a process with its own policy restarts after its backoff, up to its maximum number of restarts', () => {
  expect(
    play(`
    .live a command restart=transient max=1
    .report a exited 3
    released a
    wind 500
    wind 1000
    .start a
    .report a up
    .report a exited 4
    released a
  `),
  ).toMatchInlineSnapshot(`
    "
    > released a
    a.5 process.reaped
    a.6 process.resumed #2 by system from step 0: restart 1 later anew after exit code 3
      -> release channel a#1
      -> release context a#1
      -> release remove a#1
      == a pending
    > wind 500
    > wind 1000
    tick a
    a.7 restart.due now
      -> start a#2
    > released a
    a.11 process.reaped
      -> release channel a#2
      -> release context a#2
      -> release remove a#2
      == a failed
    "
  `)
})

test('a waiting restart can be stopped and paused, and a resume skips its backoff', () => {
  expect(
    play(`
    .live a command restart=permanent
    .report a exited 3
    .released a
    signal SIGTERM a
    .wind 100000
    .live b restart=permanent
    .report b exited 3
    .released b
    signal SIGPAUSE b
    .wind 100000
    .live c restart=permanent
    .report c exited 3
    .released c
    resume c
  `),
  ).toMatchInlineSnapshot(`
    "
    > signal SIGTERM a
    a.7 signal.sent SIGTERM by user: default
    a.8 process.started unattached
    a.9 process.exited 143 SIGTERM from user (person)
    a.10 process.reaped
      -> release channel a#2
      -> release context a#2
      -> release remove a#2
      -> done, 1 affected
      == a stopped
    > signal SIGPAUSE b
    b.10 signal.sent SIGPAUSE by user: default
    b.11 process.started unattached
    b.12 process.held user/user
      -> done, 1 affected
      == b suspended
    > resume c
    c.10 restart.due now
      -> start c#6
      -> done, 1 affected
    "
  `)
})

test('one_for_all: the siblings are stopped, last one first, and all children start together', () => {
  expect(
    play(`
    .live s supervisor strategy=one_for_all
    .live a command under=s child=a restart=permanent
    .live b command under=s child=b restart=temporary
    .live c command under=s child=c restart=transient
    .report a exited 3
    released a
    .report c exited 0
    released c
    .report b exited 0
    released b
    wind 1000
  `),
  ).toMatchInlineSnapshot(`
    "
    > released a
    a.5 process.reaped
    s.12 supervisor.restarting a, 1 in the window, with b c
    a.6 process.resumed #5 by agent:s from step 0: restart 1 waits anew after exit code 3
    c.4 signal.sent SIGTERM by agent:s: default
    c.5 process.stopping SIGTERM by agent:s -> 143 SIGTERM from agent:s
      -> release channel a#2
      -> release context a#2
      -> release remove a#2
      -> driver.stop c#4 SIGTERM 10000
      == a pending
      == c stopping
    > released c
    c.7 process.reaped
    c.8 process.resumed #6 by agent:s from step 0: restart 0 waits anew after SIGTERM from agent:s
    b.4 signal.sent SIGTERM by agent:s: default
    b.5 process.stopping SIGTERM by agent:s -> 143 SIGTERM from agent:s
      -> release channel c#4
      -> release context c#4
      -> release remove c#4
      -> driver.stop b#3 SIGTERM 10000
      == c pending
      == b stopping
    > released b
    b.7 process.reaped
    s.17 supervisor.restarted
    a.7 restart.due later
    c.9 restart.due later
      -> release channel b#3
      -> release context b#3
      -> release remove b#3
      == b stopped
    > wind 1000
    tick a
    a.8 restart.due now
      -> start a#5
    tick c
    c.10 restart.due now
      -> start c#6
    "
  `)
})

test('if a child fails too often, all children are stopped, then the supervisor ends', () => {
  expect(
    play(`
    .live s supervisor max=1
    .live a command under=s child=a restart=permanent
    .live b command under=s child=b restart=permanent
    .live c command under=s child=c restart=permanent
    .report a exited 3
    .released a
    .wind 2000
    .start a
    .report a up
    .report a exited 4
    released a
    .report c exited 0
    released c
    .report b exited 0
    released b
    report s exited 0
  `),
  ).toMatchInlineSnapshot(`
    "
    > released a
    a.11 process.reaped
    s.15 supervisor.escalated a 2 times
    s.16 process.stopping SIGTERM by agent:s -> 1 child a ended 2 times within 60 s: exit code 4
    c.4 signal.sent SIGTERM by agent:s: default
    c.5 process.stopping SIGTERM by agent:s -> 143 SIGTERM from agent:s
      -> release channel a#5
      -> release context a#5
      -> release remove a#5
      -> driver.stop c#4 SIGTERM 10000
      == a failed
      == s stopping
      == c stopping
    > released c
    c.7 process.reaped
    b.4 signal.sent SIGTERM by agent:s: default
    b.5 process.stopping SIGTERM by agent:s -> 143 SIGTERM from agent:s
      -> release channel c#4
      -> release context c#4
      -> release remove c#4
      -> driver.stop b#3 SIGTERM 10000
      == c stopped
      == b stopping
    > released b
    b.7 process.reaped
      -> release channel b#3
      -> release context b#3
      -> release remove b#3
      -> driver.stop s#1 SIGTERM 10000
      == b stopped
    > report s exited 0
    s.21 process.exited 1 child a ended 2 times within 60 s: exit code 4 (agent)
      -> release cancel s#1
      -> release await s#1
      -> ack ok
      == s zombie
    "
  `)
})

test('the time limit of a supervisor is the exit reason of all its descendants', () => {
  expect(
    play(`
    .live s supervisor timeoutMs=50
    .live t supervisor under=s child=t
    .live a command under=t child=a
    wind 50
    .report a exited 0
    released a
    .report t exited 0
    released t
  `),
  ).toMatchInlineSnapshot(`
    "
    > wind 50
    tick s
    s.6 process.stopping SIGTERM by system -> 1 timed out
    t.6 signal.sent SIGTERM by agent:s: default
    t.7 process.stopping SIGTERM by agent:s -> 143 time limit of PID 1
    a.4 signal.sent SIGTERM by agent:t: default
    a.5 process.stopping SIGTERM by agent:t -> 143 time limit of PID 1
      -> driver.stop a#3 SIGTERM 10000
      == s stopping
      == t stopping
      == a stopping
    > released a
    a.7 process.reaped
      -> release channel a#3
      -> release context a#3
      -> release remove a#3
      -> driver.stop t#2 SIGTERM 10000
      == a stopped
    > released t
    t.11 process.reaped
      -> release channel t#2
      -> release context t#2
      -> release remove t#2
      -> driver.stop s#1 SIGTERM 10000
      == t stopped
    "
  `)
})

test('a stopped supervisor stops its children first; its resume restarts them, except those that the user killed', () => {
  expect(
    play(`
    .live s supervisor
    .live a command under=s child=a
    .live b command under=s child=b
    .signal SIGKILL b
    .report b exited SIGKILL
    .released b
    signal SIGTERM s
    .report a exited 0
    released a
    report s exited 0
    .released s
    .resume s
    start s
  `),
  ).toMatchInlineSnapshot(`
    "
    > signal SIGTERM s
    s.10 signal.sent SIGTERM by user: default
    s.11 process.stopping SIGTERM by user -> 143 SIGTERM from user
    a.4 signal.sent SIGTERM by agent:s: default
    a.5 process.stopping SIGTERM by agent:s -> 143 SIGTERM from agent:s
      -> done, 1 affected
      -> driver.stop a#2 SIGTERM 300
      == s stopping
      == a stopping
    > released a
    a.7 process.reaped
      -> release channel a#2
      -> release context a#2
      -> release remove a#2
      -> driver.stop s#1 SIGTERM 300
      == a stopped
    > report s exited 0
    s.14 process.exited 143 SIGTERM from user (person)
      -> release cancel s#1
      -> release await s#1
      -> ack ok
      == s zombie
    > start s
    s.17 process.started
    a.8 process.resumed #5 by agent:s from step 0: restart 0 waits anew after SIGTERM from agent:s
    a.9 restart.due now
      -> driver.start s#4
      -> start a#5
      == s starting
      == a pending
    "
  `)
})

test('a child that would only fail again is held, and a resume by the user starts it again', () => {
  expect(
    play(`
    .live s supervisor
    .live a command under=s child=a restart=permanent
    report a exited 1 error=401
    released a
    resume a
  `),
  ).toMatchInlineSnapshot(`
    "
    > report a exited 1 error=401
    s.6 child.spent a turns 1
    a.4 process.exited 1 401 (agent)
    s.7 child.exited a 1 401
      -> release cancel a#2
      -> release await a#2
      -> ack ok
      == a zombie
    > released a
    a.5 process.reaped
    s.8 supervisor.held a: 401
    a.6 process.resumed #3 by system from step 0: restart 0 waits anew after 401
    a.7 process.started unattached
    a.8 process.held supervisor/system
    s.9 child.suspended a supervisor/system
    a.9 process.note 401
      -> release channel a#2
      -> release context a#2
      -> release remove a#2
      == a suspended
    > resume a
    a.10 process.released supervisor/system
    s.10 child.resumed a by user
      -> start a#3
      -> done, 1 affected
      == a starting
    "
  `)
})

test('after a crash of the daemon only processes with a policy restart, and paused ones restart paused', () => {
  expect(
    play(`
    .live a command restart=transient
    .live b command
    .live c command restart=transient
    .signal SIGPAUSE c
    .live d command restart=transient
    .report d exited 2
    .released d
    boot a
    boot b
    boot c
    boot d
  `),
  ).toMatchInlineSnapshot(`
    "
    > boot a
    a.4 process.exited 1 interrupted (daemon)
    a.5 process.reaped
    a.6 process.resumed #6 by system from step 0: restart 0 now anew after interrupted
      -> release channel a#1
      -> release context a#1
      -> release remove a#1
      -> start a#6
      == a pending
    > boot b
    b.4 process.exited 1 interrupted (daemon)
    b.5 process.reaped
      -> release channel b#2
      -> release context b#2
      -> release remove b#2
      == b interrupted
    > boot c
    c.6 process.exited 1 interrupted (daemon)
    c.7 process.reaped
    c.8 process.resumed #7 by system from step 0: restart 0 now anew after interrupted
    c.9 process.started unattached
    c.10 process.held user/user
      -> release channel c#3
      -> release context c#3
      -> release remove c#3
    > boot d
    d.7 restart.due later
    "
  `)
})

test('after too many crashes of the daemon, automatic restarts are held', () => {
  expect(
    play(`
    .live a command restart=transient
    .live s supervisor
    .live x command under=s child=x
    .live d command restart=transient
    .report d exited 2
    .released d
    boot a crashloop
    boot s crashloop
    boot x crashloop
    boot d crashloop
    resume s
    start s
  `),
  ).toMatchInlineSnapshot(`
    "
    > boot a crashloop
    a.4 process.exited 1 interrupted (daemon)
    a.5 process.reaped
    a.6 process.resumed #6 by system from step 0: restart 0 now anew after interrupted
    a.7 process.started unattached
    a.8 process.held daemon-crash/system
      -> release channel a#1
      -> release context a#1
      -> release remove a#1
      == a suspended
    > boot s crashloop
    s.6 child.spent x turns 1
    x.4 process.reparented to PID 0
    s.7 process.exited 1 interrupted (daemon)
    s.8 process.reaped
    s.9 process.resumed #7 by system from step 0: restart 0 now after interrupted
    x.5 process.reparented to s
    s.10 process.started unattached
    s.11 process.held daemon-crash/system
      -> release channel s#2
      -> release context s#2
      -> release remove s#2
      == s suspended
    > boot x crashloop
    x.6 process.exited 1 interrupted (daemon)
    x.7 process.reaped
    x.8 process.resumed #8 by agent:s from step 0: restart 0 waits anew after interrupted
      -> release channel x#3
      -> release context x#3
      -> release remove x#3
      == x pending
    > boot d crashloop
    d.7 process.started unattached
    d.8 process.held daemon-crash/system
      == d suspended
    > resume s
    s.12 process.released daemon-crash/system
      -> start s#7
      -> done, 1 affected
      == s starting
    > start s
    s.13 process.attached
    x.9 restart.due now
      -> driver.start s#7
      -> start x#8
    "
  `)
})

test('a suspended supervisor restarts no child; when it resumes, it continues with the stop of the siblings', () => {
  expect(
    play(`
    .live s supervisor strategy=one_for_all
    .live a command under=s child=a restart=permanent
    .live b command under=s child=b restart=permanent
    .signal SIGPAUSE s
    .report a exited 3
    released a
    .wind 100000
    resume s
  `),
  ).toMatchInlineSnapshot(`
    "
    > released a
    a.5 process.reaped
    s.13 supervisor.restarting a, 1 in the window, with b
    a.6 process.resumed #4 by agent:s from step 0: restart 1 waits anew after exit code 3
      -> release channel a#2
      -> release context a#2
      -> release remove a#2
      == a pending
    > resume s
    s.14 process.released user/user
    b.4 signal.sent SIGTERM by agent:s: default
    b.5 process.stopping SIGTERM by agent:s -> 143 SIGTERM from agent:s
      -> driver.unpause s#1
      -> done, 1 affected
      -> driver.stop b#3 SIGTERM 10000
      == s ready
      == b stopping
    "
  `)
})

test('a child that blocks the stop by its supervisor is stopped 10 s later', () => {
  const player = new TranscriptPlayer()
  player.play(`
    .live s supervisor strategy=one_for_all
    .live a under=s child=a restart=permanent
    .live b under=s child=b restart=permanent
    .mask b SIGTERM
    .report a exited 3
    .released a
  `)
  expect(player.play('wind 10000')).toMatchInlineSnapshot(`
    "
    > wind 10000
    tick b
    b.10 signal.unpended SIGTERM
    b.11 signal.sent SIGTERM by agent:s: default
    b.12 process.stopping SIGTERM by agent:s -> 143 SIGTERM from agent:s
      -> driver.stop b#3 SIGTERM 10000
      == b stopping
    "
  `)
})

test('a process that restarts after its completion starts fresh, without its earlier context', () => {
  const player = new TranscriptPlayer()
  expect(
    player.play(`
    .live a restart=permanent
    .report a model 1
    .report a answer 1
    .report a ended 1
    released a
  `),
  ).toMatchInlineSnapshot(`
    "
    > released a
    a.11 process.reaped
    a.12 process.resumed #2 by system from step 1: restart 1 later anew after completed
    a.13 process.queue intent
      -> release channel a#1
      -> release context a#1
      -> release remove a#1
      == a pending
    "
  `)
  const row = player.world.row('a')
  expect(row?.context?.ranges).toEqual([
    [row?.queue[0]?.seq === undefined ? 0 : row.queue[0].seq - 1, row?.queue[0]?.seq === undefined ? 0 : row.queue[0].seq - 1],
  ])
})

test('children are added and removed while their supervisor runs, and ids are unique', () => {
  expect(
    play(`
    .live s supervisor
    .live a command under=s child=x
    spawn b command under=s child=x
    spawn b command under=s
    spawn b command child=y
    removeChild s nobody
    removeChild s x via=web:7f3a
    .report a exited 1
    released a
    spawn c command under=s child=x
  `),
  ).toMatchInlineSnapshot(`
    "
    > spawn b command under=s child=x
      -> refused CONFLICT: the supervisor has a child "x"
    > spawn b command under=s
      -> refused INVALID: a child of a supervisor needs an id among its children
    > spawn b command child=y
      -> refused INVALID: only a supervisor has children with ids, and PID 0 is not one
    > removeChild s nobody
      -> refused NOT_FOUND: process 1 has no child "nobody"
    > removeChild s x via=web:7f3a
    s.6 supervisor.removed x a
    a.4 signal.sent SIGTERM by user via web:7f3a: default
    a.5 process.stopping SIGTERM by user -> 143 SIGTERM from user
      -> driver.stop a#2 SIGTERM 10000
      -> done, 1 affected
      == a stopping
    > released a
    a.7 process.reaped
      -> release channel a#2
      -> release context a#2
      -> release remove a#2
      == a stopped
    > spawn c command under=s child=x
    c.1 process.spawned #3 under s
    s.9 child.spawned c
    s.10 supervisor.added x c transient
      -> done, 1 affected
      -> start c#3
      == c pending
    "
  `)
})

test('after the user has killed a whole subtree, no process restarts', () => {
  expect(
    play(`
    .live s supervisor
    .live a command under=s child=a restart=permanent
    signal SIGKILL s subtree
    .report a exited SIGKILL
    released a
    report s exited 0
    .released s
    .resume s
    start s
  `),
  ).toMatchInlineSnapshot(`
    "
    > signal SIGKILL s subtree
    a.4 signal.sent SIGKILL by user root s: default
    a.5 process.stopping SIGKILL by user -> 137 SIGKILL from user
    s.6 signal.sent SIGKILL by user root s: default
    s.7 process.stopping SIGKILL by user -> 137 SIGKILL from user
    a.6 signal.sent SIGKILL by agent:s: default
      -> driver.stop a#2 SIGKILL 0
      -> done, 2 affected
      -> driver.stop a#2 SIGKILL 0
      == a stopping
      == s stopping
    > released a
    a.8 process.reaped
      -> release channel a#2
      -> release context a#2
      -> release remove a#2
      -> driver.stop s#1 SIGTERM 0
      == a stopped
    > report s exited 0
    s.10 process.exited 137 SIGKILL from user (person)
      -> release cancel s#1
      -> release await s#1
      -> ack ok
      == s zombie
    > start s
    s.13 process.started
      -> driver.start s#3
      == s starting
    "
  `)
})

test('a supervisor that gave up is restarted by its own supervisor, with its children and a new count', () => {
  const player = new TranscriptPlayer()
  expect(
    player.play(`
    .live o supervisor
    .live i supervisor under=o child=i max=0
    .live a command under=i child=a restart=permanent
    .live b command under=i child=b
    .report a exited 3
    released a
    .report b exited 0
    released b
    .report i exited 0
    released i
    .wind 1000
    start i
  `),
  ).toMatchInlineSnapshot(`
    "
    > released a
    a.5 process.reaped
    i.10 supervisor.escalated a 1 times
    i.11 process.stopping SIGTERM by agent:i -> 1 child a ended once within 60 s: exit code 3
    b.4 signal.sent SIGTERM by agent:i: default
    b.5 process.stopping SIGTERM by agent:i -> 143 SIGTERM from agent:i
      -> release channel a#3
      -> release context a#3
      -> release remove a#3
      -> driver.stop b#4 SIGTERM 10000
      == a failed
      == i stopping
      == b stopping
    > released b
    b.7 process.reaped
      -> release channel b#4
      -> release context b#4
      -> release remove b#4
      -> driver.stop i#2 SIGTERM 10000
      == b stopped
    > released i
    i.15 process.reaped
    o.8 supervisor.restarting i, 1 in the window
    i.16 process.resumed #5 by agent:o from step 0: restart 1 later after child a ended once within 60 s: exit code 3
      -> release channel i#2
      -> release context i#2
      -> release remove i#2
      == i pending
    > start i
    i.18 process.started
    a.6 process.resumed #6 by agent:i from step 0: restart 0 waits anew after exit code 3
    b.8 process.resumed #7 by agent:i from step 0: restart 0 waits anew after SIGTERM from agent:i
    a.7 restart.due now
    b.9 restart.due now
      -> driver.start i#5
      -> start a#6
      -> start b#7
      == i starting
      == a pending
      == b pending
    "
  `)
  expect(player.world.row('i')?.supervision?.children.map(({ id, restarts }) => [id, restarts])).toEqual([
    ['a', undefined],
    ['b', undefined],
  ])
})

test('a child without a name is named after its supervisor and id, unless another process has that name', () => {
  const player = new TranscriptPlayer()
  player.play(
    'live s supervisor named=team\nlive a command under=s child=web\nlive b command named=team.db\nlive c command under=s child=db\nlive d command under=s child=own named=other',
  )
  expect(['a', 'c', 'd'].map((uuid) => player.world.row(uuid)?.spec.name)).toEqual(['team.web', null, 'other'])
})
