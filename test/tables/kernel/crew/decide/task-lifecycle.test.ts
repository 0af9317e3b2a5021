// The lifecycle of a task as transcripts: facts in order, acts and messages. Members do what their messages ask for
// (crew-world/regular-work.ts), unless a test states otherwise. Transcripts are rewritten with --update and reviewed as a diff.
import { describe, expect, test } from 'vitest'
import { resetFiles } from '../../../../support/crew-world/files.ts'
import { senderOfMember, performJob, endTurn, endProcess, continueTurn, playAct } from '../../../../support/crew-world/regular-work.ts'
import {
  memberOf,
  USER,
  taskOf,
  transcriptOf,
  runUntil,
  runUntilTask,
  startedWorld,
} from '../../../../support/crew-world/prepared-world.ts'
import type { CrewWorld } from '../../../../support/crew-world/world.ts'
import type { MemberId } from '../../../../../src/kernel/model/crew/words.ts'

const areAllClosed = (world: CrewWorld) => (): boolean =>
  world.crew.tasks.every(({ state }) => ['done', 'failed', 'cancelled'].includes(state))

/** Ends the process of the member in the middle of its work. */
function killMember(world: CrewWorld, id: MemberId): void {
  endProcess(world, world.requireProcess(id), 'agent')
}

test('a task is implemented, reviewed, committed and merged', () => {
  const world = startedWorld()
  expect(transcriptOf(world, () => runUntil(world, () => world.outcome !== null))).toMatchInlineSnapshot(`
    "
    crew.job.done 3 prepared
    task.prepared one base
    crew.turn.begun worker-1 1 true
    task.reported one worker-1 "it works"
    task.review one worker-2
    crew.job brief worker-2 one
    crew.job.done 4 briefed
    task.briefed one view-files-1
    crew.turn worker-1 1 ok complete one
    crew.turn.begun worker-2 1 true
    task.verdict one worker-2 APPROVED good
    task.approved one null
    task.committing one
    crew.job check worker-1 one
    crew.job.done 5 checked
    crew.turn.begun worker-1 2 true
    crew.turn worker-1 2 ok complete one
    crew.job commit worker-1 one
    crew.job.done 6 committed
    task.committed one worker-1-3
    crew.job merge worker-1 one
    crew.job.done 7 candidate
    crew.job land worker-1 one
    crew.job.done 8 merged
    task.merged one m-worker-1-3
    task.done one null
    crew.ending completed "1 of 1 tasks are done"
    crew.ended
      -> coordinator to worker-1: Task one "the first"
      -> coordinator to worker-2: Review one "the first", implemented by worker-1.
      -> mask worker-1
      -> coordinator to worker-1: one "the first" is approved: commit it on your branch now. Include everything that belongs to the task, and ch
      -> unmask worker-1
      -> end completed: 1 of 1 tasks are done
    "
  `)
})

describe('a change that the user approves without a reviewer', () => {
  test.each<[string, Parameters<typeof startedWorld>[0], (world: CrewWorld) => unknown]>([
    [
      'as the answer to the question about its review',
      { staff: [{ role: 'generic', count: 1 }], maxWorkers: 1 },
      (world) => world.submit({ type: 'answered', task: 'one', option: 'approve', text: null }),
    ],
    [
      'as the answer to the question of the gate',
      { reviews: false, gate: 'human' },
      (world) => world.submit({ type: 'answered', task: 'one', option: 'approve', text: null }),
    ],
    [
      'by an approval in place of a reviewer',
      { staff: [{ role: 'generic', count: 1 }], maxWorkers: 1 },
      (world) => world.submit({ type: 'approve_commit', task: 'one' }, USER),
    ],
    [
      'as the answer to the question of the gate, in a crew that merges nothing',
      { reviews: false, gate: 'human', merge: 'leave' },
      (world) => world.submit({ type: 'answered', task: 'one', option: 'approve', text: null }),
    ],
  ])('%s is recorded before its worker is asked to commit it, and the commit is compared with the recorded files', (_, spec, approve) => {
    const world = runUntilTask(startedWorld(spec), 'waiting')
    runUntil(world, () => memberOf(world, 'worker-1').turn.open === null)
    approve(world)
    runUntil(world, () => world.jobs.some(({ type }) => type === 'commit'))
    expect(taskOf(world).viewed).toBe('view-files-1')
    expect(world.jobs.find(({ type }) => type === 'commit')).toMatchObject({ task: 'one', reviewed: 'view-files-1' })
  })

  test('is recorded before the commit even when its worker has left, which may have committed a part', () => {
    const world = runUntilTask(startedWorld({ staff: [{ role: 'generic', count: 1 }], maxWorkers: 1 }), 'waiting')
    killMember(world, 'worker-1')
    world.submit({ type: 'answered', task: 'one', option: 'approve', text: null })
    runUntil(world, () => world.jobs.some(({ type }) => type === 'commit'))
    expect(world.jobs.find(({ type }) => type === 'commit')).toMatchObject({ task: 'one', reviewed: 'view-files-1', instead: true })
  })

  test('loses its worker if the files cannot be opened, and goes back to the queue', () => {
    const world = runUntilTask(startedWorld({ staff: [{ role: 'generic', count: 1 }], maxWorkers: 1 }), 'waiting')
    runUntil(world, () => memberOf(world, 'worker-1').turn.open === null)
    world.submit({ type: 'answered', task: 'one', option: 'approve', text: null })
    const job = world.jobs.find(({ type }) => type === 'brief')
    world.submit({ type: 'job_done', job: job?.job ?? 0, result: { type: 'error', error: 'it is gone', lost: 'worker-1' } })
    expect([taskOf(world).state, memberOf(world, 'worker-1').state]).toEqual(['queued', 'leaving'])
  })
})

test('a task is denied, fixed and approved', () => {
  const world = runUntilTask(startedWorld(), 'in_review')
  expect(
    transcriptOf(world, () => {
      runUntil(world, () => world.requireProcess('worker-2').reading !== null)
      world.requireProcess('worker-2').plan = []
      world.submit(
        { type: 'report_review_verdict', verdict: 'DENIED', comments: 'a test is missing' },
        senderOfMember(world.requireProcess('worker-2')),
      )
      runUntilTask(world, 'committing')
    }),
  ).toMatchInlineSnapshot(`
    "
    crew.job.done 4 briefed
    task.briefed one view-files-1
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
    task.briefed one view-files-2
    crew.turn.begun worker-2 2 true
    task.verdict one worker-2 APPROVED good
    task.approved one null
    task.committing one
    crew.job check worker-1 one
    crew.job.done 6 checked
      -> coordinator to worker-2: Review one "the first", implemented by worker-1.
      -> coordinator to worker-1: worker-2 sent one "the first" back:
      -> coordinator to worker-2: Review one "the first", implemented by worker-1.
      -> mask worker-1
      -> coordinator to worker-1: one "the first" is approved: commit it on your branch now. Include everything that belongs to the task, and ch
    "
  `)
})

describe('a worker that is lost', () => {
  test('while it implements has its task requeued with the reason, its files are kept, and another worker starts', () => {
    const world = runUntilTask(startedWorld(), 'implementing')
    runUntil(world, () => world.requireProcess('worker-1').isDirty)
    expect(
      transcriptOf(world, () => {
        killMember(world, 'worker-1')
        runUntilTask(world, 'awaiting_review')
      }),
    ).toMatchInlineSnapshot(`
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

  test('while its task is reviewed ends the review', () => {
    const world = runUntilTask(startedWorld(), 'in_review')
    runUntil(world, () => world.requireProcess('worker-2').reading !== null)
    expect(transcriptOf(world, () => killMember(world, 'worker-1'))).toMatchInlineSnapshot(`
      "
      crew.left worker-1 lost "ended by agent"
      task.requeued one "worker-1 was lost: ended by agent" true
      crew.job salvage worker-1 one
      task.assigned one worker-2
        -> interrupt worker-2
        -> system to worker-2: one "the first" went back to the queue: worker-1 was lost: ended by agent. Stop working on it and call signal_
      "
    `)
  })

  test('while it commits makes reeve check the branch and commit the approved files once', () => {
    const world = runUntilTask(startedWorld(), 'committing')
    expect(
      transcriptOf(world, () => {
        killMember(world, 'worker-1')
        runUntilTask(world, 'done')
      }),
    ).toMatchInlineSnapshot(`
      "
      crew.left worker-1 lost "ended by agent"
      crew.job commit worker-1 one force
      crew.job.done 6 committed
      task.committed one worker-1-3
      crew.job merge worker-1 one
      crew.job.done 7 candidate
      crew.job land worker-1 one
      crew.job.done 8 merged
      task.merged one m-worker-1-3
      task.done one null
      crew.ending completed "1 of 1 tasks are done"
      crew.ended
        -> end completed: 1 of 1 tasks are done
      "
    `)
    expect(world.mergeCounts.get('one')).toBe(1)
  })

  test('after its commit causes no second commit', () => {
    const world = runUntilTask(startedWorld(), 'committing')
    runUntil(world, () => world.requireProcess('worker-1').commit !== null)
    const { commit } = world.requireProcess('worker-1')
    killMember(world, 'worker-1')
    runUntilTask(world, 'done')
    expect(taskOf(world).commit).toBe(commit)
  })

  test('while it reviews is replaced by another reviewer', () => {
    const world = runUntilTask(startedWorld({ staff: [{ role: 'generic', count: 3 }] }), 'in_review')
    expect(
      transcriptOf(world, () => {
        killMember(world, 'worker-2')
        runUntilTask(world, 'committing')
      }),
    ).toMatchInlineSnapshot(`
      "
      crew.left worker-2 lost "ended by agent"
      task.unreviewed one worker-2 "worker-2 was lost: ended by agent"
      task.review one worker-3
      crew.job brief worker-3 one
      crew.job.done 5 briefed
      crew.job.done 6 briefed
      task.briefed one view-files-1
      crew.turn worker-1 1 ok complete one
      crew.turn.begun worker-3 1 true
      task.verdict one worker-3 APPROVED good
      task.approved one null
      task.committing one
      crew.job check worker-1 one
      crew.job.done 7 checked
        -> coordinator to worker-3: Review one "the first", implemented by worker-1.
        -> mask worker-1
        -> coordinator to worker-1: one "the first" is approved: commit it on your branch now. Include everything that belongs to the task, and ch
      "
    `)
  })

  test('repeatedly fails the task and its dependents', () => {
    const world = startedWorld({ maxAttempts: 2 }, [
      { id: 'one', title: 'the first', text: 'Do it.' },
      { id: 'two', title: 'the second', text: 'Then this.', needs: ['one'] },
    ])
    for (let time = 0; time < 2; time += 1) {
      runUntil(world, () => taskOf(world).begun === true)
      killMember(world, taskOf(world).implementer ?? 'worker-1')
    }
    expect(world.crew.tasks.map(({ id, state, reason }) => [id, state, reason])).toEqual([
      ['one', 'failed', expect.stringMatching(/^all 2 attempts failed; the last reason: worker-\d was lost/)],
      ['two', 'failed', 'needs one, which failed'],
    ])
    expect(world.outcome).toBe('failed')
  })
})

describe('commands about a task in progress', () => {
  test('cancel with requeue interrupts the worker, and resets its files after its turn', () => {
    const world = runUntilTask(startedWorld(), 'implementing')
    runUntil(world, () => world.requireProcess('worker-1').isDirty)
    expect(
      transcriptOf(world, () => {
        world.submit({ type: 'cancel_task', task: 'one', reason: 'another idea', requeue: true }, USER)
        continueTurn(world, world.requireProcess('worker-1'))
        for (const job of [...world.jobs]) performJob(world, job)
      }),
    ).toMatchInlineSnapshot(`
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
        -> system to worker-1: one "the first" went back to the queue: another idea. Stop working on it and call signal_ready. reeve saves yo
        -> coordinator to worker-2: Task one "the first"
      "
    `)
    expect(world.requireProcess('worker-1').isDirty).toBe(false)
  })

  test('replace starts the successor first, which gets the task, queue, files and summary', () => {
    const world = runUntilTask(startedWorld(), 'implementing')
    runUntil(world, () => world.requireProcess('worker-1').isDirty)
    world.submit({ type: 'send_message', to: 'worker-1', text: 'mind the tests' }, USER)
    expect(
      transcriptOf(world, () => {
        world.submit({ type: 'replace_worker', member: 'worker-1', summary: 'the parser is done' }, USER)
        runUntilTask(world, 'in_review')
      }),
    ).toMatchInlineSnapshot(`
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
    expect(world.requireProcess('worker-3').isDirty, 'its files went over').toBe(true)
  })

  test('stop requeues the task without a failed attempt, and the user can resume the stopped worker', () => {
    const world = runUntilTask(startedWorld({ staff: [{ role: 'generic', count: 3 }] }), 'implementing')
    expect(transcriptOf(world, () => world.submit({ type: 'stop_worker', member: 'worker-1', reason: 'it goes in circles' }, USER)))
      .toMatchInlineSnapshot(`
      "
      task.requeued one "worker-1 was stopped: it goes in circles" false
      crew.leaving worker-1 stopped "it goes in circles"
      task.assigned one worker-2
      crew.job prepare worker-2 one
        -> stop worker-1
      "
    `)
    endProcess(world, world.requireProcess('worker-1'), 'person')
    expect(memberOf(world, 'worker-1')).toMatchObject({ state: 'gone', leave: { how: 'stopped' } })
    expect(taskOf(world)).toMatchObject({ attempts: 0, implementer: 'worker-2' })
    world.requireProcess('worker-1').isAlive = true
    world.submit({ type: 'member_running', member: 'worker-1', uuid: 'u-worker-1', turn: null })
    expect(memberOf(world, 'worker-1'), 'the user brings it back').toMatchObject({ state: 'on', phase: 'idle' })
  })

  test('a pause leaves the task with its worker', () => {
    const world = runUntilTask(startedWorld(), 'implementing')
    world.submit({ type: 'member_held', member: 'worker-1', held: true })
    expect(taskOf(world)).toMatchObject({ state: 'implementing', implementer: 'worker-1' })
    world.submit({ type: 'member_held', member: 'worker-1', held: false })
    runUntil(world, areAllClosed(world))
    expect(taskOf(world)).toMatchObject({ state: 'done', implementer: 'worker-1', attempts: 0 })
  })
})

describe('questions to the user', () => {
  test('a gate waits for the user; a denied task goes back to its worker', () => {
    const world = runUntilTask(startedWorld({ gate: 'human' }), 'waiting')
    expect(
      transcriptOf(world, () => {
        world.openQuestions.delete('one.1')
        world.submit({ type: 'answered', task: 'one', id: 'one.1', option: 'deny', text: 'say why in the comment' })
        runUntilTask(world, 'waiting')
        playAct(world)
        runUntilTask(world, 'committing')
      }),
    ).toMatchInlineSnapshot(`
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
      task.briefed one view-files-2
      crew.turn.begun worker-2 2 true
      task.verdict one worker-2 APPROVED good
      task.asked one one.2 gate
      crew.turn worker-2 2 ok complete one
      task.answered one approve
      task.approved one user
      task.committing one
      crew.job check worker-1 one
      crew.job.done 6 checked
        -> coordinator to worker-1: The user sent one "the first" back:
        -> coordinator to worker-2: Review one "the first", implemented by worker-1.
        -> ask one.2: May one "the first" be committed? worker-1 implemented it, and worker-2 approved it. To deny, write what is mi [approve, deny, cancel]
        -> mask worker-1
        -> coordinator to worker-1: one "the first" is approved: commit it on your branch now. Include everything that belongs to the task, and ch
      "
    `)
  })

  test('a human task is a question, and its answer reaches the task that needs it', () => {
    const world = startedWorld({}, [
      { id: 'ask', title: 'which licence?', text: 'MIT or Apache?', kind: 'human' },
      { id: 'one', title: 'the licence', text: 'Write LICENSE.', needs: ['ask'] },
    ])
    expect(world.openQuestions.get('ask.1')).toBe('ask')
    expect(
      transcriptOf(world, () => {
        world.openQuestions.delete('ask.1')
        world.submit({ type: 'answered', task: 'ask', id: 'ask.1', option: null, text: 'Apache' })
        runUntil(world, () => world.requireProcess('worker-1').reading !== null)
      }),
    ).toMatchInlineSnapshot(`
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
    expect(world.requireProcess('worker-1').reading?.text).toContain('The user answered ask: Apache')
  })

  test('a review that no worker can do goes to the user', () => {
    const world = startedWorld({ maxWorkers: 1, staff: [{ role: 'generic', count: 1 }] })
    runUntilTask(world, 'waiting')
    expect(taskOf(world).ask).toEqual({ id: 'one.1', for: 'review' })
    runUntil(world, areAllClosed(world))
    expect(taskOf(world)).toMatchObject({ state: 'done', reviewer: null, verdict: 'APPROVED' })
  })

  test('an answer to a closed question changes nothing', () => {
    const world = runUntilTask(startedWorld({ gate: 'human' }), 'waiting')
    const before = world.crew
    world.submit({ type: 'answered', task: 'one', id: 'one.7', option: 'approve', text: null })
    world.submit({ type: 'answered', task: 'two', option: 'approve', text: null })
    expect(world.crew).toBe(before)
    world.submit({ type: 'cancel_task', task: 'one', reason: 'no', requeue: false }, USER)
    expect(world.openQuestions.size, 'the question is no longer open').toBe(0)
  })
})

describe('the commit', () => {
  test('a conflict becomes a task, and dependents wait for it', () => {
    const world = startedWorld({}, [
      { id: 'one', title: 'the first', text: 'Do it.' },
      { id: 'two', title: 'the second', text: 'Then this.', needs: ['one'] },
    ])
    runUntilTask(world, 'merging')
    const merge = world.jobs.find(({ type }) => type === 'merge')
    expect(
      transcriptOf(world, () => {
        world.jobs = world.jobs.filter((job) => job !== merge)
        world.submit({
          type: 'job_done',
          job: merge?.job ?? 0,
          result: { type: 'conflict', files: ['a.ts', 'b.ts'], branch: 'reeve/crew.one' },
        })
        runUntilTask(world, 'done')
      }),
    ).toMatchInlineSnapshot(`
      "
      crew.job.done 7 conflict
      task.added task-3 conflict "merge one" [] null true system "The changes of both sides are present and work together."
      task.conflict one task-3 ["a.ts","b.ts"]
      task.assigned task-3 worker-2
      crew.turn worker-2 1 ok complete one
      crew.job prepare worker-2 task-3
      crew.job.done 8 prepared
      task.prepared task-3 base
      crew.turn.begun worker-2 2 true
      task.reported task-3 worker-2 "it works"
      task.review task-3 worker-1
      crew.job brief worker-1 task-3
      crew.job.done 9 briefed
      task.briefed task-3 view-files-2
      crew.turn.begun worker-1 3 true
      task.verdict task-3 worker-1 APPROVED good
      task.approved task-3 null
      task.committing task-3
      crew.job check worker-2 task-3
      crew.job.done 10 checked
      crew.turn worker-1 3 ok complete task-3
      crew.turn worker-2 2 ok complete task-3
      crew.turn.begun worker-2 3 true
      crew.turn worker-2 3 ok complete task-3
      crew.job commit worker-2 task-3
      crew.job.done 11 committed
      task.committed task-3 worker-2-6
      crew.job merge worker-2 task-3
      crew.job.done 12 candidate
      crew.job land worker-2 task-3
      crew.job.done 13 merged
      task.merged task-3 m-worker-2-6
      task.done task-3 null
      task.resolved one task-3
      crew.job merge worker-1 one
      crew.job.done 14 candidate
      crew.job land worker-1 one
      crew.job.done 15 merged
      task.merged one m-worker-1-3
      task.done one null
      task.assigned two worker-1
      crew.job prepare worker-1 two
        -> coordinator to worker-2: Task task-3 "merge one"
        -> coordinator to worker-1: Review task-3 "merge one", implemented by worker-2.
        -> mask worker-2
        -> coordinator to worker-2: task-3 "merge one" is approved: commit it on your branch now. Include everything that belongs to the task, and
        -> unmask worker-2
      "
    `)
    expect(taskOf(world, 'task-3')).toMatchObject({ kind: 'conflict', state: 'done' })
    runUntil(world, areAllClosed(world))
    expect(taskOf(world, 'two').state).toBe('done')
  })

  test('an unresolved conflict fails the task, and its commit stays on a branch', () => {
    const world = runUntilTask(startedWorld(), 'merging')
    const merge = world.jobs.find(({ type }) => type === 'merge')
    world.jobs = world.jobs.filter((job) => job !== merge)
    world.submit({ type: 'job_done', job: merge?.job ?? 0, result: { type: 'conflict', files: ['a.ts'] } })
    expect(world.submit({ type: 'cancel_task', task: 'one', reason: 'r', requeue: false }, USER)).toBeNull()
    expect(world.lastRefusal?.hint).toBe('Cancel task-2 instead: then this task fails.')
    world.submit({ type: 'cancel_task', task: 'task-2', reason: 'not now', requeue: false }, USER)
    expect(taskOf(world)).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/could not be merged: task-2 was cancelled; it is on branch reeve\/crew\.one$/),
    })
  })

  test('a worker that does not commit is reminded once, then reeve commits', () => {
    const world = runUntilTask(startedWorld(), 'committing')
    for (let time = 0; time < 2; time += 1) {
      runUntil(world, () => world.requireProcess('worker-1').reading !== null)
      world.requireProcess('worker-1').plan = []
      endTurn(world, world.requireProcess('worker-1'), 'ok')
      runUntil(world, () => world.crew.jobs.length === 0 || world.requireProcess('worker-1').commit !== null)
    }
    expect(world.journal.filter(({ type }) => type === 'task.uncommitted')).toHaveLength(1)
    runUntilTask(world, 'done')
  })

  test('the output of a refusing hook is in the reminders; the worker is reminded twice, then reeve commits', () => {
    const world = runUntilTask(startedWorld(), 'committing')
    const texts: string[] = []
    for (let time = 0; time < 3; time += 1) {
      runUntil(world, () => world.requireProcess('worker-1').reading !== null)
      texts.push(world.requireProcess('worker-1').reading?.text.split('\n')[0] ?? '')
      endTurn(world, world.requireProcess('worker-1'), 'ok')
      const job = world.jobs.find(({ type }) => type === 'commit')
      if (!job) throw new Error('no commit job was requested')
      world.jobs = []
      world.submit({ type: 'job_done', job: job.job, result: { type: 'committed', commit: null, dirty: true, output: 'the hook says no' } })
    }
    expect(texts).toEqual([
      expect.stringContaining('is approved: commit it'),
      'one "the first" is not committed yet: the hook says no. Commit it on your branch, then end your turn.',
      'one "the first" is not committed yet: the hook says no. Commit it on your branch, then end your turn.',
    ])
    expect(world.crew.jobs).toMatchObject([{ type: 'commit', force: true }])
    world.requireProcess('worker-1').isDirty = true
    runUntil(world, areAllClosed(world))
    expect(taskOf(world)).toMatchObject({ state: 'done', merged: expect.any(String) })
  })

  test('one task commits at a time; the next one follows in order', () => {
    const world = startedWorld(
      { gate: 'human', staff: [{ role: 'generic', count: 4 }] },
      ['one', 'two'].map((id) => ({ id, title: id, text: 'Do it.' })),
    )
    runUntil(world, () => world.crew.tasks.every(({ state }) => state === 'waiting'))
    for (const task of ['one', 'two']) world.submit({ type: 'answered', task, option: 'approve', text: null })
    world.openQuestions.clear()
    expect(world.crew.tasks.map(({ state }) => state)).toEqual(['committing', 'approved'])
    runUntil(world, areAllClosed(world))
    expect(
      world.journal.flatMap((fact) =>
        fact.type === 'task.committing' || fact.type === 'task.committed' ? [`${fact.type} ${fact.task}`] : [],
      ),
    ).toEqual(['task.committing one', 'task.committed one', 'task.committing two', 'task.committed two'])
  })

  test('without a repository nothing is committed', () => {
    const world = startedWorld({ git: null })
    runUntil(world, areAllClosed(world))
    expect(world.journal.filter(({ type }) => type.startsWith('task.commit'))).toEqual([])
    expect(taskOf(world)).toMatchObject({ state: 'done', commit: null, verdict: 'APPROVED' })
  })

  test('a task that changed no files is done without a commit', () => {
    const world = startedWorld()
    runUntil(world, () => world.procs.get('worker-1')?.isDirty === true)
    resetFiles(world.requireProcess('worker-1'))
    runUntilTask(world, 'committing')
    runUntil(world, () => world.requireProcess('worker-1').reading !== null)
    world.requireProcess('worker-1').plan = []
    runUntil(world, areAllClosed(world))
    expect(taskOf(world)).toMatchObject({ state: 'done', commit: null })
  })
})

describe('the complete text of', () => {
  const needs = [
    { id: 'find', title: 'which one?', text: 'Find out.', role: 'researcher' },
    { id: 'one', title: 'the first', text: 'Do it.', acceptance: 'it works', needs: ['find'] },
  ] as const
  const messageTo = (world: CrewWorld, id: MemberId, start: string): string =>
    runUntil(world, () => world.procs.get(id)?.reading?.text.startsWith(start) === true).requireProcess(id).reading?.text ?? ''

  test('an assignment with results of needed tasks and earlier attempts', () => {
    const world = startedWorld(
      {
        staff: [
          { role: 'generic', count: 2 },
          { role: 'researcher', count: 1 },
        ],
      },
      needs,
    )
    runUntilTask(world, 'in_review')
    messageTo(world, 'worker-2', 'Review')
    world.requireProcess('worker-2').plan = []
    world.submit(
      { type: 'report_review_verdict', verdict: 'DENIED', comments: 'a test is missing' },
      senderOfMember(world.requireProcess('worker-2')),
    )
    runUntil(world, () => world.requireProcess('worker-1').isDirty && world.requireProcess('worker-1').reading !== null)
    killMember(world, 'worker-1')
    expect(`\n${messageTo(world, 'worker-2', 'Task')}\n`).toMatchInlineSnapshot(`
      "
      Task one "the first"

      Do it.

      Accepted when: it works

      find reported: it works

      2 earlier attempts failed; the last reason: worker-1 was lost: ended by agent

      A reviewer commented: a test is missing

      The uncommitted changes of that attempt are at refs/salvage/worker-1. Look at them before you start.

      When the task is done, call report_implementation_complete with a summary. Do not commit yet: after the approval, a message asks you to commit.
      "
    `)
  })

  test('a review request', () => {
    const world = runUntilTask(startedWorld({}, [{ ...needs[1], needs: [] }]), 'in_review')
    expect(`\n${messageTo(world, 'worker-2', 'Review')}\n`).toMatchInlineSnapshot(`
      "
      Review one "the first", implemented by worker-1.

      Run \`git diff base..view-files-1\` in your own worktree to see the change, or \`git show view-files-1:FILE\` to see one file. Both include uncommitted changes.

      Do it.

      Accepted when: it works

      The implementer's report: it works

      Call report_review_verdict with APPROVED, or with DENIED and comments. Each comment names the file and line, the problem, and how to fix it.
      "
    `)
  })

  test('a takeover during a review', () => {
    const world = runUntilTask(startedWorld({ staff: [{ role: 'generic', count: 2 }] }), 'in_review')
    messageTo(world, 'worker-2', 'Review')
    world.requireProcess('worker-2').plan = []
    world.submit({ type: 'replace_worker', member: 'worker-1', summary: 'the parser is done' }, USER)
    expect(`\n${messageTo(world, 'worker-3', 'Task')}\n`).toMatchInlineSnapshot(`
      "
      Task one "the first" is yours now.

      You take over from worker-1, with its files as it left them. It wrote: the parser is done

      Do it.

      Its review is in progress. Call signal_ready; the verdict arrives as a message.
      "
    `)
  })
})

describe('at the end of a crew', () => {
  test('open tasks are cancelled, and commits in progress are completed', () => {
    const world = startedWorld(
      { staff: [{ role: 'generic', count: 3 }], stay: true },
      ['one', 'two'].map((id, index) => ({ id, title: id, text: 'Do it.', needs: index > 0 ? ['one'] : [] })),
    )
    runUntilTask(world, 'committing')
    expect(world.submit({ type: 'complete_crew', summary: 's', outcome: 'completed' }, USER)).toBeNull()
    expect(world.lastRefusal?.message).toBe('2 tasks are open: one, two')
    expect(
      transcriptOf(world, () => {
        world.submit({ type: 'complete_crew', summary: 'enough', outcome: 'cancelled' }, USER)
        expect(world.outcome).toBeNull()
        expect(world.submit({ type: 'add_task', title: 't', text: 't' }, USER), 'no task can be added').toBeNull()
        runUntil(world, () => world.outcome !== null)
      }),
    ).toMatchInlineSnapshot(`
      "
      crew.ending cancelled enough
      task.cancelled two "the crew ended"
      crew.turn.begun worker-1 2 true
      crew.turn worker-1 2 ok complete one
      crew.job commit worker-1 one
      crew.job.done 7 committed
      task.committed one worker-1-3
      crew.job merge worker-1 one
      crew.job.done 8 candidate
      crew.job land worker-1 one
      crew.job.done 9 merged
      task.merged one m-worker-1-3
      task.done one null
      crew.ended
        -> unmask worker-1
        -> end cancelled: enough
      "
    `)
  })

  test.each([
    ['implementing', 'the crew ends'],
    ['committing', 'the crew ends as soon as the commits in progress are done'],
  ] as const)('the answer while a task is %s', (state, note) => {
    const world = runUntilTask(startedWorld(), state)
    expect(world.submit({ type: 'complete_crew', summary: 'enough', outcome: 'cancelled' }, USER)).toBe(note)
  })

  test('a task whose commit failed is not started again', () => {
    const world = runUntilTask(startedWorld({ maxAttempts: 9 }), 'committing')
    world.submit({ type: 'complete_crew', summary: 'enough', outcome: 'cancelled' }, USER)
    killMember(world, 'worker-1')
    const job = world.jobs.find(({ type }) => type === 'commit')
    world.submit({ type: 'job_done', job: job?.job ?? 0, result: { type: 'error', error: 'the disk is full' } })
    expect(taskOf(world)).toMatchObject({ state: 'cancelled', reason: 'the crew ended; it could not be committed: the disk is full' })
    expect(world.outcome).toBe('cancelled')
  })

  test('a crew with `stay` waits for more tasks', () => {
    const world = startedWorld({ stay: true })
    runUntil(world, areAllClosed(world))
    while (playAct(world));
    expect(world.outcome).toBeNull()
    world.submit({ type: 'add_task', id: 'more', title: 'more', text: 'Do it.' }, USER)
    runUntil(world, areAllClosed(world))
    expect(taskOf(world, 'more').state).toBe('done')
  })
})
