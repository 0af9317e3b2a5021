// A short note at the bottom of the page on what was just done, such as a copy. What can be taken back has a button for it. The note
// disappears after some seconds. Test: test/e2e/web/keys.test.ts.
import { signal } from '@preact/signals'

/** how long a note is shown, in ms */
const SHOWN_MS = 4_000
/** for how long a note offers to undo an action, in ms */
const UNDO_MS = 10_000

interface Notice {
  readonly text: string
  /** takes back what was done; null: nothing does */
  readonly undo: (() => unknown) | null
}

export const notice = signal<Notice | null>(null)
let timer = 0

/** Shows a note. `undoMs`: how long what was done can be taken back. */
export function showNotice(text: string, undo: Notice['undo'] = null, undoMs = UNDO_MS): void {
  notice.value = { text, undo }
  clearTimeout(timer)
  timer = setTimeout(() => (notice.value = null), undo === null ? SHOWN_MS : undoMs)
}

/** Takes back what the note is about. Returns false if there is nothing to take back. */
export function undoNoted(): boolean {
  const undo = notice.peek()?.undo
  if (!undo) return false
  notice.value = null
  undo()
  return true
}

/** Copies a text, and shows a note about it. */
export function copy(text: string): void {
  navigator.clipboard.writeText(text).then(
    () => showNotice(`copied: ${text}`),
    () => showNotice(`this browser cannot copy; the text is: ${text}`),
  )
}
