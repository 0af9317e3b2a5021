// The key `notifications` of the user's config.yaml: how reeve notifies the user, and about which events. A project cannot set it. Secrets
// in the URL and in headers are written as `${NAME}`. Their values are filled in when a notification is sent, and are never shown.
// Test: test/tables/config/keys/notifications.test.ts.
import * as z from 'zod'
import { withDefaults, variablesIn } from '../expand-variables.ts'

/**
 * The events. `stalled` includes silent and stopped processes. `budget` means the soft or the hard limit. `session` means a new session of
 * the page.
 */
export const NOTICES = ['waiting', 'finished', 'failed', 'stalled', 'budget', 'session'] as const
export type NoticeKind = (typeof NOTICES)[number]

const MAX_HEADERS = 50
const events = z.array(z.enum(NOTICES)).max(NOTICES.length)
const url = z.string().max(4096).refine(isWebUrl, 'expected a URL with http or https; parts of it may be ${NAME}')
const webhook = z.strictObject({
  url,
  headers: z
    .record(
      z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,200}$/, 'expected the name of a header'),
      z
        .string()
        .regex(/^[^\r\n\0]*$/, 'must be one line')
        .max(8192),
    )
    .refine((all) => Object.keys(all).length <= MAX_HEADERS, `at most ${MAX_HEADERS} headers`)
    .optional(),
  events: events.optional(),
})

export const notificationsRule = z.strictObject({ desktop: z.boolean().optional(), events: events.optional(), webhook: webhook.optional() })

/** The value of the key. An absent channel is off; absent `events` mean all events. */
export type NotificationsConfig = z.output<typeof notificationsRule>

export const NOTIFICATION_KEYS: readonly string[] = Object.keys(notificationsRule.shape)
export const WEBHOOK_KEYS: readonly string[] = Object.keys(webhook.shape)

function isWebUrl(text: string): boolean {
  const literal = withDefaults(text)
  if (variablesIn(text).length > 0 && text.startsWith('${')) return true
  return URL.canParse(literal) && /^https?:$/.test(new URL(literal).protocol)
}

/** Returns the value without possible secrets: a webhook has only its origin and the names of its headers. */
export function redactedNotifications({ webhook: hook, ...rest }: NotificationsConfig): object {
  if (hook === undefined) return rest
  const { url: webhookUrl, headers = {}, events: wanted } = hook
  return {
    ...rest,
    webhook: {
      url: originOf(webhookUrl),
      ...(Object.keys(headers).length === 0 ? {} : { headers: Object.keys(headers) }),
      ...(wanted ? { events: wanted } : {}),
    },
  }
}

/** Returns the origin of a URL, which may be shown. The path is often a secret. */
export function originOf(webhookUrl: string): string {
  const literal = withDefaults(webhookUrl)
  return URL.canParse(literal) ? new URL(literal).origin : (/^\$\{\w+/.exec(webhookUrl)?.[0] ?? '${') + '}'
}
