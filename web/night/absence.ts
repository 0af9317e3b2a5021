// When the user last left the page for a minute or more, as this browser has recorded it. Test: test/e2e/web/pages/night.test.ts.
import { signal } from '@preact/signals'

/** a shorter absence does not count, in ms */
const MIN_ABSENCE_MS = 60_000
/** the keys of the storage: when the last absence began, and when the page was hidden */
const [LEFT, HIDDEN] = ['reeve.left', 'reeve.hidden']

const storedTime = (key: string): number | null => Number(localStorage.getItem(key)) || null

/** When this browser last stopped showing the page for a minute or more; null: not known. */
export const leftAt = signal(storedTime(LEFT))

/** Records the absence that ends because the page is shown again, here or in a new tab. */
function endAbsence(): void {
  const hidden = storedTime(HIDDEN)
  if (hidden !== null && Date.now() - hidden >= MIN_ABSENCE_MS) localStorage.setItem(LEFT, String(hidden))
  localStorage.removeItem(HIDDEN)
  leftAt.value = storedTime(LEFT)
}

addEventListener('visibilitychange', () => (document.hidden ? localStorage.setItem(HIDDEN, String(Date.now())) : endAbsence()))
endAbsence()
