// Members that join, leave and return, as transcripts: killed, failed, retired, replaced, stopped and paused, also after a daemon
// crash. apply.test.ts covers tasks.
import { expect, test } from 'vitest'
import { TranscriptPlayer, play } from '../../../../support/kernel/transcript.ts'

/** A crew with one ready worker (`ONE_WORKER`), or two (`TWO_WORKERS`). */
const ONE_WORKER = `
    .live crew c staff=generic:1
    .live member w1 of=c id=worker-1`
const TWO_WORKERS = `
    .live crew c staff=generic:2 max=2
    .live member w1 of=c id=worker-1
    .live member w2 of=c id=worker-2`

test('a member killed by the user does not come back: its task goes to a new worker', () => {
  expect(
    play(`${ONE_WORKER}
    .say c add_task id=one
    .done c prepare
    signal SIGKILL w1
    report w1 exited SIGKILL
    released w1
  `),
  ).toMatchInlineSnapshot(`
    "
    > signal SIGKILL w1
    w1.7 signal.sent SIGKILL by user: default
    w1.8 process.stopping SIGKILL by user -> 137 SIGKILL from user
      -> driver.stop w1#2 SIGKILL 0
      -> done, 1 affected
      == w1 stopping
    > report w1 exited SIGKILL
    c.18 child.spent w1 turns 1
    w1.9 process.exited 137 SIGKILL from user (person)
    c.19 child.exited w1 137 SIGKILL from user
      -> release cancel w1#2
      -> release await w1#2
      -> ack ok
      == w1 zombie
    > released w1
    w1.10 process.reaped
    c.20 supervisor.removed worker-1 w1
    c.21 crew.left worker-1, how stopped, reason SIGKILL from user
    c.22 task.requeued one, reason worker-1 was stopped by the user: SIGKILL from user, counts false
    c.23 crew.job 3 salvage worker-1 one
    c.24 crew.member worker-2, role generic
    c.25 crew.job 4 spawn worker-2
    c.26 process.error worker-1 was stopped by the user: SIGKILL from user
      -> release channel w1#2
      -> release context w1#2
      -> release remove w1#2
      -> job 3 salvage worker-1 one
      -> job 4 spawn worker-2
      == w1 stopped
    "
  `)
})

test('a failed member is restarted and continues its turn; one that keeps failing is lost, and the crew continues', () => {
  expect(
    play(`${ONE_WORKER}
    .say c add_task id=one
    .done c prepare
    .report w1 exited 1 error=boom
    released w1
    .wind 2000
    .start w1
    report w1 up
    .report w1 exited 1 error=boom
    .released w1
    .wind 4000
    .start w1
    .report w1 up
    .report w1 exited 1 error=boom
    released w1
  `),
  ).toMatchInlineSnapshot(`
    "
    > released w1
    w1.8 process.reaped
    c.20 supervisor.restarting worker-1, 1 in the window
    w1.9 process.resumed #3 by agent:c from step 0: restart 1 later after boom
      -> release channel w1#2
      -> release context w1#2
      -> release remove w1#2
      == w1 pending
    > report w1 up
    w1.12 process.ready turn 1
    w1.13 process.working turn 1
      -> ack ok
      -> driver.proceed w1#3 turn 1
      == w1 working
    > released w1
    w1.22 process.reaped
    c.24 supervisor.removed worker-1 w1
    c.25 crew.left worker-1, how lost, reason boom (3 times in a row)
    c.26 task.requeued one, reason worker-1 was lost: boom (3 times in a row), counts true
    c.27 crew.job 3 salvage worker-1 one
    c.28 crew.member worker-2, role generic
    c.29 crew.job 4 spawn worker-2
    c.30 process.error worker-1 was lost: boom (3 times in a row)
      -> release channel w1#4
      -> release context w1#4
      -> release remove w1#4
      -> job 3 salvage worker-1 one
      -> job 4 spawn worker-2
      == w1 failed
    "
  `)
})

test('the daemon dies during a commit: the crew comes back, then its members, masked as before', () => {
  expect(
    play(`${TWO_WORKERS}
    .say c add_task id=one
    .done c prepare base=b0
    .say c report_implementation_complete summary=did by=agent:w1
    .report w1 ended 1
    .done c brief
    .say c report_review_verdict verdict=APPROVED comments=good by=agent:w2
    .report w2 ended 1
    .done c check
    .say c add_task id=two
    boot c
    boot w1
    boot w2
    start c
    report c up
    start w1
    report w1 up
  `),
  ).toMatchInlineSnapshot(`
    "
    > boot c
    c.45 child.spent w2 turns 1
    w2.8 process.reparented to PID 0
    c.46 child.spent w1 turns 2
    w1.12 process.reparented to PID 0
    c.47 process.exited 1 interrupted (daemon)
    c.48 process.reaped
    c.49 process.resumed #4 by system from step 0: restart 0 now after interrupted
    w2.9 process.reparented to c
    w1.13 process.reparented to c
      -> release channel c#1
      -> release context c#1
      -> release remove c#1
      -> start c#4
      == c pending
    > boot w1
    w1.14 process.exited 1 interrupted (daemon)
    w1.15 process.reaped
    w1.16 process.resumed #5 by agent:c from step 0: restart 0 waits after interrupted
      -> release channel w1#2
      -> release context w1#2
      -> release remove w1#2
      == w1 pending
    > boot w2
    w2.10 process.exited 1 interrupted (daemon)
    w2.11 process.reaped
    w2.12 process.resumed #6 by agent:c from step 0: restart 0 waits after interrupted
      -> release channel w2#3
      -> release context w2#3
      -> release remove w2#3
      == w2 pending
    > start c
    c.50 process.started
    w1.17 restart.due now
    w2.13 restart.due now
      -> driver.start c#4
      -> start w1#5
      -> start w2#6
      == c starting
    > report c up
    c.51 process.ready turn 0
      -> ack ok
      -> job 6 prepare worker-2 two
      == c ready
    > start w1
    w1.18 process.started
    w1.19 signal.masked SIGTERM SIGPAUSE
      -> driver.start w1#5
      == w1 starting
    > report w1 up
    w1.20 process.ready turn 2
    w1.21 process.working turn 2
      -> ack ok
      -> driver.proceed w1#5 turn 2
      == w1 working
    "
  `)
})

test('a job that was open when the daemon died is requested again, and its second answer changes nothing', () => {
  expect(
    play(`${ONE_WORKER}
    .say c add_task id=one
    .boot c
    .boot w1
    .start c
    report c up
    done c 2 prepared base=b0
    done c 2 prepared base=b1
    .start w1
    report w1 up
  `),
  ).toMatchInlineSnapshot(`
    "
    > report c up
    c.18 process.ready turn 0
      -> ack ok
      -> job 2 prepare worker-1 one
      == c ready
    > done c 2 prepared base=b0
    c.19 crew.job.done job 2, result prepared
    c.20 task.prepared one, base b0
    c.21 crew.sent message 1, to worker-1, from coordinator, one
    w1.10 process.queue 1
      -> done, 1 affected: noted
    > done c 2 prepared base=b1
      -> done, 1 affected: late: nothing was changed
    > report w1 up
    w1.12 process.ready turn 0
    w1.13 process.incoming 1 turn 1
    w1.14 process.working turn 1 1
    c.22 crew.turn.begun worker-1, turn 1, resets true
      -> ack ok
      -> driver.deliver w1#4 1 turn 1
      == w1 working
    "
  `)
})

test('a paused subtree accepts reports and keeps messages, and assigns nothing before its resume', () => {
  expect(
    play(`${TWO_WORKERS}
    .say c add_task id=one
    .done c prepare base=b0
    signal SIGPAUSE c subtree
    say c report_implementation_complete summary=did by=agent:w1
    say c send_message to=worker-2 text=hello
    say c add_task id=two
    resume c subtree
  `),
  ).toMatchInlineSnapshot(`
    "
    > signal SIGPAUSE c subtree
    w2.4 signal.sent SIGPAUSE by user root c: default
    w2.5 process.held subtree(c)/user
    c.24 child.suspended w2 subtree/user
    w2.6 process.drained
    w1.7 signal.sent SIGPAUSE by user root c: default
    w1.8 process.held subtree(c)/user
    c.25 child.suspended w1 subtree/user
    c.26 signal.sent SIGPAUSE by user root c: default
    c.27 process.held subtree(c)/user
    c.28 process.drained
    c.29 crew.held worker-2, held true, reason subtree
    c.30 crew.held worker-1, held true, reason subtree
      -> driver.pause w2#3
      -> driver.pause w1#2
      -> driver.pause c#1
      -> done, 3 affected
      == w2 suspended
      == c suspended
      == w1 suspended
    > say c report_implementation_complete summary=did by=agent:w1
    c.31 task.reported one, worker-1, summary did
    c.32 crew.heard worker-1, call null, tool report_implementation_complete
      -> done, 1 affected: one "the one" awaits its review; end your turn
    > say c send_message to=worker-2 text=hello
    c.33 crew.sent message 2, to worker-2, from user
    w2.7 process.queue 2
      -> done, 1 affected: sent to worker-2
    > say c add_task id=two
    c.34 task.added two, kind work, needs, role null, reviews true
      -> done, 1 affected: added two
    > resume c subtree
    c.35 process.released subtree(c)/user
    w2.8 process.released subtree(c)/user
    c.36 child.resumed w2 by user
    w1.9 process.released subtree(c)/user
    c.37 child.resumed w1 by user
    c.38 crew.held worker-2, held false
    c.39 task.review one, worker-2
    c.40 crew.job 4 brief worker-2 one
    w2.9 process.incoming 2 turn 1
    w2.10 process.working turn 1 2
    c.41 crew.held worker-1, held false
    c.42 crew.turn.begun worker-2, turn 1, resets true
      -> driver.unpause c#1
      -> driver.unpause w2#3
      -> driver.unpause w1#2
      -> done, 3 affected
      -> job 4 brief worker-2 one
      -> driver.deliver w2#3 2 turn 1
      == c ready
      == w2 working
      == w1 working
    "
  `)
})

test('a crew that the user paused stays paused over a restart of the daemon, and continues after a resume', () => {
  expect(
    play(`${ONE_WORKER}
    .signal SIGPAUSE c subtree
    .say c add_task id=one
    boot c
    boot w1
    resume c subtree
    start c
    report c up
    start w1
  `),
  ).toMatchInlineSnapshot(`
    "
    > boot c
    c.17 process.rehydrated #3
    > boot w1
    w1.7 process.rehydrated #4
    > resume c subtree
    c.18 process.released subtree(c)/user
    w1.8 process.released subtree(c)/user
    c.19 child.resumed w1 by user
    c.20 crew.held worker-1, held false
      -> start c#3
      -> start w1#4
      -> done, 2 affected
      == c starting
      == w1 starting
    > start c
    c.21 process.attached
      -> driver.start c#3
    > report c up
    c.22 process.ready turn 0
    c.23 task.assigned one, worker-1
    c.24 crew.job 2 prepare worker-1 one
      -> ack ok
      -> job 2 prepare worker-1 one
      == c ready
    > start w1
    w1.9 process.attached
      -> driver.start w1#4
    "
  `)
})

test('a retired member leaves for good and its unread messages go back; a stopped one keeps them and rejoins after a resume', () => {
  expect(
    play(`
    .live crew c coordinator=agent staff=generic:2 stay
    .live member k of=c id=coordinator
    .live member w1 of=c id=worker-1
    .live member w2 of=c id=worker-2
    .signal SIGPAUSE w1
    .signal SIGPAUSE w2
    .say c send_message to=worker-1 text=hello by=agent:k
    .say c send_message to=worker-2 text=hello by=agent:k
    .report k ended 1
    say c retire_worker member=worker-1 reason=enough
    .report w1 exited 0
    released w1
    moved c w1
    say c stop_worker member=worker-2 reason=later
    .report w2 exited 0
    released w2
    .resume w2
    .start w2
    report w2 up
  `),
  ).toMatchInlineSnapshot(`
    "
    > say c retire_worker member=worker-1 reason=enough
    c.37 crew.leaving worker-1, how retired, reason enough
    w1.9 process.retired
    w1.10 signal.sent SIGTERM by agent:c: default
    w1.11 process.stopping SIGTERM by agent:c -> 0 retired
      -> driver.stop w1#3 SIGKILL 0
      -> done, 1 affected: worker-1 is retired
      == w1 stopping
    > released w1
    w1.13 process.reaped
    c.38 supervisor.removed worker-1 w1
    c.39 crew.left worker-1, how retired, reason enough
      -> release channel w1#3
      -> release context w1#3
      -> release remove w1#3
      -> move w1 to its senders
      == w1 retired
    > moved c w1
    w1.14 message.taken
    k.15 process.queue back-worker-1-4
    > say c stop_worker member=worker-2 reason=later
    c.40 crew.leaving worker-2, how stopped, reason later
    w2.9 signal.sent SIGTERM by agent:c: default
    w2.10 process.stopping SIGTERM by agent:c -> 1 context cancelled while paused
      -> driver.stop w2#4 SIGKILL 0
      -> done, 1 affected: worker-2 is stopped
      == w2 stopping
    > released w2
    w2.12 process.reaped
    c.41 supervisor.removed worker-2 w2
    c.42 crew.left worker-2, how stopped, reason later
      -> release channel w2#4
      -> release context w2#4
      -> release remove w2#4
      == w2 stopped
    > report w2 up
    w2.17 process.ready turn 0
    w2.18 process.incoming 5 turn 1
    w2.19 process.working turn 1 5
    c.45 crew.turn.begun worker-2, turn 1, resets true
      -> ack ok
      -> driver.deliver w2#5 5 turn 1
      == w2 working
    "
  `)
})

test('a successor gets the queued messages in order, and its predecessor leaves when it is running', () => {
  expect(
    play(`${ONE_WORKER}
    .signal SIGPAUSE w1
    .say c send_message to=worker-1 text=hello
    .say c send_message to=worker-1 text=again
    say c replace_worker member=worker-1 summary=halfway
    member w2 of=c id=worker-2
    moved c w1,c to=w2 all
    moved c w1,c to=w2 all
    start w2
    report w2 up
  `),
  ).toMatchInlineSnapshot(`
    "
    > say c replace_worker member=worker-1 summary=halfway
    c.15 crew.member worker-2, role generic
    c.16 crew.job 2 spawn worker-2
    c.17 crew.replaced worker-1, heir worker-2, summary halfway
      -> job 2 spawn worker-2
      -> done, 1 affected: worker-2 takes over from worker-1, which leaves as soon as worker-2 is running
    > member w2 of=c id=worker-2
    w2.1 process.spawned #3 under c
    c.18 child.spawned w2
    c.19 supervisor.added worker-2 w2 transient
    c.20 crew.job.done job 2, result spawned
    c.21 crew.joined worker-2, process w2, inherits true
    c.22 crew.sent message 3, to worker-2, from system
    c.23 crew.leaving worker-1, how replaced, reason worker-2 took over
    w2.2 process.queue 3
    w1.9 process.retired
    w1.10 signal.sent SIGTERM by agent:c: default
    w1.11 process.stopping SIGTERM by agent:c -> 0 retired
      -> done, 1 affected
      -> start w2#3
      -> move w1, c to w2
      -> driver.stop w1#2 SIGKILL 0
      == w2 pending
      == w1 stopping
    > moved c w1,c to=w2 all
    w1.12 message.taken
    w2.3 process.queue 1
    w1.13 message.taken
    w2.4 process.queue 2
    c.24 crew.inherited worker-2
    > moved c w1,c to=w2 all
    > start w2
    w2.5 process.started
      -> driver.start w2#3
      == w2 starting
    > report w2 up
    w2.6 process.ready turn 0
    w2.7 process.incoming 3 turn 1
    w2.8 process.working turn 1 3
    c.25 crew.turn.begun worker-2, turn 1, resets false
      -> ack ok
      -> driver.deliver w2#3 3 turn 1
      == w2 working
    "
  `)
})

test('a completed crew is not resumed', () => {
  expect(
    play(`${ONE_WORKER}
    .say c complete_crew outcome=cancelled summary=enough
    .report w1 exited 0
    .released w1
    .report c exited 0
    .released c
    resume c
    resume c rerun
  `),
  ).toMatchInlineSnapshot(`
    "
    > resume c
      -> refused NOT_RESUMABLE: the crew is done, and its members have left; \`reeve crew up\` with the same name and tasks takes over the finished tasks
    > resume c rerun
      -> refused NOT_RESUMABLE: the crew is done, and its members have left; \`reeve crew up\` with the same name and tasks takes over the finished tasks
    "
  `)
})

test('a crew stopped by the user stops its members first, and they come back with it', () => {
  expect(
    play(`${ONE_WORKER}
    .say c add_task id=one
    .done c prepare
    signal SIGTERM c
    .report w1 exited 0
    released w1
    .report c exited 0
    released c
    resume c
    start c
  `),
  ).toMatchInlineSnapshot(`
    "
    > signal SIGTERM c
    c.18 signal.sent SIGTERM by user: default
    c.19 process.stopping SIGTERM by user -> 143 SIGTERM from user
    w1.7 signal.sent SIGTERM by agent:c: default
    w1.8 process.stopping SIGTERM by agent:c -> 143 SIGTERM from agent:c
      -> done, 1 affected
      -> driver.stop w1#2 SIGTERM 300
      == c stopping
      == w1 stopping
    > released w1
    w1.10 process.reaped
      -> release channel w1#2
      -> release context w1#2
      -> release remove w1#2
      -> driver.stop c#1 SIGTERM 300
      == w1 stopped
    > released c
    c.23 process.reaped
      -> release channel c#1
      -> release context c#1
      -> release remove c#1
      == c stopped
    > resume c
    c.24 process.resumed #3 by user from step 0
      -> done, 1 affected
      -> start c#3
      == c pending
    > start c
    c.25 process.started
    w1.11 process.resumed #4 by agent:c from step 0: restart 0 waits after SIGTERM from agent:c
    w1.12 restart.due now
      -> driver.start c#3
      -> start w1#4
      == c starting
      == w1 pending
    "
  `)
})

test('a killed member that the user resumes while the crew is not running rejoins when the crew starts', () => {
  expect(
    play(`${TWO_WORKERS}
    .signal SIGKILL w2
    .report w2 exited 0
    .released w2
    .signal SIGTERM c
    .report w1 exited 0
    .released w1
    .report c exited 0
    .released c
    .resume w2
    .start w2
    .report w2 up
    .resume c
    start c
  `),
  ).toMatchInlineSnapshot(`
    "
    > start c
    c.27 process.started
    w1.8 process.resumed #6 by agent:c from step 0: restart 0 waits after SIGTERM from agent:c
    c.28 crew.joined worker-2, process w2
    c.29 supervisor.added worker-2 w2 transient
    w1.9 restart.due now
      -> driver.start c#5
      -> start w1#6
      == c starting
      == w1 pending
    "
  `)
})

test('messages to a member that ended before its crew are kept, and read when both are back', () => {
  expect(
    play(`${TWO_WORKERS}
    .say c add_task id=one
    .done c prepare
    .say c report_implementation_complete summary=did by=agent:w1
    .report w1 ended 1
    .signal SIGTERM c
    .report w2 exited 0
    .released w2
    done c brief
    .report w1 exited 0
    .released w1
    .report c exited 0
    .released c
    .resume c
    start c
    moved c c to=w2
    moved c c to=w2
    .report c up
    .start w2
    report w2 up
  `),
  ).toMatchInlineSnapshot(`
    "
    > done c brief
    c.32 crew.job.done job 4, result briefed
    c.33 task.briefed one, head head
    c.34 crew.sent message 2, to worker-2, from coordinator, one
    c.35 process.queue worker-2/2
      -> done, 1 affected: noted
    > start c
    c.41 process.started
    w1.12 process.resumed #5 by agent:c from step 0: restart 0 waits after SIGTERM from agent:c
    w2.8 process.resumed #6 by agent:c from step 0: restart 0 waits after SIGTERM from agent:c
    w1.13 restart.due now
    w2.9 restart.due now
      -> driver.start c#4
      -> start w1#5
      -> start w2#6
      -> move c to w2
      == c starting
      == w1 pending
      == w2 pending
    > moved c c to=w2
    c.42 message.taken
    w2.10 process.queue 2
    > moved c c to=w2
    > report w2 up
    w2.12 process.ready turn 0
    w2.13 process.incoming 2 turn 1
    w2.14 process.working turn 1 2
    c.44 crew.turn.begun worker-2, turn 1, resets true
      -> ack ok
      -> driver.deliver w2#6 2 turn 1
      == w2 working
    "
  `)
})

test('a nearly full context is reported to the crew once, and its member gets a message about it', () => {
  expect(
    play(`
    .live crew c staff=generic:1 stay
    .live member w1 of=c id=worker-1
    .say c add_task id=one
    .done c prepare
    .report w1 model 1
    report w1 answer 1 tokens=70 out=5 cost=2
    report w1 usage context=95 window=100
    report w1 usage context=97 window=100
    .say c report_implementation_complete summary=did by=agent:w1
    report w1 ended 1
  `),
  ).toMatchInlineSnapshot(`
    "
    > report w1 answer 1 tokens=70 out=5 cost=2
    w1.8 model.finished 1
      -> ack ok
    > report w1 usage context=95 window=100
    w1.9 usage.reported 10 tokens
    w1.10 limit.warned context 95 of 100
    c.18 crew.full worker-1, share 0.95
    c.19 crew.sent message 2, to worker-1, from system
    w1.11 process.queue 2
      -> ack ok
    > report w1 usage context=97 window=100
    w1.12 usage.reported 10 tokens
      -> ack ok
    > report w1 ended 1
    w1.13 process.ready turn 1 ok
    c.24 crew.turn worker-1, turn 1, outcome ok, end complete, queued 1, one
    w1.14 process.incoming 2 turn 2
    w1.15 process.working turn 2 2
    c.25 crew.turn.begun worker-1, turn 2, resets false
      -> ack ok
      -> driver.deliver w1#2 2 turn 2
    "
  `)
})

test('a stopped member is ready after a resume: its turn ended as interrupted, because its task was reassigned', () => {
  for (const ending of [
    'signal SIGTERM w1',
    'say c stop_worker member=worker-1 reason=slow',
    'say c retire_worker member=worker-1 reason=slow',
  ]) {
    const player = new TranscriptPlayer()
    player.play(
      `${TWO_WORKERS}\n.say c add_task id=one\n.done c prepare\n.report w1 model 1\n.report w1 answer 1 calls=c1\n.${ending}\n.report w1 exited SIGTERM\n.released w1`,
    )
    expect(player.world.row('w1')?.progress.turnOpen).toBe(true)
    player.play('.resume w1\n.start w1\n.report w1 up')
    expect(player.world.row('w1')).toMatchObject({ progress: { turnOpen: false, openCalls: [] }, life: { activity: 'ready' } })
  }
})

test('a member that is resumed with its task continues its turn', () => {
  const player = new TranscriptPlayer()
  player.play(
    `${TWO_WORKERS}\n.say c add_task id=one\n.done c prepare\n.boot c\n.boot w1\n.start c\n.report c up\n.start w1\n.report w1 up`,
  )
  expect(player.world.row('w1')).toMatchObject({ progress: { turnOpen: true }, life: { activity: 'working' } })
})

test('a stopped member can be retired: its unread messages go back, and its files may be removed', () => {
  const STOPPED = `${TWO_WORKERS}\n.send w1\n.send w1\n.signal SIGTERM w1\n.report w1 exited SIGTERM\n.released w1`
  expect(play(`${STOPPED}\nsay c retire_worker member=worker-1 reason=enough\nsay c retire_worker member=worker-1 reason=enough`))
    .toMatchInlineSnapshot(`
    "
    > say c retire_worker member=worker-1 reason=enough
    c.23 crew.left worker-1, how retired, reason enough
      -> retire w1
      -> move w1 to its senders
      -> done, 1 affected: worker-1 is retired
    > say c retire_worker member=worker-1 reason=enough
      -> refused CONFLICT: worker-1 has left the crew
    "
  `)
})
