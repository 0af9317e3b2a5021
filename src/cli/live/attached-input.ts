// Handles what the user types while attached to a process: messages, commands that begin with a slash, Ctrl+C and Ctrl+D. Sends messages
// and runs commands in the order of typing. An error is printed, and does not end the input. Test: test/e2e/cli/attach.test.ts.
import { ApiError } from '../../api/client/api-error.ts'
import type { RowView } from '../../api/views/rows.ts'
import type { Reeve } from '../../index.ts'
import { closestWord } from '../../kernel/util/did-you-mean.ts'
import { parseAnswer } from '../input/questions.ts'
import { formatCount } from '../../faces/format.ts'
import { ACTION_BY_KEY, TURN_QUESTION, READY_QUESTION, type UserAction } from '../input/interrupts.ts'
import type { Output } from '../print/output.ts'
import { stripControls } from '../print/text.ts'
import type { ScreenFrame } from '../screen/frame.ts'
import { LineEditor, type Key } from '../screen/line-editor.ts'
import type { FooterInput } from '../screen/footer.ts'

/** The text of `/help`. Every line fits a terminal of 80 columns. */
const HELP = [
  'Enter              sends a message, or an option by number',
  '\\ or Alt+Enter     another line of the same message',
  '//                 begins a message with a slash',
  'Ctrl+C             interrupts the turn, or asks what to do',
  'Ctrl+O             shows a folded result whole, then the one before',
  'Ctrl+D, /detach    detach; it keeps running',
  '/pause, /resume    pause it, resume it',
  '/stop              stops it, with 10s to clean up',
]
  .map((line) => `  ${line}`)
  .join('\n')

/** The attached process, and what this input uses of its terminal. */
export interface AttachedProcess {
  readonly reeve: Reeve
  readonly out: Output
  readonly uuid: string
  /** whether its turns can be interrupted */
  readonly interactive: boolean
  /** returns the latest row of the process; undefined until the daemon has sent one */
  readonly row: () => RowView | undefined
  readonly redraw: () => void
  /** prints all of a result of which only the beginning is shown */
  readonly unfold: (() => Promise<void>) | undefined
}

export class AttachedInput implements FooterInput {
  readonly #editor = new LineEditor()
  #attached: AttachedProcess | undefined
  #handler: ((action: UserAction) => void) | undefined
  /** an action that was requested before the handler was set */
  #pendingAction: UserAction | undefined
  #isAsking = false
  /** the turn that Ctrl+C has interrupted: another Ctrl+C in that turn asks what to do */
  #interruptedTurn = -1
  #pendingLines: Promise<void> = Promise.resolve()
  /** the number that the user typed without an open question, until the next line */
  #unsentNumber: string | undefined

  attach(attached: AttachedProcess): void {
    this.#attached = attached
  }

  onAction(handler: (action: UserAction) => void): void {
    this.#handler = handler
    if (this.#pendingAction) handler(this.#pendingAction)
  }

  /** Called when the terminal has no more input. */
  onInputClosed = (): void => this.#requestAction('detach')

  #requestAction = (action: UserAction): void => {
    if (this.#handler) this.#handler(action)
    else this.#pendingAction = action
  }

  /** Resolves when all typed lines have been processed. */
  get settled(): Promise<void> {
    return this.#pendingLines
  }

  draw(columns: number, maxLines: number): ScreenFrame {
    return this.#editor.draw(columns, maxLines)
  }

  onKey = (key: Key): void => {
    if (this.#isAsking) this.#onAnswerKey(key)
    else if (key.ctrl && key.name === 'c') this.#onInterrupt()
    else if (key.ctrl && key.name === 'd' && this.#editor.text === '') this.#requestAction('detach')
    else if (key.ctrl && key.name === 'l') this.#attached?.redraw()
    else if (key.ctrl && key.name === 'o') this.#unfold()
    else {
      const line = this.#editor.onKey(key)
      if (line) this.#pendingLines = this.#pendingLines.then(() => this.#submit(line))
    }
    if (!this.#isAsking) this.#attached?.redraw()
  }

  #unfold(): void {
    const unfold = this.#attached?.unfold
    if (unfold) this.#pendingLines = this.#pendingLines.then(unfold)
  }

  /** Interrupts the current turn. If none can be interrupted, clears the typed text or asks what to do. */
  #onInterrupt(): void {
    const row = this.#attached?.row()
    const isBusy = row?.status === 'working' || row?.status === 'waiting'
    if (!isBusy && this.#editor.text !== '') return this.#editor.clear()
    if (!row || !isBusy || !this.#attached?.interactive || this.#interruptedTurn === row.turn) return this.#askWhatToDo()
    this.#interruptedTurn = row.turn
    this.#requestAction('interrupt')
  }

  #askWhatToDo(): void {
    this.#isAsking = true
    this.#attached?.out.showQuestion(this.#attached.row()?.status === 'ready' ? READY_QUESTION : TURN_QUESTION)
  }

  #onAnswerKey(key: Key): void {
    this.#isAsking = false
    this.#attached?.out.hideQuestion()
    const action = ACTION_BY_KEY[(key.sequence ?? '')[0] ?? '']
    if (action) this.#requestAction(action)
  }

  async #submit(line: string): Promise<void> {
    const attached = this.#attached
    if (!attached) return
    try {
      if (line.startsWith('/') && !line.startsWith('//')) await this.#runCommand(line, attached)
      else if (await answerQuestion(line, attached)) this.#unsentNumber = undefined
      else if (this.#mayBeLateAnswer(line)) await this.#askToSend(line, attached)
      else await sendMessage(line.startsWith('//') ? line.slice(1) : line, attached)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      await attached.out.message(attached.out.paintMessage('red', stripControls(`  ${error.message}`)))
    }
  }

  /** Whether a line looks like the answer to a question that is not open, and was not typed twice. */
  #mayBeLateAnswer(line: string): boolean {
    const isSecond = line === this.#unsentNumber
    this.#unsentNumber = undefined
    return /^\d$/.test(line) && !isSecond && this.#attached?.row()?.asks === 0
  }

  /** Puts the line back. The next Enter sends it, or answers a question that has appeared by then. */
  async #askToSend(line: string, { out, redraw }: AttachedProcess): Promise<void> {
    this.#unsentNumber = line
    if (this.#editor.text === '') this.#editor.insert(line)
    await out.message(out.paintMessage('yellow', `  no question is open: Enter sends "${line}" as a message`))
    redraw()
  }

  async #runCommand(line: string, attached: AttachedProcess): Promise<void> {
    const command = Object.hasOwn(COMMANDS, line) ? COMMANDS[line] : undefined
    if (command) return command(attached, this.#requestAction)
    const near = closestWord(line, Object.keys(COMMANDS))
    await attached.out.message(stripControls(`no command ${line}; ${near ? `did you mean ${near}?` : 'see /help'}`))
  }
}

/** Sends the line as the answer to the question that is shown. Returns false if there is no question, or no option matches the line. */
async function answerQuestion(line: string, { reeve, out, uuid }: AttachedProcess): Promise<boolean> {
  const [ask] = (await reeve.get(uuid)).asks
  const answer = ask && !line.startsWith('//') ? parseAnswer(ask, line) : null
  if (!answer) {
    if (ask) await out.message(out.paintMessage('yellow', '  sent as a message, not an answer: the question is still open'))
    return false
  }
  const { note } = await reeve.answer(uuid, answer)
  if (note) await out.message(out.paintMessage('dim', `  ${stripControls(note)}`))
  return true
}

/** Sends a message, and reports that it is queued. The message itself is printed when its event arrives. */
async function sendMessage(text: string, { reeve, out, uuid }: AttachedProcess): Promise<void> {
  const { queueCount } = await reeve.send(uuid, text)
  const { status } = await reeve.get(uuid)
  if (queueCount > 0 && status === 'suspended')
    await out.message(out.paintMessage('dim', '  queued; it is suspended, /resume continues it'))
  else if (queueCount > 0)
    await out.message(out.paintMessage('dim', `  queued (${formatCount(queueCount, 'message')}): read after this turn`))
}

const COMMANDS: Readonly<Record<string, (attached: AttachedProcess, action: (action: UserAction) => void) => void | Promise<void>>> = {
  '/detach': (_, action) => action('detach'),
  '/stop': (_, action) => action('stop'),
  '/pause': async ({ reeve, uuid }) => {
    await reeve.pause(uuid)
  },
  '/resume': async ({ reeve, out, uuid }) => {
    const { note } = await reeve.resume(uuid)
    if (note) await out.message(stripControls(note))
  },
  '/help': async ({ out }) => out.message(HELP),
}
