// Ends a daemon whose installation was removed, once nothing runs. npm has no hook for an uninstall, so a daemon would stay for ever. An
// installation of another version replaces the file for a moment only: the file must be missing at two checks.
// Test: test/e2e/daemon/removed-install.test.ts.
import { existsSync } from 'node:fs'
import type { Clock } from '../loop/clock.ts'

const CHECK_MS = 30_000

export interface InstallWatchOptions {
  /** the program of the daemon */
  readonly file: string
  readonly clock: Clock
  /** true if no process runs; suspended processes do not count as running */
  readonly isIdle: () => boolean
}

export class InstallWatch {
  readonly #options: InstallWatchOptions
  #cancel = (): void => {}
  #wasMissing = false

  constructor(options: InstallWatchOptions) {
    this.#options = options
  }

  /** Checks the file regularly. Calls `onRemoved` once, when the file is missing and nothing runs. */
  watch(onRemoved: () => void): void {
    const { clock, file, isIdle } = this.#options
    this.#cancel = clock.after(CHECK_MS, () => {
      const isMissing = !existsSync(file)
      if (isMissing && this.#wasMissing && isIdle()) return onRemoved()
      this.#wasMissing = isMissing
      this.watch(onRemoved)
    })
  }

  close(): void {
    this.#cancel()
  }
}
