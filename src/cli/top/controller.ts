// What the keys of `reeve top` do: they change the model, open dialogs, or give an action for the daemon.
// Test: test/tables/cli/top/controller.test.ts.
import { formatElapsed } from '../../faces/format.ts'
import { GUARD_MS, actionOfKey, beginsSequence, keyTexts, KEYS } from '../../faces/keys.ts'
import { mainCommand, titleOf } from '../../faces/process-names.ts'
import { obstacleTo, type RowVerb } from '../../faces/row-verbs.ts'
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
import { forkForm } from './fork-form.ts'
import type { TopModel } from './model.ts'
import {
  isRequest,
  isTopAction,
  keyLines,
  nameOfKey,
  paletteActions,
  PLACES,
  SCREEN_KEYS,
  type ScreenAction,
  type TopAction,
} from './screen-keys.ts'

type ActionTable = Readonly<Record<TopAction, () => Outcome | null | void>>
/** the rows that a page key moves by */
const PAGE_ROWS = 10

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
    const outcome = this.#outcomeOf(key)
    if (outcome?.type !== 'action' && outcome?.type !== 'stakes') return outcome
    const refusal = this.#refusal(outcome.type === 'action' ? outcome.action : undefined)
    if (refusal !== null) return this.#showNotice(refusal)
    if (outcome.type === 'action') this.#model.underWay.add(outcome.action.command)
    return outcome
  }

  #outcomeOf(key: Key): Outcome | null {
    const { dialog } = this.#model
    // A pasted text is not read as keys: only a text field takes it.
    if (key.name === 'paste-start' || key.name === 'paste-end') this.#isPasting = key.name === 'paste-start'
    if ((this.#isPasting || key.name === 'paste-end') && !dialog?.editor) return null
    if (dialog) return this.#onDialogKey(dialog, key)
    const begun = this.#begun
    this.#begun = ''
    return this.#onName(`${begun}${nameOfKey(key)}`) ?? null
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
    this.#model.notice = null
    const result = dialog.onKey(key)
    if (result === 'stay') return null
    const refusal = result === 'close' || 'choose' in result ? null : this.#refusal(result)
    // What was typed stays, until the daemon answers again.
    if (refusal !== null) return this.#showNotice(refusal)
    this.#model.dialog = null
    if (result === 'close') return null
    return 'choose' in result ? result.choose() : { type: 'action', action: result }
  }

  /** Returns why no request, or not this action, is possible now; null: it is possible. */
  #refusal(action?: Action): string | null {
    const model = this.#model
    if (model.isReadOnly) return 'nothing was done: this screen only reads (--read-only)'
    const mono = this.#mono()
    if (model.isStale(mono)) return `nothing was done: the daemon has not answered for ${formatElapsed(model.quietMs(mono) ?? 0)}`
    // Pressed again within one answer, a key must not interrupt, resume or fork twice.
    return action && model.underWay.has(action.command) ? `not requested again: ${action.command} has no answer yet` : null
  }

  #onScreenAction(action: ScreenAction): Outcome | null {
    const model = this.#model
    const refusal = isRequest(action) ? this.#refusal() : null
    if (refusal !== null) return this.#showNotice(refusal)
    switch (action) {
      case 'nextArea':
      case 'previousArea':
        return model.moveArea(action === 'nextArea' ? 1 : -1) ? null : this.#showNotice('no other part is shown; Space opens the panel')
      case 'leave':
        return { type: 'leave' }
      case 'showEnded':
        model.showsEnded = !model.showsEnded
        model.setFilter(model.filter)
        return this.#showNotice(
          model.showsEnded ? 'with the ended processes of the last 24 hours' : 'living processes, and ended ones that you have not seen',
        )
      case 'mouse':
        return { type: 'mouse' }
      case 'changeLimit':
        return this.#withRow((row) => this.#openLimit(row))
      case 'openPage':
        return this.#withRow((row) => ({ type: 'action', action: actions.openPage(row) }))
      case 'replay':
        return this.#withRow((row) => (row.step === 0 ? this.#showNotice(`${titleOf(row)} has no steps`) : this.#toggleReplay()))
      case 'previousPart':
      case 'nextPart':
        if (model.peek?.at === null || !model.peek) model.movePeekTab(action === 'nextPart' ? 1 : -1)
        else model.moveStep(action === 'nextPart' ? 1 : -1)
        return null
      case 'previousEdit':
      case 'nextEdit':
        return model.moveToEdit(action === 'nextEdit' ? 1 : -1)
          ? null
          : this.#showNotice('no other step in this direction changed files; z shows steps one by one')
    }
  }

  #onAction(action: TopAction, key: string): Outcome | null {
    const refusal = isRequest(action) ? this.#refusal() : null
    if (refusal !== null) return this.#showNotice(refusal)
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
      unfold: () => this.#moveSideways(1),
      fold: () => this.#moveSideways(-1),
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
      showKeys: () => this.#open(new TextPage('keys', keyLines(model.isReadOnly))),
      openPalette: () => this.#openPalette(),
    } satisfies Partial<ActionTable>
  }

  /** Unfolds or folds in the table; in the panel, shows the tab to the right or to the left. */
  #moveSideways(by: -1 | 1): void {
    const model = this.#model
    if (model.area === 'peek') model.movePeekTab(by)
    else if (model.area === 'table' && by > 0) model.unfold()
    else if (model.area === 'table') model.foldOrGoUp()
  }

  /** The actions that concern processes. */
  #processActions() {
    return {
      pauseOrResume: () => this.#onTargets('pauseOrResume', actions.pauseOrResume),
      pauseNow: () => this.#onTargets('pauseNow', actions.pauseNow),
      resumeWith: () => this.#onRow('resumeWith', (row) => this.#openResume(row)),
      snooze: () => {
        const rows = this.#possibleTargets('snooze')
        return rows.length === 0 ? null : this.#openSnooze(rows)
      },
      markSeen: () => this.#onTargets('markSeen', actions.markSeen),
      stop: () => this.#confirmEnd('stop'),
      kill: () => this.#confirmEnd('kill'),
      interrupt: () => this.#onRow('interrupt', (row) => ({ type: 'action', action: actions.interrupt(row) })),
      message: () => this.#onRow('message', (row) => this.#openMessage(row)),
      fork: () => this.#onRow('fork', (row) => this.#openFork(row)),
      raiseBudget: () => this.#onRow('raiseBudget', (row) => this.#openBudget(row)),
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

  /** An action on those of the targets for which it is possible; if there is none, the reason is shown. */
  #onTargets(verb: RowVerb, make: (rows: readonly RowView[]) => Action): Outcome | null {
    const rows = this.#possibleTargets(verb)
    return rows.length === 0 ? null : { type: 'action', action: make(rows) }
  }

  #possibleTargets(verb: RowVerb): readonly RowView[] {
    const [first, ...more] = this.#model.targets
    if (!first) this.#showNotice('select a process first')
    const rows = first ? [first, ...more].filter((row) => obstacleTo(verb, row) === null) : []
    if (first && rows.length === 0) this.#showNotice(obstacleTo(verb, first) ?? '')
    return rows
  }

  /** An action on the selected row, if it is possible. */
  #onRow(verb: RowVerb, use: (row: RowView) => Outcome | null): Outcome | null {
    return this.#withRow((row) => {
      const obstacle = obstacleTo(verb, row)
      return obstacle === null ? use(row) : this.#showNotice(obstacle)
    })
  }

  #confirmEnd(how: 'stop' | 'kill'): Outcome | null {
    const rows = this.#possibleTargets(how)
    if (rows.length === 0) return null
    const names = rows.map(titleOf).join(', ')
    const dialog = new ConfirmDialog(`${how} ${names} with all below?`, actions.endTree(rows, how), this.#mono)
    this.#open(dialog)
    return { type: 'stakes', dialog, rows, how }
  }

  #openFork(row: RowView): null {
    return this.#open(forkForm(row, this.#model.peek?.at ?? null))
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
      return this.#showNotice(`${titleOf(row)} runs: p pauses it, and then L changes a limit`)
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
    const commands = paletteActions(this.#model).map((action): PaletteChoice => ({
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
    if (!need?.ask) return this.#showNotice('the selected process asks nothing; n goes to the next question')
    if (this.#model.shownMs(need, this.#mono()) < GUARD_MS) return this.#showNotice('this question has just appeared; press the key again')
    if (!this.#model.showsEvidence) {
      this.#model.showEvidence()
      return this.#showNotice('this is what it asks: press the key again')
    }
    const action = actions.answerByKind(need, kind)
    return action ? { type: 'action', action } : this.#showNotice('the question has no such option; r lists its options')
  }

  #reply(): Outcome | null {
    const need = this.#model.selectedNeed
    if (!need?.ask) return this.#showNotice('the selected process asks nothing; m writes a message')
    const choices = actions.answerChoices(need)
    return this.#open(
      choices.length > 0
        ? new ChoiceDialog(need.title, choices)
        : new TextDialog({ title: need.title, actionOf: (text) => (text.trim() === '' ? null : actions.answerText(need, text)) }),
    )
  }

  #withRow(use: (row: RowView) => Outcome | null): Outcome | null {
    const row = this.#model.selectedRow
    return row ? use(row) : this.#showNotice('select a process first')
  }

  #open(dialog: Dialog): null {
    this.#model.dialog = dialog
    return null
  }

  #showNotice(text: string): null {
    this.#model.notice = { text, isError: false }
    return null
  }
}
