// Freezing with real programs: nothing of a frozen tree goes on, in whatever session it is, and a frozen tree can be ended.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Containment, Program } from '../../src/drivers/contain/contain.ts'
import type { ContainmentKind } from '../../src/kernel/types.ts'
import { announced, newContained, workingKinds } from '../support/contained.ts'
import type { Contained } from '../support/contained.ts'
import { eventually, livingWith } from '../support/living.ts'

const kinds = await workingKinds()

interface Ticking {
  readonly containment: Containment
  readonly program: Program
  ticks(): number
}

// Two sessions that each write a tick for ever.
async function tick(contained: Contained, kind: ContainmentKind): Promise<Ticking> {
  const containment = await contained.open(kind)
  const file = join(contained.dir, 'ticks')
  const loop = `while :; do echo ${contained.token} >> "${file}"; sleep 0.01; done`
  const program = await containment.spawn(contained.request(['sh', '-c', `setsid sh -c '${loop}' & echo up; ${loop}`]))
  await announced(program, 'up')
  const ticks = () => (existsSync(file) ? readFileSync(file, 'latin1').length : 0)
  await eventually(() => ticks() > 100)
  return { containment, program, ticks }
}

// 30 further processes have run and ended by then: time enough for whoever was not frozen to tick again.
async function aWhile(contained: Contained): Promise<void> {
  const other = await contained.open('group')
  await (await other.spawn(contained.request(['sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 0.01; done']))).exited
}

describe.each(kinds)('%s', (kind) => {
  test('a frozen tree stands still and goes on when it is thawed', async () => {
    await using contained = await newContained()
    const { containment, ticks } = await tick(contained, kind)
    await containment.freeze()
    // What it was about to write when it was frozen is there by then.
    await aWhile(contained)
    const before = ticks()
    await aWhile(contained)
    expect(ticks()).toBe(before)
    await containment.thaw()
    await eventually(() => ticks() > before + 100)
  })

  test('freezing twice, thawing twice and thawing what was never frozen are allowed', async () => {
    await using contained = await newContained()
    const { containment, ticks } = await tick(contained, kind)
    await containment.thaw()
    await Promise.all([containment.freeze(), containment.freeze()])
    await containment.thaw()
    await containment.thaw()
    const before = ticks()
    await eventually(() => ticks() > before)
  })

  test('a thaw that comes before all are frozen wins', async () => {
    await using contained = await newContained()
    const { containment, ticks } = await tick(contained, kind)
    const freezing = containment.freeze()
    await containment.thaw()
    await freezing
    const before = ticks()
    await eventually(() => ticks() > before)
  })

  test('a frozen tree can be killed', async () => {
    await using contained = await newContained()
    const { containment, program } = await tick(contained, kind)
    await containment.freeze()
    expect((await containment.stop({ signal: 'SIGKILL', graceMs: 0 })).outcome).toBe('killed')
    expect(await program.exited).toEqual({ code: null, signal: 'SIGKILL' })
    expect(livingWith(contained.token)).toEqual([])
  })

  test('who is frozen before he runs is killed like anybody else, and enters nobody\'s containment', async () => {
    await using contained = await newContained()
    const kill = async (): Promise<unknown> => {
      const containment = await contained.open(kind)
      const program = await containment.spawn(contained.request(['sleep', `3600.${contained.token}`]))
      await containment.freeze()
      const { outcome } = await containment.stop({ signal: 'SIGKILL', graceMs: 0 })
      return { outcome, exit: await program.exited }
    }
    const expected = { outcome: 'killed', exit: { code: null, signal: 'SIGKILL' } }
    // Three in turns: what one gives back, the next takes.
    const rows = await Promise.all(Array.from({ length: 3 }, async () => [await kill(), await kill(), await kill(), await kill()]))
    expect(rows.flat()).toEqual(Array(12).fill(expected))
    expect(livingWith(contained.token)).toEqual([])
  })

  test('a frozen program that is asked to end is woken so that it can', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'trap "exit 9" TERM; echo up; while :; do sleep 0.05; done']))
    await announced(program, 'up')
    await containment.freeze()
    expect((await containment.stop({ signal: 'SIGTERM', graceMs: 20_000 })).outcome).toBe('stopped')
    expect(await program.exited).toEqual({ code: 9, signal: null })
  })

  test('freezing what has no program is nothing', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    await containment.freeze()
    await containment.thaw()
    expect(await containment.members()).toEqual([])
  })

  test('nothing begins while it is frozen: it waits for the thaw', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    const file = join(contained.dir, 'began')
    const begin = () => containment.spawn(contained.request(['touch', file]))
    const early = begin()
    await containment.freeze()
    const late = begin()
    await aWhile(contained)
    expect(existsSync(file)).toBe(false)
    await containment.thaw()
    await Promise.all([(await early).exited, (await late).exited])
    expect(existsSync(file)).toBe(true)
  })

  test('what waits for the thaw is refused when the end comes first', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    await containment.freeze()
    const asked = containment.spawn(contained.request(['sleep', `3600.${contained.token}`]))
    await Promise.all([expect(asked).rejects.toMatchObject({ code: 'NOT_FOUND' }), containment.dispose()])
    expect(livingWith(contained.token)).toEqual([])
  })

  test.each(['SIGTERM', 'SIGKILL'] as const)('what waits for the thaw is refused when a %s comes first; what is asked for later begins', async (signal) => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    await containment.freeze()
    const asked = containment.spawn(contained.request(['sleep', `3600.${contained.token}`]))
    await Promise.all([expect(asked).rejects.toMatchObject({ code: 'NOT_FOUND' }), containment.stop({ signal, graceMs: 0 })])
    expect(livingWith(contained.token)).toEqual([])
    await containment.thaw()
    expect(await (await containment.spawn(contained.request(['true']))).exited).toEqual({ code: 0, signal: null })
  })

  test('what was begun just now is frozen, whoever was looked for in the same turn before', async () => {
    await using contained = await newContained()
    const [other, containment] = await Promise.all([contained.open(kind), contained.open(kind)])
    await other.spawn(contained.request(['sleep', `3600.${contained.token}`]))
    const members: Promise<unknown>[] = []
    const file = join(contained.dir, 'ticks')
    // A request is read when the program is about to be started: the last moment of the same turn.
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
    const before = existsSync(file) ? readFileSync(file, 'latin1').length : 0
    await aWhile(contained)
    expect(existsSync(file) ? readFileSync(file, 'latin1').length : 0).toBe(before)
  })

  test('what was stopped before the freeze is stopped after the thaw', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    const script = `sh -c 'kill -STOP $$' sh ${contained.token} & sleep 3600.${contained.token}`
    await containment.spawn(contained.request(['sh', '-c', script]))
    const stopped = () => livingWith(contained.token).filter(({ state, argv }) => state === 'T' && argv[1] === '-c' && argv[2] === 'kill -STOP $$')
    await eventually(() => stopped().length === 1)
    await containment.freeze()
    await containment.thaw()
    await eventually(() => livingWith(contained.token).some(({ argv, state }) => argv[0] === 'sleep' && state === 'S'))
    expect(stopped().length).toBe(1)
  })
})
