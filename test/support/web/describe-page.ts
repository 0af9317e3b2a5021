// A suite of the page in Chromium: one browser for all of its tests, and a daemon for each. Without a Chromium it is skipped. After each
// test, neither the daemon nor the browser may have reported an error.
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest'
import type { LocalDaemonOptions } from '../daemon/local-daemon.ts'
import { CHROMIUM, openChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'

/** The world of the test that runs. */
type CurrentWorld = Pick<PageWorld, 'daemon' | 'web' | 'visit' | 'openTab' | 'allowProblem' | 'expectProblem'> & {
  readonly browser: Awaited<ReturnType<typeof openChromium>>
}

export function describePage(name: string, options: LocalDaemonOptions, define: (world: CurrentWorld) => void): void {
  describe.runIf(CHROMIUM !== null)(`${name}, in Chromium`, () => {
    let browser: Awaited<ReturnType<typeof openChromium>>
    let current: PageWorld
    beforeAll(async () => {
      browser = await openChromium()
    })
    afterAll(() => browser[Symbol.asyncDispose]())
    beforeEach(async () => {
      current = await PageWorld.start(browser, options)
    })
    afterEach(async () => {
      await current[Symbol.asyncDispose]()
      expect(current.daemon.errors).toEqual([])
      expect(current.problems).toEqual([])
    })
    define({
      get browser() {
        return browser
      },
      get daemon() {
        return current.daemon
      },
      get web() {
        return current.web
      },
      visit: (...given) => current.visit(...given),
      openTab: (): Promise<Page> => current.openTab(),
      allowProblem: (text) => current.allowProblem(text),
      expectProblem: (text) => current.expectProblem(text),
    })
  })
}
