// Notifications: what of the facts a person is told, over the channels that the user configured. Fed after the commit, and
// never waited for: a channel that is down costs memory within its bounds, and nothing else.
// Owns the channels; the configuration is read again for each, so that a change counts at once.
// Test: test/e2e/notifications.test.ts.
import { NOTICES, originOf, type NoticeKind, type NotificationsConfig } from '../../config/notifications.ts'
import type { Check } from '../doctor.ts'
import type { RunProgram } from '../run-program.ts'
import { desktopObstacle, show } from './desktop.ts'
import { noticeOf, type Notice } from './notices.ts'
import { Outbox } from './outbox.ts'
import { post, unreachable, type Lookup } from './webhook.ts'
import { isLiving } from '../../kernel/status.ts'
import { mayComeBack } from '../../kernel/children.ts'
import { iso } from '../times.ts'
import type { StoredFact } from '../../kernel/facts.ts'
import type { Process, Uuid } from '../../kernel/types.ts'
import type { Clock } from '../clock.ts'

/** Who worked for less was watched to its end: the desktop says nothing. In ms. */
const BRIEF_MS = 10_000

export interface NotifierParts {
  readonly clock: Clock
  readonly get: (uuid: Uuid) => Process | undefined
  /** as it is in the file now */
  readonly config: () => Promise<NotificationsConfig>
  readonly lookup: Lookup
  readonly run: RunProgram
  readonly log: (message: string, error: unknown) => void
}

export class Notifier {
  readonly #parts: NotifierParts
  readonly #webhook: Outbox
  readonly #desktop: Outbox
  /** ended, and may come back by themselves: told of when they are gone */
  readonly #ended = new Map<Uuid, Notice>()
  #order: Promise<void> = Promise.resolve()

  constructor(parts: NotifierParts) {
    this.#parts = parts
    const { clock, log, lookup, run } = parts
    const common = { clock, log, isCurrent: (notice: Notice) => notice.kind !== 'waiting' || this.#waits(notice.uuid) }
    this.#webhook = new Outbox({ ...common, name: 'webhook', send: async (notice, repeated) => {
      const { webhook } = await parts.config()
      return webhook ? post(webhook, notice, repeated, lookup) : { ok: true }
    } })
    this.#desktop = new Outbox({ ...common, name: 'desktop', send: (notice) => show(notice, run) })
  }

  /** Facts after their commit, applied. */
  see(facts: readonly StoredFact[]): void {
    const notices = new Map<string, Notice>()
    for (const fact of facts) {
      const notice = this.#unlessItComesBack(fact, noticeOf(fact, this.#parts.get(fact.uuid)))
      // Of what happened in one moment the last word is enough.
      if (notice) notices.set(notice.key, notice)
    }
    if (notices.size === 0) return
    this.#order = this.#order.then(() => this.#pass([...notices.values()])).catch((error: unknown) => this.#parts.log('notifications: the configuration cannot be read', error))
  }

  async stop(): Promise<void> {
    await this.#order
    await Promise.all([this.#webhook.stop(), this.#desktop.stop()])
  }

  /** For `doctor`: each channel that is configured, and whether it works. */
  async examine(): Promise<Check[]> {
    const { desktop, webhook } = await this.#parts.config()
    if (!desktop && !webhook) return [{ name: 'notifications', ok: true, detail: 'none are configured' }]
    return [...(desktop ? [this.#desktopCheck()] : []), ...(webhook ? [await this.#webhookCheck(webhook)] : [])]
  }

  /** What its restart policy or its supervisor begins again, or waits in its session for a limit to be over, has not ended for a person. */
  #unlessItComesBack({ uuid, body }: StoredFact, notice: Notice | null): Notice | null {
    const process = this.#parts.get(uuid)
    if (body.type === 'process.exited' && notice && process && (body.exit.resumeAt !== undefined || mayComeBack(process))) {
      this.#ended.set(uuid, notice)
      return null
    }
    const ended = this.#ended.get(uuid)
    if (body.type !== 'process.reaped' || !ended) return notice
    this.#ended.delete(uuid)
    return process && isLiving(process) ? null : ended
  }

  async #pass(notices: readonly Notice[]): Promise<void> {
    const { desktop = false, events, webhook } = await this.#parts.config()
    for (const notice of notices) {
      if (webhook && wants(webhook.events ?? events, notice.kind)) this.#webhook.push(notice)
      if (desktop && wants(events, notice.kind) && !isBrief(notice)) this.#desktop.push(notice)
    }
  }

  #waits(uuid: Uuid): boolean {
    const life = this.#parts.get(uuid)?.life
    return life?.state === 'running' && life.activity === 'waiting'
  }

  #desktopCheck(): Check {
    const obstacle = desktopObstacle() ?? failureOf(this.#desktop)
    const name = 'notifications desktop'
    return obstacle === null ? { name, ok: true, detail: 'they can be shown' } : { name, ok: false, detail: obstacle, hint: 'notify-send is in the package libnotify-bin; or take `notifications.desktop` out of config.yaml' }
  }

  async #webhookCheck(webhook: NonNullable<NotificationsConfig['webhook']>): Promise<Check> {
    const obstacle = failureOf(this.#webhook) ?? (await unreachable(webhook, this.#parts.lookup))
    const { state, waiting, lost } = this.#webhook
    const detail = `${originOf(webhook.url)}: ${obstacle ?? (state === null ? 'it answers; nothing was sent so far' : `sent at ${iso(state.at)}`)}; ${waiting} waiting, ${lost} lost`
    return { name: 'notifications webhook', ok: obstacle === null, detail, ...(obstacle === null ? {} : { hint: 'look at `notifications.webhook` in config.yaml; its secrets are looked up in credentials.yaml and by keyCommand' }) }
  }
}

function failureOf({ state }: Outbox): string | null {
  return state === null || state.sent.ok ? null : state.sent.why
}

function wants(events: readonly NoticeKind[] = NOTICES, kind: NoticeKind): boolean {
  return events.includes(kind)
}

function isBrief({ kind, elapsedMs = Infinity }: Notice): boolean {
  return kind === 'finished' && elapsedMs < BRIEF_MS
}
