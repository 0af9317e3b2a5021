// The reference of the process model, sentence by sentence: states, transitions, exit statuses, the release order, signals
// and the pause. Each test is named by the sentence that it checks; `departure` marks where reeve differs.
// Most are transcripts of the kernel; tests of visible behaviour use a daemon.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SIGNAL_TABLE } from '../../src/kernel/model/signals.ts'
import { RELEASE_ORDER } from '../../src/kernel/model/effects.ts'
import { KernelError } from '../../src/kernel/model/errors.ts'
import { newLife, transition } from '../../src/kernel/state/lifecycle.ts'
import type { EventView } from '../../src/api/views/daemon.ts'
import type { Life } from '../../src/kernel/model/process.ts'
import { TranscriptPlayer, play } from '../support/kernel/transcript.ts'
import { LocalDaemon } from '../support/daemon/local-daemon.ts'
import { startPausedBesideStalled } from '../support/agents/paused-and-stalled.ts'
import { runCli } from '../support/daemon/cli.ts'
import type { Signal } from '../../src/kernel/model/words.ts'

let daemon: LocalDaemon
beforeAll(async () => {
  daemon = await LocalDaemon.start()
})
afterAll(async () => daemon[Symbol.asyncDispose]())

const isFact =
  (fact: string) =>
  (event: EventView): boolean =>
    event['fact'] === fact
const stateOf = (player: TranscriptPlayer, uuid: string): string | undefined => player.world.row(uuid)?.life.state

/** Makes a player that has played this script. */
function playScript(script: string): TranscriptPlayer {
  const player = new TranscriptPlayer()
  player.play(script)
  return player
}

describe('7.1 states', () => {
  test('created: the process is allocated, reasoning has not started', () => {
    const player = playScript('.spawn a')
    expect(stateOf(player, 'a')).toBe('created')
    expect(player.world.row('a')).toMatchObject({ pid: 1, progress: { step: 0 }, clock: { startedAt: null } })
  })

  test('running: the reasoning loop executes', () => {
    const player = playScript('.live a\nreport a model 1')
    expect(stateOf(player, 'a')).toBe('running')
    expect(player.world.row('a')).toMatchObject({ progress: { step: 1, modelOpen: true } })
  })

  test('zombie: reasoning has finished, its resources wait to be given back', () => {
    expect(stateOf(playScript('.live a\nreport a exited 0'), 'a')).toBe('zombie')
  })

  test('dead: all resources are released', () => {
    const player = playScript('.live a\nreport a exited 0\nreleased a')
    expect(stateOf(player, 'a')).toBe('dead')
    expect(player.world.row('a')?.handle).toBeNull()
    expect(player.world.table.get('a')).toBeUndefined()
  })

  test('the states are shown as "created", "running", "zombie" and "dead" everywhere', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'done', delay_ms: 1_000 }])
    const seenStates = new Set([(await daemon.view(uuid)).state])
    seenStates.add((await daemon.waitForView(uuid, ({ step }) => step === 1)).state)
    await daemon.waitForEnd(uuid)
    seenStates.add((await daemon.waitForView(uuid, ({ state }) => state === 'dead')).state)
    expect([...seenStates].every((state) => ['created', 'running', 'zombie', 'dead'].includes(state))).toBe(true)
    expect(seenStates.has('running') && seenStates.has('dead')).toBe(true)
  })
})

describe('7.2 transitions', () => {
  test('created → running by start', () => {
    expect(stateOf(playScript('.spawn a\nstart a'), 'a')).toBe('running')
  })

  test.each([
    ['completed', 'report a ended 1', 'completed'],
    ['an error', 'report a ended 1 error', 'it broke'],
    ['a timeout', 'wind 600000\nreport a exited SIGTERM', 'timed out'],
    ['a kill', 'signal SIGKILL a\nreport a exited SIGKILL', 'SIGKILL from user'],
  ])('running → zombie by %s', (_, script, reason) => {
    const player = playScript(`.live a timeoutMs=600000\n${script}`)
    expect(player.world.row('a')?.life).toMatchObject({ state: 'zombie', exit: { reason } })
  })

  test('zombie → dead by reap', () => {
    expect(play('.live a\n.report a exited 0\nreleased a')).toContain('process.reaped')
  })

  test('all other combinations are invalid and answer INTERNAL; dead has no successor', () => {
    const exit = { code: 0, reason: 'completed', cause: 'agent' } as const
    const runningLife = transition(newLife(), { type: 'start', attached: true })
    const zombie = transition(runningLife, { type: 'terminate', exit })
    const deadLife = transition(zombie, { type: 'reap' })
    const lives: readonly Life[] = [newLife(), runningLife, zombie, deadLife]
    const events = [{ type: 'start', attached: true }, { type: 'terminate', exit }, { type: 'reap' }] as const
    const legal = lives.map((life) =>
      events
        .filter((event) => {
          try {
            transition(life, event)
            return true
          } catch (error) {
            expect(error).toBeInstanceOf(KernelError)
            expect(error).toMatchObject({ code: 'INTERNAL' })
            return false
          }
        })
        .map(({ type }) => type),
    )
    expect(legal).toEqual([['start'], ['terminate'], ['reap'], []])
  })
})

describe('7.3 exit status', () => {
  test('code 0 is a normal exit with the reason "completed"', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'done' }])
    expect((await daemon.waitForEnd(uuid)).exit).toMatchObject({ code: 0, reason: 'completed' })
  })

  test('an underlying error stands beside the reason; a normal exit has none', async () => {
    const failedProcess = await daemon.spawnScripted([{ error: { status: 400, message: 'no such parameter' } }])
    expect((await daemon.waitForEnd(failedProcess.uuid)).exit).toMatchObject({
      code: 1,
      error: expect.stringContaining('no such parameter') as string,
    })
    const completedProcess = await daemon.spawnScripted([{ text: 'done' }])
    expect((await daemon.waitForEnd(completedProcess.uuid)).exit).not.toHaveProperty('error')
  })

  test('code 1 "unexpected exit": the agent ended without a known reason', () => {
    expect(play('.live a\nreport a exited none')).toContain('process.exited 1 unexpected exit')
  })

  test('code 1 "max steps exceeded": the maximum of reasoning steps is exceeded', async () => {
    const { uuid } = await daemon.spawnScripted(
      [{ tools: [{ name: 'ls', input: {} }] }, { tools: [{ name: 'ls', input: {} }] }, { text: 'never' }],
      { limits: { maxSteps: 2 } },
    )
    expect((await daemon.waitForEnd(uuid)).exit).toMatchObject({ code: 1, reason: 'max steps exceeded' })
  })

  test('code 1 with a description of the error', async () => {
    const { uuid } = await daemon.spawnScripted([{ error: { status: 401, message: 'invalid key' } }])
    expect((await daemon.waitForEnd(uuid)).exit).toMatchObject({ code: 1, reason: expect.stringContaining('invalid key') as string })
  })

  test('departure: a used-up token budget suspends the process, so that its work is kept', async () => {
    const { uuid } = await daemon.spawnScripted(
      [{ tools: [{ name: 'ls', input: {} }], usage: { input: 90, output: 20 } }, { text: 'never' }],
      {
        limits: { budgetTokens: 100 },
      },
    )
    const heldView = await daemon.waitForStatus(uuid, 'suspended')
    expect(heldView.holds).toMatchObject([{ reason: 'budget' }])
    expect(heldView.exit).toBeNull()
  })
})

describe('7.4 release order', () => {
  const SUBTREE = '.live p\n.live a under=p\n.live b under=a\n.live z under=a\n.report z exited 0'

  test('the order is strict: orphans, cancel, wait, channel, context, reap, remove', () => {
    expect(RELEASE_ORDER).toEqual(['orphans', 'cancel', 'await', 'channel', 'context', 'reap', 'remove'])
    const transcript = play(`${SUBTREE}\nreport a exited 0\nreleased a`)
    const steps = [
      /b\.\d+ process\.reparented to PID 0/,
      /release cancel a/,
      /release await a/,
      /release channel a/,
      /release context a/,
      /release remove a/,
    ]
    const places = steps.map((step) => transcript.search(step))
    expect(places.every((position) => position >= 0)).toBe(true)
    expect(places).toEqual(places.toSorted((x, y) => x - y))
  })

  test('each step is done exactly once, whichever cause comes first', () => {
    const transcript = play(`${SUBTREE}\nsignal SIGTERM a\nreport a exited 0\nsignal SIGKILL a\nreleased a\nreleased a\nreport a exited 1`)
    for (const step of ['cancel', 'await', 'channel', 'context', 'remove']) expect(transcript.split(`release ${step} a`)).toHaveLength(2)
    expect(transcript.split(/a\.\d+ process\.reaped/)).toHaveLength(2)
    expect(transcript.split(/a\.\d+ process\.exited/)).toHaveLength(2)
  })

  test('0: running children are re-parented to PID 0', () => {
    const player = playScript(`${SUBTREE}\nreport a exited 0`)
    expect(player.world.row('b')).toMatchObject({ parent: null, parentUuid: 'a' })
  })

  test('0: zombie children are given to the reaper, and are reaped', () => {
    const player = playScript(`${SUBTREE}\nreport a exited 0`)
    expect(player.world.row('z')).toMatchObject({ parent: null, life: { state: 'zombie' } })
    player.play('released z')
    expect(stateOf(player, 'z')).toBe('dead')
  })

  test('1: the cancel is idempotent', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'never', delay_ms: 60_000 }])
    await daemon.waitForEvent(uuid, isFact('model.started'))
    await Promise.all([
      daemon.signal(uuid, 'SIGKILL'),
      daemon.signal(uuid, 'SIGKILL').catch(() => null),
      daemon.signal(uuid, 'SIGTERM').catch(() => null),
    ])
    await daemon.waitForEnd(uuid)
    const facts = await daemon.readFactTypes(uuid)
    expect(facts.filter((fact) => fact === 'process.exited')).toHaveLength(1)
  })

  test('2: what the driver has open is closed before the process is dead', async () => {
    const { uuid } = await daemon.spawnShell('sleep 600 & exec sleep 600')
    await daemon.waitForView(uuid, ({ status }) => status === 'working')
    await daemon.signal(uuid, 'SIGTERM', { graceMs: 100 })
    await daemon.waitForEnd(uuid)
    const facts = await daemon.readFactTypes(uuid)
    expect(facts.indexOf('process.exited')).toBeLessThan(facts.indexOf('process.reaped'))
  })

  test('3: the live event channel is detached and then closed: a follower reads the last event and its end', async () => {
    const { uuid } = await daemon.spawnScripted([{ text: 'done' }])
    const seenEvents: unknown[] = []
    for await (const event of daemon.client.events(`/v1/processes/${uuid}/events`, { query: { after: 0, follow: true } }))
      seenEvents.push(event['fact'])
    expect(seenEvents.at(-1)).toBe('process.reaped')
  })

  test('4 to 6: the context is freed, zombie becomes dead, the row leaves the table of the living', () => {
    const player = playScript('.live a\n.report a exited 0\nreleased a')
    expect(stateOf(player, 'a')).toBe('dead')
    expect([...player.world.table.all()]).toEqual([])
  })
})

describe('7.5 signals', () => {
  test.each<[Signal, number, boolean]>([
    ['SIGTERM', 1, true],
    ['SIGKILL', 2, false],
    ['SIGINT', 3, true],
    ['SIGPAUSE', 4, true],
    ['SIGRESUME', 5, true],
  ])('%s is %i, blockable: %s', (signal, number, blockable) => expect(SIGNAL_TABLE[signal]).toMatchObject({ number, blockable }))

  test('SIGTERM: ends the process after its grace', () => {
    expect(play('.live a\nsignal SIGTERM a grace=5000')).toContain('-> driver.stop a#1 SIGTERM 5000')
  })

  test('SIGKILL: ends the process at once, whatever is blocked', () => {
    const player = playScript('.live a')
    expect(player.play('mask a SIGKILL')).toContain('refused INVALID')
    player.play('mask a SIGTERM SIGINT SIGPAUSE SIGRESUME')
    expect(player.play('signal SIGKILL a')).toContain('-> driver.stop a#1 SIGKILL 0')
  })

  test('SIGINT: interrupts the process', () => {
    expect(play('.live a interactive\n.send a\nsignal SIGINT a')).toContain('-> driver.interrupt a#1')
  })

  test('delivery: one decision, blocked → pending, else the handler, else the default', () => {
    const player = playScript('.live a\nhandle a SIGPAUSE ignore\nmask a SIGPAUSE')
    expect(player.play('signal SIGPAUSE a by=coordinator')).toContain('SIGPAUSE by coordinator: pending')
    expect(player.play('mask a')).toContain('SIGPAUSE by coordinator: ignored')
    player.play('handle a SIGPAUSE default')
    expect(player.play('signal SIGPAUSE a by=coordinator')).toContain('SIGPAUSE by coordinator: default')
  })

  test('a paused process blocks at the start of its next step, until it is resumed', async () => {
    const { uuid } = await daemon.spawnScripted([{ tools: [{ name: 'ls', input: {} }], delay_ms: 2_000 }, { text: 'went on' }])
    await daemon.waitForEvent(uuid, isFact('model.started'))
    await daemon.pause(uuid)
    await daemon.waitForEvent(uuid, isFact('process.drained'))
    expect(await daemon.view(uuid)).toMatchObject({ status: 'suspended', state: 'running' })
    const factsBefore = await daemon.readFactTypes(uuid)
    await daemon.resume(uuid)
    expect(await daemon.waitForEnd(uuid)).toMatchObject({ lastText: 'went on', step: 2 })
    expect(factsBefore.filter((fact) => fact === 'model.started')).toHaveLength(1)
  })

  test('killed while it is paused it exits with code 1, "context cancelled while paused"', async () => {
    const { uuid } = await daemon.spawnScripted([], { interactive: true })
    await daemon.waitUntilReady(uuid)
    await daemon.pause(uuid)
    await daemon.signal(uuid, 'SIGTERM')
    expect((await daemon.waitForEnd(uuid)).exit).toMatchObject({ code: 1, reason: 'context cancelled while paused', signal: 'SIGTERM' })
  })

  test('signalTree: the target and all living descendants, zombies and dead skipped; returns how many it reached', () => {
    const player = playScript(
      '.live a\n.live b under=a\n.live c under=b\n.live z under=a\n.report z exited 0\n.live d under=a\n.report d exited 0\n.released d',
    )
    const transcript = player.play('signal SIGPAUSE a subtree')
    expect(transcript).toContain('-> done, 3 affected')
    for (const uuid of ['a', 'b', 'c']) expect(transcript).toMatch(new RegExp(`^${uuid}\\.\\d+ process\\.held`, 'm'))
    for (const uuid of ['z', 'd']) expect(transcript).not.toMatch(new RegExp(`^${uuid}\\.\\d+ `, 'm'))
  })
})

describe('7.6 the pause', () => {
  test('a process that receives SIGPAUSE is paused and remains running; pausedAt is the time of the pause, and is empty when the process is not paused', () => {
    const player = playScript('.live a')
    expect(player.world.row('a')?.clock.pausedAt).toBeNull()
    player.play('signal SIGPAUSE a')
    expect(player.world.row('a')).toMatchObject({
      life: { state: 'running', holds: [{ reason: 'user' }] },
      clock: { pausedAt: player.world.wall },
    })
    player.play('resume a')
    expect(player.world.row('a')?.clock.pausedAt).toBeNull()
  })

  test('departure: elapsed time stands still at pausedAt − startedAt, less earlier pauses, and not from the creation', () => {
    const player = playScript('.spawn a\nwind 5000\nstart a\nreport a up')
    player.play('wind 1000\nsignal SIGPAUSE a\nwind 7000')
    expect(player.world.row('a')?.clock).toMatchObject({ elapsedMs: 1000, since: null })
    player.play('resume a\nwind 300\nsignal SIGPAUSE a\nwind 9000')
    expect(player.world.row('a')?.clock).toMatchObject({ elapsedMs: 1300, since: null })
  })

  test('pausing is idempotent, and so is resuming', () => {
    const player = playScript('.live a\nsignal SIGPAUSE a')
    expect(player.play('signal SIGPAUSE a')).not.toContain('process.held')
    player.play('resume a')
    const secondResume = player.play('resume a')
    expect(secondResume).toContain('0 affected: it was not suspended')
    expect(secondResume).not.toContain('process.released')
  })

  test('the heartbeat monitor skips paused processes, which stop sending heartbeats, and does not flag them as stalled', async () => {
    const { uuid, readLivenessChanges } = await startPausedBesideStalled(daemon)
    expect(await readLivenessChanges()).toEqual([])
    expect((await daemon.view(uuid)).note).not.toContain('stalled')
    await daemon.signal(uuid, 'SIGKILL')
  })

  test('a paused process is shown with ⏸, or [P] in ASCII, in place of the badge of what runs', async () => {
    const { uuid } = await daemon.spawnScripted([], { interactive: true })
    await daemon.waitUntilReady(uuid)
    await daemon.pause(uuid)
    const psResult = await runCli(daemon.home, ['ps'], { env: { LANG: 'C.UTF-8' } })
    expect(psResult.stdout).toContain('⏸')
    const ascii = await runCli(daemon.home, ['ps'], { env: { REEVE_ASCII: '1' } })
    expect(ascii.stdout).toContain('[P]')
    expect(ascii.stdout).not.toContain('⏸')
  })
})
