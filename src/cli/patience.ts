// Says on a terminal what a command waits for once that takes more than a second; the line is gone when the wait is over.
// Must write nothing where nobody looks. Test: test/tables/cli-patience.test.ts.
import type { Output } from './output.ts'
import { fit, oneLine } from './text.ts'

/** How long nothing is said, and how often it is said anew. */
const EVERY_MS = 1000
const USUAL_COLUMNS = 80
const CLEAR = '\r\x1b[K'

/** Waits for the work; `say` is asked each second what for. */
export async function patiently<T>(out: Output, say: () => string, work: Promise<T>, everyMs = EVERY_MS): Promise<T> {
  if (out.quiet || out.json || !out.isTerminal('stderr') || process.env['TERM'] === 'dumb') return work
  const written: Promise<void>[] = []
  const timer = setInterval(() => {
    written.push(out.raw('stderr', CLEAR + out.paintWords('dim', fit(oneLine(say()), (process.stderr.columns || USUAL_COLUMNS) - 1, out.ellipsis))))
  }, everyMs)
  try {
    return await work
  } finally {
    clearInterval(timer)
    await Promise.all(written)
    if (written.length > 0) await out.raw('stderr', CLEAR)
  }
}
