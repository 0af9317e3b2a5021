// The ways of a task as transcripts: what is written, in which order, and who is told. Members do what they read (crew-world/life.ts),
// unless a test says otherwise. Rewritten with --update, and reviewed as a diff.
import { describe, expect, test } from 'vitest'
import { byMember, doJob, endTurn, go, goOn, moveOn } from '../support/crew-world/life.ts'
import { memberOf, PERSON, taskOf, told, until, untilTask, up } from '../support/crew-world/story.ts'
import type { MemberId } from '../../src/crew/types.ts'
import type { World } from '../support/crew-world/world.ts'

const closed = (world: World) => (): boolean => world.crew.tasks.every(({ state }) => ['done', 'failed', 'cancelled'].includes(state))

/** It dies in the middle of whatever it does. */
function dies(world: World, id: MemberId): void {
  go(world, world.need(id), 'agent')
}

test('a task is done, reviewed by another, committed and merged', () => {
  const world = up()
  expect(told(world, () => until(world, () => world.ended !== null))).toMatchInlineSnapshot(`
    "
    crew.job.done 3 prepared
    task.prepared one base
    crew.turn.begun worker-1 1 true
    task.reported one worker-1 "it works"
    task.review one worker-2
    crew.job brief worker-2 one
    crew.job.done 4 briefed
    task.briefed one
    crew.turn worker-1 1 ok complete one
    crew.turn.begun worker-2 1 true
    task.verdict one worker-2 APPROVED good
    task.approved one null
    task.committing one
    crew.turn.begun worker-1 2 true
    crew.turn worker-1 2 ok complete one
    crew.job commit worker-1 one
    crew.job.done 5 committed
    task.committed one worker-1-3
    crew.job merge worker-1 one
    crew.job.done 6 merged
    task.merged one m-worker-1-3
    task.done one null
    crew.ending completed "1 of 1 tasks are done"
    crew.ended
      -> coordinator to worker-1: Task one "the first"
      -> coordinator to worker-2: Review one "the first", done by worker-1.
      -> mask worker-1
      -> coordinator to worker-1: one "the first" is approved: commit it on your branch now, all of it, with a message that says what changed an
      -> unmask worker-1
      -> end completed: 1 of 1 tasks are done
    "
  `)
})

test('denied, repaired, and approved', () => {
  const world = untilTask(up(), 'in_review')
  expect(told(world, () => {
    until(world, () => world.need('worker-2').reading !== null)
    world.need('worker-2').plan = []
    world.say({ type: 'report_review_verdict', verdict: 'DENIED', comments: 'a test is missing' }, byMember(world.need('worker-2')))
    untilTask(world, 'committing')
  })).toMatchInlineSnapshot(`
    "
    crew.job.done 4 briefed
    task.briefed one
    crew.turn worker-1 1 ok complete one
    crew.turn.begun worker-2 1 true
    task.verdict one worker-2 DENIED "a test is missing"
    crew.turn.begun worker-1 2 true
    task.reported one worker-1 "it works"
    task.review one worker-2
    crew.turn worker-1 2 ok complete one
    crew.turn worker-2 1 ok complete one
    crew.job brief worker-2 one
    crew.job.done 5 briefed
    task.briefed one
    crew.turn.begun worker-2 2 true
    task.verdict one worker-2 APPROVED good
    task.approved one null
    task.committing one
      -> coordinator to worker-2: Review one "the first", done by worker-1.
      -> coordinator to worker-1: worker-2 sent one "the first" back:
      -> coordinator to worker-2: Review one "the first", done by worker-1.
      -> mask worker-1
      -> coordinator to worker-1: one "the first" is approved: commit it on your branch now, all of it, with a message that says what changed an
    "
  `)
})

describe('a worker is lost', () => {
  test('while it implements: the task goes back with the reason, and its work is kept; another worker is started', () => {
    const world = untilTask(up(), 'implementing')
    until(world, () => world.need('worker-1').dirty)
    expect(told(world, () => {
      dies(world, 'worker-1')
      untilTask(world, 'awaiting_review')
    })).toMatchInlineSnapshot(`
      "
      crew.left worker-1 lost "ended by agent"
      task.requeued one "worker-1 was lost: ended by agent" true
      crew.job salvage worker-1 one
      task.assigned one worker-2
      crew.job.done 4 salvaged
      crew.job prepare worker-2 one
      crew.job.done 5 prepared
      task.prepared one base
      crew.turn.begun worker-2 1 true
      task.reported one worker-2 "it works"
      crew.member worker-3 generic
      crew.job spawn worker-3
        -> coordinator to worker-2: Task one "the first"
      "
    `)
    expect(taskOf(world)).toMatchObject({ attempts: 1, salvaged: 'refs/salvage/worker-1', implementers: ['worker-1', 'worker-2'] })
  })

  test('while it is reviewed: its reviewer is told to stop', () => {
    const world = untilTask(up(), 'in_review')
    until(world, () => world.need('worker-2').reading !== null)
    expect(told(world, () => dies(world, 'worker-1'))).toMatchInlineSnapshot(`
      "
      crew.left worker-1 lost "ended by agent"
      task.requeued one "worker-1 was lost: ended by agent" true
      crew.job salvage worker-1 one
      task.assigned one worker-2
        -> interrupt worker-2
        -> system to worker-2: one "the first" went back to the queue: worker-1 was lost: ended by agent. Stop working on it; what you have n
      "
    `)
  })

  test('while it commits: the branch is looked at, and what was approved is committed for it, once', () => {
    const world = untilTask(up(), 'committing')
    expect(told(world, () => {
      dies(world, 'worker-1')
      untilTask(world, 'done')
    })).toMatchInlineSnapshot(`
      "
      crew.left worker-1 lost "ended by agent"
      crew.job commit worker-1 one force
      crew.job.done 5 committed
      task.committed one worker-1-3
      crew.job merge worker-1 one
      crew.job.done 6 merged
      task.merged one m-worker-1-3
      task.done one null
      crew.ending completed "1 of 1 tasks are done"
      crew.ended
        -> end completed: 1 of 1 tasks are done
      "
    `)
    expect(world.merges.get('one')).toBe(1)
  })

  test('while it commits, and it had: nothing is committed twice', () => {
    const world = untilTask(up(), 'committing')
    until(world, () => world.need('worker-1').commit !== null)
    const { commit } = world.need('worker-1')
    dies(world, 'worker-1')
    untilTask(world, 'done')
    expect(taskOf(world).commit).toBe(commit)
  })

  test('a reviewer: another gets the review', () => {
    const world = untilTask(up({ staff: [{ role: 'generic', count: 3 }] }), 'in_review')
    expect(told(world, () => {
      dies(world, 'worker-2')
      untilTask(world, 'committing')
    })).toMatchInlineSnapshot(`
      "
      crew.left worker-2 lost "ended by agent"
      task.unreviewed one worker-2 "worker-2 was lost: ended by agent"
      task.review one worker-3
      crew.job brief worker-3 one
      crew.job.done 5 briefed
      crew.job.done 6 briefed
      task.briefed one
      crew.turn worker-1 1 ok complete one
      crew.turn.begun worker-3 1 true
      task.verdict one worker-3 APPROVED good
      task.approved one null
      task.committing one
        -> coordinator to worker-3: Review one "the first", done by worker-1.
        -> mask worker-1
        -> coordinator to worker-1: one "the first" is approved: commit it on your branch now, all of it, with a message that says what changed an
      "
    `)
  })

  test('again and again: the task has failed, and what needs it', () => {
    const world = up({ maxAttempts: 2 }, [{ id: 'one', title: 'the first', text: 'Do it.' }, { id: 'two', title: 'the second', text: 'Then this.', needs: ['one'] }])
    for (let time = 0; time < 2; time += 1) {
      untilTask(world, 'implementing')
      dies(world, taskOf(world).implementer ?? 'worker-1')
    }
    expect(world.crew.tasks.map(({ id, state, reason }) => [id, state, reason])).toEqual([
      ['one', 'failed', expect.stringMatching(/^all 2 tries failed; the last: worker-\d was lost/)],
      ['two', 'failed', 'needs one, which failed'],
    ])
    expect(world.ended).toBe('failed')
  })
})

describe('somebody steps in', () => {
  test('cancel, and back to the queue: its worker is interrupted, and its files are reset when its turn is over', () => {
    const world = untilTask(up(), 'implementing')
    until(world, () => world.need('worker-1').dirty)
    expect(told(world, () => {
      world.say({ type: 'cancel_task', task: 'one', reason: 'another idea', requeue: true }, PERSON)
      goOn(world, world.need('worker-1'))
      for (const job of [...world.jobs]) doJob(world, job)
    })).toMatchInlineSnapshot(`
      "
      task.requeued one "another idea" false
      task.assigned one worker-2
      crew.job prepare worker-2 one
      crew.turn worker-1 1 interrupted waits one
      crew.job reset worker-1 one
      crew.job.done 4 prepared
      task.prepared one base
      crew.job.done 5 salvaged
        -> interrupt worker-1
        -> system to worker-1: one "the first" went back to the queue: another idea. Stop working on it; what you have not committed is kept,
        -> coordinator to worker-2: Task one "the first"
      "
    `)
    expect(world.need('worker-1').dirty).toBe(false)
  })

  test('replace: the successor is there first, and has the task, the queue, the files and the summary', () => {
    const world = untilTask(up(), 'implementing')
    until(world, () => world.need('worker-1').dirty)
    world.say({ type: 'send_message', to: 'worker-1', text: 'mind the tests' }, PERSON)
    expect(told(world, () => {
      world.say({ type: 'replace_worker', member: 'worker-1', summary: 'the parser is done' }, PERSON)
      untilTask(world, 'in_review')
    })).toMatchInlineSnapshot(`
      "
      crew.member worker-3 generic
      crew.job spawn worker-3
      crew.replaced worker-1 worker-3 "the parser is done"
      crew.job.done 4 spawned
      crew.joined worker-3 u-worker-3 true
      crew.leaving worker-1 replaced "worker-3 took over"
      crew.left worker-1 replaced "ended by parent"
      crew.job prepare worker-3 one from worker-1
      crew.job.done 5 prepared
      task.prepared one base
      crew.turn.begun worker-3 1 true
      crew.turn worker-3 1 ok waits one
      crew.turn.begun worker-3 2 true
      task.reported one worker-3 "it works"
      task.review one worker-2
      crew.job brief worker-2 one
        -> queue of worker-1 to worker-3
        -> retire worker-1
        -> coordinator to worker-3: Task one "the first"
      "
    `)
    expect(taskOf(world)).toMatchObject({ implementer: 'worker-3', implementers: ['worker-1', 'worker-3'], attempts: 0 })
    expect(world.need('worker-3').dirty, 'its files went over').toBe(true)
  })

  test('retire and stop: the task goes back, and is no try', () => {
    const world = untilTask(up({ staff: [{ role: 'generic', count: 3 }] }), 'implementing')
    expect(told(world, () => world.say({ type: 'stop_worker', member: 'worker-1', reason: 'it goes in circles' }, PERSON))).toMatchInlineSnapshot(`
      "
      task.requeued one "worker-1 was stopped: it goes in circles" false
      crew.leaving worker-1 stopped "it goes in circles"
      task.assigned one worker-2
      crew.job prepare worker-2 one
        -> stop worker-1
      "
    `)
    go(world, world.need('worker-1'), 'person')
    expect(memberOf(world, 'worker-1')).toMatchObject({ state: 'gone', leave: { how: 'stopped' } })
    expect(taskOf(world)).toMatchObject({ attempts: 0, implementer: 'worker-2' })
    world.need('worker-1').alive = true
    world.say({ type: 'member_on', member: 'worker-1', uuid: 'u-worker-1', turn: null })
    expect(memberOf(world, 'worker-1'), 'a person brings it back').toMatchObject({ state: 'on', phase: 'idle' })
  })

  test('a worker that is paused keeps its task', () => {
    const world = untilTask(up(), 'implementing')
    world.say({ type: 'member_held', member: 'worker-1', held: true })
    expect(taskOf(world)).toMatchObject({ state: 'implementing', implementer: 'worker-1' })
    world.say({ type: 'member_held', member: 'worker-1', held: false })
    until(world, closed(world))
    expect(taskOf(world)).toMatchObject({ state: 'done', implementer: 'worker-1', attempts: 0 })
  })
})

describe('people', () => {
  test('a gate waits for a person; what is denied goes back to its worker', () => {
    const world = untilTask(up({ gate: 'human' }), 'waiting')
    expect(told(world, () => {
      world.asks.delete('one.1')
      world.say({ type: 'answered', task: 'one', id: 'one.1', option: 'deny', text: 'say why in the comment' })
      untilTask(world, 'waiting')
      moveOn(world)
      untilTask(world, 'committing')
    })).toMatchInlineSnapshot(`
      "
      task.answered one deny
      task.verdict one null DENIED "say why in the comment"
      crew.turn.begun worker-1 2 true
      task.reported one worker-1 "it works"
      task.review one worker-2
      crew.turn worker-1 2 ok complete one
      crew.turn worker-2 1 ok complete one
      crew.job brief worker-2 one
      crew.job.done 5 briefed
      task.briefed one
      crew.turn.begun worker-2 2 true
      task.verdict one worker-2 APPROVED good
      task.asked one one.2 gate
      crew.turn worker-2 2 ok complete one
      task.answered one approve
      task.approved one user
      task.committing one
        -> coordinator to worker-1: A person sent one "the first" back:
        -> coordinator to worker-2: Review one "the first", done by worker-1.
        -> ask one.2: May one "the first" be committed? worker-1 did it, worker-2 approved it. With deny, say what is missing. [approve, deny, cancel]
        -> mask worker-1
        -> coordinator to worker-1: one "the first" is approved: commit it on your branch now, all of it, with a message that says what changed an
      "
    `)
  })

  test('a task for a person is a question, and its answer reaches the task that needs it', () => {
    const world = up({}, [{ id: 'ask', title: 'which licence?', text: 'MIT or Apache?', kind: 'human' }, { id: 'one', title: 'the licence', text: 'Write LICENSE.', needs: ['ask'] }])
    expect(world.asks.get('ask.1')).toBe('ask')
    expect(told(world, () => {
      world.asks.delete('ask.1')
      world.say({ type: 'answered', task: 'ask', id: 'ask.1', option: null, text: 'Apache' })
      until(world, () => world.need('worker-1').reading !== null)
    })).toMatchInlineSnapshot(`
      "
      task.answered ask null
      task.done ask Apache
      task.assigned one worker-1
      crew.job prepare worker-1 one
      crew.job.done 3 prepared
      task.prepared one base
      crew.turn.begun worker-1 1 true
        -> coordinator to worker-1: Task one "the licence"
      "
    `)
    expect(world.need('worker-1').reading?.text).toContain('ask was answered by a person: Apache')
  })

  test('a review that nobody can do is a person\'s', () => {
    const world = up({ maxWorkers: 1, staff: [{ role: 'generic', count: 1 }] })
    untilTask(world, 'waiting')
    expect(taskOf(world).ask).toEqual({ id: 'one.1', for: 'review' })
    until(world, closed(world))
    expect(taskOf(world)).toMatchObject({ state: 'done', reviewer: null, verdict: 'APPROVED' })
  })

  test('an answer that nobody waits for changes nothing', () => {
    const world = untilTask(up({ gate: 'human' }), 'waiting')
    const before = world.crew
    world.say({ type: 'answered', task: 'one', id: 'one.7', option: 'approve', text: null })
    world.say({ type: 'answered', task: 'two', option: 'approve', text: null })
    expect(world.crew).toBe(before)
    world.say({ type: 'cancel_task', task: 'one', reason: 'no', requeue: false }, PERSON)
    expect(world.asks.size, 'it is asked no more').toBe(0)
  })
})

describe('the commit', () => {
  test('a conflict becomes a task; what needs the first waits for it', () => {
    const world = up({}, [{ id: 'one', title: 'the first', text: 'Do it.' }, { id: 'two', title: 'the second', text: 'Then this.', needs: ['one'] }])
    untilTask(world, 'merging')
    const merge = world.jobs.find(({ type }) => type === 'merge')
    expect(told(world, () => {
      world.jobs = world.jobs.filter((job) => job !== merge)
      world.say({ type: 'job_done', job: merge?.job ?? 0, result: { type: 'conflict', files: ['a.ts', 'b.ts'], branch: 'reeve/crew.one' } })
      untilTask(world, 'done')
    })).toMatchInlineSnapshot(`
      "
      crew.job.done 6 conflict
      task.added task-3 conflict "merge one" [] null true system "The changes of both sides are there, and work together."
      task.conflict one task-3 ["a.ts","b.ts"]
      task.assigned task-3 worker-1
      crew.job prepare worker-1 task-3
      crew.job.done 7 prepared
      task.prepared task-3 base
      crew.turn.begun worker-1 3 true
      task.reported task-3 worker-1 "it works"
      task.review task-3 worker-2
      crew.turn worker-1 3 ok complete task-3
      crew.turn worker-2 1 ok complete one
      crew.job brief worker-2 task-3
      crew.job.done 8 briefed
      task.briefed task-3
      crew.turn.begun worker-2 2 true
      task.verdict task-3 worker-2 APPROVED good
      task.approved task-3 null
      task.committing task-3
      crew.turn.begun worker-1 4 true
      crew.turn worker-1 4 ok complete task-3
      crew.job commit worker-1 task-3
      crew.job.done 9 committed
      task.committed task-3 worker-1-6
      crew.job merge worker-1 task-3
      crew.job.done 10 merged
      task.merged task-3 m-worker-1-6
      task.done task-3 null
      task.merged one m-worker-1-6
      task.done one null
      task.assigned two worker-1
      crew.job prepare worker-1 two
        -> coordinator to worker-1: Task task-3 "merge one"
        -> coordinator to worker-2: Review task-3 "merge one", done by worker-1.
        -> mask worker-1
        -> coordinator to worker-1: task-3 "merge one" is approved: commit it on your branch now, all of it, with a message that says what changed
        -> unmask worker-1
      "
    `)
    expect(taskOf(world, 'task-3')).toMatchObject({ kind: 'conflict', state: 'done' })
    until(world, closed(world))
    expect(taskOf(world, 'two').state).toBe('done')
  })

  test('a conflict that nobody resolves: the task has failed, and its commit is where it can be found', () => {
    const world = untilTask(up(), 'merging')
    const merge = world.jobs.find(({ type }) => type === 'merge')
    world.jobs = world.jobs.filter((job) => job !== merge)
    world.say({ type: 'job_done', job: merge?.job ?? 0, result: { type: 'conflict', files: ['a.ts'] } })
    expect(world.say({ type: 'cancel_task', task: 'one', reason: 'r', requeue: false }, PERSON)).toBeNull()
    expect(world.refusal?.hint).toBe('Cancel task-2: then it has failed.')
    world.say({ type: 'cancel_task', task: 'task-2', reason: 'not now', requeue: false }, PERSON)
    expect(taskOf(world)).toMatchObject({ state: 'failed', reason: expect.stringMatching(/could not be merged: task-2 was cancelled; it is on branch reeve\/crew\.one$/) })
  })

  test('a worker that cannot commit is reminded once: then it is done for it', () => {
    const world = untilTask(up(), 'committing')
    for (let time = 0; time < 2; time += 1) {
      until(world, () => world.need('worker-1').reading !== null)
      world.need('worker-1').plan = []
      endTurn(world, world.need('worker-1'), 'ok')
      until(world, () => world.crew.jobs.length === 0 || world.need('worker-1').commit !== null)
    }
    expect(world.journal.filter(({ type }) => type === 'task.uncommitted')).toHaveLength(1)
    untilTask(world, 'done')
  })

  test('its worker is reminded twice, then it is done for it; a hook that says no is named', () => {
    const world = untilTask(up(), 'committing')
    const texts: string[] = []
    for (let time = 0; time < 3; time += 1) {
      until(world, () => world.need('worker-1').reading !== null)
      texts.push(world.need('worker-1').reading?.text.split('\n')[0] ?? '')
      endTurn(world, world.need('worker-1'), 'ok')
      const job = world.jobs.find(({ type }) => type === 'commit')
      if (!job) throw new Error('nobody looks')
      world.jobs = []
      world.say({ type: 'job_done', job: job.job, result: { type: 'committed', commit: null, dirty: true, output: 'the hook says no' } })
    }
    expect(texts).toEqual([
      expect.stringContaining('is approved: commit it'),
      'one "the first" is not committed yet: the hook says no. Commit it on your branch, and end your turn.',
      'one "the first" is not committed yet: the hook says no. Commit it on your branch, and end your turn.',
    ])
    expect(world.crew.jobs).toMatchObject([{ type: 'commit', force: true }])
    world.need('worker-1').dirty = true
    until(world, closed(world))
    expect(taskOf(world)).toMatchObject({ state: 'done', merged: expect.any(String) })
  })

  test('one at a time: the lock goes to the next in order', () => {
    const world = up({ gate: 'human', staff: [{ role: 'generic', count: 4 }] }, ['one', 'two'].map((id) => ({ id, title: id, text: 'Do it.' })))
    until(world, () => world.crew.tasks.every(({ state }) => state === 'waiting'))
    for (const task of ['one', 'two']) world.say({ type: 'answered', task, option: 'approve', text: null })
    world.asks.clear()
    expect(world.crew.tasks.map(({ state }) => state)).toEqual(['committing', 'approved'])
    until(world, closed(world))
    expect(world.journal.flatMap((fact) => (fact.type === 'task.committing' || fact.type === 'task.committed' ? [`${fact.type} ${fact.task}`] : []))).toEqual(['task.committing one', 'task.committed one', 'task.committing two', 'task.committed two'])
  })

  test('without a repository nothing is committed', () => {
    const world = up({ git: null })
    until(world, closed(world))
    expect(world.journal.filter(({ type }) => type.startsWith('task.commit'))).toEqual([])
    expect(taskOf(world)).toMatchObject({ state: 'done', commit: null, verdict: 'APPROVED' })
  })

  test('nothing that changed is done without a commit', () => {
    const world = untilTask(up(), 'committing')
    world.need('worker-1').dirty = false
    until(world, () => world.need('worker-1').reading !== null)
    world.need('worker-1').plan = []
    until(world, closed(world))
    expect(taskOf(world)).toMatchObject({ state: 'done', commit: null })
  })
})

describe('what they are told, whole', () => {
  const needs = [{ id: 'find', title: 'which one?', text: 'Find out.', role: 'researcher' }, { id: 'one', title: 'the first', text: 'Do it.', acceptance: 'it works', needs: ['find'] }] as const
  const reads = (world: World, id: MemberId, start: string): string => until(world, () => world.procs.get(id)?.reading?.text.startsWith(start) === true).need(id).reading?.text ?? ''

  test('a task, with what it needed and what became of the tries before', () => {
    const world = up({ staff: [{ role: 'generic', count: 2 }, { role: 'researcher', count: 1 }] }, needs)
    untilTask(world, 'in_review')
    reads(world, 'worker-2', 'Review')
    world.need('worker-2').plan = []
    world.say({ type: 'report_review_verdict', verdict: 'DENIED', comments: 'a test is missing' }, byMember(world.need('worker-2')))
    until(world, () => world.need('worker-1').dirty && world.need('worker-1').reading !== null)
    dies(world, 'worker-1')
    expect(`\n${reads(world, 'worker-2', 'Task')}\n`).toMatchInlineSnapshot(`
      "
      Task one "the first"

      Do it.

      Accepted when: it works

      find reported: it works

      2 earlier tries failed; the last: worker-1 was lost: ended by agent

      A reviewer said of it: a test is missing

      What it left uncommitted is at refs/salvage/worker-1: look there before you begin anew.

      When it is done, call report_implementation_complete with a summary; commit nothing before you are told to.
      "
    `)
  })

  test('a review', () => {
    const world = untilTask(up({}, [{ ...needs[1], needs: [] }]), 'in_review')
    expect(`\n${reads(world, 'worker-2', 'Review')}\n`).toMatchInlineSnapshot(`
      "
      Review one "the first", done by worker-1.

      See it in your own worktree: \`git diff base..head\`, or a file by \`git show head:FILE\`. That has also what is not committed yet.

      Do it.

      Accepted when: it works

      Its report: it works

      Call report_review_verdict with APPROVED, or with DENIED and comments that say what is missing.
      "
    `)
  })

  test('a successor, while its predecessor\'s work is reviewed, and after it was sent back', () => {
    const world = untilTask(up({ staff: [{ role: 'generic', count: 2 }] }), 'in_review')
    reads(world, 'worker-2', 'Review')
    world.need('worker-2').plan = []
    world.say({ type: 'replace_worker', member: 'worker-1', summary: 'the parser is done' }, PERSON)
    expect(`\n${reads(world, 'worker-3', 'Task')}\n`).toMatchInlineSnapshot(`
      "
      Task one "the first" is yours now.

      You take over from worker-1, with its files as they were. It wrote: the parser is done

      Do it.

      It is being reviewed: wait for the verdict. Call signal_ready.
      "
    `)
  })
})

describe('the end', () => {
  test('tasks that are open are cancelled, and what is being committed is waited for', () => {
    const world = up({ staff: [{ role: 'generic', count: 3 }], stay: true }, ['one', 'two'].map((id, index) => ({ id, title: id, text: 'Do it.', needs: index > 0 ? ['one'] : [] })))
    untilTask(world, 'committing')
    expect(world.say({ type: 'complete_crew', summary: 's', outcome: 'completed' }, PERSON)).toBeNull()
    expect(world.refusal?.message).toBe('2 tasks are open: one, two')
    expect(told(world, () => {
      world.say({ type: 'complete_crew', summary: 'enough', outcome: 'cancelled' }, PERSON)
      expect(world.ended).toBeNull()
      expect(world.say({ type: 'add_task', title: 't', text: 't' }, PERSON), 'nothing is added any more').toBeNull()
      until(world, () => world.ended !== null)
    })).toMatchInlineSnapshot(`
      "
      crew.ending cancelled enough
      task.cancelled two "the crew ended"
      crew.turn.begun worker-1 2 true
      crew.turn worker-1 2 ok complete one
      crew.job commit worker-1 one
      crew.job.done 6 committed
      task.committed one worker-1-3
      crew.job merge worker-1 one
      crew.job.done 7 merged
      task.merged one m-worker-1-3
      task.done one null
      crew.ended
        -> unmask worker-1
        -> end cancelled: enough
      "
    `)
  })

  test('what cannot be committed any more is not begun again', () => {
    const world = untilTask(up({ maxAttempts: 9 }), 'committing')
    world.say({ type: 'complete_crew', summary: 'enough', outcome: 'cancelled' }, PERSON)
    dies(world, 'worker-1')
    const job = world.jobs.find(({ type }) => type === 'commit')
    world.say({ type: 'job_done', job: job?.job ?? 0, result: { type: 'error', error: 'the disk is full' } })
    expect(taskOf(world)).toMatchObject({ state: 'cancelled', reason: 'the crew ended; it could not be committed: the disk is full' })
    expect(world.ended).toBe('cancelled')
  })

  test('one that stays waits for more', () => {
    const world = up({ stay: true })
    until(world, closed(world))
    while (moveOn(world));
    expect(world.ended).toBeNull()
    world.say({ type: 'add_task', id: 'more', title: 'more', text: 'Do it.' }, PERSON)
    until(world, closed(world))
    expect(taskOf(world, 'more').state).toBe('done')
  })
})
