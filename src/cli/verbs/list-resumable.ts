// `reeve list-resumable`: lists suspended and ended processes, and the ways to resume each. Test: test/e2e/cli/resume.test.ts.
import type { ResumableView } from '../../api/views/resume.ts'
import { formatTable, type Column } from '../print/format-table.ts'
import { shortId } from '../../faces/format.ts'
import { oneLine } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

/** the number of ended processes that are listed by default */
const DEFAULT_LIMIT = 100
/** the number of rows per request */
const PAGE_ROWS = 1_000

const COLUMNS: readonly Column[] = [
  { title: 'PID', side: 'right' },
  { title: 'ID' },
  { title: 'NAME', min: 8 },
  { title: 'AGENT', min: 7 },
  { title: 'STATUS' },
  { title: 'STEP', side: 'right' },
  { title: 'CONTINUE' },
  { title: 'FORK' },
  { title: 'RERUN' },
  { title: 'WHY', min: 4 },
]

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const limit = args.number('limit') ?? DEFAULT_LIMIT
  const found: ResumableView[] = []
  let next: string | null = null
  let ended = 0
  do {
    const page = await reeve.resumable({ limit: Math.min(PAGE_ROWS, limit - ended), ...(next === null ? {} : { after: next }) })
    found.push(...page.processes)
    ended = found.filter(({ exitedAt, status }) => exitedAt !== null && status !== 'zombie').length
    ;({ next } = page)
  } while (next !== null && ended < limit)
  if (out.json) await out.value({ processes: found, next })
  else await out.line(formatTable(COLUMNS, found.map(cells), out.columns, out.ellipsis).join('\n'))
  if (!out.json && next !== null) await out.message(`more rows: --limit ${limit * 2}`)
  return 0
}

function cells({ pid, uuid, name, agent, status, step, modes }: ResumableView): string[] {
  const why = modes.continue !== null && modes.fork !== null ? modes.continue : ''
  return [
    String(pid),
    shortId(uuid),
    name === null ? '-' : oneLine(name),
    oneLine(agent),
    status,
    String(step),
    modes.continue === null ? 'yes' : 'no',
    forkCell(modes),
    modes.rerun === null ? 'yes' : 'no',
    oneLine(why),
  ]
}

function forkCell({ fork, fromStep }: ResumableView['modes']): string {
  if (fork !== null) return 'no'
  return fromStep ? `steps ${fromStep.from}-${fromStep.to}` : 'known at start'
}
