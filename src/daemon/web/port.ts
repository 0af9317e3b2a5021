// Loads the code of the page's listener at its first use, and closes the listener with the daemon. Must stay small: the daemon loads this
// file at its start. Test: test/e2e/web/listener.test.ts.
import { ROUTES } from '../http/routes.ts'
import type { WebDeps, WebService } from './service.ts'

export class WebPort {
  readonly #deps: Omit<WebDeps, 'routes'>
  #web: Promise<WebService> | null = null

  constructor(deps: Omit<WebDeps, 'routes'>) {
    this.#deps = deps
  }

  load(): Promise<WebService> {
    this.#web ??= import('./service.ts').then(({ WebService }) => new WebService({ ...this.#deps, routes: ROUTES }))
    return this.#web
  }

  async close(): Promise<void> {
    await (await this.#web)?.close()
  }
}
