// The address of the page: which page is shown, and its query. Links inside the page change it without a load.
// Test: test/e2e/web/fleet.test.ts.
import { computed, signal } from '@preact/signals'

const address = signal(location.pathname + location.search)

addEventListener('popstate', () => (address.value = location.pathname + location.search))

/** The parts of the path, such as `['p', UUID]`; `[]` for the first page. */
export const path = computed(() => new URL(address.value, location.origin).pathname.split('/').filter((part) => part !== ''))

/** What each page is drawn with. */
export interface PageProps {
  /** the parts of the address, such as `['p', UUID, 'logs']` */
  readonly path: readonly string[]
}

/** The query of the address. */
export const query = computed(() => new URL(address.value, location.origin).searchParams)

/** Shows another page. `replace`: in place of the current one, which the history loses. */
export function navigate(to: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', to)
  else history.replaceState(null, '', to)
  address.value = to
}

/** Changes one value of the query, without a new entry in the history. An empty value removes it. */
export function setQuery(name: string, value: string): void {
  const url = new URL(address.peek(), location.origin)
  if (value === '') url.searchParams.delete(name)
  else url.searchParams.set(name, value)
  const to = url.pathname + url.search
  if (to !== location.pathname + location.search) navigate(to, 'replace')
}

/** Follows a click on a link of this page without a load. Clicks that open a tab stay with the browser. */
export function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const link = event.target instanceof Element ? event.target.closest('a') : null
  if (!link || link.origin !== location.origin || link.target !== '') return
  event.preventDefault()
  navigate(link.pathname + link.search)
}
