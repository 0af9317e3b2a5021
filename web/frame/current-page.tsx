// The page of the current address. Its code is loaded when it is first shown, or before, so that a page opens while the daemon is away.
// Test: test/e2e/web/pages.test.ts.
import { signal } from '@preact/signals'
import type { FunctionComponent, JSX } from 'preact'
import { PAGES, pageOf, partsOf, type PageEntry } from '../pages.ts'
import { path, type PageProps } from '../router.ts'
import { isStale, proveDaemon } from '../connection-state.ts'

type Loaded = FunctionComponent<PageProps> | 'failed'

const loaded = signal<ReadonlyMap<PageEntry, Loaded>>(new Map())
const loading = new Set<PageEntry>()

function load(page: PageEntry): void {
  if (loading.has(page)) return
  loading.add(page)
  const keep = (result: Loaded): void => {
    loaded.value = new Map([...loaded.value, [page, result]])
  }
  proveDaemon()
    .then(() => page.load())
    .then(keep, () => {
      loading.delete(page)
      keep('failed')
    })
}

/** Loads the page of the current address now, and the others when the browser has time. */
export function loadPages(): void {
  const current = pageOf(path.value)
  if (current) load(current)
  setTimeout(() => PAGES.forEach(load), OTHERS_AFTER_MS)
}
const OTHERS_AFTER_MS = 2_000

export function CurrentPage(): JSX.Element | null {
  const page = pageOf(path.value)
  if (!page) return <NoSuchPage />
  const Page = loaded.value.get(page)
  if (Page === undefined) {
    load(page)
    return null
  }
  if (Page === 'failed') return <NotLoaded page={page} />
  return <Page key={path.value.slice(0, partsOf(page).length).join('/')} path={path.value} />
}

function NoSuchPage(): JSX.Element {
  return (
    <section class="empty">
      <p>There is no such page.</p>
      <p>
        <a href="/">All processes</a>
      </p>
    </section>
  )
}

function NotLoaded({ page }: { readonly page: PageEntry }): JSX.Element {
  return (
    <section class="empty">
      <p>The daemon did not send the page “{page.title}”. If it was upgraded, load this tab again.</p>
      <p class="buttons">
        <button type="button" onClick={() => load(page)}>
          Try again
        </button>
        {isStale.value ? null : (
          <button type="button" onClick={() => location.reload()}>
            Load this tab again
          </button>
        )}
      </p>
    </section>
  )
}
