// Schemas of resumable processes, for src/api/views/resume.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { count, status, text, time, version } from './fields.ts'

const identity = { uuid: text, pid: count, name: text.nullable() }

const modes = z
  .object({
    continue: text.nullable().describe('continues with the same UUID, from its current state'),
    fork: text.nullable().describe('continues as a new process'),
    fromStep: z
      .object({ from: count, to: count })
      .nullable()
      .describe('the range of steps after which a fork can start; null: only in its current state, or not at all'),
    rerun: text.nullable().describe('runs again from its beginning, without its history'),
  })
  .describe('The ways to resume a process. null means that the way is possible; a text is the reason why it is not.')

const resumable = z.object({
  ...identity,
  agent: text,
  status,
  step: count,
  checkpointStep: count.nullable().describe('the step of the newest checkpoint; null: no checkpoint'),
  exitedAt: time.nullable(),
  modes,
})

const resumables = z.object({
  version,
  processes: z.array(resumable),
  next: text.nullable().describe('the value of `after` for the next page; null: this is the last page'),
})

export const resumeAnswers = { resumables }

export const RESUME_TYPES = { ResumeModesView: modes, ResumableView: resumable, ResumablesView: resumables }
