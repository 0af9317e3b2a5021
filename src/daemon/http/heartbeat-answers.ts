// What the API answers about liveness, as a zod schema held to src/api/heartbeat-views.ts in both directions.
// For the document and for tests alone, as answers.ts. Test: test/e2e/openapi.test.ts.
import { z } from 'zod'
import { of } from './exact.ts'
import type { HeartbeatView } from '../../api/heartbeat-views.ts'

const count = z.int().min(0)
const after = (what: string) => z.number().min(0).nullable().describe(`${what} for so long; null: never`)
const statuses = ['pending', 'starting', 'ready', 'working', 'waiting', 'suspended', 'stopping', 'zombie', 'completed', 'retired', 'stopped', 'failed', 'interrupted'] as const

export const heartbeatAnswers = {
  heartbeat: of<HeartbeatView>()(z.object({
    version: z.literal(1),
    processes: z.array(z.object({
      uuid: z.string(), pid: count, name: z.string().nullable(), agent: z.string(), status: z.enum(statuses),
      word: z.enum(['alive', 'silent', 'stalled', 'waiting', 'stopped']).nullable().describe('null: it is passed over'),
      since: z.iso.datetime({ offset: true }).nullable(), evidence: z.string().nullable().describe('what it was doing'),
      quietMs: z.number().min(0).nullable().describe('since it last wrote anything'), idleMs: z.number().min(0).nullable().describe('since it last got on'),
      thresholds: z.object({
        stoppedMs: after('stopped by a signal'), silentMs: after('nothing written'), stalledMs: after('no step, tool or turn'), waitingMs: after('a person was asked'),
        policy: z.enum(['warn', 'interrupt', 'restart']), loop: count.nullable(), errors: count.nullable(), errorsOf: count,
      }),
    })),
  })),
}
