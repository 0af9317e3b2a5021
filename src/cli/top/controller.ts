// What the keys of `reeve top` do: they change the model, open dialogs, or give an action for the daemon.
// Test: test/tables/cli/top/controller.test.ts.
import { GUARD_MS, actionOfKey, actionsAt, beginsSequence, keyTexts, KEYS, type KeyAction, type KeyActionAt } from '../../faces/keys.ts'
import { mainCommand, titleOf } from '../../faces/process-names.ts'
import type { RowView } from '../../index.ts'
import { LIMIT_FLAG_NAMES, parseLimitChange } from '../input/limit-flags.ts'
import type { Key } from '../screen/line-editor.ts'
import * as actions from './actions.ts'
import {
  ChoiceDialog,
  ConfirmDialog,
  PaletteDialog,
  TextDialog,
  TextPage,
  type Action,
  type PaletteChoice,
  type Dialog,
  type Outcome,
} from './dialogs.ts'
import type { TopModel } from './model.ts'

/** The keys that only a terminal screen has. */
const SCREEN_KEYS: Readonly<Record<string, keyof typeof SCREEN_ACTIONS>> = {
  q: 'leave',
  'Control+c': 'leave',
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
const SCREEN_ACTIONS = {
  leave: 'leave',
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

const PLACES = new Set(['anywhere', 'list', 'need'] as const)
/** The shared actions that `reeve top` lacks: it has no pages to go to. Its help leaves them out. */
const LACKED = ['goToPage'] as const
type TopAction = Exclude<KeyActionAt<'anywhere' | 'list' | 'need'>, (typeof LACKED)[number]>
type ActionTable = Readonly<Record<TopAction, () => Outcome | null | void>>
/** the rows that a page key moves by */
const PAGE_ROWS = 10

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
function nameOf({ name, ctrl, sequence }: Key): string {
  if (ctrl && name !== undefined) return `Control+${name}`
  return (name === undefined ? undefined : KEY_NAMES[name]) ?? sequence ?? ''
}

export class Controller {
  readonly #model: TopModel
  readonly #mono: () => number
  #isPasting = false
  /** the first key of a sequence of two, and a space; empty: none has begun */
  #begun = ''

  /** `mono`: reads the monotonic clock, in ms */
  constructor(model: TopModel, mono: () => number) {
    this.#model = model
    this.#mono = mono
  }

  onKey(key: Key): Outcome | null {
    const { dialog } = this.#model
    // A pasted text is not read as keys: only a text field takes it.
    if (key.name === 'paste-start' || key.name === 'paste-end') this.#isPasting = key.name === 'paste-start'
    if ((this.#isPasting || key.name === 'paste-end') && !dialog?.editor) return null
    if (dialog) return this.#onDialogKey(dialog, key)
    const begun = this.#begun
    this.#begun = ''
    return this.#onName(`${begun}${nameOf(key)}`) ?? null
  }

  #onName(name: string): Outcome | null {
    this.#model.notice = null
    const own = Object.hasOwn(SCREEN_KEYS, name) ? SCREEN_KEYS[name] : undefined
    if (own) return this.#onScreenAction(own)
    const action = actionOfKey(name, PLACES)
    if (action && isTopAction(action)) return this.#onAction(action, name)
    if (beginsSequence(name)) this.#begun = `${name} `
    else if (name.includes(' ') && name.length > 1) return this.#onName(name.slice(name.indexOf(' ') + 1))
    return null
  }

  #onDialogKey(dialog: Dialog, key: Key): Outcome | null {
    const result = dialog.onKey(key)
    if (result === 'stay') return null
    this.#model.dialog = null
    if (result === 'close') return null
    return 'choose' in result ? result.choose() : { type: 'action', action: result }
  }

  #onScreenAction(action: keyof typeof SCREEN_ACTIONS): Outcome | null {
    const model = this.#model
    switch (action) {
      case 'leave':
        return { type: 'leave' }
      case 'showEnded':
        model.showsEnded = !model.showsEnded
        model.setFilter(model.filter)
        return this.#say(
          model.showsEnded ? 'with the ended processes of the last 24 hours' : 'living processes, and ended ones that you have not seen',
        )
      case 'mouse':
        return { type: 'mouse' }
      case 'changeLimit':
        return this.#withRow((row) => this.#openLimit(row))
      case 'openPage':
        return this.#withRow((row) => ({ type: 'action', action: actions.openPage(row) }))
      case 'replay':
        return this.#withRow((row) => (row.step === 0 ? this.#say(`${titleOf(row)} has no steps`) : this.#toggleReplay()))
      case 'previousPart':
      case 'nextPart':
        if (model.peek?.at === null || !model.peek) model.movePeekTab(action === 'nextPart' ? 1 : -1)
        else model.moveStep(action === 'nextPart' ? 1 : -1)
        return null
      case 'previousEdit':
      case 'nextEdit':
        return model.moveToEdit(action === 'nextEdit' ? 1 : -1)
          ? null
          : this.#say('no such step has changed files; z shows steps one by one')
    }
  }

  #onAction(action: TopAction, key: string): Outcome | null {
    // A shared action that is missing in both tables does not compile.
    const table: ActionTable = { ...this.#viewActions(key), ...this.#processActions() }
    return table[action]() ?? null
  }

  /** The actions that change only what is shown. */
  #viewActions(key: string) {
    const model = this.#model
    return {
      selectNext: () => model.scrollOrMove(1),
      selectPrevious: () => model.scrollOrMove(-1),
      pageDown: () => model.scrollOrMove(PAGE_ROWS),
      pageUp: () => model.scrollOrMove(-PAGE_ROWS),
      selectFirst: () => model.scrollOrMove(-Infinity),
      selectLast: () => model.scrollOrMove(Infinity),
      unfold: () => model.unfold(),
      fold: () => model.foldOrGoUp(),
      unfoldLevel: () => model.foldLevel(false),
      foldLevel: () => model.foldLevel(true),
      unfoldAll: () => model.unfoldAll(),
      peek: () => model.togglePeek(),
      open: () => model.toggleWholePeek(),
      tag: () => model.toggleTag(),
      sort: () => model.nextOrder(),
      nextNeed: () => model.moveNeed(1),
      previousNeed: () => model.moveNeed(-1),
      goToNeed: () => model.selectNeed(Number(key) - 1),
      close: () => model.close(),
      filter: () => this.#openFilter(),
      showKeys: () => this.#open(new TextPage('keys', keyLines())),
      openPalette: () => this.#openPalette(),
    } satisfies Partial<ActionTable>
  }

  /** The actions that concern processes. */
  #processActions() {
    return {
      pauseOrResume: () => this.#onTargets(actions.pauseOrResume),
      pauseNow: () => this.#onTargets(actions.pauseNow),
      resumeWith: () => this.#withRow((row) => this.#openResume(row)),
      snooze: () => (this.#model.targets.length === 0 ? this.#say('select a process first') : this.#openSnooze(this.#model.targets)),
      markSeen: () => this.#onTargets(actions.markSeen),
      stop: () => this.#confirmEnd('stop'),
      kill: () => this.#confirmEnd('kill'),
      interrupt: () => this.#withRow((row) => ({ type: 'action', action: actions.interrupt(row) })),
      message: () => this.#withRow((row) => this.#openMessage(row)),
      fork: () => this.#withRow((row) => this.#openFork(row)),
      raiseBudget: () => this.#withRow((row) => this.#openBudget(row)),
      allow: () => this.#answer('allow_once'),
      allowAlways: () => this.#answer('allow_always'),
      deny: () => this.#answer('reject_once'),
      denyAlways: () => this.#answer('reject_always'),
      reply: () => this.#reply(),
      copyPath: () => this.#withRow((row) => ({ type: 'copy', text: row.directory })),
      copyCommand: () => this.#withRow((row) => ({ type: 'copy', text: mainCommand(row) })),
      copyUuid: () => this.#withRow((row) => ({ type: 'copy', text: row.uuid })),
    } satisfies Partial<ActionTable>
  }

  #openMessage(row: RowView): null {
    return this.#open(
      new TextDialog({
        title: `message to ${titleOf(row)}`,
        actionOf: (text) => (text.trim() === '' ? null : actions.sendMessage(row, text)),
      }),
    )
  }

  #openResume(row: RowView): null {
    return this.#open(
      new TextDialog({
        title: `resume ${titleOf(row)}`,
        lines: ['A message for it, or nothing:'],
        actionOf: (text) => actions.resumeWith(row, text),
      }),
    )
  }

  #onTargets(make: (rows: readonly RowView[]) => Action): Outcome | null {
    const { targets } = this.#model
    return targets.length === 0 ? this.#say('select a process first') : { type: 'action', action: make(targets) }
  }

  #confirmEnd(how: 'stop' | 'kill'): Outcome | null {
    const rows = this.#model.targets
    if (rows.length === 0) return this.#say('select a process first')
    const names = rows.map(titleOf).join(', ')
    const dialog = new ConfirmDialog(`${how} ${names} with all below?`, actions.endTree(rows, how), this.#mono)
    this.#open(dialog)
    return { type: 'stakes', dialog, rows, how }
  }

  #openFork(row: RowView): Outcome | null {
    if (row.forks === 'no') return this.#say(`${titleOf(row)} cannot be forked: it has no history that another process can continue`)
    if (row.forks === 'now') return this.#openForkNow(row)
    return this.#open(
      new TextDialog({
        title: `fork of ${titleOf(row)}`,
        lines: [`The number of the step after which the fork continues (0 to ${row.step}), and a message if you want:`],
        text: `${row.step} `,
        actionOf: (text) => {
          const [, step, message = ''] = /^(\d+)\s*(.*)$/s.exec(text.trim()) ?? []
          return step === undefined ? null : actions.fork(row, Number(step), message)
        },
      }),
    )
  }

  /** Asks for a message to the fork of an agent that can only be forked as it is now. */
  #openForkNow(row: RowView): null {
    return this.#open(
      new TextDialog({
        title: `fork of ${titleOf(row)}, as it is now`,
        lines: ['A message for the fork, or nothing:'],
        actionOf: (text) => actions.fork(row, null, text),
      }),
    )
  }

  #openBudget(row: RowView): Outcome | null {
    return this.#open(
      new TextDialog({
        title: `budget of ${titleOf(row)}`,
        lines: ['The USD that it may spend in addition:'],
        actionOf: (text) => {
          const usd = Number(text.trim().replace(/^\+?\$?/, ''))
          return text.trim() === '' || !Number.isFinite(usd) || usd <= 0 ? null : actions.raiseBudget(row, usd)
        },
      }),
    )
  }

  #openSnooze(rows: readonly RowView[]): null {
    return this.#open(
      new TextDialog({
        title: `put off what ${rows.map(titleOf).join(', ')} needs`,
        lines: ['For how long, such as 30m or 2h; `off` shows it again:'],
        text: rows.some(({ snoozedUntil }) => snoozedUntil !== null) ? 'off' : '1h',
        actionOf: (text) => actions.snooze(rows, text.trim()),
      }),
    )
  }

  /** Asks for another limit, unless the process runs: then its limits cannot change. */
  #openLimit(row: RowView): null {
    if (row.endedAt === null && row.status !== 'suspended')
      return this.#say(`${titleOf(row)} runs: p pauses it, and then L changes a limit`)
    return this.#open(
      new TextDialog({
        title: `resume ${titleOf(row)} with another limit`,
        lines: [
          'A limit and its new value; a plus adds to it: max-steps 60, timeout +10m, memory 2GiB',
          `Limits: ${LIMIT_FLAG_NAMES.join(' ')}`,
        ],
        text: 'max-steps +',
        actionOf: (text) => {
          const change = parseLimitChange(text)
          return change && actions.changeLimit(row, change)
        },
      }),
    )
  }

  #toggleReplay(): null {
    this.#model.toggleReplay()
    return null
  }

  #openFilter(): Outcome | null {
    const model = this.#model
    const before = model.filter
    return this.#open(
      new TextDialog({
        title: 'filter',
        lines: ['Words, and conditions such as status:waiting agent:claude cost:>5 is:asking under:NAME'],
        text: before,
        actionOf: () => null,
        onChange: (text) => model.setFilter(text),
        onCancel: () => model.setFilter(before),
      }),
    )
  }

  /** Opens the palette, which finds actions and processes by a part of their names. */
  #openPalette(): Outcome | null {
    const commands = topActions()
      .filter((action) => !NOT_IN_PALETTE.has(action))
      .map((action): PaletteChoice => ({
        text: `${KEYS[action].does}  (${keyTexts(action).join(' ')})`,
        choose: () => this.#onAction(action, ''),
      }))
    const processes = [...this.#model.rows.values()].map((row): PaletteChoice => ({
      text: `${row.pid} ${titleOf(row)}`,
      choose: () => this.#show(row.uuid),
    }))
    return this.#open(new PaletteDialog([...commands, ...processes]))
  }

  #show(uuid: string): null {
    this.#model.reveal(uuid)
    return null
  }

  #answer(kind: Parameters<typeof actions.answerByKind>[1]): Outcome | null {
    const need = this.#model.selectedNeed
    if (!need?.ask) return this.#say('the selected process asks nothing; n goes to the next question')
    if (this.#model.shownMs(need, this.#mono()) < GUARD_MS) return this.#say('this question has just appeared; press the key again')
    if (!this.#model.showsEvidence) {
      this.#model.showEvidence()
      return this.#say('this is what it asks: press the key again')
    }
    const action = actions.answerByKind(need, kind)
    return action ? { type: 'action', action } : this.#say('the question has no such option; r lists its options')
  }

  #reply(): Outcome | null {
    const need = this.#model.selectedNeed
    if (!need?.ask) return this.#say('the selected process asks nothing; m writes a message')
    const choices = actions.answerChoices(need)
    return this.#open(
      choices.length > 0
        ? new ChoiceDialog(need.title, choices)
        : new TextDialog({ title: need.title, actionOf: (text) => (text.trim() === '' ? null : actions.answerText(need, text)) }),
    )
  }

  #withRow(use: (row: RowView) => Outcome | null): Outcome | null {
    const row = this.#model.selectedRow
    return row ? use(row) : this.#say('select a process first')
  }

  #open(dialog: Dialog): null {
    this.#model.dialog = dialog
    return null
  }

  #say(text: string): null {
    this.#model.notice = { text, isError: false }
    return null
  }
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

function isTopAction(action: KeyAction): action is TopAction {
  return !(LACKED as readonly KeyAction[]).includes(action)
}

function topActions(): TopAction[] {
  return actionsAt(PLACES).filter(isTopAction)
}

/** All keys with what they do. */
function keyLines(): string[] {
  const shared = topActions().map((action): [string, string] => [keyTexts(action).join(' '), KEYS[action].does])
  const own = Object.entries(SCREEN_KEYS).map(([key, action]): [string, string] => [
    key.replace('Control+', 'Ctrl+'),
    SCREEN_ACTIONS[action],
  ])
  return [...shared, ...own].map(([keys, does]) => `  ${keys.padEnd(14)} ${does}`)
}
