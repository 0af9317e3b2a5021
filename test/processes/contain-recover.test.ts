// Recovery with real programs: what an earlier daemon recorded is ended if it is still what was recorded, and only then.
// The programs here are started plainly and recorded by hand, as a dead daemon would have left them.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { handleOf } from '../../src/drivers/contain/handle.ts'
import type { ContainmentIntent, OsHandle } from '../../src/kernel/types.ts'
import { announced, newContained, UUID, workingKinds } from '../support/contained.ts'
import type { Contained } from '../support/contained.ts'
import { eventually, livingWith, readLiving } from '../support/living.ts'

const kinds = await workingKinds()

interface Left {
  readonly child: ChildProcess
  readonly handle: OsHandle
}

async function leave(contained: Contained, marker: string | null): Promise<Left> {
  const env = { PATH: '/usr/bin:/bin', ...(marker === null ? {} : { REEVE_PROC: marker }) }
  const child = spawn('sleep', [`3600.${contained.token}`], { detached: true, stdio: 'ignore', env })
  await once(child, 'spawn')
  // Its environment can be read when the exec is over, which is a little after `spawn`.
  await eventually(() => readLiving(child.pid ?? 0)?.state === 'S', 'it sleeps')
  // The process table is read once per turn of the event loop: a dead daemon's programs are older than any turn.
  await setImmediate()
  const handle = handleOf(child.pid ?? 0)
  if (handle === null) throw new Error('it has ended already')
  return { child, handle }
}

const alive = (contained: Contained) => livingWith(contained.token).length

test('a recorded program is killed, and so is what carries the marker without being recorded', async () => {
  await using contained = await newContained()
  const intent = contained.container.plan(UUID, 7, 'group')
  const { handle } = await leave(contained, intent.marker)
  await leave(contained, intent.marker)
  expect(await contained.container.recover(intent, handle)).toEqual({ outcome: 'killed', survivors: [] })
  expect(alive(contained)).toBe(0)
  const late = await leave(contained, intent.marker)
  expect((await contained.container.recover(intent, null)).outcome).toBe('killed')
  expect(alive(contained)).toBe(0)
  expect((await contained.container.recover(intent, late.handle)).outcome).toBe('gone')
})

test('a stale handle signals nothing', async () => {
  await using contained = await newContained()
  const { handle } = await leave(contained, null)
  const stale = { ...handle, startTime: `${handle.startTime}0` }
  expect(await contained.container.recover(contained.container.plan(UUID, 7, 'group'), stale)).toEqual({ outcome: 'stale', survivors: [] })
  expect(alive(contained)).toBe(1)
})

test('without a handle, nothing that has no marker is signalled: it is unowned', async () => {
  await using contained = await newContained()
  await leave(contained, null)
  expect((await contained.container.recover(contained.container.plan(UUID, 7, 'group'), null)).outcome).toBe('unowned')
  expect(alive(contained)).toBe(1)
})

test('another incarnation\'s marker is another incarnation\'s', async () => {
  await using contained = await newContained()
  await leave(contained, contained.container.plan(UUID, 8, 'group').marker)
  await contained.container.recover(contained.container.plan(UUID, 7, 'group'), null)
  expect(alive(contained)).toBe(1)
})

test('what was recorded before the machine was started again is gone, whoever has its number and its start time now', async () => {
  await using contained = await newContained()
  const intent = contained.container.plan(UUID, 7, 'group')
  const earlier: ContainmentIntent = { ...intent, marker: intent.marker.replace(/[^.]+$/, 'ffffffff') }
  const { handle } = await leave(contained, earlier.marker)
  expect((await contained.container.recover(earlier, handle)).outcome).toBe('gone')
  expect(alive(contained)).toBe(1)
})

test.runIf(kinds.includes('cgroup'))('a record that names a cgroup which is not its own is not followed', async () => {
  await using contained = await newContained()
  const containment = await contained.open('cgroup')
  await announced(await containment.spawn(contained.request(['sh', '-c', `echo up; exec sleep 3600.${contained.token}`])), 'up')
  const damaged = { ...contained.container.plan(UUID, 7, 'cgroup'), path: containment.intent.path }
  expect((await contained.container.recover(damaged, null)).outcome).toBe('gone')
  expect(alive(contained)).toBe(1)
})
