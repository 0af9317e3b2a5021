// The actions of `reeve top`: each with the command line that does the same. Test: test/tables/cli/top/controller.test.ts.
import type { NeedView } from '../../api/views/needs.ts'
import type { AskView, SteerView } from '../../api/views/process.ts'
import { shellWord } from '../../api/text/shell-quote.ts'
import { parseDuration } from '../../config/duration.ts'
import { STOP_GRACE_MS } from '../../kernel/model/signals.ts'
import { errorText } from '../../kernel/util/error-text.ts'
import { forkCommand, type ForkChanges } from '../../faces/fork-plan.ts'
import { formatCount } from '../../faces/format.ts'
import { commandName, titleOf } from '../../faces/process-names.ts'
import type { parseLimitChange } from '../input/limit-flags.ts'
import type { Reeve, RowView } from '../../index.ts'
import { linkTo, openBrowser, refuseInProcess } from '../actions/open-browser.ts'
import type { Action } from './dialogs.ts'

type OptionKind = AskView['options'][number]['kind']

/**
 * An action on each of the rows. `verb`: its command line without the processes; `done`: the words before the names of the processes in the
 * result. Fails only if every row refuses; otherwise the result has the refusals, too.
 */
function onEach(rows: readonly RowView[], verb: string, done: string, act: (reeve: Reeve, uuid: string) => Promise<SteerView>): Action {
  return {
    command: `${verb} ${rows.map(commandName).join(' ')}`,
    run: async (reeve) => {
      const attempts = await Promise.allSettled(rows.map(({ uuid }) => act(reeve, uuid)))
      const refused = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason as unknown] : []))
      const steered = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []))
      if (steered.length === 0) throw refused[0]
      const affected = rows.filter((_, index) => attempts[index]?.status === 'fulfilled')
      const more = steered.reduce((sum, one) => sum + Math.max(0, one.affected - 1), 0)
      return [
        `${done} ${namesOf(affected)}${more > 0 ? ` and ${more} below` : ''}`,
        ...steered.flatMap(({ note }) => note ?? []),
        ...refused.map(errorText),
      ].join('; ')
    },
  }
}

function namesOf(rows: readonly RowView[]): string {
  return rows.length > 3 ? formatCount(rows.length, 'process') : rows.map(titleOf).join(', ')
}

/** Pauses the rows with all below them, or resumes these rows and all below them if every row is paused. */
export function pauseOrResume(rows: readonly RowView[]): Action {
  return rows.every(({ status }) => status === 'suspended')
    ? onEach(rows, 'reeve resume --subtree', 'resumed', (reeve, uuid) => reeve.resume(uuid, { subtree: true }))
    : onEach(rows, 'reeve pause --subtree', 'pausing', (reeve, uuid) => reeve.pause(uuid, { subtree: true }))
}

export function pauseNow(rows: readonly RowView[]): Action {
  return onEach(rows, 'reeve pause --subtree --now', 'paused', (reeve, uuid) => reeve.pause(uuid, { subtree: true, now: true }))
}

/** Ends the current turn of a process. */
export function interrupt(row: RowView): Action {
  return onEach([row], 'reeve kill -s INT', 'interrupted', (reeve, uuid) => reeve.signal(uuid, 'SIGINT'))
}

/** Ends the rows with all below them. `stop`: with SIGTERM, and SIGKILL after a grace of at least `STOP_GRACE_MS`; `kill`: at once. */
export function endTree(rows: readonly RowView[], how: 'stop' | 'kill'): Action {
  return how === 'stop'
    ? onEach(rows, `reeve kill --subtree --grace ${STOP_GRACE_MS / 1_000}s`, 'stopping', (reeve, uuid) =>
        reeve.signalTree(uuid, 'SIGTERM', { leastGraceMs: STOP_GRACE_MS }),
      )
    : onEach(rows, 'reeve kill --subtree -s KILL', 'killed', (reeve, uuid) => reeve.signalTree(uuid, 'SIGKILL'))
}

export function markSeen(rows: readonly RowView[]): Action {
  return onEach(rows, 'reeve needs --seen', 'seen:', (reeve, uuid) => reeve.markSeen(uuid))
}

/** Snoozes the needs of the rows for a time such as `2h`, or shows them again (`off`). Null if `time` is neither, or without rows. */
export function snooze(rows: readonly RowView[], time: string): Action | null {
  const ms = time === 'off' ? 0 : parseDuration(time)
  if (ms === null || (ms <= 0 && time !== 'off')) return null
  const [first, ...more] = rows
  if (!first) return null
  const until = ms === 0 ? null : new Date(Date.now() + ms).toISOString()
  const done = ms === 0 ? 'shown again:' : `put off for ${time}:`
  const action = onEach(rows, `reeve needs --snooze ${time}`, done, (reeve, uuid) => reeve.snooze(uuid, until))
  // Unlike the other verbs, `reeve needs --snooze` takes one process, so each row has its own command.
  const commands = [first, ...more].map((row) => `reeve needs --snooze ${time} ${commandName(row)}`)
  return { ...action, command: commands.join('; ') }
}

/** Changes a limit of a process. If the limit has suspended the process, it continues. */
export function changeLimit(row: RowView, change: NonNullable<ReturnType<typeof parseLimitChange>>): Action {
  const { flag, value, limits, raise } = change
  return onEach([row], `reeve resume --${flag} ${value}`, `${flag} ${value} for`, (reeve, uuid) =>
    reeve.resume(uuid, { ...(limits ? { limits } : {}), ...(raise ? { raise } : {}) }),
  )
}

/** Opens the page at a process. Where no browser can be opened, the text is the link, which works once. */
export function openPage(row: RowView): Action {
  return {
    command: `reeve open ${commandName(row)}`,
    run: async (reeve) => {
      refuseInProcess('reeve open')
      const opened = await reeve.web.open({ right: 'all' })
      const link = linkTo(opened, `p/${row.uuid}`)
      const file = openBrowser(link)
      if (!file) return `${link} works once, for a minute`
      const remove = (): void => file.remove()
      setTimeout(remove, opened.usableMs).unref()
      process.once('exit', remove)
      return `the page opens in your browser, at ${opened.url}`
    },
  }
}

export function sendMessage(row: RowView, text: string): Action {
  return {
    command: `reeve send ${commandName(row)} ${shellWord(text)}`,
    run: async (reeve) => {
      const { queueCount } = await reeve.send(row.uuid, text)
      return queueCount > 0 ? `${titleOf(row)} reads it after this turn` : `sent to ${titleOf(row)}`
    },
  }
}

/** Resumes a process, with a message unless the text is blank. */
export function resumeWith(row: RowView, text: string): Action {
  const hasMessage = text.trim() !== ''
  return onEach([row], `reeve resume${hasMessage ? ` --message ${shellWord(text)}` : ''}`, 'resumed', (reeve, uuid) =>
    reeve.resume(uuid, hasMessage ? { message: text } : {}),
  )
}

/** Forks a process after a step; null: as it is now. */
export function fork(row: RowView, step: number | null, changes: ForkChanges): Action {
  return {
    command: forkCommand(row, step, changes),
    run: async (reeve) => {
      const { process } = await reeve.fork(row.uuid, { ...(step === null ? {} : { fromStep: step }), ...changes })
      const files = changes.withFiles ? ', with the files of that step' : ''
      return `process ${process.pid} is a fork of ${titleOf(row)}${step === null ? '' : ` after step ${step}`}${files}`
    },
  }
}

/** Adds USD to the budget of a process. If the budget has suspended the process, it continues. */
export function raiseBudget(row: RowView, usd: number): Action {
  return onEach([row], `reeve resume --budget-usd +${usd}`, `$${usd} more for`, (reeve, uuid) =>
    reeve.resume(uuid, { raise: { budgetUsd: usd } }),
  )
}

/** Answers a question with its option of this kind; null: the question has no such option. */
export function answerByKind(need: NeedView, kind: OptionKind): Action | null {
  const option = need.ask?.options.find((one) => one.kind === kind)
  return option ? answerOption(need, option) : null
}

/** Returns an action for each option of a question. */
export function answerChoices(need: NeedView): [name: string, action: Action][] {
  return (need.ask?.options ?? []).map((option) => [option.name, answerOption(need, option)])
}

function answerOption(need: NeedView, option: AskView['options'][number]): Action {
  const { ask, uuid } = need
  const number = (ask?.options.indexOf(option) ?? 0) + 1
  return {
    command: `reeve answer ${commandName(need)} ${number}`,
    run: async (reeve) => {
      if (ask) await reeve.answer(uuid, { id: ask.id, option: option.id, seen: ask.hash })
      return `answered: ${option.name}`
    },
  }
}

/** Answers a question with a text. */
export function answerText(need: NeedView, text: string): Action {
  const { ask, uuid } = need
  return {
    command: `reeve answer ${commandName(need)} ${shellWord(text)}`,
    run: async (reeve) => {
      if (ask) await reeve.answer(uuid, { id: ask.id, text, seen: ask.hash })
      return 'answered'
    },
  }
}
