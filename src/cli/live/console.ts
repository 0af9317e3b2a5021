// What a person types to a process that is attached: messages, commands that begin with a slash, and Ctrl+C and Ctrl+D.
// Sends in the order of typing; what went wrong is told, and the typing goes on. Test: test/e2e/cli-attach.test.ts.
import { ApiError } from '../../api/client.ts'
import type { ProcessView } from '../../api/views.ts'
import type { Reeve } from '../../index.ts'
import { nearest } from '../../config/nearest.ts'
import { answerTo } from '../asks.ts'
import { plural } from '../format.ts'
import { BY_KEY, QUESTION, QUESTION_READY, type Wish } from '../interrupts.ts'
import type { Output } from '../output.ts'
import { safe } from '../text.ts'
import type { Drawing } from './bottom.ts'
import { LineEditor, type Key } from './line-editor.ts'
import type { Typed } from './footer.ts'

/** No line is longer than a narrow terminal. */
const HELP = [
  'Enter              sends a message, or the number of an option while it asks',
  '\\ or Alt+Enter     another line of the same message',
  '//                 begins a message with a slash',
  'Ctrl+C             interrupts the turn, or asks what is meant',
  'Ctrl+D, /detach    leaves it running',
  '/pause, /resume    hold it, let it go on',
  '/stop              ends it, with 10s to clean up',
].map((line) => `  ${line}`).join('\n')

export interface Attached {
  readonly reeve: Reeve
  readonly out: Output
  readonly uuid: string
  /** as it was last seen */
  readonly process: () => ProcessView
  readonly redraw: () => void
}

export class Console implements Typed {
  readonly #editor = new LineEditor()
  #attached: Attached | undefined
  #handler: ((wish: Wish) => void) | undefined
  /** what was wished for before anybody could be told */
  #early: Wish | undefined
  #isAsking = false
  /** the turn that was interrupted: it is not asked to end twice without a question */
  #interrupted = -1
  #sending: Promise<void> = Promise.resolve()

  attach(attached: Attached): void {
    this.#attached = attached
  }

  pass(handler: (wish: Wish) => void): void {
    this.#handler = handler
    if (this.#early) handler(this.#early)
  }

  /** The terminal has no more keys to give. */
  gone = (): void => this.#wish('detach')

  #wish = (wish: Wish): void => {
    if (this.#handler) this.#handler(wish)
    else this.#early = wish
  }

  /** Resolves when all that was typed has been dealt with. */
  get settled(): Promise<void> {
    return this.#sending
  }

  draw(columns: number, maxLines: number): Drawing {
    return this.#editor.draw(columns, maxLines)
  }

  key = (key: Key): void => {
    if (this.#isAsking) this.#answer(key)
    else if (key.ctrl && key.name === 'c') this.#interrupt()
    else if (key.ctrl && key.name === 'd' && this.#editor.text === '') this.#wish('detach')
    else if (key.ctrl && key.name === 'l') this.#attached?.redraw()
    else {
      const line = this.#editor.key(key)
      if (line) this.#sending = this.#sending.then(() => this.#sent(line))
    }
    if (!this.#isAsking) this.#attached?.redraw()
  }

  /** Ends the turn that is on; what else it might mean is asked. */
  #interrupt(): void {
    const process = this.#attached?.process()
    const isBusy = process?.status === 'working' || process?.status === 'waiting'
    if (!isBusy && this.#editor.text !== '') return this.#editor.clear()
    if (!process || !isBusy || !process.interactive || this.#interrupted === process.turn) return this.#ask()
    this.#interrupted = process.turn
    this.#wish('interrupt')
  }

  #ask(): void {
    this.#isAsking = true
    this.#attached?.out.ask(this.#attached.process().status === 'ready' ? QUESTION_READY : QUESTION)
  }

  #answer(key: Key): void {
    this.#isAsking = false
    this.#attached?.out.answered()
    const wish = BY_KEY[(key.sequence ?? '')[0] ?? '']
    if (wish) this.#wish(wish)
  }

  async #sent(line: string): Promise<void> {
    const attached = this.#attached
    if (!attached) return
    try {
      if (line.startsWith('/') && !line.startsWith('//')) await this.#command(line, attached)
      else if (!(await answered(line, attached))) await send(line.startsWith('//') ? line.slice(1) : line, attached)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      await attached.out.words(attached.out.paintWords('red', safe(`  ${error.message}`)))
    }
  }

  async #command(line: string, attached: Attached): Promise<void> {
    const command = Object.hasOwn(COMMANDS, line) ? COMMANDS[line] : undefined
    if (command) return command(attached, this.#wish)
    const near = nearest(line, Object.keys(COMMANDS))
    await attached.out.words(safe(`no command ${line}; ${near ? `did you mean ${near}?` : '/help lists them'}`))
  }
}

/** The line as an answer to what it asks first; false if it asks nothing, or the line is none of the options. */
async function answered(line: string, { reeve, out, uuid }: Attached): Promise<boolean> {
  const { asks: [ask] } = await reeve.get(uuid)
  const answer = ask && !line.startsWith('//') ? answerTo(ask, line) : null
  if (!answer) {
    if (ask) await out.words(out.paintWords('yellow', '  that answers nothing, so it is a message: it still asks'))
    return false
  }
  const { note } = await reeve.answer(uuid, answer)
  if (note) await out.words(out.paintWords('dim', `  ${safe(note)}`))
  return true
}

/** Its text is shown when the journal has it, to all that look. */
async function send(text: string, { reeve, out, uuid }: Attached): Promise<void> {
  const { queueCount } = await reeve.send(uuid, text)
  const { status } = await reeve.get(uuid)
  if (queueCount > 0 && status === 'suspended') await out.words(out.paintWords('dim', '  queued; it is suspended, /resume lets it go on'))
  else if (queueCount > 0) await out.words(out.paintWords('dim', `  queued (${plural(queueCount, 'message')}): it is read when the turn has ended`))
}

const COMMANDS: Readonly<Record<string, (attached: Attached, wish: (wish: Wish) => void) => void | Promise<void>>> = {
  '/detach': (_, wish) => wish('detach'),
  '/stop': (_, wish) => wish('stop'),
  '/pause': async ({ reeve, uuid }) => { await reeve.pause(uuid) },
  '/resume': async ({ reeve, out, uuid }) => {
    const { note } = await reeve.resume(uuid)
    if (note) await out.words(safe(note))
  },
  '/help': async ({ out }) => out.words(HELP),
}
