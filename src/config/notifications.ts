// The key `notifications` of config.yaml: what tells a person, and of what. The user's alone: a project moves no messages.
// Secrets in the URL and in headers are named as `${NAME}` and looked up when something is sent; what is shown has none.
// Test: test/tables/config-notifications.test.ts.
import * as z from 'zod'
import { literalOf, variablesIn } from './template.ts'

/** What can be told of. `stalled` is for silent and stopped ones too; `budget` at the soft and at the hard mark. */
export const NOTICES = ['waiting', 'finished', 'failed', 'stalled', 'budget'] as const
export type NoticeKind = (typeof NOTICES)[number]

const MAX_HEADERS = 50
const events = z.array(z.enum(NOTICES)).max(NOTICES.length)
const url = z.string().max(4096).refine(isAddress, 'expected a URL with http or https; parts of it may be ${NAME}')
const webhook = z.strictObject({
  url,
  headers: z.record(z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,200}$/, 'expected the name of a header'), z.string().regex(/^[^\r\n\0]*$/, 'must be one line').max(8192))
    .refine((all) => Object.keys(all).length <= MAX_HEADERS, `at most ${MAX_HEADERS} headers`).optional(),
  events: events.optional(),
})

export const notificationsRule = z.strictObject({ desktop: z.boolean().optional(), events: events.optional(), webhook: webhook.optional() })

/** As it stands in the file; what is not said is off, and `events` are all. */
export type NotificationsConfig = z.output<typeof notificationsRule>

export const NOTIFICATION_KEYS: readonly string[] = Object.keys(notificationsRule.shape)
export const WEBHOOK_KEYS: readonly string[] = Object.keys(webhook.shape)

function isAddress(text: string): boolean {
  const literal = literalOf(text)
  if (variablesIn(text).length > 0 && text.startsWith('${')) return true
  return URL.canParse(literal) && /^https?:$/.test(new URL(literal).protocol)
}

/** Without what may be a secret: where it goes to, and which headers there are. */
export function shownNotifications({ webhook: hook, ...rest }: NotificationsConfig): object {
  if (hook === undefined) return rest
  const { url: address, headers = {}, events: wanted } = hook
  return { ...rest, webhook: { url: originOf(address), ...(Object.keys(headers).length === 0 ? {} : { headers: Object.keys(headers) }), ...(wanted ? { events: wanted } : {}) } }
}

/** What may be shown of an address: often the path is the secret. */
export function originOf(address: string): string {
  const literal = literalOf(address)
  return URL.canParse(literal) ? new URL(literal).origin : (/^\$\{\w+/.exec(address)?.[0] ?? '${') + '}'
}
