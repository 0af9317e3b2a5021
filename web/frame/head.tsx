// The head of all pages: their links, the counts, the age of the daemon's last byte, and buttons for the palette and keys.
// Test: test/e2e/web/pages.test.ts.
import type { JSX } from 'preact'
import type { WebSessionView } from '../../src/api/views/web.ts'
import { Freshness } from '../parts/freshness.tsx'
import { Counts } from './counts.tsx'
import { openHelp } from './help.tsx'
import { HeadNavigation, type NavigationProps } from './navigation.tsx'
import { openPalette } from './palette.tsx'

export interface HeadProps extends NavigationProps {
  readonly session: WebSessionView
}

export function Head({ session: { right, only, expiresAt }, counts }: HeadProps): JSX.Element {
  return (
    <header class="top">
      <h1>
        <a href="/">reeve</a>
      </h1>
      <HeadNavigation {...(counts ? { counts } : {})} />
      <Counts />
      {right === 'read' ? <span class="chip">read only{expiresAt === null ? '' : ` · until ${expiresAt.slice(11, 16)}`}</span> : null}
      {only === null ? null : <span class="chip">one subtree</span>}
      <Freshness />
      <button type="button" aria-keyshortcuts="Control+K" onClick={openPalette}>
        <span class="hidden">Go to, or do</span>
        <svg
          class="icon"
          viewBox="0 0 16 16"
          fill="none"
          stroke="currentColor"
          stroke-width="1.6"
          stroke-linecap="round"
          aria-hidden="true"
        >
          <path d="M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9 M10.3 10.3l3.2 3.2" />
        </svg>{' '}
        <kbd>{/Mac|iPhone/.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <button type="button" class="plain open-keys" aria-keyshortcuts="?" title="Keys" onClick={openHelp}>
        <span class="hidden">Keys</span> ?
      </button>
    </header>
  )
}
