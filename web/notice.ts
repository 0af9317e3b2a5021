// A short note at the bottom of the page on what was just done, such as a copy. It disappears after some seconds.
// Test: test/e2e/web/keys.test.ts.
import { signal } from '@preact/signals'

/** how long a note is shown, in ms */
const SHOWN_MS = 4_000

export const notice = signal<string | null>(null)
let timer = 0

export function say(text: string): void {
  notice.value = text
  clearTimeout(timer)
  timer = setTimeout(() => (notice.value = null), SHOWN_MS)
}

/** Copies a text, and says so in a note. */
export function copy(text: string): void {
  navigator.clipboard.writeText(text).then(
    () => say(`copied: ${text}`),
    () => say(`this browser cannot copy; the text is: ${text}`),
  )
}
