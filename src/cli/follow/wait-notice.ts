// Shows on a terminal what a command waits for, if the wait takes more than a second. The line disappears after the wait. Without a
// terminal nothing is written. Test: test/tables/cli/follow/wait-notice.test.ts.
import type { Output } from '../print/output.ts'
import { fitWidth, oneLine } from '../print/text.ts'

/** the time before the first notice, and between two updates */
const INTERVAL_MS = 1000
const DEFAULT_COLUMNS = 80
const CLEAR_LINE = '\r\x1b[K'

/** Resolves as `work` does. `text` returns the notice, and is called at each update. */
export async function withWaitNotice<T>(out: Output, text: () => string, work: Promise<T>, intervalMs = INTERVAL_MS): Promise<T> {
  if (out.quiet || out.json || !out.isTerminal('stderr') || process.env['TERM'] === 'dumb') return work
  const writes: Promise<void>[] = []
  const timer = setInterval(() => {
    writes.push(
      out.raw(
        'stderr',
        CLEAR_LINE + out.paintMessage('dim', fitWidth(oneLine(text()), (process.stderr.columns || DEFAULT_COLUMNS) - 1, out.ellipsis)),
      ),
    )
  }, intervalMs)
  try {
    return await work
  } finally {
    clearInterval(timer)
    await Promise.all(writes)
    if (writes.length > 0) await out.raw('stderr', CLEAR_LINE)
  }
}
