// Crews as transcripts: the results of commands and of members' facts, in the crew's journal and outside it.
import { expect, test } from 'vitest'
import { play } from '../../../../support/kernel/transcript.ts'

/** A crew with one ready worker (`ONE_WORKER`), or two (`TWO_WORKERS`). */
const ONE_WORKER = `
    .live crew c staff=generic:1
    .live member w1 of=c id=worker-1`
const TWO_WORKERS = `
    .live crew c staff=generic:2 max=2
    .live member w1 of=c id=worker-1
    .live member w2 of=c id=worker-2`

test('the crew requests its members when it starts; a member is known with the commit of its spawn', () => {
  expect(
    play(`
    crew c staff=generic:1,reviewer:1
    start c
    report c up
    member w1 of=c id=worker-1
    member w2 of=c id=worker-2
    done c 2 error
  `),
  ).toMatchInlineSnapshot(`
    "
    > crew c staff=generic:1,reviewer:1
    c.1 process.spawned #1
      -> done, 1 affected
      -> start c#1
      == c pending
    > start c
    c.2 process.started
      -> driver.start c#1
      == c starting
    > report c up
    c.3 process.ready turn 0
    c.4 crew.begun
    c.5 crew.member worker-1, role generic
    c.6 crew.job 1 spawn worker-1
    c.7 crew.member worker-2, role reviewer
    c.8 crew.job 2 spawn worker-2
      -> ack ok
      -> job 1 spawn worker-1
      -> job 2 spawn worker-2
      == c ready
    > member w1 of=c id=worker-1
    w1.1 process.spawned #2 under c
    c.9 child.spawned w1
    c.10 supervisor.added worker-1 w1 transient
    c.11 crew.job.done job 1, result spawned
    c.12 crew.joined worker-1, process w1
      -> done, 1 affected
      -> start w1#2
      == w1 pending
    > member w2 of=c id=worker-2
    w2.1 process.spawned #3 under c
    c.13 child.spawned w2
    c.14 supervisor.added worker-2 w2 transient
    c.15 crew.job.done job 2, result spawned
    c.16 crew.joined worker-2, process w2
      -> done, 1 affected
      -> start w2#3
      == w2 pending
    > done c 2 error
      -> done, 1 affected: late: nothing was changed
    "
  `)
})

test('what a command of the page asks for has its session, and what follows from it has not', () => {
  expect(
    play(`${ONE_WORKER}
    say c add_task id=one via=web:7f3a
    say c send_message to=worker-1 text=hello via=web:7f3a
    say c cancel_task task=one reason=no requeue=false via=web:7f3a
    say c notify_user text=hello
  `),
  ).toMatchInlineSnapshot(`
    "
    > say c add_task id=one via=web:7f3a
    c.11 task.added one, kind work, needs, role null, reviews true, via web:7f3a
    c.12 task.assigned one, worker-1
    c.13 crew.job 2 prepare worker-1 one
      -> job 2 prepare worker-1 one
      -> done, 1 affected: added one
    > say c send_message to=worker-1 text=hello via=web:7f3a
    c.14 crew.sent message 1, to worker-1, from user, via web:7f3a
    w1.4 process.queue 1
      -> done, 1 affected: sent to worker-1
    > say c cancel_task task=one reason=no requeue=false via=web:7f3a
    c.15 task.cancelled one, reason no, via web:7f3a
    c.16 crew.ending outcome completed, summary 0 of 1 tasks are done, 1 cancelled
    c.17 crew.ended
    w1.5 process.retired
    c.18 process.ready turn 0 ok
    c.19 process.stopping SIGTERM by system -> 0 completed
    w1.6 signal.sent SIGTERM by agent:c: default
    w1.7 process.stopping SIGTERM by agent:c -> 0 retired
      -> done, 1 affected: one "the one" is cancelled
      -> driver.stop w1#2 SIGTERM 10000
      == c stopping
      == w1 stopping
    > say c notify_user text=hello
    c.20 crew.notified
    c.21 process.note hello
      -> done, 1 affected: the user is notified
    "
  `)
})

test('tasks added before the start wait', () => {
  expect(
    play(`
    .crew c staff=generic:1
    say c add_task id=one
    say c add_task id=ask kind=human
    .start c
    report c up
    live member w1 of=c id=worker-1
  `),
  ).toMatchInlineSnapshot(`
    "
    > say c add_task id=one
    c.2 task.added one, kind work, needs, role null, reviews true
      -> done, 1 affected: added one
    > say c add_task id=ask kind=human
    c.3 task.added ask, kind human, needs, role null, reviews false
      -> done, 1 affected: added ask
    > report c up
    c.5 process.ready turn 0
    c.6 crew.begun
    c.7 crew.member worker-1, role generic
    c.8 crew.job 1 spawn worker-1
    c.9 task.asked ask, id ask.1, for human, question ask "the ask" is a question for you. Your answer goes to the tasks that need it., options
    c.10 process.waiting ask.1
      -> ack ok
      -> job 1 spawn worker-1
      == c waiting
    > live member w1 of=c id=worker-1
    w1.1 process.spawned #2 under c
    c.11 child.spawned w1
    c.12 supervisor.added worker-1 w1 transient
    c.13 crew.job.done job 1, result spawned
    c.14 crew.joined worker-1, process w1
    c.15 task.assigned one, worker-1
    c.16 crew.job 2 prepare worker-1 one
      -> done, 1 affected
      -> start w1#2
      -> job 2 prepare worker-1 one
      == w1 pending
    w1.2 process.started
      -> driver.start w1#2
      == w1 starting
    w1.3 process.ready turn 0
      -> ack ok
      == w1 ready
    "
  `)
})

test('a task passes through files, message, turn, report, review, verdict, commit, merge and end', () => {
  expect(
    play(`${TWO_WORKERS}
    say c add_task id=one
    done c prepare base=b0
    say c report_implementation_complete summary=did by=agent:w1
    report w1 ended 1
    done c brief
    say c report_review_verdict verdict=APPROVED comments=good by=agent:w2
    report w2 ended 1
    done c check
    report w1 ended 2
    done c commit commit=c1
    done c merge merged=m1
    report w2 exited 0
    released w2
    report w1 exited 0
    released w1
    report c exited 0
    released c
  `),
  ).toMatchInlineSnapshot(`
    "
    > say c add_task id=one
    c.17 task.added one, kind work, needs, role null, reviews true
    c.18 task.assigned one, worker-1
    c.19 crew.job 3 prepare worker-1 one
      -> job 3 prepare worker-1 one
      -> done, 1 affected: added one
    > done c prepare base=b0
    c.20 crew.job.done job 3, result prepared
    c.21 task.prepared one, base b0
    c.22 crew.sent message 1, to worker-1, from coordinator, one
    w1.4 process.queue 1
    w1.5 process.incoming 1 turn 1
    w1.6 process.working turn 1 1
    c.23 crew.turn.begun worker-1, turn 1, resets true
      -> done, 1 affected: noted
      -> driver.deliver w1#2 1 turn 1
      == w1 working
    > say c report_implementation_complete summary=did by=agent:w1
    c.24 task.reported one, worker-1, summary did
    c.25 crew.heard worker-1, call null, tool report_implementation_complete
    c.26 task.review one, worker-2
    c.27 crew.job 4 brief worker-2 one
      -> job 4 brief worker-2 one
      -> done, 1 affected: one "the one" awaits its review; end your turn
    > report w1 ended 1
    w1.7 process.ready turn 1 ok
    c.28 crew.turn worker-1, turn 1, outcome ok, end complete, queued 0, one
      -> ack ok
      == w1 ready
    > done c brief
    c.29 crew.job.done job 4, result briefed
    c.30 task.briefed one, head head
    c.31 crew.sent message 2, to worker-2, from coordinator, one
    w2.4 process.queue 2
    w2.5 process.incoming 2 turn 1
    w2.6 process.working turn 1 2
    c.32 crew.turn.begun worker-2, turn 1, resets true
      -> done, 1 affected: noted
      -> driver.deliver w2#3 2 turn 1
      == w2 working
    > say c report_review_verdict verdict=APPROVED comments=good by=agent:w2
    c.33 task.verdict one, worker-2, verdict APPROVED, comments good
    c.34 crew.heard worker-2, call null, tool report_review_verdict
    c.35 task.approved one
    c.36 task.committing one
    c.37 crew.job 5 check worker-1 one
    w1.8 signal.masked SIGTERM SIGPAUSE
      -> job 5 check worker-1 one
      -> done, 1 affected: one "the one" is approved; end your turn
    > report w2 ended 1
    w2.7 process.ready turn 1 ok
    c.38 crew.turn worker-2, turn 1, outcome ok, end complete, queued 0, one
      -> ack ok
      == w2 ready
    > done c check
    c.39 crew.job.done job 5, result checked
    c.40 crew.sent message 3, to worker-1, from coordinator, one
    w1.9 process.queue 3
    w1.10 process.incoming 3 turn 2
    w1.11 process.working turn 2 3
    c.41 crew.turn.begun worker-1, turn 2, resets true
      -> done, 1 affected: noted
      -> driver.deliver w1#2 3 turn 2
      == w1 working
    > report w1 ended 2
    w1.12 process.ready turn 2 ok
    c.42 crew.turn worker-1, turn 2, outcome ok, end complete, queued 0, one
    c.43 crew.job 6 commit worker-1 one
      -> ack ok
      -> job 6 commit worker-1 one
      == w1 ready
    > done c commit commit=c1
    c.44 crew.job.done job 6, result committed
    c.45 task.committed one, commit c1
    c.46 crew.job 7 merge worker-1 one
    w1.13 signal.masked
      -> job 7 merge worker-1 one
      -> done, 1 affected: noted
    > done c merge merged=m1
    c.47 crew.job.done job 7, result merged
    c.48 task.merged one, merged m1
    c.49 task.done one, reason null
    c.50 crew.ending outcome completed, summary 1 of 1 tasks are done
    c.51 crew.ended
    w1.14 process.retired
    w2.8 process.retired
    c.52 process.ready turn 0 ok
    c.53 process.stopping SIGTERM by system -> 0 completed
    w2.9 signal.sent SIGTERM by agent:c: default
    w2.10 process.stopping SIGTERM by agent:c -> 0 retired
      -> done, 1 affected: noted
      -> driver.stop w2#3 SIGTERM 10000
      == c stopping
      == w2 stopping
    > report w2 exited 0
    c.54 child.spent w2 turns 1
    w2.11 process.exited 0 retired (agent)
    c.55 child.exited w2 0 retired
      -> release cancel w2#3
      -> release await w2#3
      -> ack ok
      == w2 zombie
    > released w2
    w2.12 process.reaped
    w1.15 signal.sent SIGTERM by agent:c: default
    w1.16 process.stopping SIGTERM by agent:c -> 0 retired
      -> release channel w2#3
      -> release context w2#3
      -> release remove w2#3
      -> driver.stop w1#2 SIGTERM 10000
      == w2 retired
      == w1 stopping
    > report w1 exited 0
    c.56 child.spent w1 turns 2
    w1.17 process.exited 0 retired (agent)
    c.57 child.exited w1 0 retired
      -> release cancel w1#2
      -> release await w1#2
      -> ack ok
      == w1 zombie
    > released w1
    w1.18 process.reaped
      -> release channel w1#2
      -> release context w1#2
      -> release remove w1#2
      -> driver.stop c#1 SIGTERM 10000
      == w1 retired
    > report c exited 0
    c.58 process.exited 0 completed (agent)
      -> release cancel c#1
      -> release await c#1
      -> ack ok
      == c zombie
    > released c
    c.59 process.reaped
      -> release channel c#1
      -> release context c#1
      -> release remove c#1
      == c completed
    "
  `)
})

test('a report of an old turn or incarnation is late, and a repeated call changes nothing', () => {
  expect(
    play(`${ONE_WORKER}
    .say c add_task id=one
    .done c prepare
    say c report_implementation_complete summary=did by=agent:w1 turn=0
    say c report_implementation_complete summary=did by=agent:w1 pid=99
    say c report_implementation_complete summary=did by=agent:w1 call=1.a
    say c report_implementation_complete summary=did by=agent:w1 call=1.a
    .report w1 ended 1
    say c signal_ready by=agent:w1 turn=1
    say c assign_task task=one member=worker-1 by=agent:w1
    say c signal_ready by=agent:c
  `),
  ).toMatchInlineSnapshot(`
    "
    > say c report_implementation_complete summary=did by=agent:w1 turn=0
      -> refused LATE: turn 0 of worker-1 is over
    > say c report_implementation_complete summary=did by=agent:w1 pid=99
      -> refused LATE: incarnation 99 of worker-1 is over
    > say c report_implementation_complete summary=did by=agent:w1 call=1.a
    c.18 task.reported one, worker-1, summary did
    c.19 crew.heard worker-1, call 1.a, tool report_implementation_complete
    c.20 crew.member worker-2, role generic
    c.21 crew.job 3 spawn worker-2
      -> job 3 spawn worker-2
      -> done, 1 affected: one "the one" awaits its review; end your turn
    > say c report_implementation_complete summary=did by=agent:w1 call=1.a
      -> done, 1 affected: one "the one" awaits its review; end your turn
    > say c signal_ready by=agent:w1 turn=1
      -> refused LATE: turn 1 of worker-1 is over
    > say c assign_task task=one member=worker-1 by=agent:w1
      -> refused PERMISSION: assign_task is for coordinators, and worker-1 is a generic
    > say c signal_ready by=agent:c
      -> refused PERMISSION: agent:c is not a member of crew 1
    "
  `)
})

test('a worker without a report is reminded twice, then its turn is accepted and its task is requeued', () => {
  expect(
    play(`
    .live crew c staff=generic:1 max=1 unreviewed nogit attempts=1 stay
    .live member w1 of=c id=worker-1
    .send w1
    .report w1 ended 1
    .say c add_task id=one
    .done c prepare
    report w1 ended 2
    report w1 ended 3
    report w1 ended 4
  `),
  ).toMatchInlineSnapshot(`
    "
    > report w1 ended 2
    w1.11 process.ready turn 2 ok
    c.20 crew.turn worker-1, turn 2, outcome ok, end reminded, queued 0, one
    c.21 crew.sent message 2, to worker-1, from system, one
    w1.12 process.queue 2
    w1.13 process.incoming 2 turn 3
    w1.14 process.working turn 3 2
    c.22 crew.turn.begun worker-1, turn 3, resets false
      -> ack ok
      -> driver.deliver w1#2 2 turn 3
    > report w1 ended 3
    w1.15 process.ready turn 3 ok
    c.23 crew.turn worker-1, turn 3, outcome ok, end reminded, queued 0, one
    c.24 crew.sent message 3, to worker-1, from system, one
    w1.16 process.queue 3
    w1.17 process.incoming 3 turn 4
    w1.18 process.working turn 4 3
    c.25 crew.turn.begun worker-1, turn 4, resets false
      -> ack ok
      -> driver.deliver w1#2 3 turn 4
    > report w1 ended 4
    w1.19 process.ready turn 4 ok
    c.26 crew.turn worker-1, turn 4, outcome ok, end through, queued 0, one
    c.27 crew.sent message 4, to worker-1, from system, one
    c.28 task.requeued one, reason worker-1 ended its turn without a report after 2 reminders, counts true
    c.29 task.failed one, reason its only attempt failed; the last reason: worker-1 ended its turn without a report after 2 reminders
    c.30 crew.job 3 reset worker-1 one
    w1.20 process.queue 4
    c.31 process.note one "the one" failed: its only attempt failed; the last reason: worker-1 ended its turn without a report after 2 reminders
    c.32 process.error worker-1: worker-1 ended its turn without a report after 2 reminders
      -> ack ok
      -> job 3 reset worker-1 one
      == w1 ready
    "
  `)
})

/** A crew with a coordinator agent, whose worker implements the task `one`. */
const WITH_COORDINATOR = `
    .live crew c coordinator=agent staff=generic:1 stay
    .live member k of=c id=coordinator
    .live member w1 of=c id=worker-1
    .say c add_task id=one by=agent:k
    .report k ended 1
    .say c assign_task task=one member=worker-1
    .done c prepare`

test('workers are children of the living coordinator, and the report of a worker is queued for it', () => {
  expect(
    play(`
    .live crew c coordinator=agent staff=generic:1 stay
    live member k of=c id=coordinator
    live member w1 of=c id=worker-1
    .say c add_task id=one by=agent:k
    .report k ended 1
    .say c assign_task task=one member=worker-1
    .done c prepare
    say c report_implementation_complete summary=did by=agent:w1
  `),
  ).toMatchInlineSnapshot(`
    "
    > live member k of=c id=coordinator
    k.1 process.spawned #2 under c
    c.9 child.spawned k
    c.10 supervisor.added coordinator k transient
    c.11 crew.job.done job 1, result spawned
    c.12 crew.joined coordinator, process k
    c.13 crew.sent message 1, to coordinator, from system
    k.2 process.queue 1
      -> done, 1 affected
      -> start k#2
      == k pending
    k.3 process.started
      -> driver.start k#2
      == k starting
    k.4 process.ready turn 0
    k.5 process.incoming 1 turn 1
    k.6 process.working turn 1 1
    c.14 crew.turn.begun coordinator, turn 1, resets false
      -> ack ok
      -> driver.deliver k#2 1 turn 1
      == k working
    > live member w1 of=c id=worker-1
    w1.1 process.spawned #3 under c
    c.15 child.spawned w1
    c.16 supervisor.added worker-1 w1 transient
    c.17 crew.job.done job 2, result spawned
    c.18 crew.joined worker-1, process w1
    w1.2 process.reparented to k
      -> done, 1 affected
      -> start w1#3
      == w1 pending
    w1.3 process.started
      -> driver.start w1#3
      == w1 starting
    w1.4 process.ready turn 0
      -> ack ok
      == w1 ready
    > say c report_implementation_complete summary=did by=agent:w1
    c.31 task.reported one, worker-1, summary did
    c.32 crew.sent message 4, to coordinator, from agent:w1, one
    c.33 crew.heard worker-1, call null, tool report_implementation_complete
    k.11 process.queue 4
      -> done, 1 affected: one "the one" awaits its review; end your turn
    "
  `)
})

test("a report during the coordinator's turn becomes its next turn, once", () => {
  expect(
    play(`${WITH_COORDINATOR}
    .send k
    say c report_implementation_complete summary=did by=agent:w1
    report k ended 2
    report k ended 3
  `),
  ).toMatchInlineSnapshot(`
    "
    > say c report_implementation_complete summary=did by=agent:w1
    c.31 task.reported one, worker-1, summary did
    c.32 crew.sent message 4, to coordinator, from agent:w1, one
    c.33 crew.heard worker-1, call null, tool report_implementation_complete
    k.12 process.queue 4
      -> done, 1 affected: one "the one" awaits its review; end your turn
    > report k ended 2
    k.13 process.ready turn 2 ok
    c.34 crew.turn coordinator, turn 2, outcome ok, end complete, queued 2
    k.14 process.incoming m14 turn 3
    k.15 process.working turn 3 m14
    c.35 crew.turn.begun coordinator, turn 3, resets true
      -> ack ok
      -> driver.deliver k#2 m14 turn 3
    > report k ended 3
    k.16 process.ready turn 3 ok
    c.36 crew.turn coordinator, turn 3, outcome ok, end complete, queued 1
    k.17 process.incoming 4 turn 4
    k.18 process.working turn 4 4
    c.37 crew.turn.begun coordinator, turn 4, resets false
      -> ack ok
      -> driver.deliver k#2 4 turn 4
    "
  `)
})

test('a report does not resume a paused coordinator, which reads it after its resume', () => {
  expect(
    play(`${WITH_COORDINATOR}
    .signal SIGPAUSE k
    say c report_implementation_complete summary=did by=agent:w1
    resume k
  `),
  ).toMatchInlineSnapshot(`
    "
    > say c report_implementation_complete summary=did by=agent:w1
    c.33 task.reported one, worker-1, summary did
    c.34 crew.sent message 4, to coordinator, from agent:w1, one
    c.35 crew.heard worker-1, call null, tool report_implementation_complete
    k.13 process.queue 4
      -> done, 1 affected: one "the one" awaits its review; end your turn
    > resume k
    k.14 process.released user/user
    c.36 child.resumed k by user
    c.37 crew.held coordinator, held false
      -> driver.unpause k#2
      -> done, 1 affected
      == k working
    "
  `)
})

test('a report to a dead coordinator waits for its next incarnation', () => {
  expect(
    play(`${WITH_COORDINATOR}
    .report k exited 1
    say c report_implementation_complete summary=did by=agent:w1
    released k
    wind 2000
    start k
    report k up
  `),
  ).toMatchInlineSnapshot(`
    "
    > say c report_implementation_complete summary=did by=agent:w1
    c.33 task.reported one, worker-1, summary did
    c.34 crew.sent message 4, to coordinator, from agent:w1, one
    c.35 crew.heard worker-1, call null, tool report_implementation_complete
    k.12 process.queue 4
      -> done, 1 affected: one "the one" awaits its review; end your turn
    > released k
    k.13 process.reaped
    c.36 supervisor.restarting coordinator, 1 in the window
    k.14 process.resumed #4 by agent:c from step 0: restart 1 later after exit code 1
    w1.9 process.reparented to k
      -> release channel k#2
      -> release context k#2
      -> release remove k#2
      == k pending
    > wind 2000
    tick k
    k.15 restart.due now
      -> start k#4
    > start k
    k.16 process.started
      -> driver.start k#4
      == k starting
    > report k up
    k.17 process.ready turn 2
    k.18 process.working turn 2
      -> ack ok
      -> driver.proceed k#4 turn 2
      == k working
    "
  `)
})

test('a question to the user survives the daemon, and the answer goes to the tasks that need it', () => {
  expect(
    play(`
    .live crew c staff=generic:1 stay
    .live member w1 of=c id=worker-1
    .say c add_task id=ask kind=human
    .boot c
    .boot w1
    .start c
    report c up
    answer c text=blue
  `),
  ).toMatchInlineSnapshot(`
    "
    > report c up
    c.18 process.ready turn 0
      -> ack ok
      == c waiting
    > answer c text=blue
    c.19 process.answered ask.1 blue by user
    c.20 task.answered ask, option null
    c.21 task.done ask, reason blue
      -> done, 1 affected
      == c ready
    "
  `)
})

test('an answer to a crew counts at once, whatever time it has for taking it back', () => {
  expect(
    play(`
    .live crew c staff=generic:1 stay
    .live member w1 of=c id=worker-1
    .say c add_task id=ask kind=human
    answer c text=blue undo=5000
    unanswer c ask.1
  `),
  ).toMatchInlineSnapshot(`
    "
    > answer c text=blue undo=5000
    c.14 process.answered ask.1 blue by user
    c.15 task.answered ask, option null
    c.16 task.done ask, reason blue
      -> done, 1 affected: the answer counts at once, so it cannot be taken back
      == c ready
    > unanswer c ask.1
      -> refused CONFLICT: the answer to "ask.1" cannot be taken back: it counted at once
    "
  `)
})

test("no turn begins while a job uses the worker's files", () => {
  expect(
    play(`${ONE_WORKER}
    .say c add_task id=one
    send w1
    done c prepare
    report w1 ended 1
  `),
  ).toMatchInlineSnapshot(`
    "
    > send w1
    w1.4 process.queue m8
      -> done, 1 affected
    > done c prepare
    c.14 crew.job.done job 2, result prepared
    c.15 task.prepared one, base base
    c.16 crew.sent message 1, to worker-1, from coordinator, one
    w1.5 process.queue 1
    w1.6 process.incoming m8 turn 1
    w1.7 process.working turn 1 m8
    c.17 crew.turn.begun worker-1, turn 1, resets true
      -> done, 1 affected: noted
      -> driver.deliver w1#2 m8 turn 1
      == w1 working
    > report w1 ended 1
    w1.8 process.ready turn 1 ok
    c.18 crew.turn worker-1, turn 1, outcome ok, end waits, queued 1, one
    w1.9 process.incoming 1 turn 2
    w1.10 process.working turn 2 1
    c.19 crew.turn.begun worker-1, turn 2, resets true
      -> ack ok
      -> driver.deliver w1#2 1 turn 2
    "
  `)
})

test('only a crew adds its members, and only a crew takes crew commands', () => {
  expect(
    play(`
    .live crew c staff=generic:1
    .live a interactive
    spawn b under=c child=worker-1
    spawn b under=c child=x
    member b of=c id=worker-9
    say a add_task id=one
    send c
    fork b of=c
  `),
  ).toMatchInlineSnapshot(`
    "
    > spawn b under=c child=worker-1
      -> refused INVALID: a crew starts its members itself
    > spawn b under=c child=x
      -> refused INVALID: a crew starts its members itself
    > member b of=c id=worker-9
      -> refused CONFLICT: worker-9 was not requested, or already exists
    > say a add_task id=one
      -> refused INVALID: process 2 is not a crew
    > send c
      -> refused INVALID: process 1 takes no messages while it runs: resume it with a message after its end
    > fork b of=c
      -> refused NOT_RESUMABLE: a crew has no history to fork; its children may have one
    "
  `)
})
