// The page of `reeve web`: starts the session and draws. Each page and part has its own file. Must make no HTML from text.
// Test: test/e2e/web/page.test.ts.
import { useSignalEffect } from '@preact/signals'
import { render, type JSX } from 'preact'
import { Freshness, StaleBar } from './parts/freshness.tsx'
import { NoSessionPage } from './parts/no-session.tsx'
import { BudgetDialog } from './fleet/budget-dialog.tsx'
import { EndAllDialog } from './fleet/end-all-dialog.tsx'
import { MessageDialog } from './fleet/message-dialog.tsx'
import { useFrameKeys } from './frame/frame-keys.ts'
import { HelpDialog, openHelp } from './frame/help.tsx'
import { openPalette, Palette } from './frame/palette.tsx'
import { notice } from './notice.ts'
import { EndDialog } from './parts/end-dialog.tsx'
import { ForkDialog } from './parts/fork-dialog.tsx'
import { CurrentPage, loadPages } from './frame/current-page.tsx'
import { BottomNavigation, HeadNavigation } from './frame/navigation.tsx'
import { formatCost } from '../src/faces/format.ts'
import { failure } from './actions.ts'
import { pageOf } from './pages.ts'
import { followLink, path } from './router.ts'
import { rowsWithNeeds, sums } from './rows.ts'
import { openSession, takeCode } from './session.ts'
import { isStale, session, show } from './store.ts'

function App(): JSX.Element {
  useSignalEffect(() => {
    const count = rowsWithNeeds.value.size
    const title = pageOf(path.value)?.place === 'none' || path.value.length === 0 ? 'reeve' : `${pageOf(path.value)?.title ?? ''} · reeve`
    document.title = count === 0 ? title : `(${count}) ${title}`
  })
  useFrameKeys()
  const opened = session.value
  if (typeof opened === 'string')
    return (
      <main>
        <h1>reeve</h1>
        <NoSessionPage why={opened} />
      </main>
    )
  const { right, only, expiresAt } = opened.session
  return (
    <div class="page" onClick={followLink}>
      <header class="top">
        <h1>
          <a href="/">reeve</a>
        </h1>
        <HeadNavigation />
        <Counts />
        {right === 'read' ? <span class="chip">read only{expiresAt === null ? '' : ` · until ${expiresAt.slice(11, 16)}`}</span> : null}
        {only === null ? null : <span class="chip">one subtree</span>}
        <Freshness />
        <button type="button" aria-label="Go to, or do" aria-keyshortcuts="Control+K" onClick={openPalette}>
          <kbd>{/Mac|iPhone/.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <button type="button" class="plain" aria-label="Keys" aria-keyshortcuts="?" title="Keys" onClick={openHelp}>
          ?
        </button>
      </header>
      <main class={isStale.value ? 'stale' : ''}>
        <StaleBar />
        {failure.value ? (
          <p class="problem" role="alert">
            {failure.value.message}. {failure.value.hint}{' '}
            <button type="button" class="plain" onClick={() => (failure.value = null)}>
              Close
            </button>
          </p>
        ) : null}
        <CurrentPage />
      </main>
      <BottomNavigation />
      <p class="notice" role="status" hidden={notice.value === null}>
        {notice.value}
      </p>
      <EndDialog />
      <ForkDialog />
      <BudgetDialog />
      <MessageDialog />
      <EndAllDialog />
      <HelpDialog />
      <Palette />
    </div>
  )
}

/** How many processes do what, and what they cost today. */
function Counts(): JSX.Element | null {
  const all = sums.value
  if (!all) return null
  const parts = [
    [all.working, 'working'],
    [all.asking, 'ask'],
    [all.held, 'held'],
    [all.failed, 'failed'],
  ] as const
  const texts = parts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]))
  return (
    <span class="counts">
      {texts.length === 0 ? `${all.live} living` : texts.join(' · ')}
      {all.todayUsd > 0 ? ` · ${formatCost(all.todayUsd)} today` : ''}
    </span>
  )
}

const code = takeCode()
const root = document.getElementById('app')
loadPages()
if (root) {
  root.replaceChildren()
  openSession(code)
    .then((opened) => {
      if (typeof opened === 'string') session.value = opened
      else show(opened)
      render(<App />, root)
    })
    .catch((error: unknown) => {
      root.textContent = `The page failed: ${error instanceof Error ? error.message : String(error)}`
    })
}
