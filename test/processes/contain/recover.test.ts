// Recovery with real programs: a recorded program of an earlier daemon is ended only if its identity still matches.
// The programs here are started directly and recorded by the test, as a dead daemon would have left them.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { handleOf } from '../../../src/drivers/contain/proc/handle.ts'
import type { ContainmentIntent, OsHandle } from '../../../src/kernel/model/process.ts'
import { waitForOutput, openContainmentHarness, PROCESS_UUID, findWorkingKinds } from '../../support/agents/containment-harness.ts'
import type { ContainmentHarness } from '../../support/agents/containment-harness.ts'
import { findProcessesWith, readProcess } from '../../support/living-processes.ts'
import { waitUntil } from '../../support/wait-until.ts'

const kinds = await findWorkingKinds()

interface LeftProgram {
  readonly child: ChildProcess
  readonly handle: OsHandle
}

async function leaveProgram(contained: ContainmentHarness, marker: string | null): Promise<LeftProgram> {
  const env = { PATH: '/usr/bin:/bin', ...(marker === null ? {} : { REEVE_PROC: marker }) }
  const child = spawn('sleep', [`3600.${contained.token}`], { detached: true, stdio: 'ignore', env })
  await once(child, 'spawn')
  // Its environment is readable after the exec, a little later than `spawn`.
  await waitUntil(() => readProcess(child.pid ?? 0)?.state === 'S', 'it sleeps')
  // The process table is read once per turn of the event loop: a dead daemon's programs are older than any turn.
  await setImmediate()
  const handle = handleOf(child.pid ?? 0)
  if (handle === null) throw new Error('it has ended already')
  return { child, handle }
}

const countAlive = (contained: ContainmentHarness) => findProcessesWith(contained.token).length

test('a recorded program is killed, and so are unrecorded processes with the marker', async () => {
  await using contained = await openContainmentHarness()
  const intent = contained.manager.plan(PROCESS_UUID, 7, 'group')
  const { handle } = await leaveProgram(contained, intent.marker)
  await leaveProgram(contained, intent.marker)
  expect(await contained.manager.recover(intent, handle)).toEqual({ outcome: 'killed', survivors: [] })
  expect(countAlive(contained)).toBe(0)
  const laterProgram = await leaveProgram(contained, intent.marker)
  expect((await contained.manager.recover(intent, null)).outcome).toBe('killed')
  expect(countAlive(contained)).toBe(0)
  expect((await contained.manager.recover(intent, laterProgram.handle)).outcome).toBe('gone')
})

test('nothing is signalled for a stale handle: the outcome is `stale`', async () => {
  await using contained = await openContainmentHarness()
  const { handle } = await leaveProgram(contained, null)
  const stale = { ...handle, startTime: `${handle.startTime}0` }
  expect(await contained.manager.recover(contained.manager.plan(PROCESS_UUID, 7, 'group'), stale)).toEqual({
    outcome: 'stale',
    survivors: [],
  })
  expect(countAlive(contained)).toBe(1)
})

test('without a handle, no process without the marker is signalled: the outcome is `unowned`', async () => {
  await using contained = await openContainmentHarness()
  await leaveProgram(contained, null)
  expect((await contained.manager.recover(contained.manager.plan(PROCESS_UUID, 7, 'group'), null)).outcome).toBe('unowned')
  expect(countAlive(contained)).toBe(1)
})

test("a process with another incarnation's marker is not touched", async () => {
  await using contained = await openContainmentHarness()
  await leaveProgram(contained, contained.manager.plan(PROCESS_UUID, 8, 'group').marker)
  await contained.manager.recover(contained.manager.plan(PROCESS_UUID, 7, 'group'), null)
  expect(countAlive(contained)).toBe(1)
})

test.each(kinds)(
  '%s: a record from before a reboot is gone, even if another OS process has its OS pid and its start time now',
  async (kind) => {
    await using contained = await openContainmentHarness()
    const intent = contained.manager.plan(PROCESS_UUID, 7, kind)
    const earlierIntent: ContainmentIntent = { ...intent, marker: intent.marker.replace(/[^.]+$/, 'ffffffff') }
    const { handle } = await leaveProgram(contained, earlierIntent.marker)
    expect((await contained.manager.recover(earlierIntent, handle)).outcome).toBe('gone')
    expect(countAlive(contained)).toBe(1)
  },
)

test.runIf(kinds.includes('cgroup'))('a record that names a cgroup which is not its own is not followed', async () => {
  await using contained = await openContainmentHarness()
  const containment = await contained.open('cgroup')
  await waitForOutput(await containment.spawn(contained.request(['sh', '-c', `echo up; exec sleep 3600.${contained.token}`])), 'up')
  const damagedIntent = { ...contained.manager.plan(PROCESS_UUID, 7, 'cgroup'), path: containment.intent.path }
  expect((await contained.manager.recover(damagedIntent, null)).outcome).toBe('gone')
  expect(countAlive(contained)).toBe(1)
})
