// The keys of `reeve top`: those of the shared table, and those that only a terminal has. Pure: what a key does is in the controller.
// Test: test/tables/cli/top/controller.test.ts.
import { actionsAt, KEYS, keyTexts, type KeyAction, type KeyActionAt } from '../../faces/keys.ts'
import { isRowVerb, obstacleTo } from '../../faces/row-verbs.ts'
import type { Key } from '../screen/line-editor.ts'
import type { TopModel } from './model.ts'

/** The keys that only a terminal screen has. */
export const SCREEN_KEYS: Readonly<Record<string, ScreenAction>> = {
  q: 'leave',
  'Control+c': 'leave',
  Tab: 'nextArea',
  'Shift+Tab': 'previousArea',
  e: 'showEnded',
  M: 'mouse',
  L: 'changeLimit',
  z: 'replay',
  w: 'openPage',
  '[': 'previousPart',
  ']': 'nextPart',
  '{': 'previousEdit',
  '}': 'nextEdit',
}
/** What each of these keys does, for the help. */
export const SCREEN_ACTIONS = {
  leave: 'leave',
  nextArea: 'the next part of the screen: table, needs, panel; in a dialog the next field or choice',
  previousArea: 'the previous part of the screen, field or choice',
  showEnded: 'show all processes that ended in the last 24 hours',
  mouse: 'the wheel scrolls, and a click selects; the terminal selects no text then',
  changeLimit: 'resume with another limit …',
  openPage: 'open it on the page, in the browser',
  replay: 'the steps one by one, as they were; again: as it is now',
  previousPart: 'the previous tab of the panel, or the previous step',
  nextPart: 'the next tab of the panel, or the next step',
  previousEdit: 'the previous step that changed files',
  nextEdit: 'the next step that changed files',
} as const
export type ScreenAction = keyof typeof SCREEN_ACTIONS

/** The places in the shared table of keys whose keys `reeve top` has. */
export const PLACES = new Set(['anywhere', 'list', 'need'] as const)
/** The shared actions that `reeve top` lacks: it has no pages to go to, and nothing to undo. Its help leaves them out. */
const LACKED = ['goToPage', 'undo'] as const
export type TopAction = Exclude<KeyActionAt<'anywhere' | 'list' | 'need'>, (typeof LACKED)[number]>

/** The actions that ask the daemon to change something. Each other action changes only what is shown, or copies a text. */
const REQUESTS: ReadonlySet<TopAction | ScreenAction> = new Set([
  'allow',
  'allowAlways',
  'deny',
  'denyAlways',
  'reply',
  'message',
  'pauseOrResume',
  'pauseNow',
  'interrupt',
  'fork',
  'raiseBudget',
  'stop',
  'kill',
  'markSeen',
  'resumeWith',
  'snooze',
  'changeLimit',
  'openPage',
])

/** Whether an action asks the daemon to change something. A screen that only reads refuses such an action. */
export function isRequest(action: TopAction | ScreenAction): boolean {
  return REQUESTS.has(action)
}

const KEY_NAMES: Readonly<Record<string, string>> = {
  up: 'ArrowUp',
  down: 'ArrowDown',
  left: 'ArrowLeft',
  right: 'ArrowRight',
  return: 'Enter',
  enter: 'Enter',
  escape: 'Escape',
  pageup: 'PageUp',
  pagedown: 'PageDown',
  home: 'Home',
  end: 'End',
  tab: 'Tab',
}

/** The name of a key as the table of keys has it. */
export function nameOfKey({ name, ctrl, shift, sequence }: Key): string {
  if (ctrl && name !== undefined) return `Control+${name}`
  if (name === 'tab' && shift) return 'Shift+Tab'
  return (name === undefined ? undefined : KEY_NAMES[name]) ?? sequence ?? ''
}

/** The actions that the palette does not offer. */
const NOT_IN_PALETTE: ReadonlySet<KeyAction> = new Set([
  'openPalette',
  'goToNeed',
  'close',
  'selectNext',
  'selectPrevious',
  'pageDown',
  'pageUp',
  'selectFirst',
  'selectLast',
])

export function isTopAction(action: KeyAction): action is TopAction {
  return !(LACKED as readonly KeyAction[]).includes(action)
}

/** The shared actions, in the order of the table. */
function topActions(): TopAction[] {
  return actionsAt(PLACES).filter(isTopAction)
}

/** The actions that the palette offers: those that are possible for one of the targets. */
export function paletteActions({ targets, isReadOnly }: Pick<TopModel, 'targets' | 'isReadOnly'>): TopAction[] {
  const isPossible = (action: TopAction): boolean => !isRowVerb(action) || targets.some((row) => obstacleTo(action, row) === null)
  return topActions().filter((action) => !NOT_IN_PALETTE.has(action) && isPossible(action) && !(isReadOnly && isRequest(action)))
}

/** Returns all keys with what they do; a screen that only reads has fewer. */
export function keyLines(isReadOnly: boolean): [keys: string, does: string][] {
  const counts = (action: TopAction | ScreenAction): boolean => !isReadOnly || !isRequest(action)
  const shared = topActions()
    .filter(counts)
    .map((action): [string, string] => [keyTexts(action).join(' '), KEYS[action].does])
  const own = Object.entries(SCREEN_KEYS)
    .filter(([, action]) => counts(action))
    .map(([key, action]): [string, string] => [key.replace('Control+', 'Ctrl+'), SCREEN_ACTIONS[action]])
  return [...shared, ...own]
}
