// Loads the code of the page's listener at its first use. If the last daemon left the page open, this daemon loads the code at its start.
// Closes the listener with the daemon. Must stay small: the daemon loads this file at its start.
// Test: test/e2e/web/access/listener.test.ts.
import { existsSync } from 'node:fs'
import { ROUTES } from '../http/routes.ts'
import type { WebDeps, WebService } from './service.ts'

export class LazyWebService {
  readonly #deps: Omit<WebDeps, 'routes'>
  #web: Promise<WebService> | null = null

  constructor(deps: Omit<WebDeps, 'routes'>) {
    this.#deps = deps
  }

  /** Opens the page again if the last daemon has left it open. Waits for nothing: the daemon answers without the page. */
  reopen(): void {
    const { file, log } = this.#deps
    if (!existsSync(file)) return
    this.load()
      .then((web) => web.reopen())
      .catch((error: unknown) => log('the page could not be opened again', error))
  }

  /** Returns the service of the page; the first call loads its code. */
  load(): Promise<WebService> {
    this.#web ??= import('./service.ts').then(({ WebService }) => new WebService({ ...this.#deps, routes: ROUTES }))
    return this.#web
  }

  /** Closes the listener, if its code was loaded. `isRestart`: all sessions stay valid for the next daemon; else only remembered ones. */
  async close(isRestart: boolean): Promise<void> {
    const web = await this.#web
    await web?.leaveOpen(isRestart)
  }
}
