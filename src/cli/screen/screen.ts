// The alternate screen of the terminal: draws frames and reads keys. Restores the terminal at every end except by SIGKILL, and while the
// program is stopped (Ctrl+Z). A terminal that reads slowly gets fewer frames: no frame waits in a queue. Tests:
// test/e2e/screen/top.test.ts, test/e2e/screen/slow-terminal.test.ts, test/e2e/screen/watch.test.ts.
import { write } from 'node:fs'
import type { Key } from './line-editor.ts'
import { Throttle } from './throttle.ts'
import { frameBytes, type ScreenFrame } from './frame.ts'
import { KeyReader, type TerminalReport } from './key-reader.ts'

/** The size of the terminal. */
export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

export interface ScreenDeps {
  /** returns what to show now */
  readonly draw: (size: TerminalSize) => ScreenFrame
  readonly onKey: (key: Key) => void
  /** absent: the focus and the mouse change nothing */
  readonly onReport?: (report: TerminalReport) => void
  /** called when the terminal has no more input */
  readonly onInputClosed: () => void
}

/** the shortest time between two frames */
const FRAME_MS = 100
/** the shortest time between two frames while another window has the focus */
const BACKGROUND_FRAME_MS = 500
/** the time between two frames without a request, for clocks */
const CLOCK_MS = 1000
/** the delay before a write that the terminal did not accept is tried again */
const RETRY_MS = 20

/**
 * Saves the title, and opens the alternate screen. Hides the cursor, turns on reports of the focus, and brackets pastes, which are not
 * keys. Long lines are cut, because a line that is drawn while the terminal becomes smaller would take two lines.
 */
const ENTER = '\x1b[22;0t\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?1004h\x1b[?2004h'
const MOUSE_ON = '\x1b[?1000h\x1b[?1006h'
const MOUSE_OFF = '\x1b[?1006l\x1b[?1000l'
const LEAVE = `${MOUSE_OFF}\x1b[?2004l\x1b[?1004l\x1b[?7h\x1b[?25h\x1b[?1049l\x1b[23;0t`

export class Screen implements Disposable {
  readonly #deps: ScreenDeps
  readonly #reader: KeyReader
  readonly #throttle = new Throttle(FRAME_MS, () => this.#draw())
  readonly #clock: NodeJS.Timeout
  /** what the terminal shows; null: unknown */
  #shown: ScreenFrame | null = null
  #isWriting = false
  /** bytes that change nothing on the screen, for the next write */
  #control = ''
  /** whether something changed while a frame was written */
  #isStale = false
  #isOpen = false
  #retry: NodeJS.Timeout | undefined
  #hasMouse = false

  constructor(deps: ScreenDeps) {
    this.#deps = deps
    this.#reader = new KeyReader(this.#onKey, this.#onReport)
    this.#clock = setInterval(this.requestFrame, CLOCK_MS)
    process.stdout.on('resize', this.#onResize)
    process.stdin.on('data', this.#onInput).on('end', deps.onInputClosed).on('error', deps.onInputClosed)
    // Node prints an uncaught error after this event. By then the normal screen is back.
    process.on('SIGCONT', this.#onContinued).on('uncaughtExceptionMonitor', this.#dispose).on('exit', this.#dispose)
    this.#open()
  }

  /** Requests a frame soon. */
  requestFrame = (): void => this.#throttle.request()

  /** Whether the terminal reports the mouse. While it does, its own selection of text does not work. */
  get hasMouse(): boolean {
    return this.#hasMouse
  }

  set hasMouse(isOn: boolean) {
    this.#hasMouse = isOn
    this.send(isOn ? MOUSE_ON : MOUSE_OFF)
  }

  /** Sends bytes to the terminal that change nothing on the screen, such as a title. */
  send(bytes: string): void {
    this.#control += bytes
    this.requestFrame()
  }

  [Symbol.dispose](): void {
    this.#dispose()
  }

  #open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    if (process.stdin.isTTY) process.stdin.setRawMode(true)
    process.stdin.resume()
    process.stdout.write(ENTER + (this.#hasMouse ? MOUSE_ON : ''))
    this.#onResize()
  }

  #close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    if (this.#retry) {
      clearTimeout(this.#retry)
      this.#retry = undefined
      this.#isWriting = false
    }
    // Node writes to a terminal synchronously: the system puts these bytes behind a frame that is still being written.
    process.stdout.write(LEAVE)
    if (process.stdin.isTTY) process.stdin.setRawMode(false)
    process.stdin.pause()
  }

  #draw(): void {
    if (!this.#isOpen) return
    if (this.#isWriting) {
      this.#isStale = true
      return
    }
    const { columns = 80, rows = 24 } = process.stdout
    const frame = this.#deps.draw({ columns, rows })
    const bytes = frameBytes(this.#shown, frame, rows)
    this.#shown = frame
    const control = this.#control
    this.#control = ''
    if (control + bytes !== '') this.#write(Buffer.from(control + bytes))
  }

  /** Writes a frame. Node's own stream would block the event loop. No other frame begins before this one is written. */
  #write(bytes: Buffer): void {
    this.#isWriting = true
    write(process.stdout.fd, bytes, (error, written) => {
      // The rest of a frame must not reach the shell.
      if (!this.#isOpen) {
        this.#isWriting = false
        return
      }
      const isRefused = error?.code === 'EAGAIN'
      if (isRefused || (!error && written < bytes.length)) {
        const rest = bytes.subarray(isRefused ? 0 : written)
        this.#retry = setTimeout(() => this.#write(rest), isRefused ? RETRY_MS : 0)
        return
      }
      this.#isWriting = false
      // Without a terminal nothing can be shown: the input has ended, too.
      if (error) this.#deps.onInputClosed()
      else if (this.#isStale) this.requestFrame()
      this.#isStale = false
    })
  }

  #onInput = (bytes: Buffer): void => this.#reader.push(bytes)

  #onKey = (key: Key): void => {
    if (key.ctrl && key.name === 'z') this.#stopProgram()
    else if (key.ctrl && key.name === 'l') this.#onResize()
    else {
      this.#deps.onKey(key)
      this.requestFrame()
    }
  }

  #onReport = (report: TerminalReport): void => {
    if (report.type === 'focus') this.#throttle.intervalMs = report.has ? FRAME_MS : BACKGROUND_FRAME_MS
    this.#deps.onReport?.(report)
    this.requestFrame()
  }

  #onResize = (): void => {
    this.#shown = null
    this.#draw()
  }

  /** Returns to the shell as any other program does. SIGCONT opens the screen again. */
  #stopProgram(): void {
    this.#close()
    process.kill(process.pid, 'SIGTSTP')
  }

  #onContinued = (): void => {
    // After a SIGSTOP the screen was not closed. The shell has written to the terminal, and has set its mode.
    this.#isOpen = false
    this.#open()
  }

  #dispose = (): void => {
    clearInterval(this.#clock)
    this.#throttle[Symbol.dispose]()
    this.#reader[Symbol.dispose]()
    process.stdout.off('resize', this.#onResize)
    process.stdin.off('data', this.#onInput).off('end', this.#deps.onInputClosed).off('error', this.#deps.onInputClosed)
    process.off('SIGCONT', this.#onContinued).off('uncaughtExceptionMonitor', this.#dispose).off('exit', this.#dispose)
    this.#close()
  }
}
