// The page of `reeve web`: starts the session and draws. Each page and part has its own file. Must make no HTML from text.
// Test: test/e2e/web/page.test.ts.
import { render, type JSX } from 'preact'
import { Freshness, isStale } from './parts/freshness.tsx'
import { NoSessionPage } from './parts/no-session.tsx'
import { ProcessList } from './parts/process-list.tsx'
import { openSession, takeCode } from './session.ts'
import { problem, rows, session, show } from './store.ts'

function App(): JSX.Element {
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
    <>
      <header class="top">
        <h1>reeve</h1>
        <span class="count">{rows.value === null ? '' : `${rows.value.length} living`}</span>
        {right === 'read' ? <span class="chip">read only{expiresAt === null ? '' : ` · until ${expiresAt.slice(11, 16)}`}</span> : null}
        {only === null ? null : <span class="chip">one subtree</span>}
        <Freshness />
      </header>
      <main class={isStale() ? 'stale' : ''}>
        {problem.value === null ? null : (
          <p class="problem" role="alert">
            {problem.value}
          </p>
        )}
        <ProcessList />
      </main>
    </>
  )
}

const code = takeCode()
const root = document.getElementById('app')
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
