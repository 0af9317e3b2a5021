// Freezing with real programs: no process of a frozen tree runs, in any session, and a frozen tree can be ended.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Containment, Program } from '../../../src/drivers/contain/containment-contract.ts'
import { waitForOutput, openContainmentHarness, findWorkingKinds } from '../../support/agents/containment-harness.ts'
import type { ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { findProcessesWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'

const kinds = await findWorkingKinds()

interface TickingPrograms {
  readonly containment: Containment
  readonly program: Program
  ticks(): number
}

/** Starts a program in each of two sessions. Both write ticks until they are ended. */
async function startTicking(contained: ContainmentHarness, kind: ContainmentKind): Promise<TickingPrograms> {
  const containment = await contained.open(kind)
  const file = join(contained.dir, 'ticks')
  const loop = `while :; do echo ${contained.token} >> "${file}"; sleep 0.01; done`
  const program = await containment.spawn(contained.request(['sh', '-c', `setsid sh -c '${loop}' & echo up; ${loop}`]))
  await waitForOutput(program, 'up')
  const countTicks = () => (existsSync(file) ? readFileSync(file, 'latin1').length : 0)
  await waitUntil(() => countTicks() > 100)
  return { containment, program, ticks: countTicks }
}

// 15 further programs have run and exited by then: enough time for any process that was not frozen to tick again.
async function runOtherPrograms(contained: ContainmentHarness): Promise<void> {
  const other = await contained.open('group')
  await (
    await other.spawn(contained.request(['sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 0.01; done']))
  ).exited
}

describe.each(kinds)('%s', (kind) => {
  test('a frozen tree stands still and continues after the thaw', async () => {
    await using contained = await openContainmentHarness()
    const { containment, ticks } = await startTicking(contained, kind)
    await containment.freeze()
    // Output that was in progress at the freeze has arrived by then.
    await runOtherPrograms(contained)
    const ticksBefore = ticks()
    await runOtherPrograms(contained)
    expect(ticks()).toBe(ticksBefore)
    await containment.thaw()
    await waitUntil(() => ticks() > ticksBefore + 100)
  })

  test('freezing twice, thawing twice and thawing without a freeze are allowed', async () => {
    await using contained = await openContainmentHarness()
    const { containment, ticks } = await startTicking(contained, kind)
    await containment.thaw()
    await Promise.all([containment.freeze(), containment.freeze()])
    await containment.thaw()
    await containment.thaw()
    const ticksBefore = ticks()
    await waitUntil(() => ticks() > ticksBefore)
  })

  test('a thaw before the end of the freeze wins', async () => {
    await using contained = await openContainmentHarness()
    const { containment, ticks } = await startTicking(contained, kind)
    const freezing = containment.freeze()
    await containment.thaw()
    await freezing
    const ticksBefore = ticks()
    await waitUntil(() => ticks() > ticksBefore)
  })

  test('a frozen tree can be killed', async () => {
    await using contained = await openContainmentHarness()
    const { containment, program } = await startTicking(contained, kind)
    await containment.freeze()
    expect((await containment.stop({ signal: 'SIGKILL', graceMs: 0 })).outcome).toBe('killed')
    expect(await program.exited).toEqual({ code: null, signal: 'SIGKILL' })
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test('a program frozen before its first instruction can be killed, and enters no other containment', async () => {
    await using contained = await openContainmentHarness()
    const kill = async (): Promise<unknown> => {
      const containment = await contained.open(kind)
      const program = await containment.spawn(contained.request(['sleep', `3600.${contained.token}`]))
      await containment.freeze()
      const { outcome } = await containment.stop({ signal: 'SIGKILL', graceMs: 0 })
      return { outcome, exit: await program.exited }
    }
    const expected = { outcome: 'killed', exit: { code: null, signal: 'SIGKILL' } }
    // Three sequences at the same time: each reuses the descriptors that another one frees.
    const rows = await Promise.all(Array.from({ length: 3 }, async () => [await kill(), await kill(), await kill(), await kill()]))
    expect(rows.flat()).toEqual(Array(12).fill(expected))
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test('a stop with SIGTERM thaws a frozen program, which then exits on the signal', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'trap "exit 9" TERM; echo up; while :; do sleep 0.05; done']))
    await waitForOutput(program, 'up')
    await containment.freeze()
    expect((await containment.stop({ signal: 'SIGTERM', graceMs: 20_000 })).outcome).toBe('stopped')
    expect(await program.exited).toEqual({ code: 9, signal: null })
  })

  test('freezing without a program does nothing', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    await containment.freeze()
    await containment.thaw()
    expect(await containment.members()).toEqual([])
  })

  test('a start during the freeze waits for the thaw', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const file = join(contained.dir, 'began')
    const startTouch = () => containment.spawn(contained.request(['touch', file]))
    const earlySpawn = startTouch()
    await containment.freeze()
    const lateSpawn = startTouch()
    await runOtherPrograms(contained)
    expect(existsSync(file)).toBe(false)
    await containment.thaw()
    await Promise.all([(await earlySpawn).exited, (await lateSpawn).exited])
    expect(existsSync(file)).toBe(true)
  })

  test('a start that waits for the thaw is refused if the containment is disposed of first', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    await containment.freeze()
    const spawnPromise = containment.spawn(contained.request(['sleep', `3600.${contained.token}`]))
    await Promise.all([expect(spawnPromise).rejects.toMatchObject({ code: 'NOT_FOUND' }), containment.dispose()])
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test.each(['SIGTERM', 'SIGKILL'] as const)(
    'a start that waits for the thaw is refused when a %s comes first; a later start succeeds',
    async (signal) => {
      await using contained = await openContainmentHarness()
      const containment = await contained.open(kind)
      await containment.freeze()
      const spawnPromise = containment.spawn(contained.request(['sleep', `3600.${contained.token}`]))
      await Promise.all([expect(spawnPromise).rejects.toMatchObject({ code: 'NOT_FOUND' }), containment.stop({ signal, graceMs: 0 })])
      expect(findProcessesWith(contained.token)).toEqual([])
      await containment.thaw()
      expect(await (await containment.spawn(contained.request(['true']))).exited).toEqual({ code: 0, signal: null })
    },
  )

  test('a new program is frozen, even if the process table was read before its start in the same turn of the event loop', async () => {
    await using contained = await openContainmentHarness()
    const [other, containment] = await Promise.all([contained.open(kind), contained.open(kind)])
    await other.spawn(contained.request(['sleep', `3600.${contained.token}`]))
    const members: Promise<unknown>[] = []
    const file = join(contained.dir, 'ticks')
    // The start reads `env` of the request last, so this reads the process table right before the program exists.
    const { env, ...request } = contained.request(['sh', '-c', `while :; do echo x >> "${file}"; sleep 0.01; done`])
    await containment.spawn({
      ...request,
      get env() {
        members.push(other.members())
        return env
      },
    })
    await containment.freeze()
    expect(members.length).toBeGreaterThan(0)
    const lengthBefore = existsSync(file) ? readFileSync(file, 'latin1').length : 0
    await runOtherPrograms(contained)
    expect(existsSync(file) ? readFileSync(file, 'latin1').length : 0).toBe(lengthBefore)
  })

  test('a program that was stopped before the freeze is still stopped after the thaw', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const script = `sh -c 'kill -STOP $$' sh ${contained.token} & sleep 3600.${contained.token}`
    await containment.spawn(contained.request(['sh', '-c', script]))
    const findStopped = () =>
      findProcessesWith(contained.token).filter(({ state, argv }) => state === 'T' && argv[1] === '-c' && argv[2] === 'kill -STOP $$')
    await waitUntil(() => findStopped().length === 1)
    await containment.freeze()
    await containment.thaw()
    await waitUntil(() => findProcessesWith(contained.token).some(({ argv, state }) => argv[0] === 'sleep' && state === 'S'))
    expect(findStopped().length).toBe(1)
  })
})
