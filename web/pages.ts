// The table of pages: one line for each. The styles of a page are in web/styles. Test: test/e2e/web/pages.test.ts.
import type { FunctionComponent } from 'preact'
import type { PageProps } from './router.ts'

export interface PageEntry {
  /** how the address begins; `:uuid` stands for any value. Of two paths that fit, the longer one wins */
  readonly path: string
  readonly title: string
  /**
   * Where the link to the page is. `bar`: in the head, and in the bar of a phone. `head`: in the head, and behind "More" on a phone.
   * `more`: behind "More" in both. `none`: only on other pages, for pages of one process.
   */
  readonly place: 'bar' | 'head' | 'more' | 'none'
  /** opens the page after the key `g` */
  readonly key?: string
  readonly load: () => Promise<FunctionComponent<PageProps>>
}

export const PAGES: readonly PageEntry[] = [
  { path: '/', title: 'Fleet', place: 'bar', key: 'f', load: async () => (await import('./pages/fleet.tsx')).FleetPage },
  { path: '/needs', title: 'Needs', place: 'bar', key: 'n', load: async () => (await import('./pages/needs.tsx')).NeedsPage },
  { path: '/p/:uuid', title: 'Process', place: 'none', load: async () => (await import('./pages/process.tsx')).ProcessPage },
  { path: '/p/:uuid/lineage', title: 'Forks', place: 'none', load: async () => (await import('./pages/lineage.tsx')).LineagePage },
  { path: '/compare/:a/:b', title: 'Compare', place: 'none', load: async () => (await import('./pages/compare.tsx')).ComparePage },
  { path: '/start', title: 'Start', place: 'more', key: 'a', load: async () => (await import('./pages/start.tsx')).StartPage },
  { path: '/crews', title: 'Crews', place: 'head', key: 'c', load: async () => (await import('./pages/crews.tsx')).CrewsPage },
  { path: '/runs', title: 'Runs', place: 'head', key: 'r', load: async () => (await import('./pages/runs.tsx')).RunsPage },
  { path: '/night', title: 'Night', place: 'head', key: 'w', load: async () => (await import('./pages/night.tsx')).NightPage },
  {
    path: '/supervisors',
    title: 'Supervisors',
    place: 'more',
    load: async () => (await import('./pages/supervisors.tsx')).SupervisorsPage,
  },
  { path: '/machines', title: 'Machine', place: 'more', key: 'm', load: async () => (await import('./pages/machine.tsx')).MachinePage },
  { path: '/cost', title: 'Cost', place: 'bar', key: '$', load: async () => (await import('./pages/cost.tsx')).CostPage },
  { path: '/settings', title: 'Settings', place: 'more', key: ',', load: async () => (await import('./pages/settings.tsx')).SettingsPage },
]

/** The page of an address; undefined: there is none. */
export function pageOf(path: readonly string[]): PageEntry | undefined {
  const fits = (page: PageEntry): boolean => {
    const parts = partsOf(page)
    if (parts.length === 0) return path.length === 0
    return parts.every((part, at) => part === path[at] || (part.startsWith(':') && path[at] !== undefined))
  }
  return PAGES.filter(fits).toSorted((one, other) => partsOf(other).length - partsOf(one).length)[0]
}

/** The parts of the path of a page. */
export function partsOf({ path }: PageEntry): string[] {
  return path.split('/').filter((part) => part !== '')
}
