// A start of the daemon that cannot do all its work. Programs that it cannot end, for example one that waits in the kernel for a dead disk,
// leave their row a zombie, and are killed again until they are gone. If a row cannot be written, the start is refused.
// The containment is a fake, because no test has a program that survives SIGKILL.
import { describe, expect, test } from 'vitest'
import { bootAll } from '../../../../src/daemon/loop/boot.ts'
import { EffectPerformer } from '../../../../src/daemon/incarnation/effect-performer.ts'
import { Sampler } from '../../../../src/daemon/incarnation/sampler.ts'
import type { Credentials } from '../../../../src/daemon/incarnation/credentials.ts'
import { KernelError } from '../../../../src/kernel/model/errors.ts'
import type { ContainmentManager, StopResult } from '../../../../src/drivers/contain/containment-contract.ts'
import { journalOf, openCore, waitUntilSettled } from '../../../support/kernel/daemon-core.ts'
import { kernelSpec } from '../../../support/kernel/world.ts'
import { uuidOf } from '../../../support/store/facts.ts'
import { tempDir } from '../../../support/tmp.ts'

const A = uuidOf(1)
const RETRY_MS = 5_000
const SURVIVED: StopResult = { outcome: 'survived', survivors: [77] }

test('survivors are killed again until they have ended', async () => {
  await using dir = await tempDir()
  {
    await using core = await openCore({ dir: dir.path })
    await core.pipeline.request({ type: 'spawn', by: 'user', uuid: A, parent: null, spec: kernelSpec({ driver: 'command', argv: ['x'] }) })
    core.pipeline.submit({ type: 'start', uuid: A, pid: 1, containment: { kind: 'group', path: null, marker: 'm' }, missingKeys: [] })
  }
  const results: StopResult[] = [SURVIVED, SURVIVED, SURVIVED]
  const containments = { recover: async () => results.shift() ?? { outcome: 'killed', survivors: [] } } as unknown as ContainmentManager
  const credentials = { forget: () => undefined } as unknown as Credentials
  let performer: EffectPerformer | null = null
  await using core = await openCore({
    dir: dir.path,
    perform: (effect) => {
      if (effect.type === 'release') performer?.perform(effect)
    },
  })
  performer = new EffectPerformer({
    apiSockets: { open: async () => undefined, close: () => {} },
    ...core,
    containments,
    drivers: {},
    recordActivity: () => undefined,
    sampler: new Sampler({ ...core, get: () => undefined, report: () => undefined, log: () => undefined }),
    tmpDir: dir.path,
    credentials,
    gateways: { decide: () => null, open: () => Promise.reject(new Error('not requested here')) },
    worktrees: { openFor: () => null },
    nodeStarter: { start: () => undefined },
    crewJobs: { perform: () => undefined },
    toolService: { openAccess: () => null },
    log: () => undefined,
  })
  performer.connect(core.pipeline)
  await bootAll({ ...core, containments })
  for (let attemptCount = 0; attemptCount < 2; attemptCount += 1) {
    await waitUntilSettled()
    expect(core.table.get(A)?.life.state).toBe('zombie')
    core.clock.wind(RETRY_MS)
  }
  await waitUntilSettled()
  await core.pipeline.waitUntilIdle()
  expect((await core.store.process(A))?.life.state).toBe('dead')
  const errorMessages = (await journalOf(core, A)).flatMap(({ body }) => (body.type === 'process.error' ? [body.message] : []))
  expect(errorMessages).toEqual(['still alive after the kill: PID 77'])
})

describe('a start that cannot record the new state of a row', () => {
  const CODES = ['STORE_DAMAGED', 'DISK_FAILED', 'DISK_FULL', 'READ_ONLY'] as const
  test.each(CODES.flatMap((code) => [[code, 'had started', true] as const, [code, 'had not started', false] as const]))(
    'because of %s is refused with that code, so that a process that %s is not shown as running',
    async (code, _, hasStarted) => {
      await using dir = await tempDir()
      {
        await using core = await openCore({ dir: dir.path })
        await core.pipeline.request({ type: 'spawn', by: 'user', uuid: A, parent: null, spec: kernelSpec() })
        const containment = { kind: 'group', path: null, marker: 'm' } as const
        if (hasStarted) core.pipeline.submit({ type: 'start', uuid: A, pid: 1, containment, missingKeys: [] })
      }
      const containments = { recover: async () => ({ outcome: 'killed', survivors: [] }) } satisfies Pick<ContainmentManager, 'recover'>
      {
        await using core = await openCore({
          dir: dir.path,
          faults: (store) => {
            store.fault = () => new KernelError(code, 'journal process x seq 1: the row is damaged')
          },
        })
        await expect(bootAll({ ...core, containments })).rejects.toMatchObject({
          code,
          message: code === 'DISK_FULL' ? expect.stringMatching(/^there is no room/) : 'journal process x seq 1: the row is damaged',
        })
      }
      await using core = await openCore({ dir: dir.path })
      await bootAll({ ...core, containments })
      expect([core.table.size, (await core.store.process(A))?.life.state]).toEqual([0, 'dead'])
    },
  )
})
