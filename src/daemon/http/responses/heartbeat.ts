// Schemas of the liveness of each process, and of what it waits for, for src/api/views/heartbeat.ts. Test: test/e2e/daemon/openapi.test.ts.
import { z } from 'zod'
import { LIVENESS_POLICIES, LIVENESS_WORDS } from '../../../kernel/model/words.ts'
import { doing, why, count, ms, status, text, time, version } from './fields.ts'

const threshold = (condition: string) => ms.nullable().describe(`${condition} for this time; null: never`)

const thresholds = z
  .object({
    stoppedMs: threshold('the word `stopped`: a program was stopped by a signal'),
    silentMs: threshold('the word `silent`: no output'),
    stalledMs: threshold('the word `stalled`: no step, tool call or turn has ended'),
    waitingMs: threshold('the word `waiting`: a question has waited for the user'),
    policy: z.enum(LIVENESS_POLICIES),
    loop: count.nullable().describe('the number of equal steps that counts as a loop; null: not checked'),
    errors: count
      .nullable()
      .describe('the number of failures among the last `errorsOf` tool calls that counts as a problem; null: not checked'),
    errorsOf: count,
  })
  .describe('The thresholds of the liveness of a process.')

const row = z.object({
  uuid: text,
  pid: count,
  name: text.nullable(),
  agent: text,
  status,
  word: z
    .enum(LIVENESS_WORDS)
    .nullable()
    .describe('the liveness; null: not checked, because it is suspended, has not started, or is ending'),
  since: time.nullable(),
  evidence: text.nullable().describe('what the process was doing at that time'),
  quietMs: ms.nullable().describe('the time since its last output; null: not checked'),
  idleMs: ms.nullable().describe('the time since its last progress; null: not checked'),
  thresholds,
})

const heartbeat = z.object({ version, processes: z.array(row) })

export const heartbeatAnswers = { heartbeat }

export const HEARTBEAT_TYPES = {
  WhyView: why,
  DoingView: doing,
  ThresholdsView: thresholds,
  HeartbeatRowView: row,
  HeartbeatView: heartbeat,
}
