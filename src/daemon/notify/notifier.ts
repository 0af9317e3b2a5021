// Notifies the user of committed facts over the configured channels. Must never delay a commit: a channel that does not work only costs a
// limited amount of memory. Notices that were not sent before the daemon ended are made again from their facts at the next start. Reads the
// configuration for each batch of facts, so that a change takes effect at once.
// Tests: test/e2e/daemon/notifications.test.ts, test/processes/daemon/notify-desktop.test.ts.
import { NOTICES, originOf, type NoticeKind, type NotificationsConfig } from '../../config/keys/notifications.ts'
import type { Check } from '../views/doctor.ts'
import type { RunProgram } from '../host/run-program.ts'
import { desktopObstacle, showOnDesktop, TRIAL_COMMAND } from './desktop.ts'
import { NotifiedMark, missedFacts, type MissedDeps, type FactWithProcess } from './missed-facts.ts'
import { isWaitingForUser, noticeOf, mayNotify, withQuestion, type Notice } from './notices.ts'
import { NotificationOutbox, type DeliveryResult } from './outbox.ts'
import { postNotice, unreachableReason, type SecretLookup } from './webhook.ts'
import { isLiving } from '../../kernel/model/status.ts'
import { mayRestart } from '../../kernel/decide/children.ts'
import { isProviderLimited } from '../../kernel/model/exit.ts'
import { isoTime } from '../views/format-times.ts'
import type { FactBody, StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Clock } from '../loop/clock.ts'
import type { Uuid } from '../../kernel/model/ids.ts'

/** A process that finishes within this time causes no desktop notice: the user probably still watches it. */
const BRIEF_MS = 10_000

export interface NotifierDeps {
  readonly clock: Clock
  readonly store: MissedDeps['store']
  /** the cursor of the newest fact */
  readonly cursor: number
  readonly get: (uuid: Uuid) => Process | undefined
  /** reads a fact of a process by its number */
  readonly readFact: (uuid: Uuid, seq: number) => Promise<FactBody | undefined>
  /** reads the current configuration */
  readonly readConfig: () => Promise<NotificationsConfig>
  readonly lookUpSecret: SecretLookup
  readonly runProgram: RunProgram
  readonly log: (message: string, error: unknown) => void
}

interface Channel {
  readonly outbox: NotificationOutbox
  readonly mark: NotifiedMark
}

export class Notifier {
  readonly #deps: NotifierDeps
  readonly #webhook: Channel
  readonly #desktop: Channel
  /** notices of exited processes that may be restarted; sent if the process is reaped */
  readonly #withheld = new Map<Uuid, Notice>()
  /** the first cursor of each batch of facts that is being processed */
  readonly #pendingBatches = new Set<number>()
  /** the cursor of the newest fact */
  #newestCursor: number
  #isStarted = false
  /** resolves when all batches so far are processed */
  #lastBatch: Promise<void> = Promise.resolve()

  constructor(deps: NotifierDeps) {
    this.#deps = deps
    this.#newestCursor = deps.cursor
    const { lookUpSecret, runProgram } = deps
    this.#webhook = this.#createChannel('webhook', async (notice, repeated) => {
      const { webhook } = await deps.readConfig()
      return webhook ? postNotice(webhook, notice, repeated, lookUpSecret) : { ok: true }
    })
    this.#desktop = this.#createChannel('desktop', (notice) => showOnDesktop(notice, runProgram))
  }

  /** Starts the notifications, after the boot. Facts that the last daemon did not report are reported first. */
  start(): void {
    this.#isStarted = true
    const upTo = this.#newestCursor
    this.#enqueueBatch(0, () => this.#reportMissed(upTo))
  }

  /** Must be called with the facts of each commit, after they were applied. */
  onFacts(facts: readonly StoredFact[]): void {
    this.#newestCursor = facts.at(-1)?.cursor ?? this.#newestCursor
    if (!this.#isStarted) return
    const relevant = facts.flatMap((fact) => (mayNotify(fact.body) ? [{ fact, process: this.#deps.get(fact.uuid) }] : []))
    const [first] = relevant
    if (first) this.#enqueueBatch(first.fact.cursor, () => this.#report(relevant))
    else for (const channel of [this.#webhook, this.#desktop]) if (channel.mark.isFarBehind(this.#newestCursor)) this.#advanceMark(channel)
  }

  /** Notifies the user of a new session of the page from another machine. Tries once, and logs a failure. */
  announceSession(text: string): void {
    const notice = { kind: 'session', text, at: this.#deps.clock.now().wall } as const
    this.#sendSession(notice).catch((error: unknown) => this.#deps.log('notifications: a new session of the page was not reported', error))
  }

  async #sendSession(notice: { readonly kind: 'session'; readonly text: string; readonly at: number }): Promise<void> {
    const { lookUpSecret, readConfig, runProgram, log } = this.#deps
    const { desktop = false, events, webhook } = await readConfig()
    log(notice.text, null)
    const results = await Promise.all([
      ...(webhook && isRequested(webhook.events ?? events, 'session') ? [postNotice(webhook, notice, 0, lookUpSecret)] : []),
      ...(desktop && isRequested(events, 'session') ? [showOnDesktop(notice, runProgram)] : []),
    ])
    for (const result of results) if (!result.ok) log(`notifications: a new session of the page was not reported: ${result.why}`, null)
  }

  /** Sends the pending notices once more, and records the marks. */
  async stop(): Promise<void> {
    await this.#lastBatch
    const channels = [this.#webhook, this.#desktop]
    await Promise.all(channels.map(({ outbox }) => outbox.stop()))
    if (!this.#isStarted) return
    for (const channel of channels) this.#advanceMark(channel)
    await this.#lastBatch
  }

  /** The checks of `reeve doctor`: whether each configured channel works. */
  async doctorChecks(): Promise<Check[]> {
    const { desktop, webhook } = await this.#deps.readConfig()
    if (!desktop && !webhook) return [{ name: 'notifications', ok: true, detail: 'none are configured' }]
    return [...(desktop ? [this.#desktopCheck()] : []), ...(webhook ? [await this.#webhookCheck(webhook)] : [])]
  }

  #createChannel(name: string, send: (notice: Notice, repeated: number) => Promise<DeliveryResult>): Channel {
    const { clock, log, store } = this.#deps
    const outbox = new NotificationOutbox({
      clock,
      log,
      name,
      send,
      isCurrent: (notice) => notice.kind !== 'waiting' || this.#isWaiting(notice.uuid),
      onSettled: () => this.#advanceMark(channel),
    })
    const channel = { outbox, mark: new NotifiedMark(store, name) }
    return channel
  }

  /** Runs `work` after all earlier batches. `first` is the cursor of its first fact. */
  #enqueueBatch(first: number, work: () => Promise<void>): void {
    this.#pendingBatches.add(first)
    this.#lastBatch = this.#lastBatch
      .then(work)
      .catch((error: unknown) => this.#deps.log('notifications: no notices could be made from the newest facts', error))
      .finally(() => this.#pendingBatches.delete(first))
  }

  /** Moves the mark of a channel to the last fact before all that are not reported yet. */
  #advanceMark({ outbox, mark }: Channel): void {
    const openCursors = [
      ...this.#pendingBatches,
      ...[...this.#withheld.values()].map(({ cursor }) => cursor),
      ...(outbox.oldestCursor === null ? [] : [outbox.oldestCursor]),
    ]
    mark
      .advance(this.#newestCursor, openCursors.length === 0 ? null : Math.min(...openCursors))
      .catch((error: unknown) => this.#deps.log('notifications: it cannot be recorded which notices were sent', error))
  }

  /** Reports the facts that the last daemon did not report. */
  async #reportMissed(upTo: number): Promise<void> {
    const { store, get, clock } = this.#deps
    const marks = { webhook: await this.#webhook.mark.read(upTo), desktop: await this.#desktop.mark.read(upTo) }
    const { desktop = false, webhook } = await this.#deps.readConfig()
    const after = Math.min(webhook ? marks.webhook : upTo, desktop ? marks.desktop : upTo)
    for await (const page of missedFacts({ store, get, now: () => clock.now().wall }, after, upTo)) await this.#report(page, marks)
  }

  /**
   * Withholds the notice of an exit if the process may be restarted by its policy or supervisor, or after a limit of its provider.
   * Returns the notice to send now. If the process is reaped without a restart, that is the withheld notice.
   */
  #withholdExit({ fact: { uuid, body }, process }: FactWithProcess, notice: Notice | null): Notice | null {
    if (body.type === 'process.exited' && notice && process && (isProviderLimited(body.exit) || mayRestart(process))) {
      this.#withheld.set(uuid, notice)
      return null
    }
    const withheld = this.#withheld.get(uuid)
    if (body.type !== 'process.reaped' || !withheld) return notice
    this.#withheld.delete(uuid)
    return process && isLiving(process) ? null : withheld
  }

  /** Sends the notices of some facts to the channels. `after`: the cursor up to which a channel has reported all facts. */
  async #report(facts: readonly FactWithProcess[], after = { webhook: 0, desktop: 0 }): Promise<void> {
    const notices = new Map<string, Notice>()
    for (const fact of facts) {
      const notice = this.#withholdExit(fact, noticeOf(fact.fact, fact.process))
      // Only the last notice of each key in a batch is sent.
      if (notice) notices.set(notice.key, notice)
    }
    if (notices.size === 0) return
    const { desktop = false, events, webhook } = await this.#deps.readConfig()
    if (!desktop && !webhook) return
    for (const shortNotice of notices.values()) {
      const notice = await this.#withQuestion(shortNotice)
      if (webhook && isRequested(webhook.events ?? events, notice.kind) && notice.cursor > after.webhook) this.#webhook.outbox.push(notice)
      if (desktop && isRequested(events, notice.kind) && !isBrief(notice) && notice.cursor > after.desktop)
        this.#desktop.outbox.push(notice)
    }
  }

  /** Returns the notice with the whole question of a task for the user. */
  async #withQuestion(notice: Notice): Promise<Notice> {
    const { uuid, questionSeq } = notice
    // If the fact cannot be read, the notice is sent with the title alone.
    const fact = questionSeq === undefined ? undefined : await this.#deps.readFact(uuid, questionSeq).catch(() => undefined)
    return fact?.type === 'task.added' ? withQuestion(notice, `${fact.task}: ${fact.text}`) : notice
  }

  #isWaiting(uuid: Uuid): boolean {
    const process = this.#deps.get(uuid)
    return process !== undefined && isWaitingForUser(process)
  }

  #desktopCheck(): Check {
    const name = 'notifications desktop'
    const obstacle = desktopObstacle()
    const detail = obstacle?.why ?? failureOf(this.#desktop.outbox)
    if (detail === null) return { name, ok: true, detail: 'notices can be shown' }
    const remedy = obstacle?.remedy ?? `try \`${TRIAL_COMMAND}\` in a terminal`
    return { name, ok: false, detail, hint: `${remedy}; or remove \`notifications.desktop\` from config.yaml` }
  }

  async #webhookCheck(webhook: NonNullable<NotificationsConfig['webhook']>): Promise<Check> {
    const obstacle = failureOf(this.#webhook.outbox) ?? (await unreachableReason(webhook, this.#deps.lookUpSecret))
    const { lastAttempt, waitingCount, lostCount } = this.#webhook.outbox
    const detail = `${originOf(webhook.url)}: ${obstacle ?? (lastAttempt === null ? 'the server answers; nothing was sent so far' : `sent at ${isoTime(lastAttempt.at)}`)}; ${waitingCount} waiting, ${lostCount} lost`
    return {
      name: 'notifications webhook',
      ok: obstacle === null,
      detail,
      ...(obstacle === null
        ? {}
        : { hint: 'check `notifications.webhook` in config.yaml; its secrets are looked up in credentials.yaml and with keyCommand' }),
    }
  }
}

/** Why the last attempt to send failed; null if it did not. */
function failureOf({ lastAttempt }: NotificationOutbox): string | null {
  return lastAttempt === null || lastAttempt.result.ok ? null : lastAttempt.result.why
}

function isRequested(events: readonly NoticeKind[] = NOTICES, kind: NoticeKind): boolean {
  return events.includes(kind)
}

function isBrief({ kind, elapsedMs = Infinity }: Notice): boolean {
  return kind === 'finished' && elapsedMs < BRIEF_MS
}
