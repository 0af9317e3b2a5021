// `reeve search`: prints the lines of transcripts that contain a text, by process, with the match marked. Tests:
// test/e2e/daemon/search.test.ts.
import type { SearchMatchView } from '../../api/views/search.ts'
import { UsageError } from '../errors.ts'
import { withWaitNote } from '../follow/wait-note.ts'
import { parseSince } from '../input/since.ts'
import { resolveForRead } from '../input/which-process.ts'
import { formatCount, formatClock } from '../../faces/format.ts'
import type { Output } from '../print/output.ts'
import { processTitle } from '../print/process-text.ts'
import { displayWidth, fitWidth, padWidth, stripControls } from '../print/text.ts'
import type { VerbCall } from '../table/verb.ts'

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1_000
/** the least width of an excerpt */
const MIN_EXCERPT_COLUMNS = 20

/** the width of the longest kind */
const KIND_COLUMNS = 'reasoning'.length

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [text = '', ...refs] = args.words
  if (text === '') throw new UsageError('the text is missing', 'Usage: reeve search [FLAG]... TEXT [P]...')
  const limit = args.number('limit') ?? DEFAULT_LIMIT
  if (limit < 1 || limit > MAX_LIMIT) throw new UsageError(`--limit ${limit}: choose a number from 1 to ${MAX_LIMIT}`)
  const since = parseSince(args.text('since'))
  const named = await Promise.all(refs.map((ref) => resolveForRead(ref, out, (resolvedRef) => reeve.get(resolvedRef))))
  const processes = [...new Set(named.map(({ uuid }) => uuid))]
  const { version: _, ...found } = await withWaitNote(
    out,
    () => ({ key: 'search', what: 'the search', ends: 'the search ends after a minute' }),
    reeve.search(text, { since, limit, ignoreCase: args.on('ignore-case'), ...(processes.length > 0 ? { processes } : {}) }),
  )
  if (out.json) await out.value(found)
  else await printMatches(found.matches, out)
  const exit = found.matches.length > 0 ? 0 : 1
  if (out.json) return exit
  const groups = new Set(found.matches.map(({ uuid }) => uuid)).size
  const searched = formatCount(found.processes, 'process')
  await out.message(
    exit === 1
      ? `not found in ${searched}`
      : `${formatCount(found.matches.length, 'line')} in ${formatCount(groups, 'process')}, of ${searched} searched`,
  )
  if (found.cutBy === 'matches') await out.message('there are more: use --limit, --since or the names of processes')
  if (found.cutBy === 'time') await out.message('the search ended after a minute: use --since or the names of processes to search less')
  return exit
}

async function printMatches(matches: readonly SearchMatchView[], out: Output): Promise<void> {
  const stepColumns = Math.max(0, ...matches.map((match) => stepText(match).length))
  let uuid = ''
  for (const match of matches) {
    if (match.uuid !== uuid) await out.line(out.paint('bold', stripControls(`${processTitle(match)} ${match.status}`)))
    uuid = match.uuid
    const start = `  ${padWidth(stepText(match), stepColumns)}  ${formatClock(match.at, Date.now())}  ${padWidth(match.kind, KIND_COLUMNS)}  `
    await out.line(out.paint('dim', start) + excerpt(match, out, out.columns - displayWidth(start)))
  }
}

function stepText({ step }: SearchMatchView): string {
  return step === null ? '-' : `step ${step}`
}

/** Returns the line with the match marked: red, or in guillemets without colours. The match is kept if the columns are few. */
function excerpt(match: SearchMatchView, out: Output, room: number): string {
  const columns = Math.max(MIN_EXCERPT_COLUMNS, room)
  const [before, hit, after] = [match.before, match.match, match.after].map(oneRow)
  const marked = fitWidth(hit ?? '', columns, out.ellipsis)
  const painted = out.paint('red', marked)
  const shown = painted === marked ? (out.ascii ? `>${marked}<` : `«${marked}»`) : painted
  const left = columns - displayWidth(marked) - (painted === marked ? 2 : 0)
  const start = fitStart((before ?? '').trimStart(), Math.floor(left / 2), out.ellipsis)
  return start + shown + fitWidth((after ?? '').trimEnd(), left - displayWidth(start), out.ellipsis)
}

/** Truncates a text at its start. */
function fitStart(text: string, columns: number, ellipsis: string): string {
  if (displayWidth(text) <= columns) return text
  let kept = [...text]
  while (kept.length > 0 && displayWidth(kept.join('')) > columns - displayWidth(ellipsis)) kept = kept.slice(1)
  return ellipsis + kept.join('')
}

/** Removes control characters. Spaces at both ends stay. */
function oneRow(text: string): string {
  return stripControls(text).replaceAll(/[\n\t]/g, ' ')
}
