// `reeve needs`: lists what waits for the user, with the command for each. Marks the listed needs as seen, or snoozes them.
// Test: test/e2e/lifecycle/needs.test.ts.
import type { NeedsView } from '../../api/views/needs.ts'
import { parseDuration } from '../../config/duration.ts'
import { UsageError } from '../errors.ts'
import { resolveForRead } from '../input/which-process.ts'
import { formatCount } from '../../faces/format.ts'
import { evidenceLines, needLines } from '../print/needs.ts'
import type { VerbCall } from '../table/verb.ts'

/** the value of `--snooze` that shows snoozed needs again */
const OFF = 'off'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref] = args.words
  const snooze = args.text('snooze')
  const mustMark = args.on('seen')
  if (snooze !== undefined && mustMark) throw new UsageError('--seen and --snooze exclude each other')
  const until = snooze === undefined ? undefined : parseSnooze(snooze, Date.now())
  const top = ref === undefined ? undefined : await resolveForRead(ref, out, (resolved) => reeve.get(resolved))
  const listing = await reeve.needs({
    ...(top ? { under: top.uuid } : {}),
    ...(args.on('all') || until === null ? { all: true } : {}),
    limit: args.number('limit') ?? 100,
  })
  if (!mustMark && until === undefined) return print(listing, args.on('evidence'), { out, reeve })
  const uuids = [...new Set(listing.needs.map(({ uuid }) => uuid))]
  let affected = 0
  for (const uuid of uuids) affected += (await (mustMark ? reeve.markSeen(uuid) : reeve.snooze(uuid, until ?? null))).affected
  if (out.json) await out.value({ processes: uuids, affected })
  else
    await out.message(
      uuids.length === 0
        ? NOTHING
        : `${formatCount(affected, 'process')} ${mustMark ? 'seen' : until === null ? 'shown again' : 'put off'}`,
    )
  return 0
}

const NOTHING = 'nothing waits for you'

/** Returns when the snooze ends, as ISO 8601; null for `off`. Errors: usage. */
function parseSnooze(text: string, now: number): string | null {
  if (text === OFF) return null
  const ms = parseDuration(text)
  if (ms === null || ms <= 0) throw new UsageError(`--snooze ${text}: not a duration`, `Write a duration such as 30m or 2h, or \`${OFF}\`.`)
  return new Date(now + ms).toISOString()
}

async function print(
  { needs, total, snoozed }: NeedsView,
  withEvidence: boolean,
  { out, reeve }: Pick<VerbCall, 'out' | 'reeve'>,
): Promise<number> {
  if (out.json) {
    await out.value({ needs, total, snoozed })
    return 0
  }
  const now = Date.now()
  if (withEvidence)
    for (const [index, { id }] of needs.entries()) {
      if (index > 0) await out.line('')
      for (const line of evidenceLines(await reeve.need(id), out, now)) await out.line(line)
    }
  else if (needs.length > 0) for (const line of needLines(needs, out, now)) await out.line(line)
  if (needs.length === 0) await out.message(NOTHING)
  if (total > needs.length) await out.message(`and ${total - needs.length} more: use --limit`)
  if (snoozed > 0) await out.message(`${formatCount(snoozed, 'need')} put off: \`reeve needs --all\` lists them`)
  return 0
}
