// SIGINT and SIGTERM while a process is followed. On a terminal the first Ctrl+C asks what is meant and the second stops;
// without one each means stop, and the next one kill. Must give the terminal back as it was. Test: test/e2e/cli-run.test.ts.
import type { Output } from './output.ts'

/** What a person can want of the process that is followed. */
export type Wish = 'detach' | 'interrupt' | 'stop' | 'kill'

const QUESTION = '(d)etach, (i)nterrupt the turn, (s)top? Any other key goes on. '
const BY_KEY: Readonly<Record<string, Wish>> = { d: 'detach', i: 'interrupt', s: 'stop', '\x03': 'stop' }

/** Listens until it is disposed. */
export function listen(out: Output, wish: (wish: Wish) => void): Disposable {
  const hasTerminal = Boolean(process.stdin.isTTY && process.stderr.isTTY)
  let stops = 0
  let asking = false
  const stop = (): void => wish(stops++ === 0 ? 'stop' : 'kill')
  const answer = (key: Buffer): void => {
    if (!asking) return
    asking = quietTerminal()
    process.stderr.write('\n')
    const meant = BY_KEY[key.toString('latin1')[0] ?? '']
    if (meant === 'stop') stop()
    else if (meant) wish(meant)
  }
  const ask = (): void => {
    asking = true
    process.stderr.write(`\n${out.paintWords('bold', QUESTION)}`)
    process.stdin.setRawMode(true)
    process.stdin.resume()
    process.stdin.once('data', answer)
  }
  const interrupted = (): void => (hasTerminal && !asking && stops === 0 ? ask() : stop())
  process.on('SIGINT', interrupted)
  process.on('SIGTERM', stop)
  return {
    [Symbol.dispose]() {
      process.off('SIGINT', interrupted)
      process.off('SIGTERM', stop)
      process.stdin.off('data', answer)
      if (asking) quietTerminal()
    },
  }
}

/** Back to normal typing; always false. */
function quietTerminal(): false {
  process.stdin.setRawMode(false)
  process.stdin.pause()
  return false
}
