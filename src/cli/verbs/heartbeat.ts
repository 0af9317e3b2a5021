// `reeve heartbeat status`: what is seen of each process that runs, and since when. Test: test/processes/liveness.test.ts.
import { nearest } from '../../config/nearest.ts'
import type { HeartbeatRowView } from '../../api/heartbeat-views.ts'
import { table, type Column } from '../columns.ts'
import { UsageError } from '../errors.ts'
import { elapsed, shortId } from '../format.ts'
import { oneLine } from '../text.ts'
import type { Call } from '../verbs.ts'

const ACTIONS = ['status']

export async function run({ args, out, reeve }: Call): Promise<number> {
  const [action = ''] = args.words
  if (!ACTIONS.includes(action)) throw new UsageError(`heartbeat ${action}: there is ${ACTIONS.join(', ')}`, nearest(action, ACTIONS) && 'Did you mean `reeve heartbeat status`?')
  const { processes } = await reeve.heartbeat()
  if (out.json) {
    await out.value({ processes })
    return 0
  }
  const word = (cell: string, row: number): string => {
    const said = processes[row]?.word
    return said === null || said === undefined ? cell : out.paint(said === 'alive' ? 'green' : 'yellow', cell)
  }
  const columns: Column[] = [
    { title: 'PID', side: 'right' }, { title: 'ID' }, { title: 'NAME', min: 8 }, { title: 'STATUS' }, { title: 'LIVENESS', paint: word },
    { title: 'QUIET', side: 'right' }, { title: 'IDLE', side: 'right' }, { title: 'POLICY' }, { title: 'EVIDENCE', min: 8 },
  ]
  for (const line of table(columns, processes.map(cells), out.columns, out.ellipsis)) await out.line(line)
  return 0
}

function cells({ uuid, pid, name, status, word, evidence, quietMs, idleMs, thresholds }: HeartbeatRowView): string[] {
  const ago = (ms: number | null): string => (ms === null ? '-' : elapsed(ms))
  return [String(pid), shortId(uuid), name === null ? '-' : oneLine(name), status, word ?? '-', ago(quietMs), ago(idleMs), thresholds.policy, oneLine(evidence ?? '')]
}
