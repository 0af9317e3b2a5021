// Successors of coordinators and workers, as transcripts. A successor gets its predecessor's unread messages in order, exactly once.
// A successor that does not start leaves its predecessor in place.
import { expect, test } from 'vitest'
import { play } from '../../../../support/kernel/transcript.ts'

/** A crew with a paused coordinator agent, for which the reports of workers wait. */
const WITH_COORDINATOR = `
    .live crew c coordinator=agent staff=generic:1 stay
    .live member k of=c id=coordinator
    .live member w1 of=c id=worker-1
    .say c add_task id=one
    .say c assign_task task=one member=worker-1 by=agent:k
    .report k ended 1
    .done c prepare
    .signal SIGPAUSE k
    .say c report_implementation_complete summary=did by=agent:w1
    .say c post_message to=coordinator text=more by=agent:w1`

/** The user kills the coordinator, so it is not restarted. */
const COORDINATOR_KILLED = `
    .signal SIGKILL k
    .report k exited 137
    .released k`

test('a lost coordinator gets a successor, which gets its unread messages in order', () => {
  expect(
    play(`${WITH_COORDINATOR}
    .resume k
    .report k exited 1 error=gone
    .released k
    .wind 70000
    .start k
    .report k exited 1 error=gone
    .released k
    .wind 70000
    .start k
    .report k exited 1 error=gone
    released k
    say c post_message to=coordinator text=meanwhile by=agent:w1
    member k2 of=c id=coordinator-2
    say c post_message to=coordinator text=late by=agent:w1
    start k2
    report k2 up
    moved c k,c to=k2 all
    moved c k,c to=k2 all
    report k2 ended 1
  `),
  ).toMatchInlineSnapshot(`
    "
    > released k
    k.27 process.reaped
    c.45 supervisor.removed coordinator k
    w1.13 process.reparented to c
    c.46 crew.left coordinator, how lost, reason gone (3 times in a row)
    c.47 crew.member coordinator-2, role coordinator
    c.48 crew.job 4 spawn coordinator-2
    c.49 crew.replaced coordinator, heir coordinator-2, summary
    c.50 process.error coordinator was lost: gone (3 times in a row)
      -> release channel k#5
      -> release context k#5
      -> release remove k#5
      -> job 4 spawn coordinator-2
      == k failed
    > say c post_message to=coordinator text=meanwhile by=agent:w1
    c.51 task.message one, from worker-1, to coordinator
    c.52 crew.sent message 5, to coordinator-2, from agent:w1, one
    c.53 crew.heard worker-1, call null, tool post_message
    c.54 process.queue coordinator-2/5
      -> done, 1 affected: sent
    > member k2 of=c id=coordinator-2
    k2.1 process.spawned #6 under c
    c.55 child.spawned k2
    c.56 supervisor.added coordinator-2 k2 transient
    c.57 crew.job.done job 4, result spawned
    c.58 crew.joined coordinator-2, process k2, inherits true
    c.59 crew.sent message 6, to coordinator-2, from system
    k2.2 process.queue 6
    w1.14 process.reparented to k2
      -> done, 1 affected
      -> start k2#6
      -> move k, c to k2
      == k2 pending
    > say c post_message to=coordinator text=late by=agent:w1
    c.60 task.message one, from worker-1, to coordinator
    c.61 crew.sent message 7, to coordinator-2, from agent:w1, one
    c.62 crew.heard worker-1, call null, tool post_message
    c.63 process.queue coordinator-2/7
      -> done, 1 affected: sent
    > start k2
    k2.3 process.started
      -> driver.start k2#6
      -> move k, c to k2
      == k2 starting
    > report k2 up
    k2.4 process.ready turn 0
    k2.5 process.incoming 6 turn 1
    k2.6 process.working turn 1 6
    c.64 crew.turn.begun coordinator-2, turn 1, resets false
      -> ack ok
      -> driver.deliver k2#6 6 turn 1
      == k2 working
    > moved c k,c to=k2 all
    k.28 message.taken
    k2.7 process.queue 4
    c.65 message.taken
    k2.8 process.queue 5
    c.66 message.taken
    k2.9 process.queue 7
    c.67 crew.inherited coordinator-2
    > moved c k,c to=k2 all
    > report k2 ended 1
    k2.10 process.ready turn 1 ok
    c.68 crew.turn coordinator-2, turn 1, outcome ok, end complete, queued 3
    k2.11 process.incoming 4 turn 2
    k2.12 process.working turn 2 4
    c.69 crew.turn.begun coordinator-2, turn 2, resets false
      -> ack ok
      -> driver.deliver k2#6 4 turn 2
    "
  `)
})

test('a coordinator killed by the user is replaced on command, and its successor gets the messages kept meanwhile', () => {
  expect(
    play(`${WITH_COORDINATOR}
    ${COORDINATOR_KILLED}
    say c post_message to=coordinator text=meanwhile by=agent:w1
    say c replace_worker member=coordinator summary=anew
    member k2 of=c id=coordinator-2
    moved c k,c to=k2 all
  `),
  ).toMatchInlineSnapshot(`
    "
    > say c post_message to=coordinator text=meanwhile by=agent:w1
    c.42 task.message one, from worker-1, to coordinator
    c.43 crew.sent message 5, to coordinator, from agent:w1, one
    c.44 crew.heard worker-1, call null, tool post_message
    c.45 process.queue coordinator/5
      -> done, 1 affected: sent
    > say c replace_worker member=coordinator summary=anew
    c.46 crew.member coordinator-2, role coordinator
    c.47 crew.job 4 spawn coordinator-2
    c.48 crew.replaced coordinator, heir coordinator-2, summary anew
      -> job 4 spawn coordinator-2
      -> done, 1 affected: coordinator-2 is being started; it sees the tasks and gets the unread messages of coordinator
    > member k2 of=c id=coordinator-2
    k2.1 process.spawned #4 under c
    c.49 child.spawned k2
    c.50 supervisor.added coordinator-2 k2 transient
    c.51 crew.job.done job 4, result spawned
    c.52 crew.joined coordinator-2, process k2, inherits true
    c.53 crew.sent message 6, to coordinator-2, from system
    k2.2 process.queue 6
    w1.10 process.reparented to k2
      -> done, 1 affected
      -> start k2#4
      -> move k, c to k2
      == k2 pending
    > moved c k,c to=k2 all
    k.17 message.taken
    k2.3 process.queue 3
    k.18 message.taken
    k2.4 process.queue 4
    c.54 message.taken
    k2.5 process.queue 5
    c.55 crew.inherited coordinator-2
    "
  `)
})

test('a coordinator killed by the user and resumed reads the messages kept meanwhile', () => {
  expect(
    play(`${WITH_COORDINATOR}
    ${COORDINATOR_KILLED}
    .say c post_message to=coordinator text=meanwhile by=agent:w1
    resume k
    moved c c to=k
  `),
  ).toMatchInlineSnapshot(`
    "
    > resume k
    k.17 process.resumed #4 by user from step 0
    c.46 crew.joined coordinator, process k
    c.47 crew.sent message 6, to coordinator, from system
    k.18 process.queue 6
    c.48 supervisor.added coordinator k transient
    w1.10 process.reparented to k
      -> done, 1 affected
      -> start k#4
      -> move c to k
      == k pending
    > moved c c to=k
    c.49 message.taken
    k.19 process.queue 5
    "
  `)
})

test('a successor that cannot start while the crew is paused leaves its predecessor in place', () => {
  expect(
    play(`${WITH_COORDINATOR}
    .say c replace_worker member=coordinator summary=anew
    .signal SIGPAUSE c
    done c spawn error
    signal SIGKILL k
    report k exited 137
    released k
    say c replace_worker member=coordinator summary=again
    member k3 of=c id=coordinator-3
  `),
  ).toMatchInlineSnapshot(`
    "
    > done c spawn error
    c.42 crew.job.done job 4, result error
    c.43 crew.left coordinator-2, how lost, reason it broke
    c.44 crew.kept coordinator
    c.45 crew.sent message 5, to coordinator, from system
    c.46 process.error coordinator-2 was lost before it started: it broke
    k.13 process.queue 5
      -> done, 1 affected: noted
    > signal SIGKILL k
    k.14 signal.sent SIGKILL by user: default
    k.15 process.stopping SIGKILL by user -> 1 context cancelled while paused
      -> driver.stop k#2 SIGKILL 0
      -> done, 1 affected, 1 children go on
      == k stopping
    > report k exited 137
    w1.8 process.reparented to PID 0
    c.47 child.spent k turns 1
    k.16 process.exited 1 context cancelled while paused (person)
    c.48 child.exited k 1 context cancelled while paused
      -> release cancel k#2
      -> release await k#2
      -> ack ok
      == k zombie
    > released k
    k.17 process.reaped
    c.49 supervisor.removed coordinator k
    w1.9 process.reparented to c
    c.50 crew.left coordinator, how stopped, reason context cancelled while paused
    c.51 process.error coordinator was stopped by the user: context cancelled while paused
    c.52 process.note coordinator is gone, and the crew has no coordinator: resume it, replace it, or stop the crew.
      -> release channel k#2
      -> release context k#2
      -> release remove k#2
      == k stopped
    > say c replace_worker member=coordinator summary=again
    c.53 crew.member coordinator-3, role coordinator
    c.54 crew.job 5 spawn coordinator-3
    c.55 crew.replaced coordinator, heir coordinator-3, summary again
      -> job 5 spawn coordinator-3
      -> done, 1 affected: coordinator-3 is being started; it sees the tasks and gets the unread messages of coordinator
    > member k3 of=c id=coordinator-3
    k3.1 process.spawned #4 under c
    c.56 child.spawned k3
    c.57 supervisor.added coordinator-3 k3 transient
    c.58 crew.job.done job 5, result spawned
    c.59 crew.joined coordinator-3, process k3, inherits true
    c.60 crew.sent message 6, to coordinator-3, from system
    k3.2 process.queue 6
    w1.10 process.reparented to k3
      -> done, 1 affected
      -> start k3#4
      -> move k, c to k3
      == k3 pending
    "
  `)
})

test('a daemon that starts after a crash before the move requests the move again, and new messages wait behind it', () => {
  expect(
    play(`${WITH_COORDINATOR}
    ${COORDINATOR_KILLED}
    .say c replace_worker member=coordinator summary=anew
    .member k2 of=c id=coordinator-2
    .boot c
    .boot k2
    .boot w1
    start c
    report c up
    .start w1
    .report w1 up
    say c post_message to=coordinator text=again by=agent:w1
    moved c k,c to=k2 all
  `),
  ).toMatchInlineSnapshot(`
    "
    > start c
    c.54 process.started
    w1.19 restart.due now
    k2.9 restart.due now
      -> driver.start c#5
      -> move k, c to k2
      -> start w1#7
      -> start k2#6
      == c starting
    > report c up
    c.55 process.ready turn 0
      -> ack ok
      -> move k, c to k2
      == c ready
    > say c post_message to=coordinator text=again by=agent:w1
    c.56 task.message one, from worker-1, to coordinator
    c.57 crew.sent message 6, to coordinator-2, from agent:w1, one
    c.58 crew.heard worker-1, call null, tool post_message
    c.59 process.queue coordinator-2/6
      -> done, 1 affected: sent
    > moved c k,c to=k2 all
    k.17 message.taken
    k2.10 process.queue 3
    k.18 message.taken
    k2.11 process.queue 4
    c.60 message.taken
    k2.12 process.queue 6
    c.61 crew.inherited coordinator-2
    "
  `)
})

test('a worker whose successor cannot start stays and is notified; if it has left, its unread messages go back', () => {
  const replaced = `
    .live crew c staff=generic:1
    .live member w1 of=c id=worker-1
    .signal SIGPAUSE w1
    .say c send_message to=worker-1 text=hello
    .say c replace_worker member=worker-1 summary=halfway`
  expect(
    play(`${replaced}
    done c spawn error
  `),
  ).toMatchInlineSnapshot(`
    "
    > done c spawn error
    c.17 crew.job.done job 2, result error
    c.18 crew.left worker-2, how lost, reason it broke
    c.19 crew.kept worker-1
    c.20 crew.sent message 2, to worker-1, from system
    c.21 process.error worker-2 was lost before it started: it broke
    w1.8 process.queue 2
      -> done, 1 affected: noted
    "
  `)
  expect(
    play(`${replaced}
    .signal SIGKILL w1
    .report w1 exited 137
    .released w1
    done c spawn error
    moved c w1
  `),
  ).toMatchInlineSnapshot(`
    "
    > done c spawn error
    c.20 crew.job.done job 2, result error
    c.21 crew.left worker-2, how lost, reason it broke
    c.22 process.error worker-2 was lost before it started: it broke
      -> move w1 to its senders
      -> done, 1 affected: noted
    > moved c w1
    w1.12 message.taken
    c.23 crew.notified
    "
  `)
})
