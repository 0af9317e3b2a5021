// What an action would cost, for small worlds of the real kernel. Each world then plays the action, and the result must be as foreseen.
import { expect, test } from 'vitest'
import { foresee } from '../../../../src/kernel/decide/foresee.ts'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import { isLiving } from '../../../../src/kernel/model/status.ts'
import { livingSubtree } from '../../../../src/kernel/state/tree.ts'
import { stakesOf } from '../../../../src/daemon/stakes/stakes.ts'
import { readInput } from '../../../support/kernel/transcript-inputs.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'
import type { Foreseen } from '../../../../src/kernel/decide/foresee.ts'
import type { StakesView } from '../../../../src/api/views/stakes.ts'
import type { World } from '../../../support/kernel/world.ts'
import type { StakesAction } from '../../../../src/kernel/model/words.ts'

const INPUTS: Readonly<Record<Exclude<StakesAction, 'remove'>, string>> = {
  stop: 'signal SIGTERM X least=10000',
  kill: 'signal SIGKILL X',
  pause: 'signal SIGPAUSE X',
  resume: 'resume X',
}

/** Returns what an action would cost in a world. */
function stakesBefore(world: World, uuid: string, action: Exclude<StakesAction, 'remove'>, subtree = false): StakesView {
  const process = world.row(uuid)
  if (!process) throw new Error(`no process is called ${uuid}`)
  let [foreseen, refused]: [Foreseen | null, string | null] = [null, null]
  try {
    const input = readInput(INPUTS[action].replace('X', `${uuid}${subtree ? ' subtree' : ''}`), world, 0)
    foreseen = foresee(world.table, input, { wall: world.wall, mono: world.mono })
  } catch (error) {
    if (!(error instanceof KernelError)) throw error
    refused = error.message
  }
  return stakesOf({
    action,
    subtree,
    process,
    below: livingSubtree(world.table, uuid).filter((row) => row.uuid !== uuid),
    row: (other) => world.table.get(other),
    foreseen,
    refused,
    open: new Map(),
    files: { unrecorded: null, unmerged: [], notes: [] },
  })
}

/** Plays a script, reads the stakes, then plays the action. Compares the stakes with what happened, and returns them as short text. */
function compareStakes(script: string, uuid: string, action: Exclude<StakesAction, 'remove'>, real: string, subtree = false): string {
  const player = new TranscriptPlayer()
  player.play(script)
  const { world } = player
  const journalLength = world.journal.get(uuid)?.length
  const before = livingSubtree(world.table, uuid)
  const stakes = stakesBefore(world, uuid, action, subtree)
  expect(world.journal.get(uuid)?.length, 'nothing was written').toBe(journalLength)
  player.play(real)
  const after = world.row(uuid)
  if (!after) throw new Error('the process is gone')
  const stillLives = (other: string): boolean => {
    const [row, old] = [world.row(other), before.find((one) => one.uuid === other)]
    return row !== undefined && isLiving(row) && row.pid === old?.pid
  }
  expect(
    stakes.children.goOn.every((child) => stillLives(child.uuid)),
    'children go on',
  ).toBe(true)
  expect(
    stakes.children.end.some((child) => stillLives(child.uuid)),
    'children end',
  ).toBe(false)
  expect(after.progress.wholeStep).toBe(stakes.kept.step ?? 0)
  if (action === 'stop' || action === 'kill') expect(isLiving(after)).toBe(stakes.restart === 'comes back')
  const task = world.row(after.spec.member?.crew ?? '')?.crew?.tasks.find(({ id }) => id === stakes.task?.id)
  expect(task?.state).toBe(stakes.task?.becomes)
  expect(after.queue.length).toBe(stakes.queue - stakes.messagesLost)
  return textOf(stakes)
}

function textOf({ inFlight, queue, messagesLost, children, task, run, restart, kept, notes, refused }: StakesView): string {
  const uuids = (all: readonly { readonly uuid: string }[]): string => all.map((one) => one.uuid).join(' ') || '-'
  return [
    ...(refused === null ? [] : [`refused: ${refused}`]),
    ...inFlight.map(({ uuid, what, effect, becomes }) => `${uuid}: ${what}${effect === null ? '' : ` (${effect})`} ${becomes}`),
    `step ${kept.step}, ${kept.resumable ? 'resumable' : 'not resumable'}, ${restart}`,
    ...(queue === 0 ? [] : [`queue ${queue}, lost ${messagesLost}`]),
    `go on: ${uuids(children.goOn)}; end: ${uuids(children.end)}`,
    ...(task ? [`task ${task.id} becomes ${task.becomes}${task.worker === null ? '' : ` of ${task.worker}`}`] : []),
    ...(run ? [`blocks ${run.blocks.join(' ') || '-'}`] : []),
    ...notes,
  ].join('\n')
}

const killScript = (uuid: string): string => `signal SIGKILL ${uuid}\nreport ${uuid} exited none\nreleased ${uuid}`

/** A native process in the middle of step 2, with a call of each effect. */
const BUSY = `
    live a
    report a model 1
    report a answer 1 calls=c1:read
    report a tool c1
    report a model 2
    report a answer 2 calls=r:read,i:idempotent,o:once`

test('a kill interrupts what may not run twice, and keeps whole steps and messages', () => {
  expect(compareStakes(`${BUSY}\nsend a\nsend a`, 'a', 'kill', killScript('a'))).toMatchInlineSnapshot(`
    "a: bash (read) repeated
    a: bash (idempotent) repeated
    a: bash (once) interrupted
    step 1, resumable, stays
    queue 2, lost 0
    go on: -; end: -"
  `)
  expect(compareStakes(`live a\nreport a model 1`, 'a', 'kill', killScript('a'))).toMatchInlineSnapshot(`
    "a: the model call of step 1 repeated
    step 0, resumable, stays
    go on: -; end: -"
  `)
})

test('a stop of a process that blocks or handles SIGTERM comes later', () => {
  const late = `signal SIGTERM a least=10000\nwind 10000\nreport a exited none\nreleased a`
  expect(compareStakes(`${BUSY}\nmask a SIGTERM`, 'a', 'stop', late)).toMatchInlineSnapshot(`
    "a: bash (read) repeated
    a: bash (idempotent) repeated
    a: bash (once) interrupted
    step 1, resumable, stays
    go on: -; end: -
    It blocks SIGTERM, so the stop comes up to 10 s later."
  `)
  expect(compareStakes(`live a interactive\nhandle a SIGTERM message`, 'a', 'stop', late)).toMatchInlineSnapshot(`
    "step 0, resumable, stays
    go on: -; end: -
    Its agent reads that it will be stopped, and may finish its work within the grace."
  `)
})

test('an external agent repeats no call, and a plain command cannot continue', () => {
  expect(compareStakes(`live a acp\nreport a session s\nreport a model 1\nreport a answer 1 calls=c1:read`, 'a', 'stop', killScript('a')))
    .toMatchInlineSnapshot(`
    "a: bash (read) interrupted
    step 0, resumable, stays
    go on: -; end: -
    Its agent gets SIGTERM, and may finish a step within the grace."
  `)
  expect(compareStakes(`live a command`, 'a', 'kill', killScript('a'))).toMatchInlineSnapshot(`
    "a: the command make interrupted
    step null, not resumable, stays
    go on: -; end: -
    It cannot continue: \`--rerun\` runs it again from its beginning."
  `)
  expect(compareStakes(`live a command input`, 'a', 'kill', killScript('a'))).toMatchInlineSnapshot(`
    "a: the command make interrupted
    step null, not resumable, stays
    go on: -; end: -
    It cannot be resumed: a command has no session to continue; its input was not recorded, so it cannot run again."
  `)
})

test('children go on without their parent; with the subtree, and below a supervisor, they end', () => {
  const tree = `live a\nlive b under=a\nlive c under=b`
  expect(compareStakes(tree, 'a', 'kill', killScript('a'))).toMatchInlineSnapshot(`
    "step 0, resumable, stays
    go on: b c; end: -"
  `)
  const all = `signal SIGKILL a subtree\nreport a exited none\nreleased a\nreport b exited none\nreleased b\nreport c exited none\nreleased c`
  expect(compareStakes(tree, 'a', 'kill', all, true)).toMatchInlineSnapshot(`
    "step 0, resumable, stays
    go on: -; end: b c"
  `)
  const supervised = `live s supervisor\nlive b under=s child=one restart=permanent\nlive c under=s child=two`
  const ends = `signal SIGTERM s least=10000\nreport c exited none\nreleased c\nreport b exited none\nreleased b\nreport s exited none\nreleased s`
  expect(compareStakes(supervised, 's', 'stop', ends)).toMatchInlineSnapshot(`
    "step null, resumable, stays
    go on: -; end: b c"
  `)
  expect(compareStakes(supervised, 'b', 'kill', killScript('b'))).toMatchInlineSnapshot(`
    "step 0, resumable, stays
    go on: -; end: -"
  `)
})

test('a suspended process gets no time to clean up, one that waits for its restart loses nothing, and an ended one refuses a stop', () => {
  expect(compareStakes(`${BUSY}\nsignal SIGPAUSE a`, 'a', 'stop', killScript('a'))).toMatchInlineSnapshot(`
    "a: bash (read) repeated
    a: bash (idempotent) repeated
    a: bash (once) interrupted
    step 1, resumable, stays
    go on: -; end: -
    A suspended process gets no time to clean up: it is killed."
  `)
  const waiting = `live a restart=permanent\nreport a exited 3\nreleased a`
  expect(compareStakes(waiting, 'a', 'stop', `signal SIGTERM a`)).toMatchInlineSnapshot(`
    "step 0, resumable, stays
    go on: -; end: -"
  `)
  expect(compareStakes(`live a\n${killScript('a')}`, 'a', 'stop', '')).toMatchInlineSnapshot(`
    "refused: process a has ended
    step 0, resumable, stays
    go on: -; end: -"
  `)
})

test('a pause lets open calls finish, or freezes a command; a resume repeats calls', () => {
  expect(compareStakes(BUSY, 'a', 'pause', 'signal SIGPAUSE a')).toMatchInlineSnapshot(`
    "a: bash (read) finishes
    a: bash (idempotent) finishes
    a: bash (once) finishes
    step 1, resumable, stays
    go on: -; end: -
    The pause begins when the open call has finished. After 120 s the call is frozen."
  `)
  expect(compareStakes('live a command', 'a', 'pause', 'signal SIGPAUSE a')).toMatchInlineSnapshot(`
    "a: the command make stands still
    step null, resumable, stays
    go on: -; end: -"
  `)
  expect(compareStakes(`live a\nlive b under=a`, 'a', 'pause', 'signal SIGPAUSE a subtree', true)).toMatchInlineSnapshot(`
    "step 0, resumable, stays
    go on: -; end: -"
  `)
  expect(compareStakes(`${BUSY}\n${killScript('a')}`, 'a', 'resume', 'resume a')).toMatchInlineSnapshot(`
    "a: bash (read) repeated
    a: bash (idempotent) repeated
    a: bash (once) interrupted
    step 1, resumable, stays
    go on: -; end: -"
  `)
})

test('the task of a member that the user kills goes back to the queue, or to another worker', () => {
  const crew = `
    live crew c staff=generic:1 git
    live member w1 of=c id=worker-1
    say c add_task id=one
    done c prepare
    start w1
    report w1 up`
  expect(compareStakes(crew, 'w1', 'kill', killScript('w1'))).toMatchInlineSnapshot(`
    "step 0, resumable, stays
    go on: -; end: -
    task one becomes queued
    The crew starts worker-2."
  `)
  expect(compareStakes(crew, 'c', 'stop', `signal SIGTERM c\nreport w1 exited none\nreleased w1\nreport c exited none\nreleased c`))
    .toMatchInlineSnapshot(`
      "step null, resumable, stays
      go on: -; end: w1
      1 task is not done; a resume of the crew continues."
    `)
  const two = crew.replace('generic:1', 'generic:2 max=2').replace('id=worker-1', 'id=worker-1\nlive member w2 of=c id=worker-2')
  expect(compareStakes(two, 'w1', 'kill', killScript('w1'))).toMatchInlineSnapshot(`
    "step 0, resumable, stays
    go on: -; end: -
    task one becomes implementing of worker-2"
  `)
})
