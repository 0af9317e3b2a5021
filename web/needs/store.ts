// What waits for the user, as the stream of rows has it, for all parts that show it. Test: test/e2e/web/needs-strip.test.ts.
import { computed } from '@preact/signals'
import type { NeedView } from '../../src/api/views/needs.ts'
import { flatOrder } from '../../src/faces/tree.ts'
import { isSnoozed } from '../../src/faces/attention.ts'
import { allNeeds, clockOffset, rows, rowsWithNeeds } from '../rows.ts'
import { now } from '../store.ts'

/** The needs that are not put off, the most urgent first; null: the first rows have not come. */
export const needs = computed((): readonly NeedView[] | null => {
  const all = allNeeds.value
  if (!all?.some(({ snoozedUntil }) => snoozedUntil !== null)) return all
  const at = now.value + clockOffset.value
  return all.filter((need) => !isSnoozed(need, at))
})

/** The processes that need the user, the most urgent first. Rows alone decide, so that a narrow session has them, too. */
export const urgent = computed((): readonly string[] => {
  const some = [...rowsWithNeeds.value].flatMap((uuid) => rows.get(uuid) ?? [])
  return flatOrder(some, 'urgency').map(({ uuid }) => uuid)
})

/** Moves the focus to a need that is shown, by its place. Returns false if there is none. */
export function focusNeed(at: number): boolean {
  const link = document.querySelectorAll<HTMLElement>(NEED_LINK)[at]
  link?.focus()
  return link !== undefined
}

const NEED_LINK = '[data-need] > a'

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
