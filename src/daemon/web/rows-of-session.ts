// Rows for a session that must not see everything. One for a subtree gets no sums of all processes, and nothing of other processes: also no
// event when they change. A redacted one gets no inputs of tools and no questions. Other viewers share the bytes of their rows; these few
// get their own.
// Test: test/tables/daemon/web/restrict.test.ts, test/e2e/web/security.test.ts.
import type { RowView } from '../../api/views/rows.ts'
import { OtherProcesses } from './hide-others.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import { passOf, type Pass } from './pass.ts'
import type { NeedView } from '../../api/views/needs.ts'
import { redactDoing, redactExit, redactNeed, redactWhy } from './redact.ts'

type Session = NonNullable<Pass['session']>

/** How each private field of a row is shown to a redacted session. */
const REDACTED_FIELDS: { readonly [F in keyof RowView]?: (value: RowView[F]) => RowView[F] } = {
  doing: redactDoing,
  why: redactWhy,
  note: () => null,
  exit: redactExit,
}

/** Changes the rows for a session; null: it sees them as they are. */
export interface RowsAdapter {
  text(json: string): Promise<string>
  frames(frames: AsyncIterable<Buffer>): AsyncGenerator<Buffer>
}

const FRAME = /^id: .*\nevent: (\w+)\ndata: (.*)\n\n$/

/** The adapter for the session of a request. */
export function rowsAdapterOf(request: object, reads: Pick<ProcessQueries, 'find'>): RowsAdapter | null {
  const session = passOf(request)?.session
  if (!session || (session.only === null && !session.redact)) return null
  const others = session.only === null ? null : new OtherProcesses((uuid) => reads.find(uuid), session.only)
  const adapt = async (body: RowsBody, count: number): Promise<RowsBody> => {
    const own = rowsOfSession(body, session)
    // A cursor counts the changes of all processes. A narrow stream never continues, so its cursors need no meaning.
    return others === null ? own : { ...((await others.hideIn(own)) as RowsBody), cursor: `own-${count}`, seq: count }
  }
  return {
    text: async (json) => JSON.stringify(await adapt(JSON.parse(json) as RowsBody, 0)),
    async *frames(frames) {
      let count = 0
      for await (const frame of frames) {
        const [, type = '', json = '{}'] = FRAME.exec(frame.toString('utf8')) ?? []
        const body = JSON.parse(json) as RowsBody
        if (others !== null && type === 'rows' && isEmpty(body)) continue
        if (type !== 'alive') count += 1
        const adapted = await adapt(body, count)
        yield Buffer.from(`id: ${adapted.cursor}\nevent: ${type}\ndata: ${JSON.stringify(adapted)}\n\n`)
      }
    },
  }
}

/** Whether a frame has nothing for a session that sees no sums. */
function isEmpty({ up = [], gone = [], needIds }: RowsBody): boolean {
  return up.length === 0 && gone.length === 0 && needIds === undefined
}

interface RowsBody {
  readonly cursor?: string
  readonly seq?: number
  readonly sums?: unknown
  readonly rows?: readonly Partial<RowView>[]
  readonly up?: readonly Partial<RowView>[]
  readonly gone?: readonly string[]
  readonly needIds?: readonly string[]
  readonly needs?: readonly NeedView[]
  readonly columns?: Readonly<Record<string, readonly unknown[]>>
}

/** Removes from a snapshot or an event what a session must not see. */
export function rowsOfSession(body: RowsBody, { only, redact }: Pick<Session, 'only' | 'redact'>): RowsBody {
  const { sums, ...rest } = body
  const own = only === null ? { sums, ...rest } : rest
  if (!redact) return own
  return {
    ...own,
    ...(own.rows ? { rows: own.rows.map(redactRow) } : {}),
    ...(own.needs ? { needs: own.needs.map(redactNeed) } : {}),
    ...(own.up ? { up: own.up.map(redactRow) } : {}),
    ...(own.columns ? { columns: Object.fromEntries(Object.entries(own.columns).map(redactColumn)) } : {}),
  }
}

function redactRow(row: Partial<RowView>): Partial<RowView> {
  return Object.fromEntries(Object.entries(row).map(([field, value]) => [field, redactValue(field, value)]))
}

function redactColumn([field, values]: [string, readonly unknown[]]): [string, readonly unknown[]] {
  return [field, values.map((value) => redactValue(field, value))]
}

function redactValue(field: string, value: unknown): unknown {
  const change = REDACTED_FIELDS[field as keyof RowView] as ((value: unknown) => unknown) | undefined
  return change ? change(value) : value
}
