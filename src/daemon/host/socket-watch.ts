// Checks that the daemon's socket file was not removed or replaced. A cleaner of /tmp, or a removal of the whole home, may delete it. No
// client could then reach the daemon, which would keep its lock and its agents for ever. Test: test/e2e/daemon/removed-socket.test.ts.
import { lstat } from 'node:fs/promises'
import type { Clock } from '../loop/clock.ts'

const CHECK_MS = 5_000

type SocketState = 'ours' | 'gone' | 'replaced'

export class SocketWatch {
  readonly #socket: string
  readonly #identity: string
  #cancel = (): void => {}
  #isClosed = false

  private constructor(socket: string, identity: string) {
    this.#socket = socket
    this.#identity = identity
  }

  /** Starts from a socket file that was just created, and remembers its identity. */
  static async open(socket: string): Promise<SocketWatch> {
    return new SocketWatch(socket, await identityOf(socket))
  }

  /** Returns whether the file is still the one that `open` found. */
  async check(): Promise<SocketState> {
    // Clients cannot use a file that this daemon cannot read.
    const found = await identityOf(this.#socket).catch(() => null)
    if (found === null) return 'gone'
    return found === this.#identity ? 'ours' : 'replaced'
  }

  /** Checks the file regularly. Calls `onLost` once, when the file is gone or replaced. */
  watch(clock: Clock, onLost: (state: SocketState) => void): void {
    this.#cancel = clock.after(CHECK_MS, () => {
      this.check().then(
        (state) => {
          if (this.#isClosed) return
          if (state === 'ours') this.watch(clock, onLost)
          else onLost(state)
        },
        () => undefined, // `check` never rejects
      )
    })
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }
}

/** Identifies a file. An inode number alone is soon reused; together with the birth time it is unique. */
async function identityOf(file: string): Promise<string> {
  const { dev, ino, birthtimeMs } = await lstat(file)
  return `${dev}:${ino}:${birthtimeMs}`
}
