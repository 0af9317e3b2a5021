// PID namespaces with real programs: entry, the view from inside, and their end.
// containment.test.ts, freeze.test.ts, pipes.test.ts and guardian.test.ts test the behaviour of all kinds.
import { readlinkSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { childrenOf, pidNamespaceOf } from '../../../src/drivers/contain/proc/process-table.ts'
import { waitForOutput, openContainmentHarness, readText, findWorkingKinds } from '../../support/agents/containment-harness.ts'
import type { ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { findProcessesWith, findOwnProcess, readProcess, signalFound, findSleepersWith } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

const kinds = await findWorkingKinds()
const KILL = { signal: 'SIGKILL', graceMs: 0 } as const

/** The inits of the namespaces that this process has created. */
function findInits(): number[] {
  return childrenOf(process.pid)
    .filter((pid) => readProcess(pid)?.argv.includes('reeve-init'))
    .flatMap(childrenOf)
}

async function readOutput(contained: ContainmentHarness, script: string, args: readonly string[] = []): Promise<string> {
  const containment = await contained.open('pidns')
  const program = await containment.spawn(contained.request(['sh', '-c', script, 'sh', ...args]))
  return await readText(program.stdout)
}

describe.runIf(kinds.includes('pidns'))('a PID namespace', () => {
  test('arguments, environment and directory pass unchanged, with any content', async () => {
    await using contained = await openContainmentHarness()
    const cwd = join(contained.dir, `a 'dir' with "$(touch x)"\n;`)
    await mkdir(cwd)
    const words = ['', ' ', `'`, '"', '$(id)', '`id`', '\\', '\n', 'a\nb', '--', '-c', 'é', ';exit 1', '*']
    const containment = await contained.open('pidns')
    const env = { PATH: '/usr/bin:/bin', 'npm_config_//x.y/:z': 'q"\n\'$HOME', EMPTY: '' }
    const program = await containment.spawn(
      contained.request(
        [process.execPath, '-e', 'console.log(JSON.stringify([process.cwd(), process.argv.slice(1), process.env]))', '--', ...words],
        { cwd, env },
      ),
    )
    const [seenCwd, seenWords, seenEnv] = JSON.parse(await readText(program.stdout)) as [string, string[], Record<string, string>]
    expect(seenCwd).toBe(cwd)
    expect(seenWords).toEqual(words)
    expect(seenEnv).toMatchObject(env)
  })

  test('a program sees only the init, its reader and itself', async () => {
    await using contained = await openContainmentHarness()
    expect((await readOutput(contained, 'cd /proc; echo [0-9]*')).trim()).toBe('1 2 3')
  })

  test('programs of one incarnation share a namespace, those of two do not', async () => {
    await using contained = await openContainmentHarness()
    const [one, secondContainment] = [await contained.open('pidns'), await contained.open('pidns')]
    const programs = await Promise.all(
      [one, one, secondContainment].map((each) => each.spawn(contained.request(['sh', '-c', `exec sleep 3600.${contained.token}`]))),
    )
    await waitUntil(() => findSleepersWith(contained.token).length === 3)
    const [first, second, third] = programs.map(({ handle }) => pidNamespaceOf(handle.pid, 'children'))
    expect(first).toBe(second)
    expect(third).not.toBe(first)
    expect((await one.stop(KILL)).outcome).toBe('killed')
    expect(findSleepersWith(contained.token).length).toBe(1)
  })

  test.each([
    ['exit 7', 7, null],
    ['exit 143', 143, null],
    ['kill -s TERM $$', null, 'SIGTERM'],
    ['kill -s KILL $$', null, 'SIGKILL'],
  ])('%s is reported unchanged', async (script, code, signal) => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open('pidns')
    expect(await (await containment.spawn(contained.request(['sh', '-c', script]))).exited).toEqual({ code, signal })
  })

  test('the init reaps orphans: no zombie stays', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open('pidns')
    const program = await containment.spawn(
      contained.request(['sh', '-c', '(sleep 0.01 &) ; (setsid sleep 0.01 &) ; (true &) ; echo up; cat'], { stdin: 'pipe' }),
    )
    await waitForOutput(program, 'up')
    const [ownInit] = findInits().filter((pid) => pidNamespaceOf(pid, 'own') === pidNamespaceOf(program.handle.pid, 'children'))
    await waitUntil(() => childrenOf(ownInit ?? 0).length === 1, 'only the reader is left')
  })

  test('its programs can kill only each other: a kill of all visible processes ends their own namespace', async () => {
    await using contained = await openContainmentHarness()
    const [one, secondContainment] = [await contained.open('pidns'), await contained.open('pidns')]
    const other = await secondContainment.spawn(contained.request(['sh', '-c', `echo up; exec sleep 3600.${contained.token}`]))
    await waitForOutput(other, 'up')
    // Outside of a namespace it would kill all processes of this user.
    const guard = `[ "$(readlink /proc/$$/ns/pid)" != '${readlinkSync('/proc/self/ns/pid')}' ] || exit 9`
    const program = await one.spawn(
      contained.request(['sh', '-c', `${guard}; setsid sleep 3600.${contained.token} & kill -s KILL -- -1; sleep 3600.${contained.token}`]),
    )
    expect(await program.exited).toEqual({ code: null, signal: 'SIGKILL' })
    await waitUntil(() => findSleepersWith(contained.token).length === 1, 'only the program of the other namespace is left')
    // The next program gets a new namespace.
    expect(await (await one.spawn(contained.request(['sh', '-c', 'exit 4']))).exited).toEqual({ code: 4, signal: null })
  })

  test('a kill of its init ends all, and the program is reported as killed', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open('pidns')
    const program = await containment.spawn(
      contained.request(['sh', '-c', `setsid sleep 3600.${contained.token} & echo up; exec sleep 3600.${contained.token}`]),
    )
    await waitForOutput(program, 'up')
    const [ownInit] = findInits().filter((pid) => pidNamespaceOf(pid, 'own') === pidNamespaceOf(program.handle.pid, 'children'))
    signalFound(readProcess(ownInit ?? 0), 'SIGKILL')
    expect(await program.exited).toEqual({ code: null, signal: 'SIGKILL' })
    expect((await containment.stop(KILL)).survivors).toEqual([])
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test('no program survives a kill of `nsenter`, its parent outside of the namespace', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open('pidns')
    const program = await containment.spawn(contained.request(['sh', '-c', `echo up; exec sleep 3600.${contained.token}`]))
    await waitForOutput(program, 'up')
    signalFound(findOwnProcess(program.handle.pid, contained.dir), 'SIGKILL')
    await program.exited
    expect((await containment.dispose()).survivors).toEqual([])
    expect(findProcessesWith(contained.token)).toEqual([])
  })

  test('the exit of a program that stopped itself and was continued by another is seen', async () => {
    await using contained = await openContainmentHarness()
    const containment = await contained.open('pidns')
    const program = await containment.spawn(
      contained.request([
        'sh',
        '-c',
        'pid=$$; (until grep -q "^State:.T" /proc/$pid/status; do :; done; kill -s CONT $pid) & kill -s STOP $$; exit 6',
      ]),
    )
    expect(await program.exited).toEqual({ code: 6, signal: null })
  })

  test('an unused namespace is removed with the manager', async () => {
    const initsBefore = findInits()
    await using contained = await openContainmentHarness()
    const containment = await contained.open('pidns')
    await (
      await containment.spawn(contained.request(['true']))
    ).exited
    await waitUntil(() => findInits().length >= initsBefore.length + 2, 'a spare namespace is ready')
    await contained.manager[Symbol.asyncDispose]()
    expect(findInits()).toEqual(initsBefore)
  })
})
