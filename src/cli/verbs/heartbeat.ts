// `reeve heartbeat status`: prints the liveness of each living process. Test: test/e2e/lifecycle/liveness.test.ts.
import { closestWord } from '../../kernel/util/did-you-mean.ts'
import type { HeartbeatRowView } from '../../api/views/heartbeat.ts'
import { formatTable, type Column } from '../print/format-table.ts'
import { UsageError } from '../errors.ts'
import { formatElapsed, shortId } from '../../faces/format.ts'
import { oneLine } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

const ACTIONS = ['status']

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [action = 'status'] = args.words
  if (!ACTIONS.includes(action))
    throw new UsageError(
      `heartbeat ${action}: choose from ${ACTIONS.join(', ')}`,
      closestWord(action, ACTIONS) && 'Did you mean `reeve heartbeat status`?',
    )
  const { processes } = await reeve.heartbeat()
  if (out.json) {
    await out.value({ processes })
    return 0
  }
  const paintLiveness = (cell: string, row: number): string => {
    const word = processes[row]?.word
    return word === null || word === undefined ? cell : out.paint(word === 'alive' ? 'green' : 'yellow', cell)
  }
  const columns: Column[] = [
    { title: 'PID', side: 'right' },
    { title: 'ID' },
    { title: 'NAME', min: 8 },
    { title: 'STATUS' },
    { title: 'LIVENESS', paint: paintLiveness },
    { title: 'QUIET', side: 'right' },
    { title: 'IDLE', side: 'right' },
    { title: 'POLICY' },
    { title: 'EVIDENCE', min: 8 },
  ]
  for (const line of formatTable(columns, processes.map(cells), out.columns, out.ellipsis)) await out.line(line)
  return 0
}

function cells({ uuid, pid, name, status, word, evidence, quietMs, idleMs, thresholds }: HeartbeatRowView): string[] {
  const ago = (ms: number | null): string => (ms === null ? '-' : formatElapsed(ms))
  return [
    String(pid),
    shortId(uuid),
    name === null ? '-' : oneLine(name),
    status,
    word ?? '-',
    ago(quietMs),
    ago(idleMs),
    thresholds.policy,
    oneLine(evidence ?? ''),
  ]
}
