// Containment of real programs, in each kind that works on this machine: no process of a tree is left, whatever the programs do and
// however the tree ends. The tests also state what the kind `group` cannot hold.
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Containment, Program } from '../../../src/drivers/contain/containment-contract.ts'
import { EventLoopTurns } from '../../../src/drivers/common/event-loop-turns.ts'
import {
  waitForOutput,
  openContainmentHarness,
  readText,
  PROCESS_UUID,
  findWorkingKinds,
} from '../../support/agents/containment-harness.ts'
import type { ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { findProcessesWith, findSleepersWith, TORTURE_SLEEPERS } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { ContainmentKind } from '../../../src/kernel/model/words.ts'

const TORTURE = fileURLToPath(new URL('../../support/programs/torture.sh', import.meta.url))
const kinds = await findWorkingKinds()

async function startTortureTree(contained: ContainmentHarness, kind: ContainmentKind, mode: 'stay' | 'end'): Promise<Containment> {
  const containment = await contained.open(kind)
  const members = kind === 'group' ? 'held' : 'all'
  const program = await containment.spawn(contained.request(['sh', TORTURE, contained.token, mode, members]))
  await waitForOutput(program, 'planted')
  const count = TORTURE_SLEEPERS + (members === 'all' ? 1 : 0)
  await waitUntil(() => findSleepersWith(contained.token).length === count, `${count} sleepers`)
  if (mode === 'end') expect(await program.exited).toEqual({ code: 0, signal: null })
  return containment
}

describe.each(kinds)('%s: the torture tree', (kind) => {
  test('is gone after a stop', async () => {
    await using contained = await openContainmentHarness()
    const containment = await startTortureTree(contained, kind, 'stay')
    expect(await containment.stop({ signal: 'SIGTERM', graceMs: 300 })).toEqual({ outcome: 'killed', survivors: [] })
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test('is gone after a kill', async () => {
    await using contained = await openContainmentHarness()
    const containment = await startTortureTree(contained, kind, 'stay')
    expect(await containment.stop({ signal: 'SIGKILL', graceMs: 0 })).toEqual({ outcome: 'killed', survivors: [] })
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test('is gone when the program has exited and the containment is disposed of', async () => {
    await using contained = await openContainmentHarness()
    const containment = await startTortureTree(contained, kind, 'end')
    expect((await containment.members()).length).toBeGreaterThanOrEqual(TORTURE_SLEEPERS)
    expect((await containment.dispose()).outcome).toBe('killed')
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test('is gone when the containment manager is disposed of', async () => {
    await using contained = await openContainmentHarness()
    await startTortureTree(contained, kind, 'stay')
    await contained.manager[Symbol.asyncDispose]()
    expect(findProcessesWith(contained.token)).toEqual([])
  })
})

test('group cannot hold a process that left the group, dropped its environment and lost its parent', async () => {
  await using contained = await openContainmentHarness()
  const containment = await contained.open('group')
  const script = `( env -i setsid sleep 3600.${contained.token} & ) ; sleep 3600.${contained.token}`
  await containment.spawn(contained.request(['sh', '-c', script]))
  await waitUntil(() => findSleepersWith(contained.token).length === 2)
  await containment.stop({ signal: 'SIGKILL', graceMs: 0 })
  expect(findSleepersWith(contained.token).length).toBe(1)
})

test('group holds a process that left the group and dropped its environment while its parent lives', async () => {
  await using contained = await openContainmentHarness()
  const containment = await contained.open('group')
  const script = `setsid sh -c 'env -i setsid sleep 3600.${contained.token} & wait' & wait`
  await containment.spawn(contained.request(['sh', '-c', script]))
  await waitUntil(() => findSleepersWith(contained.token).length === 1)
  expect((await containment.stop({ signal: 'SIGKILL', graceMs: 0 })).outcome).toBe('killed')
  expect(findProcessesWith(contained.token)).toEqual([])
})

describe.each(kinds)('%s: the stop ladder', (kind) => {
  test('a program that exits on the signal is not killed: the outcome is `stopped`', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'trap "exit 7" TERM; echo up; while :; do sleep 0.05; done']))
    await waitForOutput(program, 'up')
    expect(await containment.stop({ signal: 'SIGTERM', graceMs: 10_000 })).toEqual({ outcome: 'stopped', survivors: [] })
    expect(await program.exited).toEqual({ code: 7, signal: null })
  })

  test('processes in other sessions get the signal too, within the same grace period', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const other = `setsid sh -c 'trap "echo asked > ${contained.dir}/asked; exit" TERM; echo up; while :; do sleep 0.05; done'`
    const program = await containment.spawn(contained.request(['sh', '-c', `${other} & exec sleep 3600.${contained.token}`]))
    await waitForOutput(program, 'up')
    expect((await containment.stop({ signal: 'SIGTERM', graceMs: 10_000 })).outcome).toBe('stopped')
    expect(existsSync(join(contained.dir, 'asked'))).toBe(true)
  })

  test('a program that ignores the signal is killed after its grace period: the outcome is `killed`', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'trap "" TERM; echo up; while :; do sleep 0.05; done']))
    await waitForOutput(program, 'up')
    const beganMs = performance.now()
    expect((await containment.stop({ signal: 'SIGTERM', graceMs: 300 })).outcome).toBe('killed')
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(300)
    expect(await program.exited).toEqual({ code: null, signal: 'SIGKILL' })
  })

  test('the outcome is `gone` if no program has started, or if all have exited', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    expect((await containment.stop({ signal: 'SIGTERM', graceMs: 300 })).outcome).toBe('gone')
    await (
      await containment.spawn(contained.request(['true']))
    ).exited
    expect((await containment.stop({ signal: 'SIGTERM', graceMs: 300 })).outcome).toBe('gone')
    expect(await containment.members()).toEqual([])
  })

  test('a second, harder stop overtakes the first', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['sh', '-c', 'trap "" TERM; echo up; while :; do sleep 0.05; done']))
    await waitForOutput(program, 'up')
    const slowStop = containment.stop({ signal: 'SIGTERM', graceMs: 60_000 })
    expect((await containment.stop({ signal: 'SIGKILL', graceMs: 0 })).outcome).toBe('killed')
    expect((await slowStop).survivors).toEqual([])
  })
})

describe.each(kinds)('%s: starting', (kind) => {
  test('each program knows its incarnation, and has its own session and an empty stdin', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const program = await containment.spawn(
      contained.request(['sh', '-c', 'echo $REEVE_UUID $REEVE_PID $REEVE_PROC $TMPDIR; ps -o sid= -p $$; echo $$; cat']),
    )
    const words = (await readText(program.stdout)).split(/\s+/)
    expect(words.slice(0, 4)).toEqual([PROCESS_UUID, '1', containment.intent.marker, contained.dir])
    const [sessionId, ownPid] = words.slice(4)
    expect(sessionId).toBe(ownPid)
    // In a namespace the program has another OS pid.
    if (kind !== 'pidns') expect(sessionId).toBe(String(program.handle.pid))
    expect(program.handle.pgid).toBe(program.handle.pid)
  })

  test.each([
    ['a command that is on no PATH', ['no-such-command-here'], 'COMMAND_NOT_FOUND'],
    ['a path that does not exist', ['./nothing'], 'COMMAND_NOT_FOUND'],
    ['a directory', ['/'], 'NOT_RUNNABLE'],
    ['a file that may not be run', ['./plain'], 'NOT_RUNNABLE'],
    ['a script without its interpreter', ['./orphan'], 'NOT_RUNNABLE'],
    ['no command at all', [], 'INVALID'],
    ['an argument with a zero byte', ['true', 'a\0b'], 'INVALID'],
  ])('%s is an error and leaves nothing', async (_, argv, code) => {
    await using contained = await openContainmentHarness()
    await writeFile(join(contained.dir, 'plain'), 'x')
    await writeFile(join(contained.dir, 'orphan'), '#!/no/such/interpreter\n')
    await chmod(join(contained.dir, 'orphan'), 0o755)
    const containment = await contained.open(kind)
    await expect(containment.spawn(contained.request(argv))).rejects.toMatchObject({ code })
    expect(await containment.members()).toEqual([])
  })

  test('a missing working directory is an error', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    await expect(containment.spawn(contained.request(['true'], { cwd: '/no/such/dir' }))).rejects.toMatchObject({ code: 'NOT_RUNNABLE' })
  })

  // Root may search all directories.
  test.skipIf(process.getuid?.() === 0)(
    'a directory of the PATH that may not be searched is skipped; a path into it is refused',
    async () => {
      await using contained = await openContainmentHarness()
      const closed = join(contained.dir, 'closed')
      await mkdir(closed, { mode: 0o000 })
      const containment = await contained.open(kind)
      const spawn = (program: string): Promise<Program> =>
        containment.spawn(contained.request([program], { env: { PATH: `${closed}:/usr/bin:/bin` } }))
      expect(await (await spawn('true')).exited).toEqual({ code: 0, signal: null })
      await expect(spawn('no-such-command-here')).rejects.toMatchObject({
        code: 'COMMAND_NOT_FOUND',
        message: 'no-such-command-here: command not found',
      })
      await expect(spawn('./closed/any')).rejects.toMatchObject({ code: 'NOT_RUNNABLE' })
    },
  )

  test('the PATH of the request applies', async () => {
    await using contained = await openContainmentHarness()
    await writeFile(join(contained.dir, 'mine'), '#!/bin/sh\necho mine $1\n')
    await chmod(join(contained.dir, 'mine'), 0o755)
    const containment = await contained.open(kind)
    const program = await containment.spawn(contained.request(['mine', 'a b'], { env: { PATH: `${contained.dir}:/usr/bin:/bin` } }))
    expect(await readText(program.stdout)).toBe('mine a b\n')
  })

  test('after the disposal nothing starts, and a second disposal changes nothing', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open(kind)
    const lateSpawn = containment.spawn(contained.request(['sleep', `3600.${contained.token}`]))
    const spawnOutcome = lateSpawn.then(
      () => true,
      (error: { code: string }) => error.code,
    )
    await containment.dispose()
    expect([true, 'NOT_FOUND']).toContain(await spawnOutcome)
    await expect(containment.spawn(contained.request(['true']))).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect((await containment.dispose()).outcome).toBe('gone')
    expect(findProcessesWith(contained.token)).toEqual([])
  })
})

describe.each(kinds)('%s: many at once', (kind) => {
  const PROGRAM_COUNT = 12

  /**
   * Returns the largest number of starts in one turn of the event loop. Each read advances the clock by 6 ms, so a slice has two starts.
   */
  async function mostStartsInOneTurn(work: (contained: ContainmentHarness, countStart: () => void) => Promise<unknown>): Promise<number> {
    let ms = 0
    await using contained = await openContainmentHarness(new EventLoopTurns(() => (ms += 6)))
    const startsByTurn: number[] = [0]
    let isOver = false
    const beginTurn = (): void => {
      startsByTurn.push(0)
      if (!isOver) setImmediate(beginTurn)
    }
    setImmediate(beginTurn)
    await work(contained, () => {
      startsByTurn[startsByTurn.length - 1] = (startsByTurn.at(-1) ?? 0) + 1
    })
    isOver = true
    expect(startsByTurn.reduce((sum, starts) => sum + starts)).toBe(PROGRAM_COUNT)
    return Math.max(...startsByTurn)
  }

  test('programs start in slices, between which other work runs', async () => {
    expect(
      await mostStartsInOneTurn(async (contained, countStart) => {
        const containments = await Promise.all(Array.from({ length: PROGRAM_COUNT }, () => contained.open(kind)))
        await Promise.all(
          containments.map((containment) => {
            containment.firstStart.then(countStart, () => {})
            return containment.spawn(contained.request(['sleep', '1000']))
          }),
        )
      }),
    ).toBeLessThanOrEqual(2)
  })
})

test('auto selects the strongest kind that works, and each plan belongs to one incarnation', async () => {
  await using contained = await openContainmentHarness()
  const { manager } = contained
  expect(manager.plan(PROCESS_UUID, 1, 'auto').kind).toBe(kinds[0])
  expect(manager.kind).toBe(kinds[0])
  expect(manager.plan(PROCESS_UUID, 1, 'group').marker).not.toBe(manager.plan(PROCESS_UUID, 2, 'group').marker)
})

test.runIf(kinds.includes('cgroup'))(
  'a cgroup is removed with its containment, and all directories with the containment manager',
  async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open('cgroup')
    const nestedScript = `mkdir "${containment.intent.path}/inner" && echo $$ > "${containment.intent.path}/inner/cgroup.procs" && echo up && exec sleep 3600.${contained.token}`
    await waitForOutput(await containment.spawn(contained.request(['sh', '-c', nestedScript])), 'up')
    const home = dirname(dirname(containment.intent.path ?? ''))
    expect((await readdir(dirname(containment.intent.path ?? ''))).some((name) => name.startsWith(PROCESS_UUID))).toBe(true)
    expect((await containment.members()).length).toBe(1)
    expect((await containment.dispose()).outcome).toBe('killed')
    expect(existsSync(containment.intent.path ?? '')).toBe(false)
    await contained.manager[Symbol.asyncDispose]()
    expect(existsSync(home)).toBe(false)
  },
)
