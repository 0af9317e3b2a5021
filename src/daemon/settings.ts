// The user's settings while the daemon runs: config.yaml as it was read last. It is read at the start and at each spawn
// and resume, so that a provider that was just added is there for the run that names it.
// Owns no default. Test: test/e2e/restart.test.ts, test/e2e/credentials.test.ts.
import { loadConfig, type Config, type Flags } from '../config/config.ts'
import type { GcConfig } from '../config/gc.ts'
import type { NotificationsConfig } from '../config/notifications.ts'
import { mcpStarts } from '../config/mcp-start.ts'
import type { Env, Paths } from '../config/paths.ts'
import type { NativeOptions } from '../drivers/native/driver.ts'

export class Settings {
  readonly #paths: Paths
  #now: Config

  private constructor(paths: Paths, now: Config) {
    this.#paths = paths
    this.#now = now
  }

  /** Errors: `AGENT_INVALID` with the place for a file that cannot be used, `INVALID` for a variable. */
  static async read(paths: Paths): Promise<Settings> {
    return new Settings(paths, await loadConfig({ paths, cwd: null, env: process.env }))
  }

  /** the daemon's own; `maxProcesses` counts at the start alone */
  get now(): Config {
    return this.#now
  }

  /** For one process: flags, its environment and its project on top of the user's settings, which are read again. */
  async of(cwd: string, env: Env, flags: Flags): Promise<Config> {
    const config = await loadConfig({ paths: this.#paths, cwd, env, flags })
    this.#now = { ...this.#now, providers: config.providers, keyCommand: config.keyCommand, prices: config.prices, gateway: config.gateway }
    return config
  }

  /** What of the ended is kept, read again. Errors: as `read`. */
  async gc(): Promise<GcConfig> {
    const { gc } = await loadConfig({ paths: this.#paths, cwd: null, env: process.env })
    this.#now = { ...this.#now, gc }
    return gc
  }

  /** What tells a person, read again. Errors: as `read`. */
  async notifications(): Promise<NotificationsConfig> {
    return (await loadConfig({ paths: this.#paths, cwd: null, env: process.env })).notifications
  }

  /** Looked at whenever a driver starts. */
  get forNative(): NativeOptions {
    const now = (): Config => this.#now
    return {
      get providers() { return now().providers },
      get prices() { return now().prices },
      servers: ({ spec, credentials }) => mcpStarts(spec, credentials, this.#paths),
    }
  }
}
