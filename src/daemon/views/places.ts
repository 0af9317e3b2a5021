// Lists the directories in which processes were started. The page offers them, because it has no working directory.
// Test: test/e2e/daemon/batch.test.ts.
import { sep } from 'node:path'
import { loadConfig } from '../../config/config.ts'
import { pathExists } from '../../drivers/common/path-exists.ts'
import type { Paths } from '../../config/paths.ts'
import type { PlacesView } from '../../api/views/agents.ts'
import type { ProcessQueries } from './process-queries.ts'

/** The largest numbers of ended processes that are read, and of directories that are returned. */
const MAX_ENDED = 500
const MAX_PLACES = 200

export interface PlacesDeps {
  readonly reads: Pick<ProcessQueries, 'list'>
  readonly paths: Paths
}

/** Lists the directories of the living processes and of the newest ended ones. */
export async function placesView({ reads, paths }: PlacesDeps): Promise<PlacesView> {
  const { trusted } = await loadConfig({ paths, cwd: null, env: process.env })
  const rows = await reads.list({ all: true, limit: MAX_ENDED, fields: ['directory', 'createdAt', 'agent', 'state'] })
  const newestFirst = rows.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
  const byDir = [...Map.groupBy(newestFirst, ({ directory }) => directory)].slice(0, MAX_PLACES)
  const places = byDir.map(async ([dir, processes]) => ({
    dir,
    exists: await pathExists(dir),
    living: processes.filter(({ state }) => state !== 'dead' && state !== 'zombie').length,
    processes: processes.length,
    lastUsedAt: processes[0]?.createdAt ?? '',
    agents: [...new Set(processes.map(({ agent }) => agent))],
    trusted: trusted.some((each) => dir === each || dir.startsWith(each.endsWith(sep) ? each : `${each}${sep}`)),
  }))
  return { version: 1, places: await Promise.all(places) }
}
