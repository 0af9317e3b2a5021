// A page in Chromium on a real daemon, for tests of the page. Collects the errors that the browser reports.
import type { BrowserContext, Page } from 'playwright-core'
import type { WebOpenBody } from '../../../src/api/views/web.ts'
import { LocalDaemon, type LocalDaemonOptions } from '../daemon/local-daemon.ts'
import { waitUntil } from '../wait-until.ts'
import { PAGE_WAIT_MS, type openChromium } from './chromium.ts'
import { WebAccess } from './web-access.ts'

export class PageWorld implements AsyncDisposable {
  readonly daemon: LocalDaemon
  readonly web: WebAccess
  readonly #problems: string[] = []
  readonly #allowedTexts: string[] = []
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

  /** The errors and warnings that the browser has reported, without the expected and the allowed ones. */
  get problems(): string[] {
    return this.#problems.filter((problem) => !this.#allowedTexts.some((text) => problem.includes(text)))
  }

  /** Allows any number of problems with this text until the end of the test, because a page can repeat a request. */
  allowProblem(text: string): void {
    this.#allowedTexts.push(text)
  }

  /** Waits for one problem with this text, and removes it. A second one fails the test. */
  async expectProblem(text: string): Promise<void> {
    const find = (): number => this.#problems.findIndex((problem) => problem.includes(text))
    await waitUntil(() => find() >= 0, `the browser to report "${text}"`)
    this.#problems.splice(find(), 1)
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
