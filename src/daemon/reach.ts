// Whether clients can still find the daemon: its socket stands where it was made. A daemon whose socket was removed (by a
// cleaner of /tmp, or with its whole home) can be reached by nobody, and would keep its lock and its agents for ever.
// Owns the look and its interval. Test: test/e2e/reach.test.ts.
import { lstat } from 'node:fs/promises'
import type { Clock } from './clock.ts'

const LOOK_MS = 5_000

type Found = 'ours' | 'gone' | 'replaced'

export class Reach {
  readonly #socket: string
  readonly #identity: string
  #cancel = (): void => {}
  #closed = false

  private constructor(socket: string, identity: string) {
    this.#socket = socket
    this.#identity = identity
  }

  /** For a socket that has just been made. */
  static async of(socket: string): Promise<Reach> {
    return new Reach(socket, await identityOf(socket))
  }

  async find(): Promise<Found> {
    const found = await identityOf(this.#socket).catch(() => null)
    if (found === null) return 'gone'
    return found === this.#identity ? 'ours' : 'replaced'
  }

  /** Calls back once, when it is not there any more. */
  watch(clock: Clock, lost: (how: Found) => void): void {
    this.#cancel = clock.after(LOOK_MS, () => {
      this.find().then(
        (found) => {
          if (this.#closed) return
          if (found === 'ours') this.watch(clock, lost)
          else lost(found)
        },
        () => undefined, // `find` never rejects
      )
    })
  }

  close(): void {
    this.#closed = true
    this.#cancel()
  }
}

/** The number of a removed file is given again soon; together with the time of its birth it is not. */
async function identityOf(file: string): Promise<string> {
  const { dev, ino, birthtimeMs } = await lstat(file)
  return `${dev}:${ino}:${birthtimeMs}`
}
