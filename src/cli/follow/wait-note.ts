// States on stderr what a command waits for, since when, and what ends the wait. The first line comes after two seconds. A terminal shows a
// last line, which disappears when the wait ends. Without a terminal a line is printed, and another one when the command waits for
// something else. `--json` and `-q` are silent. All waits of a command share one line. Test: test/tables/cli/follow/wait-note.test.ts.
import { Footer } from '../screen/footer.ts'
import type { Output } from '../print/output.ts'
import { wrapText } from '../print/prose.ts'
import { joinWaits, waitLine, type Wait } from '../print/wait-text.ts'

/** the time before the first line of a wait; REEVE_WAIT_NOTE_S sets it in seconds */
const FIRST_LINE_MS = firstLineMsFrom(process.env['REEVE_WAIT_NOTE_S'])
/** the least time before the first line of a fallback wait without a terminal: a slow machine alone is no reason for a line */
const FALLBACK_MS = 5_000
/** the time between two checks of the waits */
const TICK_MS = 500

/** Returns the time of the setting, or the default if the setting is no number of seconds. */
function firstLineMsFrom(setting: string | undefined): number {
  return setting !== undefined && /^\d{1,6}$/.test(setting) ? Number(setting) * 1_000 : 2_000
}

/** Resolves as `work` does, and meanwhile states what the command waits for. `wait` is called repeatedly; null: no wait now. */
export async function withWaitNote<T>(
  out: Output,
  wait: () => Wait | null,
  work: Promise<T>,
  options: { isFallback?: boolean } = {},
): Promise<T> {
  await using note = new WaitNote(out, options)
  note.set(wait)
  return await work
}

/** One wait of a command. Disposing it ends the wait. */
export class WaitNote implements AsyncDisposable {
  readonly #waits: CommandWaits
  readonly #isFallback: boolean

  /**
   * `isFallback`: this wait is shown only while the command states no other one. `firstLineMs`: only that of the command's first wait is
   * used.
   */
  constructor(out: Output, { isFallback = false, firstLineMs = FIRST_LINE_MS }: { isFallback?: boolean; firstLineMs?: number } = {}) {
    this.#isFallback = isFallback
    let waits = waitsByOutput.get(out)
    if (!waits) waitsByOutput.set(out, (waits = new CommandWaits(out, firstLineMs)))
    this.#waits = waits
  }

  /** Must be called when the wait may have changed. Null: the command waits for nothing. */
  set(wait: Wait | (() => Wait | null) | null): void {
    if (wait === null) this.#waits.remove(this)
    else this.#waits.put(this, { read: typeof wait === 'function' ? wait : () => wait, isFallback: this.#isFallback })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#waits.remove(this)
    await this.#waits.settled
  }
}

interface Entry {
  readonly read: () => Wait | null
  readonly isFallback: boolean
}

/** The waits of each command. */
const waitsByOutput = new WeakMap<Output, CommandWaits>()

/** All waits of a command, which share one line. */
class CommandWaits {
  readonly #out: Output
  readonly #firstLineMs: number
  /** the shortest time between two printed lines */
  readonly #lineIntervalMs: number
  readonly #entries = new Map<WaitNote, Entry>()
  #timer: NodeJS.Timeout | undefined
  /** when the command began to wait; wall ms, and monotonic ms */
  #begun = { wall: 0, mono: 0 }
  /** the printed wait, and when it was printed */
  #printed = { key: '', mono: -Infinity }
  #line: LastLine | undefined
  #writes: Promise<unknown> = Promise.resolve()

  constructor(out: Output, firstLineMs: number) {
    this.#out = out
    this.#firstLineMs = firstLineMs
    this.#lineIntervalMs = firstLineMs
  }

  get settled(): Promise<unknown> {
    return this.#writes
  }

  put(note: WaitNote, entry: Entry): void {
    if (this.#out.json || this.#out.quiet) return
    if (this.#entries.size === 0) this.#begun = { wall: Date.now(), mono: performance.now() }
    this.#entries.set(note, entry)
    this.#timer ??= setInterval(this.#tick, Math.min(TICK_MS, Math.max(1, this.#firstLineMs))).unref()
  }

  remove(note: WaitNote): void {
    if (!this.#entries.delete(note) || this.#entries.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#printed = { key: '', mono: -Infinity }
    this.#line?.[Symbol.dispose]()
    this.#line = undefined
  }

  #tick = (): void => {
    const now = performance.now()
    const wait = this.#current()
    const firstLineMs = this.#isFallback && !this.#out.isLively ? Math.max(FALLBACK_MS, this.#firstLineMs) : this.#firstLineMs
    if (wait === null || now - this.#begun.mono < firstLineMs) return
    const line = waitLine(wait, this.#begun.wall, Date.now())
    // Rows at the bottom of the terminal already show the state.
    if (this.#out.isLively) {
      if (this.#line) this.#line.show(line)
      else if (!this.#out.bottomLines) this.#line = new LastLine(this.#out, line)
      return
    }
    if (wait.key === this.#printed.key || now - this.#printed.mono < this.#lineIntervalMs) return
    this.#printed = { key: wait.key, mono: now }
    this.#writes = this.#out.message(this.#out.paintMessage('dim', `  ${line}`))
  }

  get #isFallback(): boolean {
    return [...this.#entries.values()].every(({ isFallback }) => isFallback)
  }

  #current(): Wait | null {
    const entries = [...this.#entries.values()]
    const own = entries.filter(({ isFallback }) => !isFallback)
    return joinWaits((own.length > 0 ? own : entries.slice(0, 1)).flatMap(({ read }) => read() ?? []))
  }
}

/** The line below all output on a terminal; several rows on a narrow one. */
class LastLine implements Disposable {
  readonly #footer: Footer
  #text: string

  constructor(out: Output, text: string) {
    this.#text = text
    this.#footer = new Footer({
      out,
      stream: out.messageStream,
      input: null,
      rows: ({ columns, paintMessage }) =>
        wrapText(this.#text, columns - 1)
          .split('\n')
          .map((row) => paintMessage('dim', row)),
    })
    this.#footer.redraw()
  }

  show(text: string): void {
    if (text === this.#text) return
    this.#text = text
    this.#footer.requestRedraw()
  }

  [Symbol.dispose](): void {
    this.#footer[Symbol.dispose]()
  }
}
