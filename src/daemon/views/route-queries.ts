// Connects queries of the API's routes with what they need: resumes and forks, usage, places, searches, files, steps and stakes.
// Tests: test/e2e/daemon/api.test.ts, test/e2e/worktree/files.test.ts.
import { ProcessDiffs } from '../operations/process-diffs.ts'
import { placesView } from './places.ts'
import { stakesView } from '../stakes/stakes-query.ts'
import { compareView, lineageView } from './lineage/lineage.ts'
import { resumableView } from './resumable.ts'
import { StepReads } from '../steps/step-reads.ts'
import { searchTranscripts } from './search.ts'
import { usageRateView, usageReport, type UsageDeps } from './usage-report.ts'
import type { RoutesDeps } from '../http/route.ts'
import type { Clock } from '../loop/clock.ts'
import type { Removals } from '../operations/removals.ts'
import type { Worktrees } from '../operations/worktrees.ts'
import type { Paths } from '../../config/paths.ts'
import type { SpendingRate } from './spending-rate.ts'
import type { Table } from '../loop/table.ts'

export interface RouteQueriesDeps extends Pick<RoutesDeps, 'store' | 'reads' | 'slices'> {
  readonly table: Table
  readonly worktrees: Worktrees
  readonly removals: Removals
  readonly clock: Clock
  readonly rate: SpendingRate
  readonly readBudgets: UsageDeps['readBudgets']
  readonly paths: Paths
  /** wall time of the start of the daemon, in ms */
  readonly startedAt: number
}

/** Returns a part of what the routes need. */
export function routeQueries(
  deps: RouteQueriesDeps,
): Pick<RoutesDeps, 'resumeQueries' | 'usage' | 'usageRate' | 'places' | 'search' | 'diffs' | 'stakes' | 'steps'> {
  return {
    resumeQueries: {
      resumable: (query) => resumableView(deps, query),
      lineage: (ref) => lineageView(deps, ref),
      compare: (a, b) => compareView(deps.reads, a, b),
    },
    usage: (query) => usageReport(deps, query),
    places: () => placesView(deps),
    usageRate: () => usageRateView(deps),
    search: (query, processes, signal) => searchTranscripts({ ...deps, mono: () => deps.clock.now().mono }, query, processes, signal),
    diffs: new ProcessDiffs(deps),
    steps: new StepReads(deps),
    stakes: (ref, request) => stakesView(deps, ref, request),
  }
}
