// A page in Chromium on a real daemon, for tests of the page. Collects the errors that the browser reports.
import type { BrowserContext, Page } from 'playwright-core'
import type { WebOpenBody } from '../../../src/api/views/web.ts'
import { LocalDaemon, type LocalDaemonOptions } from '../daemon/local-daemon.ts'
import { waitUntil } from '../wait-until.ts'
import { PAGE_WAIT_MS, type openChromium } from './chromium.ts'
import { WebAccess } from './raw-requests.ts'

export class PageWorld implements AsyncDisposable {
  readonly daemon: LocalDaemon
  readonly web: WebAccess
  readonly #problems: string[] = []
  readonly #expectedTexts: string[] = []
  readonly #context: BrowserContext

  private constructor(daemon: LocalDaemon, web: WebAccess, context: BrowserContext) {
    this.daemon = daemon
    this.web = web
    this.#context = context
  }

  static async start(
    browser: Awaited<ReturnType<typeof openChromium>>,
    options: LocalDaemonOptions = {},
    viewport = { width: 1440, height: 900 },
  ): Promise<PageWorld> {
    const daemon = await LocalDaemon.start(options)
    return new PageWorld(daemon, await WebAccess.open(daemon), await browser.newContext({ viewport }))
  }

  /** The errors and warnings that the browser has reported, without the expected ones. */
  get problems(): string[] {
    return this.#problems.filter((problem) => !this.#expectedTexts.some((text) => problem.includes(text)))
  }

  /** The browser may report problems with this text at any time, also again: a page can repeat a request. */
  allowProblem(text: string): void {
    this.#expectedTexts.push(text)
  }

  /** Waits until the browser has reported a problem with this text, and allows more of them. */
  async expectProblem(text: string): Promise<void> {
    this.allowProblem(text)
    await waitUntil(() => this.#problems.some((problem) => problem.includes(text)), `the browser to report "${text}"`)
  }

  /** Opens a tab. */
  async openTab(): Promise<Page> {
    const page = await this.#context.newPage()
    page.setDefaultTimeout(PAGE_WAIT_MS)
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && this.#problems.push(message.text()))
    page.on('pageerror', (error) => this.#problems.push(String(error)))
    return page
  }

  /** Opens a tab with a session, at a path. */
  async visit(path = '/', body: WebOpenBody = {}): Promise<Page> {
    const page = await this.openTab()
    const { code } = await this.web.createLink(body)
    await page.goto(`${this.web.origin}${path}#k=${code}`)
    await page.waitForSelector('[data-link="open"]')
    return page
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close()
    await this.daemon[Symbol.asyncDispose]()
  }
}
