// The actions of keys, buttons and the palette on one process or on several: a table of their rights and command lines. The function
// `allowsVerb` of src/faces/row-verbs.ts decides whether a row allows an action. Test: test/e2e/web/keys.test.ts.
import type { RowView } from '../src/api/views/rows.ts'
import { KEYS, type KeyAction } from '../src/faces/keys.ts'
import { interrupt, markSeen, pauseNow, pauseOrResume } from './actions.ts'
import { commandName, mainCommand } from '../src/faces/process-names.ts'
import { allowsVerb, type RowVerb } from '../src/faces/row-verbs.ts'
import { doToAll } from './batch.ts'
import { openBudget } from './dialogs/budget-dialog.tsx'
import { openEndOfAll } from './dialogs/end-all-dialog.tsx'
import { openMessage } from './dialogs/message-dialog.tsx'
import type { KeyHandlers } from './keyboard.ts'
import { copy, showNotice } from './notice.ts'
import { openFork, openResume, openSnooze } from './dialogs/dialog-targets.ts'
import { openEnd } from './dialogs/end-dialog.tsx'
import { isStale, may } from './connection-state.ts'

interface RowAction {
  /** null: it changes nothing, so every session may */
  readonly right: Parameters<typeof may>[0] | null
  /** true: its dialog is about one process */
  readonly isForOne?: boolean
  readonly run: (targets: readonly [RowView, ...RowView[]]) => unknown
  /** the command line without `reeve`; null: there is none */
  readonly command: (row: RowView) => string | null
}

const isHeld = ({ status }: RowView): boolean => status === 'suspended'
const noCommand = (): null => null

const openEndDialog =
  (action: 'stop' | 'kill'): RowAction['run'] =>
  (targets) =>
    targets.length === 1 ? openEnd(targets[0], action) : openEndOfAll(targets, action)

/** The actions of a row, in the order of menus. */
export const ROW_ACTIONS = {
  pauseOrResume: {
    right: 'steer',
    run: (targets) => (targets.length === 1 ? pauseOrResume(targets[0]) : doToAll(targets.every(isHeld) ? 'resume' : 'pause', targets)),
    command: (row) => `${isHeld(row) ? 'resume' : 'pause'} --subtree ${commandName(row)}`,
  },
  resumeWith: {
    right: 'steer',
    isForOne: true,
    run: ([row]) => openResume(row),
    command: (row) => `resume ${commandName(row)}`,
  },
  pauseNow: {
    right: 'steer',
    run: pauseNow,
    command: (row) => `pause --now --subtree ${commandName(row)}`,
  },
  interrupt: {
    right: 'steer',
    run: (targets) => interrupt(targets.map(({ uuid }) => uuid)),
    command: (row) => `kill -s INT ${commandName(row)}`,
  },
  message: {
    right: 'steer',
    run: (targets) => openMessage(targets),
    command: (row) => `send ${commandName(row)} …`,
  },
  raiseBudget: {
    right: 'steer',
    isForOne: true,
    run: ([row]) => openBudget(row),
    command: (row) => `resume ${commandName(row)} --budget-usd +5`,
  },
  fork: {
    right: 'start',
    isForOne: true,
    run: ([row]) => openFork(row),
    command: (row) => `resume ${commandName(row)} --fork`,
  },
  stop: { right: 'steer', run: openEndDialog('stop'), command: (row) => `stop ${commandName(row)}` },
  kill: { right: 'steer', run: openEndDialog('kill'), command: (row) => `kill -s KILL ${commandName(row)}` },
  markSeen: {
    right: 'answer',
    run: (targets) => markSeen(targets.map(({ uuid }) => uuid)),
    command: (row) => `needs --seen ${commandName(row)}`,
  },
  snooze: { right: 'answer', run: openSnooze, command: (row) => `needs --snooze 1h ${commandName(row)}` },
  copyPath: {
    right: null,
    run: (targets) => copy(targets.map(({ directory }) => directory).join('\n')),
    command: noCommand,
  },
  copyUuid: { right: null, run: (targets) => copy(targets.map(({ uuid }) => uuid).join('\n')), command: noCommand },
  copyCommand: { right: null, run: (targets) => copy(targets.map(mainCommand).join('\n')), command: noCommand },
} as const satisfies Partial<Readonly<Record<KeyAction, RowAction>>>

export type RowActionName = keyof typeof ROW_ACTIONS
const NAMES = Object.keys(ROW_ACTIONS) as RowActionName[]
const actionOf = (name: RowActionName): RowAction => ROW_ACTIONS[name]

/** The actions that change nothing, so each row allows them. */
const READS = ['copyPath', 'copyUuid', 'copyCommand'] as const satisfies readonly Exclude<RowActionName, RowVerb>[]
const isRead = (name: RowActionName): name is (typeof READS)[number] => (READS as readonly RowActionName[]).includes(name)

/** The actions that this session may do to a row now. */
export function possibleActions(row: RowView): RowActionName[] {
  return NAMES.filter((name) => !mustWait(name) && isPossible(name, row))
}

/** Whether the row allows an action, and the session has the right to it. While the page is stale, its button is drawn and disabled. */
export function isPossible(name: RowActionName, row: RowView): boolean {
  const { right } = actionOf(name)
  return (right === null || may(right)) && (isRead(name) || allowsVerb(row, name))
}

/** Whether an action must wait until the page hears from the daemon again. */
function mustWait(name: RowActionName): boolean {
  return actionOf(name).right !== null && isStale.value
}

/**
 * Performs an action on those of `targets` for which it is possible. An action for one process refuses several. Returns false if it is
 * possible for none.
 */
export function runAction(name: RowActionName, targets: readonly RowView[]): boolean {
  const [first, ...rest] = mustWait(name) ? [] : targets.filter((row) => isPossible(name, row))
  if (!first) return false
  if (actionOf(name).isForOne && rest.length > 0) {
    showNotice(`Nothing was done: this takes one process, and ${targets.length} are tagged.`)
    return true
  }
  actionOf(name).run([first, ...rest])
  return true
}

/** The command line of an action; null: there is none. */
export function commandLineOf(name: RowActionName, row: RowView): string | null {
  const command = actionOf(name).command(row)
  return command === null ? null : `reeve ${command}`
}

/** The label of an action: what it does, as in the help of keys. */
export function labelOfAction(name: RowActionName, row: RowView): string {
  return name === 'pauseOrResume' ? (isHeld(row) ? 'resume with all below' : 'pause with all below') : KEYS[name].does
}

/** The handlers of keys for the rows that `targets` returns. */
export function rowKeys(targets: () => readonly RowView[]): KeyHandlers {
  return Object.fromEntries(NAMES.map((name) => [name, () => runAction(name, targets())]))
}
