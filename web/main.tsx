// The page of `reeve web`: starts the session and draws. Each page and part has its own file. Must make no HTML from text.
// Test: test/e2e/web/page.test.ts.
import { useSignalEffect } from '@preact/signals'
import { render, type JSX } from 'preact'
import { StaleBar } from './parts/freshness.tsx'
import { isNarrow } from './frame/narrow.ts'
import { NoSessionPage } from './parts/no-session.tsx'
import { LinkNumberForm } from './parts/link-number-form.tsx'
import { BudgetDialog } from './dialogs/budget-dialog.tsx'
import { EndAllDialog } from './dialogs/end-all-dialog.tsx'
import { MessageDialog } from './dialogs/message-dialog.tsx'
import { useFrameKeys } from './frame/frame-keys.ts'
import { HelpDialog } from './frame/help.tsx'
import { Palette } from './frame/palette.tsx'
import { notifyOfNeeds } from './notifications.ts'
import { applyTheme } from './theme.ts'
import { notice, undoNoted } from './notice.ts'
import { EndDialog } from './dialogs/end-dialog.tsx'
import { forkTarget, resumeTarget, snoozeTargets } from './dialogs/dialog-targets.ts'
import { lazy } from './lazy.tsx'
import { CurrentPage, loadPages } from './frame/current-page.tsx'
import { Head } from './frame/head.tsx'
import { BottomNavigation } from './frame/navigation.tsx'
import { failure } from './actions.ts'
import { pageOf } from './pages.ts'
import { followLink, navigate, path } from './router.ts'
import { rowsWithNeeds } from './rows.ts'
import { openSession, takeCode, type NoSession, type StoredSession } from './session.ts'
import { followSpending } from './spending.ts'
import { isStale, session, showSession } from './connection-state.ts'

const ForkDialog = lazy('The dialog', async () => (await import('./dialogs/fork-dialog.tsx')).ForkDialog)
const ResumeDialog = lazy('The dialog', async () => (await import('./dialogs/resume-dialog.tsx')).ResumeDialog)
const SnoozeDialog = lazy('The dialog', async () => (await import('./dialogs/snooze-dialog.tsx')).SnoozeDialog)

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
  const counts = new Map([['/needs', rowsWithNeeds.value.size]])
  return (
    <div class="page" onClick={followLink}>
      <Head session={opened.session} counts={counts} />
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
      <BottomNavigation counts={counts} />
      <p class="notice" role="status" hidden={notice.value === null}>
        {notice.value?.text}{' '}
        {notice.value?.undo ? (
          <button type="button" onClick={undoNoted}>
            Undo
          </button>
        ) : null}
      </p>
      <EndDialog />
      {forkTarget.value ? <ForkDialog target={forkTarget.value} /> : null}
      {resumeTarget.value ? <ResumeDialog key={resumeTarget.value.uuid} row={resumeTarget.value} /> : null}
      <BudgetDialog />
      <MessageDialog />
      {snoozeTargets.value.length > 0 ? <SnoozeDialog targets={snoozeTargets.value} /> : null}
      <EndAllDialog />
      <HelpDialog />
      <Palette />
    </div>
  )
}

function NumberPage(props: { readonly code: string; readonly onOpened: (opened: StoredSession) => void }): JSX.Element {
  return (
    <main>
      <h1>reeve</h1>
      <LinkNumberForm {...props} />
    </main>
  )
}

const link = takeCode()
applyTheme()
const root = document.getElementById('app')
if (isNarrow.value && location.pathname === '/' && location.search === '') navigate('/needs', 'replace')
loadPages()
if (root) {
  root.replaceChildren()
  const open = (opened: StoredSession | NoSession): void => {
    if (typeof opened === 'string') session.value = opened
    else {
      showSession(opened)
      notifyOfNeeds()
      followSpending()
    }
    render(<App />, root)
  }
  if (link?.needsNumber) render(<NumberPage code={link.code} onOpened={open} />, root)
  else
    openSession(link?.code ?? null)
      .then(open)
      .catch((error: unknown) => {
        root.textContent = `The page failed: ${error instanceof Error ? error.message : String(error)}`
      })
}
