// Finds the faults of a page that hinder readers with a small screen or a disability. They are axe-core's findings, text smaller than
// 12 px, and a page that is wider than the window. On a phone, a table that is wider than the window is a fault too.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const WIDTHS = [1440, 768, 390, 320] as const
const RUN_AXE = `axe.run(document, { runOnly: ${JSON.stringify(TAGS)} }).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))`
const FIND_SMALL_TEXTS = `[...document.querySelectorAll('body *')]
  .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''))
  .filter((element) => Number.parseFloat(getComputedStyle(element).fontSize) < 12)
  .map((element) => element.outerHTML.slice(0, 120))`
/** the narrowest window that is not a phone's, in px: 36rem in the style sheets */
const PHONE_BELOW = 576
const FIND_WIDE_TABLES = `[...document.querySelectorAll('.wide-table')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map((element) => 'too wide: ' + element.getAttribute('aria-label'))`
const EXCESS_WIDTH = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

/** Returns the faults of a page in each theme and width. */
export async function findAccessibilityFaults(page: Page): Promise<string[]> {
  const faults: string[] = []
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of WIDTHS) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 900 })
      const found = [
        ...(await runAxe(page)),
        ...(await page.evaluate<string[]>(FIND_SMALL_TEXTS)),
        ...(width < PHONE_BELOW ? await page.evaluate<string[]>(FIND_WIDE_TABLES) : []),
      ]
      const excess = await page.evaluate<number>(EXCESS_WIDTH)
      faults.push(...found.map((fault) => `${colorScheme} ${width}: ${fault}`))
      if (excess > 0) faults.push(`${colorScheme} ${width}: ${excess} px too wide`)
    }
  return faults
}

/** The findings of axe-core on the page as it is. */
export async function runAxe(page: Page): Promise<string[]> {
  await page.evaluate(`globalThis.axe || (() => { ${AXE} })()`)
  return page.evaluate<string[]>(RUN_AXE)
}
