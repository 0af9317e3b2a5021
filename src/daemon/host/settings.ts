// The user's settings in a running daemon: config.yaml as it was last read. The file is read when the daemon starts, and
// at each spawn and resume. So a new provider is available to the next process.
// Must never define a default: the configuration does. Test: test/e2e/lifecycle/restart.test.ts, test/e2e/models/credentials.test.ts.
import { loadConfig, type Config, type ConfigFlags } from '../../config/config.ts'
import type { GcConfig } from '../../config/keys/gc.ts'
import type { NotificationsConfig } from '../../config/keys/notifications.ts'
import type { WebConfig } from '../../config/keys/web.ts'
import { resolveMcpServers } from '../../config/mcp/resolve-servers.ts'
import type { Env, Paths } from '../../config/paths.ts'
import type { NativeOptions } from '../../drivers/native/driver.ts'
import type { HomeBudgets } from '../../kernel/model/home.ts'
import type { Limits } from '../../kernel/model/words.ts'

/**
 * The settings that the daemon itself reads again at each spawn and resume. The others take effect at the start of the daemon, or
 * apply to one process only. `gc`, `notifications` and `web` are read at each use, and HomeBudgetWatch keeps `budgets`.
 */
const IS_READ_AGAIN: Readonly<Record<keyof Config, boolean>> = {
  maxProcesses: false,
  defaultAgent: false,
  defaultModel: false,
  fallback: false,
  effort: false,
  providers: true,
  containment: false,
  keyCommand: true,
  trusted: false,
  liveness: false,
  notifications: false,
  limits: true,
  budgets: false,
  keep_raw: false,
  gc: false,
  prices: true,
  gateway: true,
  web: false,
  store: false,
}

export class Settings {
  readonly #paths: Paths
  #now: Config
  #onBudgets: (budgets: HomeBudgets) => void = () => {}

  private constructor(paths: Paths, now: Config) {
    this.#paths = paths
    this.#now = now
  }

  /** Errors: `AGENT_INVALID` with the line in the file for an invalid file, `INVALID` for an invalid environment variable. */
  static async read(paths: Paths): Promise<Settings> {
    return new Settings(paths, await loadConfig({ paths, cwd: null, env: process.env }))
  }

  /** The settings as last read. `maxProcesses` takes effect only at the start of the daemon. */
  get now(): Config {
    return this.#now
  }

  /** The limits of top-level processes, as read at the most recent spawn or resume. */
  get limits(): Limits {
    return this.#now.limits
  }

  /** Calls back with the budgets of the home whenever the file was read for a process. */
  watchBudgets(onBudgets: (budgets: HomeBudgets) => void): void {
    this.#onBudgets = onBudgets
  }

  /** Reads the configuration of one process: the user's settings, overridden by its project, environment and flags. */
  async configFor(cwd: string, env: Env, flags: ConfigFlags): Promise<Config> {
    const config = await loadConfig({ paths: this.#paths, cwd, env, flags })
    const names = Object.keys(IS_READ_AGAIN) as (keyof Config)[]
    const again = names.filter((name) => IS_READ_AGAIN[name]).map((name) => [name, config[name]])
    this.#now = { ...this.#now, ...(Object.fromEntries(again) as Partial<Config>) }
    this.#onBudgets(config.budgets)
    return config
  }

  /** Reads the retention rules for ended processes. Errors: those of `read`. */
  async gc(): Promise<GcConfig> {
    const { gc } = await loadConfig({ paths: this.#paths, cwd: null, env: process.env })
    this.#now = { ...this.#now, gc }
    return gc
  }

  /** Reads the budgets of the home. Errors: those of `read`. */
  async budgets(): Promise<HomeBudgets> {
    return (await loadConfig({ paths: this.#paths, cwd: null, env: process.env })).budgets
  }

  /** Reads what the page may request. Errors: those of `read`. */
  async web(): Promise<WebConfig> {
    return (await loadConfig({ paths: this.#paths, cwd: null, env: process.env })).web
  }

  /** Reads the notification settings. Errors: those of `read`. */
  async notifications(): Promise<NotificationsConfig> {
    return (await loadConfig({ paths: this.#paths, cwd: null, env: process.env })).notifications
  }

  /** Options for native agents. Their values are looked up each time that an agent starts. */
  get forNative(): NativeOptions {
    const now = (): Config => this.#now
    return {
      get providers() {
        return now().providers
      },
      get prices() {
        return now().prices
      },
      servers: ({ spec, credentials }) => resolveMcpServers(spec, credentials, this.#paths),
    }
  }
}
