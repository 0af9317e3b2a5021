// What the pages of a test reported: their console, failed requests, error answers, and changes of the
// page's link to the daemon. Printed when the test fails.
import type { BrowserContext } from 'playwright-core'

const MAX_REPORTS = 60
const REPORT_LINK = `new MutationObserver((changes) => {
  for (const { target } of changes) console.debug('link ' + target.getAttribute('data-link'))
}).observe(document, { subtree: true, childList: false, attributeFilter: ['data-link'] })`

const reports: string[] = []

function report(text: string): void {
  reports.push(`${new Date().toISOString().slice(11, 23)} ${text}`)
  if (reports.length > MAX_REPORTS) reports.shift()
}

/** Collects the reports of all pages of the context. */
export function collectReports(context: BrowserContext): void {
  context.on('console', (message) => report(`console ${message.type()}: ${message.text()}`))
  context.on('weberror', (error) => report(`error: ${error.error().message}`))
  context.on('requestfailed', (request) => report(`no answer: ${request.method()} ${request.url()} ${request.failure()?.errorText ?? ''}`))
  context.on('response', (response) => {
    if (response.status() >= 400) report(`${response.status()}: ${response.request().method()} ${response.url()}`)
  })
  context.addInitScript(REPORT_LINK).catch((error: unknown) => report(`no reports of the link: ${String(error)}`))
}

/** Returns the reports since the last call. */
export function takeReports(): string[] {
  return reports.splice(0)
}
