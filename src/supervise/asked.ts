// From what people ask for to a policy that is whole. Owns the words for restart types. Test: test/tables/supervise.test.ts.
import type { Intensity, IntensityAsked, RestartAsked, RestartPolicy, RestartType, RestartWord, SupervisorAsked, SupervisorSpec } from '../kernel/supervision.ts'
import { INTENSITY } from './verdict.ts'

const TYPES: Readonly<Record<RestartWord, RestartType>> = {
  no: 'temporary', 'on-failure': 'transient', always: 'permanent', permanent: 'permanent', transient: 'transient', temporary: 'temporary',
}

export function policyOf(asked: RestartWord | RestartAsked): RestartPolicy {
  if (typeof asked === 'string') return { type: TYPES[asked] }
  const { type, onComplete, ...intensity } = asked
  return { type: TYPES[type], ...(onComplete ? { onComplete } : {}), ...(Object.keys(intensity).length > 0 ? intensityOf(intensity) : {}) }
}

export function supervisorOf({ strategy = 'one_for_one', ...intensity }: SupervisorAsked): SupervisorSpec {
  return { strategy, ...intensityOf(intensity) }
}

function intensityOf({ maxRestarts = INTENSITY.maxRestarts, windowMs = INTENSITY.windowMs, backoff }: IntensityAsked): Intensity {
  return { maxRestarts, windowMs, backoff: { ...INTENSITY.backoff, ...backoff } }
}
