// Links to all pages: in the head of a wide screen, and at the bottom of a phone, within reach of a thumb.
// Test: test/e2e/web/pages.test.ts.
import type { JSX } from 'preact'
import { PAGES, pageOf, type PageEntry } from '../pages.ts'
import { path } from '../router.ts'
import { isNarrow } from './narrow.ts'

export interface NavigationProps {
  /** the number beside the title of a page, such as that of needs, by the path of the page */
  readonly counts?: ReadonlyMap<string, number>
}

/** The links of the head. */
export function HeadNavigation(props: NavigationProps): JSX.Element | null {
  if (isNarrow.value) return null
  return (
    <nav class="pages" aria-label="Pages">
      {PAGES.filter(({ place }) => place === 'bar' || place === 'head').map((page) => (
        <PageLink key={page.path} page={page} {...props} />
      ))}
      <MorePages pages={PAGES.filter(({ place }) => place === 'more')} {...props} />
    </nav>
  )
}

/** The bar at the bottom of a phone; what has no place in it is behind "More". */
export function BottomNavigation(props: NavigationProps): JSX.Element | null {
  if (!isNarrow.value) return null
  return (
    <nav class="pages bottom" aria-label="Pages">
      {PAGES.filter(({ place }) => place === 'bar').map((page) => (
        <PageLink key={page.path} page={page} {...props} />
      ))}
      <MorePages pages={PAGES.filter(({ place }) => place === 'head' || place === 'more')} {...props} />
    </nav>
  )
}

function MorePages({ pages, ...props }: NavigationProps & { readonly pages: readonly PageEntry[] }): JSX.Element {
  const current = pageOf(path.value)
  return (
    <details class={current && pages.includes(current) ? 'more-pages current' : 'more-pages'} key={path.value.join('/')}>
      <summary>More</summary>
      <div>
        {pages.map((page) => (
          <PageLink key={page.path} page={page} {...props} />
        ))}
      </div>
    </details>
  )
}

function PageLink({ page, counts }: NavigationProps & { readonly page: PageEntry }): JSX.Element {
  const count = counts?.get(page.path) ?? 0
  return (
    <a
      href={page.path}
      {...(pageOf(path.value) === page ? { 'aria-current': 'page' as const } : {})}
      {...(page.key === undefined ? {} : { 'aria-keyshortcuts': `g ${page.key}` })}
    >
      {page.title}
      {count === 0 ? null : <span class="count">{count}</span>}
    </a>
  )
}
