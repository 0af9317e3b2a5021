// What keys do to the needs and questions that the page shows: they move the focus, and press buttons.
// Test: test/e2e/web/needs-strip.test.ts.

const NEED_LINK = '[data-need] > a'

/** Moves the focus to a need that is shown, by its place. Returns false if there is none. */
export function focusNeed(at: number): boolean {
  const link = document.querySelectorAll<HTMLElement>(NEED_LINK)[at]
  link?.focus()
  return link !== undefined
}

/** Moves the focus to the next need that is shown, or the previous one. */
export function focusNextNeed(by: 1 | -1): boolean {
  const links = [...document.querySelectorAll(NEED_LINK)]
  const at = links.findIndex((link) => link.parentElement?.contains(document.activeElement))
  if (at === -1) return focusNeed(by === 1 ? 0 : links.length - 1)
  return focusNeed((at + by + links.length) % links.length)
}

/**
 * Presses the button for a kind of option in the current question. A button that has just appeared is disabled, so that a key answers
 * nothing that was not seen. Where a part of the question is hidden, the key shows it. Returns false if there is no such button.
 */
export function answerByKey(kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'): boolean {
  const button = currentQuestion()?.querySelector<HTMLButtonElement>(`button[data-kind="${kind}"], button[data-look]`)
  button?.click()
  return button !== null && button !== undefined
}

/** Moves the focus to the text field of the current question. Returns false if it has none. */
export function focusReply(): boolean {
  const field = currentQuestion()?.querySelector<HTMLElement>('.reply input, input[aria-label="Comment"]')
  field?.focus()
  return field !== null && field !== undefined
}

/** The question with the focus, else the only one of the peek that has the focus, else the only one of the page. */
function currentQuestion(): Element | null {
  const focused = document.activeElement?.closest('[data-need], .question') ?? null
  if (focused) return focused
  const place = document.activeElement?.closest('.peek-panel') ?? document
  const questions = place.querySelectorAll('.question')
  return questions.length === 1 ? (questions[0] ?? null) : null
}
