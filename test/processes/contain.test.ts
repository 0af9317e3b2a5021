// Containment with real programs: nothing is left behind, whatever the tree does and however it ends, in each kind that
// works here. What `group` cannot hold is fixed here too, so that it is known exactly.
import { chmod, readdir, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Containment } from '../../src/drivers/contain/contain.ts'
import type { ContainmentKind } from '../../src/kernel/types.ts'
import { announced, newContained, textOf, UUID, workingKinds } from '../support/contained.ts'
import type { Contained } from '../support/contained.ts'
import { eventually, livingWith, sleepersWith, TORTURE_SLEEPERS } from '../support/living.ts'

const TORTURE = fileURLToPath(new URL('../support/programs/torture.sh', import.meta.url))
const kinds = await workingKinds()

async function plant(contained: Contained, kind: ContainmentKind, mode: 'stay' | 'end'): Promise<Containment> {
  const containment = await contained.open(kind)
  const which = kind === 'group' ? 'held' : 'all'
  const program = await containment.spawn(contained.request(['sh', TORTURE, contained.token, mode, which]))
  await announced(program, 'planted')
  const count = TORTURE_SLEEPERS + (which === 'all' ? 1 : 0)
  await eventually(() => sleepersWith(contained.token).length === count, `${count} sleepers`)
  if (mode === 'end') expect(await program.exited).toEqual({ code: 0, signal: null })
  return containment
}

describe.each(kinds)('%s: the torture tree', (kind) => {
  test('is gone after a stop', async () => {
    await using contained = await newContained()
    const containment = await plant(contained, kind, 'stay')
    expect(await containment.stop({ signal: 'SIGTERM', graceMs: 300 })).toEqual({ outcome: 'killed', survivors: [] })
    expect(livingWith(contained.token)).toEqual([])
  })

  test('is gone after a kill', async () => {
    await using contained = await newContained()
    const containment = await plant(contained, kind, 'stay')
    expect(await containment.stop({ signal: 'SIGKILL', graceMs: 0 })).toEqual({ outcome: 'killed', survivors: [] })
    expect(livingWith(contained.token)).toEqual([])
  })

  test('is gone when the program has ended by itself and the containment is disposed of', async () => {
    await using contained = await newContained()
    const containment = await plant(contained, kind, 'end')
    expect((await containment.members()).length).toBeGreaterThanOrEqual(TORTURE_SLEEPERS)
    expect((await containment.dispose()).outcome).toBe('killed')
    expect(livingWith(contained.token)).toEqual([])
  })

  test('is gone when the container is disposed of', async () => {
    await using contained = await newContained()
    await plant(contained, kind, 'stay')
    await contained.container[Symbol.asyncDispose]()
    expect(livingWith(contained.token)).toEqual([])
  })
})

test('group cannot hold what left the group, dropped its environment and has lost its parent', async () => {
  await using contained = await newContained()
  const containment = await contained.open('group')
  const script = `( env -i setsid sleep 3600.${contained.token} & ) ; sleep 3600.${contained.token}`
  await containment.spawn(contained.request(['sh', '-c', script]))
  await eventually(() => sleepersWith(contained.token).length === 2)
  await containment.stop({ signal: 'SIGKILL', graceMs: 0 })
  expect(sleepersWith(contained.token).length).toBe(1)
})

test('group holds what left the group and dropped its environment while its parent lives', async () => {
  await using contained = await newContained()
  const containment = await contained.open('group')
  const script = `setsid sh -c 'env -i setsid sleep 3600.${contained.token} & wait' & wait`
  await containment.spawn(contained.request(['sh', '-c', script]))
  await eventually(() => sleepersWith(contained.token).length === 1)
  expect((await containment.stop({ signal: 'SIGKILL', graceMs: 0 })).outcome).toBe('killed')
  expect(livingWith(contained.token)).toEqual([])
})

describe.each(kinds)('%s: the stop ladder', (kind) => {
  test('stopped: a program that obeys is not killed', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'trap "exit 7" TERM; echo up; while :; do sleep 0.05; done']))
    await announced(program, 'up')
    expect(await containment.stop({ signal: 'SIGTERM', graceMs: 10_000 })).toEqual({ outcome: 'stopped', survivors: [] })
    expect(await program.exited).toEqual({ code: 7, signal: null })
  })

  test('stopped: what the program leaves in other sessions is asked too, within the same grace', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    const other = `setsid sh -c 'trap "echo asked > ${contained.dir}/asked; exit" TERM; echo up; while :; do sleep 0.05; done'`
    const program = await containment.spawn(contained.request(['sh', '-c', `${other} & exec sleep 3600.${contained.token}`]))
    await announced(program, 'up')
    expect((await containment.stop({ signal: 'SIGTERM', graceMs: 10_000 })).outcome).toBe('stopped')
    expect(existsSync(join(contained.dir, 'asked'))).toBe(true)
  })

  test('killed: a deaf program gets its grace and no more', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'trap "" TERM; echo up; while :; do sleep 0.05; done']))
    await announced(program, 'up')
    const begun = performance.now()
    expect((await containment.stop({ signal: 'SIGTERM', graceMs: 300 })).outcome).toBe('killed')
    expect(performance.now() - begun).toBeGreaterThanOrEqual(300)
    expect(await program.exited).toEqual({ code: null, signal: 'SIGKILL' })
  })

  test('gone: nothing is there, before a program and after it', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    expect((await containment.stop({ signal: 'SIGTERM', graceMs: 300 })).outcome).toBe('gone')
    await (await containment.spawn(contained.request(['true']))).exited
    expect((await containment.stop({ signal: 'SIGTERM', graceMs: 300 })).outcome).toBe('gone')
    expect(await containment.members()).toEqual([])
  })

  test('a second, harder stop overtakes the first', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'trap "" TERM; echo up; while :; do sleep 0.05; done']))
    await announced(program, 'up')
    const patient = containment.stop({ signal: 'SIGTERM', graceMs: 60_000 })
    expect((await containment.stop({ signal: 'SIGKILL', graceMs: 0 })).outcome).toBe('killed')
    expect((await patient).survivors).toEqual([])
  })
})

describe.each(kinds)('%s: starting', (kind) => {
  test('each program knows its incarnation, has a session of its own and an empty stdin', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'echo $REEVE_UUID $REEVE_PID $REEVE_PROC $TMPDIR; ps -o sid= -p $$; echo $$; cat']))
    const words = (await textOf(program.stdout)).split(/\s+/)
    expect(words.slice(0, 4)).toEqual([UUID, '1', containment.intent.marker, contained.dir])
    expect(words[4]).toBe(words[5])
    // In a namespace it has a number of its own.
    if (kind !== 'pidns') expect(words[4]).toBe(String(program.handle.pid))
    expect(program.handle.pgid).toBe(program.handle.pid)
  })

  test.each([
    ['a command that is on no PATH', ['no-such-command-here'], 'COMMAND_NOT_FOUND'],
    ['a path that is not there', ['./nothing'], 'COMMAND_NOT_FOUND'],
    ['a directory', ['/'], 'NOT_RUNNABLE'],
    ['a file that may not be run', ['./plain'], 'NOT_RUNNABLE'],
    ['a script without its interpreter', ['./orphan'], 'NOT_RUNNABLE'],
    ['no command at all', [], 'INVALID'],
    ['an argument with a zero byte', ['true', 'a\0b'], 'INVALID'],
  ])('%s is an error and leaves nothing', async (_, argv, code) => {
    await using contained = await newContained()
    await writeFile(join(contained.dir, 'plain'), 'x')
    await writeFile(join(contained.dir, 'orphan'), '#!/no/such/interpreter\n')
    await chmod(join(contained.dir, 'orphan'), 0o755)
    const containment = await contained.open(kind)
    await expect(containment.spawn(contained.request(argv))).rejects.toMatchObject({ code })
    expect(await containment.members()).toEqual([])
  })

  test('a working directory that is not there is an error', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    await expect(containment.spawn(contained.request(['true'], { cwd: '/no/such/dir' }))).rejects.toMatchObject({ code: 'NOT_RUNNABLE' })
  })

  test('the PATH that counts is the one of the request', async () => {
    await using contained = await newContained()
    await writeFile(join(contained.dir, 'mine'), '#!/bin/sh\necho mine $1\n')
    await chmod(join(contained.dir, 'mine'), 0o755)
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['mine', 'a b'], { env: { PATH: `${contained.dir}:/usr/bin:/bin` } }))
    expect(await textOf(program.stdout)).toBe('mine a b\n')
  })

  test('nothing is started once it is disposed of, and disposing again changes nothing', async () => {
    await using contained = await newContained()
    const containment = await contained.open(kind)
    const late = containment.spawn(contained.request(['sleep', `3600.${contained.token}`]))
    const started = late.then(() => true, (error: { code: string }) => error.code)
    await containment.dispose()
    expect([true, 'NOT_FOUND']).toContain(await started)
    await expect(containment.spawn(contained.request(['true']))).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect((await containment.dispose()).outcome).toBe('gone')
    expect(livingWith(contained.token)).toEqual([])
  })
})


test('auto takes the strongest kind that works, and each plan is its incarnation\'s alone', async () => {
  await using contained = await newContained()
  const { container } = contained
  expect(container.plan(UUID, 1, 'auto').kind).toBe(kinds[0])
  expect(container.kind).toBe(kinds[0])
  expect(container.plan(UUID, 1, 'group').marker).not.toBe(container.plan(UUID, 2, 'group').marker)
})

test.runIf(kinds.includes('cgroup'))('a cgroup is removed with its containment, and all directories with the container', async () => {
  await using contained = await newContained()
  const containment = await contained.open('cgroup')
  const nested = `mkdir "${containment.intent.path}/inner" && echo $$ > "${containment.intent.path}/inner/cgroup.procs" && echo up && exec sleep 3600.${contained.token}`
  await announced(await containment.spawn(contained.request(['sh', '-c', nested])), 'up')
  const home = dirname(dirname(containment.intent.path ?? ''))
  expect((await readdir(dirname(containment.intent.path ?? ''))).some((name) => name.startsWith(UUID))).toBe(true)
  expect((await containment.members()).length).toBe(1)
  expect((await containment.dispose()).outcome).toBe('killed')
  expect(existsSync(containment.intent.path ?? '')).toBe(false)
  await contained.container[Symbol.asyncDispose]()
  expect(existsSync(home)).toBe(false)
})
