// The keys that work on all pages. Test: test/e2e/web/keys.test.ts.
import { useKeys, type KeyHandlers } from '../keyboard.ts'
import { answerByKey, focusNextNeed, focusReply } from '../needs/need-keys.ts'
import { undoNoted } from '../notice.ts'
import { PAGES } from '../pages.ts'
import { navigate } from '../router.ts'
import { openHelp } from './help.tsx'
import { openPalette } from './palette.tsx'

function goToPage(key: string): boolean {
  const page = PAGES.find((one) => one.key === key)
  if (page) navigate(page.path)
  return page !== undefined
}

function goToNeed(by: 1 | -1): void {
  if (!focusNextNeed(by)) navigate('/needs')
}

const EVERYWHERE: KeyHandlers = {
  openPalette,
  showKeys: openHelp,
  goToPage,
  nextNeed: () => goToNeed(1),
  previousNeed: () => goToNeed(-1),
  undo: undoNoted,
  close: () => document.activeElement instanceof HTMLInputElement && document.activeElement.blur(),
}

const ANSWERS: KeyHandlers = {
  allow: () => answerByKey('allow_once'),
  allowAlways: () => answerByKey('allow_always'),
  deny: () => answerByKey('reject_once'),
  denyAlways: () => answerByKey('reject_always'),
  reply: focusReply,
}

export function useFrameKeys(): void {
  useKeys('anywhere', EVERYWHERE)
  useKeys('need', ANSWERS)
}
