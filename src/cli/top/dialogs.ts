// The dialogs of `reeve top`. Each takes keys until it is closed, and may result in an action. A dialog that ends processes first shows
// what that costs. The key that confirms such a dialog differs from the key that opens it. Test: test/tables/cli/top/controller.test.ts.
import { GUARD_MS } from '../../faces/keys.ts'
import type { Reeve, RowView } from '../../index.ts'
import { oneLine } from '../print/text.ts'
import { LineEditor, type Key } from '../screen/line-editor.ts'

/** A request to the daemon. */
export interface Action {
  /** the command line that does the same */
  readonly command: string
  /** Sends the request, and resolves to a text for the user. Errors: those of the daemon. */
  readonly run: (reeve: Reeve) => Promise<string>
}

/** What a key requests, besides a change of what is shown. */
export type Outcome =
  | { readonly type: 'action'; readonly action: Action }
  /** reads what the end of the rows would cost, for the dialog that asks about it */
  | { readonly type: 'stakes'; readonly dialog: ConfirmDialog; readonly rows: readonly RowView[]; readonly how: 'stop' | 'kill' }
  | { readonly type: 'copy'; readonly text: string }
  | { readonly type: 'mouse' }
  | { readonly type: 'leave' }

/** An entry of the palette. */
export interface PaletteChoice {
  readonly text: string
  readonly choose: () => Outcome | null
}

/** What a dialog does with a key. `close`: it is over; an action or a choice also ends it. */
export type DialogResult = 'stay' | 'close' | Action | PaletteChoice

/** A line of a dialog: a text, or a label with a text beside it. */
export type DialogLine = string | readonly [label: string, text: string]

export interface Dialog {
  readonly title: string
  /** the lines above the input */
  readonly lines: readonly DialogLine[]
  /** the index of the line that is always shown; absent: the first lines are */
  readonly selectedLine?: number
  /** the keys that it takes, for the last line */
  readonly keys: readonly string[]
  /** the command line of its action; null: it has none, or not yet */
  readonly command: string | null
  readonly editor?: LineEditor | undefined
  onKey(key: Key): DialogResult
}

const CONFIRM_KEY = 'y'

export class ConfirmDialog implements Dialog {
  readonly title: string
  readonly keys = [`${CONFIRM_KEY} yes`, 'Esc no', '↓ ↑ scroll']
  readonly #action: Action
  readonly #openedAt: number
  readonly #mono: () => number
  /** what the action costs; null: not known yet */
  stakes: readonly string[] | null = null
  #from = 0

  /** `mono`: reads the monotonic clock, in ms */
  constructor(title: string, action: Action, mono: () => number) {
    this.title = title
    this.#action = action
    this.#mono = mono
    this.#openedAt = mono()
  }

  get command(): string {
    return this.#action.command
  }

  get lines(): readonly string[] {
    return this.stakes?.slice(this.#from) ?? ['asking the daemon what this would cost']
  }

  onKey(key: Key): DialogResult {
    if (isCancel(key) || key.sequence === 'n') return 'close'
    const by = scrollOf(key)
    this.#from = Math.max(0, Math.min((this.stakes?.length ?? 1) - 1, this.#from + by))
    const isReady = this.stakes !== null && this.#mono() - this.#openedAt >= GUARD_MS
    return key.sequence === CONFIRM_KEY && isReady ? this.#action : 'stay'
  }
}

export interface TextDialogOptions {
  readonly title: string
  readonly lines?: readonly string[]
  readonly text?: string
  /** returns the action of the text; null: the text is not valid */
  readonly actionOf: (text: string) => Action | null
  /** called with the text after each key */
  readonly onChange?: (text: string) => void
  /** called when the dialog is cancelled */
  readonly onCancel?: () => void
}

export class TextDialog implements Dialog {
  readonly title: string
  readonly lines: readonly string[]
  readonly keys = ['Enter done', 'Esc cancel']
  readonly editor = new LineEditor()
  readonly #options: TextDialogOptions

  constructor(options: TextDialogOptions) {
    this.#options = options
    this.title = options.title
    this.lines = options.lines ?? []
    this.editor.insert(options.text ?? '')
  }

  get command(): string | null {
    return this.#options.actionOf(this.editor.text)?.command ?? null
  }

  onKey(key: Key): DialogResult {
    if (isCancel(key)) {
      this.#options.onCancel?.()
      return 'close'
    }
    const { text: before, cursor } = this.editor
    const submitted = this.editor.onKey(key)
    if (submitted === undefined) {
      this.#options.onChange?.(this.editor.text)
      return 'stay'
    }
    // The text stays: it may be wrong, or the action may be refused.
    this.editor.text = before
    this.editor.cursor = cursor
    return this.#options.actionOf(submitted) ?? (this.#options.onChange ? 'close' : 'stay')
  }
}

/** A choice between actions, by a number or with a cursor. */
export class ChoiceDialog implements Dialog {
  readonly title: string
  readonly keys: readonly string[]
  readonly #choices: readonly (readonly [name: string, action: Action])[]
  #index: number | null = null

  constructor(title: string, choices: readonly (readonly [name: string, action: Action])[]) {
    this.title = title
    this.keys = [`1-${choices.length} choose`, 'Esc cancel', 'Tab ↑ ↓ select', 'Enter the selected one']
    this.#choices = choices
  }

  /** Nothing is selected at first: Enter must not choose what the user has not seen. */
  get selectedLine(): number {
    return this.#index ?? 0
  }

  get lines(): readonly string[] {
    return this.#choices.map(([name], index) => `${index === this.#index ? '>' : ' '} ${index + 1} ${oneLine(name)}`)
  }

  get command(): string | null {
    return this.#index === null ? null : (this.#choices[this.#index]?.[1].command ?? null)
  }

  onKey(key: Key): DialogResult {
    if (isCancel(key)) return 'close'
    if (isEnter(key)) return this.#choices[this.#index ?? -1]?.[1] ?? 'stay'
    const by = stepOf(key)
    const { length } = this.#choices
    if (by !== 0) this.#index = this.#index === null ? (by > 0 ? 0 : length - 1) : (this.#index + by + length) % length
    return this.#choices[Number(key.sequence) - 1]?.[1] ?? 'stay'
  }
}

/** the greatest number of choices that the palette lists */
const MAX_CHOICES = 12

/** Finds a command or a process by a part of its name. */
export class PaletteDialog implements Dialog {
  readonly title = 'commands and processes'
  readonly keys = ['Enter the selected one', 'Esc cancel', 'Tab ↑ ↓ select']
  readonly command = null
  readonly editor = new LineEditor()
  readonly #choices: readonly PaletteChoice[]
  #index = 0

  constructor(choices: readonly PaletteChoice[]) {
    this.#choices = choices
  }

  get selectedLine(): number {
    return this.#index
  }

  get #found(): PaletteChoice[] {
    const words = this.editor.text.toLowerCase().split(/\s+/)
    return this.#choices.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word))).slice(0, MAX_CHOICES)
  }

  get lines(): readonly string[] {
    const found = this.#found
    return found.length === 0
      ? ['  nothing has this name']
      : found.map(({ text }, index) => `${index === this.#index ? '>' : ' '} ${oneLine(text)}`)
  }

  onKey(key: Key): DialogResult {
    if (isCancel(key)) return 'close'
    const by = stepOf(key)
    if (by !== 0) {
      this.#index = Math.max(0, Math.min(this.#found.length - 1, this.#index + by))
      return 'stay'
    }
    const chosen = this.#found[this.#index]
    if (this.editor.onKey(key) !== undefined) return chosen ?? 'close'
    this.#index = 0
    return 'stay'
  }
}

/** A text to read. The keys of a list scroll it; any other key closes it. */
export class TextPage implements Dialog {
  readonly title: string
  readonly keys = ['j k scroll', 'any other key closes']
  readonly command = null
  readonly #all: readonly DialogLine[]
  #from = 0

  constructor(title: string, lines: readonly DialogLine[]) {
    this.title = title
    this.#all = lines
  }

  get lines(): readonly DialogLine[] {
    return this.#all.slice(this.#from)
  }

  onKey(key: Key): DialogResult {
    const by = scrollOf(key)
    this.#from = Math.max(0, Math.min(this.#all.length - 1, this.#from + by))
    return by === 0 ? 'close' : 'stay'
  }
}

/** By how many lines a key scrolls; 0: it does not. */
function scrollOf({ name, sequence }: Key): number {
  if (name === 'down' || sequence === 'j') return 1
  if (name === 'up' || sequence === 'k') return -1
  return name === 'pagedown' || name === 'space' ? PAGE_LINES : name === 'pageup' ? -PAGE_LINES : 0
}

/** the lines that a page key scrolls by */
const PAGE_LINES = 10

/** Which choice or field a key moves to: the next one, or the one before; 0: it does not move. */
export function stepOf({ name, shift }: Key): -1 | 0 | 1 {
  if (name === 'down' || (name === 'tab' && !shift)) return 1
  return name === 'up' || name === 'tab' ? -1 : 0
}

export function isEnter({ name, meta }: Key): boolean {
  return (name === 'return' || name === 'enter') && !meta
}

export function isCancel(key: Key): boolean {
  return key.name === 'escape' || (key.ctrl === true && key.name === 'c')
}
