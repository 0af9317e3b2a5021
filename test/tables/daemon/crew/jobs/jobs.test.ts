// The job that lands a task: it succeeds even if the task's member was removed, and fails if the member's row cannot be read.
import { describe, expect, test } from 'vitest'
import { CrewJobs, type CrewJobsDeps } from '../../../../../src/daemon/crew/jobs/jobs.ts'
import { KernelError } from '../../../../../src/kernel/model/errors.ts'
import type { Job, JobResult } from '../../../../../src/kernel/model/crew/facts.ts'
import type { Process } from '../../../../../src/kernel/model/process.ts'

const CREW = 'crew'
const MEMBER = { id: 'worker-1', uuid: 'worker' }
const LAND: Job = { job: 1, type: 'land', member: 'worker-1', task: 'a', commit: 'c', candidate: 'd', head: 'h' }

/** Performs a job. Returns its result, and the members that git was called with. */
async function performJob(
  job: Job,
  readMember: () => Promise<Process | undefined>,
): Promise<{ readonly result: JobResult; readonly members: unknown[] }> {
  const members: unknown[] = []
  const answer = Promise.withResolvers<JobResult>()
  const crew = {
    uuid: CREW,
    pid: 1,
    life: { state: 'running', stopping: null, holds: [] },
    spec: { crew: {} },
    crew: { members: [MEMBER] },
  }
  const deps = {
    table: { get: (uuid: string) => (uuid === CREW ? crew : undefined) },
    store: { process: readMember },
    git: {
      land: async ({ member }: { readonly member: unknown }) => {
        members.push(member)
        return { type: 'merged', commit: 'm' }
      },
    },
    pipeline: () => ({
      request: async ({ command }: { readonly command: { readonly result: JobResult } }) => answer.resolve(command.result),
    }),
    log: () => undefined,
  } as unknown as CrewJobsDeps
  new CrewJobs(deps).perform({ type: 'crew.job', uuid: CREW, pid: 1, job })
  return { result: await answer.promise, members }
}

describe('the job that lands a task', () => {
  test('passes no member to git if the process of the member was removed', async () => {
    expect(await performJob(LAND, async () => undefined)).toEqual({ result: { type: 'merged', merged: 'm' }, members: [null] })
  })

  test('passes the member to git', async () => {
    const row = { uuid: 'worker' } as Process
    expect(await performJob(LAND, async () => row)).toEqual({ result: { type: 'merged', merged: 'm' }, members: [row] })
  })

  test('fails if the row of the member is damaged', async () => {
    const { result, members } = await performJob(LAND, () => Promise.reject(new KernelError('STORE_DAMAGED', 'the row is damaged')))
    expect(result).toMatchObject({ type: 'error', error: expect.stringContaining('the row is damaged') })
    expect(members).toEqual([])
  })
})
