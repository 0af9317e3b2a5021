// Makes the restart policy and the supervisor settings of a process from the configuration. Maps each word that users may write to
// its restart type. Test: test/tables/config/supervisors.test.ts.
import type {
  Intensity,
  IntensityConfig,
  RestartConfig,
  RestartPolicy,
  RestartType,
  RestartWord,
  SupervisorConfig,
  SupervisorSpec,
} from '../model/supervision.ts'
import { DEFAULT_INTENSITY } from './restart-decision.ts'

const TYPE_BY_KEYWORD: Readonly<Record<RestartWord, RestartType>> = {
  no: 'temporary',
  'on-failure': 'transient',
  always: 'permanent',
  permanent: 'permanent',
  transient: 'transient',
  temporary: 'temporary',
}

export function restartPolicyFrom(config: RestartWord | RestartConfig): RestartPolicy {
  if (typeof config === 'string') return { type: TYPE_BY_KEYWORD[config] }
  const { type, onComplete, ...intensity } = config
  return {
    type: TYPE_BY_KEYWORD[type],
    ...(onComplete ? { onComplete } : {}),
    ...(Object.keys(intensity).length > 0 ? intensityFrom(intensity) : {}),
  }
}

export function supervisorSpecFrom({ strategy = 'one_for_one', ...intensity }: SupervisorConfig): SupervisorSpec {
  return { strategy, ...intensityFrom(intensity) }
}

function intensityFrom({
  maxRestarts = DEFAULT_INTENSITY.maxRestarts,
  windowMs = DEFAULT_INTENSITY.windowMs,
  backoff,
}: IntensityConfig): Intensity {
  return { maxRestarts, windowMs, backoff: { ...DEFAULT_INTENSITY.backoff, ...backoff } }
}
