// The table of keys: what each key does, and where. The page and `reeve top` read it for their keys and their help, and
// docs/reference/keys.md is made from it. A key has one meaning at a place; answers are bound to the kind of an option, never to its
// number. Pure. Test: test/tables/faces/keys.test.ts.

/** For this time in ms, a new question or dialog takes no key: the key may be meant for something else. */
export const GUARD_MS = 400

/** Where a key counts. `list`: the list of processes; `need`: a question, in the list or on its own page. */
export type KeyPlace = 'anywhere' | 'list' | 'need' | 'process' | 'dialog'

export interface KeyRow {
  /** names as in `KeyboardEvent.key`; a sequence of two keys has a space between them */
  readonly keys: readonly string[]
  readonly does: string
  readonly places: readonly KeyPlace[]
}

const ROWS = ['list', 'process'] as const
const QUESTIONS = ['list', 'need', 'process'] as const

export const KEYS = {
  openPalette: { keys: ['Control+k', ':'], does: 'search processes, pages and actions', places: ['anywhere'] },
  showKeys: { keys: ['?'], does: 'show the keys', places: ['anywhere'] },
  goToPage: { keys: ['g …'], does: 'open a page, by its letter', places: ['anywhere'] },
  nextNeed: { keys: ['n'], does: 'go to the next question or problem', places: ['anywhere'] },
  previousNeed: { keys: ['N'], does: 'go to the previous question or problem', places: ['anywhere'] },
  undo: { keys: ['u'], does: 'take back what the note at the bottom offers, such as an answer', places: ['anywhere'] },
  close: { keys: ['Escape'], does: 'close, clear the tags, leave a field', places: ['anywhere'] },
  selectNext: { keys: ['j', 'ArrowDown'], does: 'select the next row', places: ['list'] },
  selectPrevious: { keys: ['k', 'ArrowUp'], does: 'select the previous row', places: ['list'] },
  pageDown: { keys: ['PageDown'], does: 'select a row further down', places: ['list'] },
  pageUp: { keys: ['PageUp'], does: 'select a row further up', places: ['list'] },
  selectFirst: { keys: ['g g', 'Home'], does: 'select the first row', places: ['list'] },
  selectLast: { keys: ['G', 'End'], does: 'select the last row', places: ['list'] },
  open: { keys: ['Enter'], does: 'open the process', places: ['list'] },
  unfold: { keys: ['ArrowRight'], does: 'show what is below', places: ['list'] },
  fold: { keys: ['h', 'ArrowLeft'], does: 'hide what is below, or select the parent', places: ['list'] },
  unfoldLevel: { keys: ['+'], does: 'unfold one level of all trees', places: ['list'] },
  foldLevel: { keys: ['-'], does: 'fold one level of all trees', places: ['list'] },
  unfoldAll: { keys: ['*'], does: 'unfold all', places: ['list'] },
  peek: { keys: [' '], does: 'look at it without leaving the list', places: ['list'] },
  tag: { keys: ['x'], does: 'tag the row; actions then apply to all tagged rows', places: ['list'] },
  filter: { keys: ['/'], does: 'filter', places: ['list'] },
  sort: { keys: ['t'], does: 'change between the tree and the flat orders', places: ['list'] },
  goToNeed: { keys: ['1', '2', '3', '4', '5', '6', '7', '8', '9'], does: 'go to the n-th of what needs you', places: ['list'] },
  allow: { keys: ['a'], does: 'allow once', places: QUESTIONS },
  allowAlways: { keys: ['A'], does: 'allow always', places: QUESTIONS },
  deny: { keys: ['d'], does: 'deny once', places: QUESTIONS },
  denyAlways: { keys: ['D'], does: 'deny always', places: QUESTIONS },
  reply: { keys: ['r'], does: 'reply with a text', places: QUESTIONS },
  message: { keys: ['m'], does: 'write a message', places: ROWS },
  pauseOrResume: { keys: ['p'], does: 'pause or resume with all below', places: ROWS },
  resumeWith: { keys: ['R'], does: 'resume with a message …', places: ROWS },
  pauseNow: { keys: ['P'], does: 'pause at once, within a step', places: ROWS },
  interrupt: { keys: ['i'], does: 'interrupt the turn', places: ROWS },
  fork: { keys: ['f'], does: 'fork after the selected or the last step …', places: ROWS },
  raiseBudget: { keys: ['b'], does: 'raise the budget …', places: ROWS },
  stop: { keys: ['s'], does: 'stop …', places: ROWS },
  kill: { keys: ['K'], does: 'kill …', places: ROWS },
  markSeen: { keys: ['.'], does: 'mark as seen', places: ROWS },
  snooze: { keys: ['Z'], does: 'put off what it needs …', places: ROWS },
  copyPath: { keys: ['o'], does: 'copy the path of its directory', places: ROWS },
  copyCommand: { keys: ['y'], does: 'copy the command line that does the same', places: ROWS },
  copyUuid: { keys: ['Y'], does: 'copy the UUID', places: ROWS },
  previousPart: { keys: ['['], does: 'the previous tab or step', places: ['process'] },
  nextPart: { keys: [']'], does: 'the next tab or step', places: ['process'] },
  previousLine: { keys: ['k', 'ArrowUp'], does: 'the previous line of the steps', places: ['process'] },
  nextLine: { keys: ['j', 'ArrowDown'], does: 'the next line of the steps', places: ['process'] },
  linesUp: { keys: ['PageUp'], does: 'a step further up', places: ['process'] },
  linesDown: { keys: ['PageDown'], does: 'a step further down', places: ['process'] },
  firstStep: { keys: ['g g', 'Home'], does: 'the first step', places: ['process'] },
  lastStep: { keys: ['G', 'End'], does: 'the last step', places: ['process'] },
  previousEdit: { keys: ['{'], does: 'the previous step that changed files', places: ['process'] },
  nextEdit: { keys: ['}'], does: 'the next step that changed files', places: ['process'] },
  unfoldRun: { keys: ['Enter'], does: 'show each step of a folded run', places: ['process'] },
  find: { keys: ['/'], does: 'search in the steps or the log', places: ['process'] },
  replay: { keys: ['z'], does: 'show the process as of the step, or as it is now', places: ['process'] },
  confirm: { keys: ['y'], does: 'do it', places: ['dialog'] },
} as const satisfies Readonly<Record<string, KeyRow>>

export type KeyAction = keyof typeof KEYS

/** The actions that have keys at one of the places `P`. */
export type KeyActionAt<P extends KeyPlace> = {
  [A in KeyAction]: [Extract<(typeof KEYS)[A]['places'][number], P>] extends [never] ? never : A
}[KeyAction]

const NAMES: readonly KeyAction[] = Object.keys(KEYS) as KeyAction[]
const rowOf = (action: KeyAction): KeyRow => KEYS[action]

/** The action of a key at one of `places`; undefined: it has none. */
export function actionOfKey<P extends KeyPlace>(key: string, places: ReadonlySet<P>): KeyActionAt<P> | undefined {
  return actionsAt(places).find((action) => rowOf(action).keys.includes(key))
}

/** Whether a key, such as `g`, begins a sequence of two keys. */
export function beginsSequence(key: string): boolean {
  return key === GO_KEY || NAMES.some((action) => rowOf(action).keys.some((one) => one.startsWith(`${key} `)))
}

/** The key of each kind of option that a question has. */
export const KEY_OF_OPTION: Readonly<Record<string, string>> = {
  allow_once: KEYS.allow.keys[0],
  allow_always: KEYS.allowAlways.keys[0],
  reject_once: KEYS.deny.keys[0],
  reject_always: KEYS.denyAlways.keys[0],
}

/** The key that precedes the letter of a page. */
export const GO_KEY = 'g'

/** The actions that have keys at `places`, in the order of the table. */
export function actionsAt<P extends KeyPlace>(places: ReadonlySet<P>): KeyActionAt<P>[] {
  const given: ReadonlySet<KeyPlace> = places
  return NAMES.filter((action): action is KeyActionAt<P> => rowOf(action).places.some((place) => given.has(place)))
}

const KEY_TEXTS: Readonly<Record<string, string>> = {
  ' ': 'Space',
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
  'Control+k': 'Ctrl+K',
}

/** A key as people write it. */
function keyText(key: string): string {
  return KEY_TEXTS[key] ?? key
}

/** The keys of an action as people write them; digits as a range. */
export function keyTexts(action: KeyAction): string[] {
  const { keys } = rowOf(action)
  return keys.length === 9 ? [`${keys[0]}…${keys[8]}`] : keys.map(keyText)
}
