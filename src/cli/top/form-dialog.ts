// A dialog of `reeve top` with several fields: texts and choices. `Tab`, `↑` and `↓` move between them. `←`, `→` and the space key change a
// choice. Enter requests the action.
// Test: test/tables/cli/top/fork-form.test.ts.
import { displayWidth, padWidth } from '../print/text.ts'
import { LineEditor, type Key } from '../screen/line-editor.ts'
import { isCancel, isEnter, stepOf, type Action, type Dialog, type DialogResult } from './dialogs.ts'

export interface FormField {
  readonly name: string
  readonly label: string
  readonly text?: string
  /** shown in place of an empty text */
  readonly placeholder?: string
  /** the values to choose from, each with its text; absent: the field takes a text */
  readonly choices?: readonly (readonly [value: string, text: string])[]
}

export type FormValues = Readonly<Record<string, string>>

export interface FormOptions {
  readonly title: string
  readonly fields: readonly FormField[]
  /** the name of the field that is selected first */
  readonly first: string
  /** returns the lines below the fields */
  readonly notesOf: (values: FormValues) => readonly string[]
  /** returns the action, or what is wrong with the values */
  readonly actionOf: (values: FormValues) => Action | { readonly problem: string }
}

/** A field with its state. */
type FieldState = { readonly field: FormField; readonly editor: LineEditor } | { readonly field: FormField; value: string }

export class FormDialog implements Dialog {
  readonly title: string
  readonly #options: FormOptions
  readonly #states: readonly FieldState[]
  #index: number
  #isPasting = false

  constructor(options: FormOptions) {
    this.title = options.title
    this.#options = options
    this.#states = options.fields.map((field): FieldState => {
      if (field.choices) return { field, value: field.text ?? field.choices[0]?.[0] ?? '' }
      const editor = new LineEditor()
      editor.insert(field.text ?? '')
      return { field, editor }
    })
    this.#index = Math.max(
      0,
      options.fields.findIndex(({ name }) => name === options.first),
    )
  }

  get #state(): FieldState | undefined {
    return this.#states[this.#index]
  }

  get keys(): string[] {
    const state = this.#state
    return ['Enter done', 'Esc cancel', 'Tab ↑ ↓ field', ...(state && 'value' in state ? ['← → choose'] : [])]
  }

  /** The editor of the selected field; absent: it is a choice. */
  get editor(): LineEditor | undefined {
    const state = this.#state
    return state && 'editor' in state ? state.editor : undefined
  }

  get selectedLine(): number {
    return this.#index
  }

  get #values(): FormValues {
    return Object.fromEntries(this.#states.map((state) => [state.field.name, 'editor' in state ? state.editor.text.trim() : state.value]))
  }

  get command(): string | null {
    const result = this.#options.actionOf(this.#values)
    return 'problem' in result ? null : result.command
  }

  get lines(): readonly string[] {
    const values = this.#values
    const result = this.#options.actionOf(values)
    const labelColumns = Math.max(...this.#states.map(({ field }) => displayWidth(field.label)))
    return [
      ...this.#states.map(
        (state, index) => `${index === this.#index ? '>' : ' '} ${padWidth(state.field.label, labelColumns)}  ${textOf(state)}`,
      ),
      ...('problem' in result ? [result.problem] : this.#options.notesOf(values)),
    ]
  }

  onKey(key: Key): DialogResult {
    if (key.name === 'paste-start' || key.name === 'paste-end') this.#isPasting = key.name === 'paste-start'
    const state = this.#state
    // Only a text field takes a paste, with its tabs and line ends.
    if (this.#isPasting || key.name === 'paste-end') {
      if (state && 'editor' in state) state.editor.onKey(key)
      return 'stay'
    }
    if (isCancel(key)) return 'close'
    const by = stepOf(key)
    if (by !== 0) this.#index = (this.#index + by + this.#states.length) % this.#states.length
    // After a backslash, Enter begins a new line in the text.
    else if (isEnter(key) && !this.editor?.text.endsWith('\\')) return this.#submit()
    else if (state && 'editor' in state) state.editor.onKey(key)
    else if (state) moveChoice(state, key)
    return 'stay'
  }

  #submit(): DialogResult {
    const result = this.#options.actionOf(this.#values)
    return 'problem' in result ? 'stay' : result
  }
}

function textOf(state: FieldState): string {
  const { placeholder = '', choices } = state.field
  if ('editor' in state) return state.editor.text === '' ? placeholder : state.editor.text
  return choices?.find(([value]) => value === state.value)?.[1] ?? state.value
}

/** `←`, `→` and the space key change a choice. */
function moveChoice(state: Extract<FieldState, { value: string }>, { name, sequence }: Key): void {
  const by = name === 'left' ? -1 : name === 'right' || name === 'space' || sequence === ' ' ? 1 : 0
  const choices = state.field.choices ?? []
  const at = choices.findIndex(([value]) => value === state.value)
  if (by !== 0) state.value = choices[(at + by + choices.length) % choices.length]?.[0] ?? state.value
}
