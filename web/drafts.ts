// Drafts: what the user has typed and not sent, such as messages, replies and forms, each with a key. A draft survives a reload, a restart
// of the daemon and a lost link. It goes when it is sent or its session ends. Each tab has its own drafts. A draft can be a secret, so no
// other session may see it. It must not be in the storage while the daemon is away: a program that takes the daemon's port could read it.
// Tests: test/tables/web/drafts.test.ts, test/e2e/web/process/tabs.test.ts.
import { signal } from '@preact/signals'

const KEY = 'reeve.drafts'
/** the most drafts that are kept; the oldest go */
const MAX_DRAFTS = 50

type Drafts = ReadonlyMap<string, string>

const NO_DRAFTS: Drafts = new Map()

const drafts = signal(NO_DRAFTS)
/** the id of the session whose drafts are in the storage; null: none may be there now */
let owner: string | null = null

/** The drafts of a session in a stored text, which another session or another version of the page may have written. */
export function parseDrafts(stored: string | null, session: string): Drafts {
  try {
    const { session: writer, drafts: entries } = JSON.parse(stored ?? '{}') as { session?: unknown; drafts?: unknown }
    const isDraft = (entry: unknown): entry is [string, string] =>
      Array.isArray(entry) && entry.length === 2 && entry.every((part) => typeof part === 'string')
    return new Map(writer === session && Array.isArray(entries) ? entries.filter(isDraft) : [])
  } catch {
    // Another version has stored something else.
    return NO_DRAFTS
  }
}

/** The fields of a form from their draft, which is JSON. A field that is missing or of another type is as in `empty`. */
export function fieldsOf<T extends Readonly<Record<string, unknown>>>(draft: string, empty: T): T {
  try {
    const stored = new Map(Object.entries((JSON.parse(draft === '' ? '{}' : draft) ?? {}) as object))
    const field = ([name, value]: [string, unknown]): [string, unknown] => {
      const typed: unknown = stored.get(name)
      return [name, typeof typed === typeof value ? typed : value]
    }
    return Object.fromEntries(Object.entries(empty).map(field)) as T
  } catch {
    // Another version has stored something else.
    return empty
  }
}

/** The drafts after a change. An empty text removes its draft. The draft that was changed last is the newest. */
export function withDraft(before: Drafts, key: string, text: string): Drafts {
  const others = [...before].filter(([other]) => other !== key)
  return new Map(text === '' ? others : [...others, [key, text] as const].slice(-MAX_DRAFTS))
}

/** Reads the drafts of a session from the storage, and removes those of any other session. */
export function openDrafts(session: string): void {
  owner = session
  drafts.value = parseDrafts(sessionStorage.getItem(KEY), session)
  store()
}

/** Takes the drafts out of the storage while the daemon is away. The page still has them. */
export function hideDrafts(): void {
  owner = null
  store()
}

/** Puts the drafts into the storage again. */
export function restoreDrafts(session: string): void {
  owner = session
  store()
}

/** Forgets the drafts, after the session has ended. */
export function forgetDrafts(): void {
  drafts.value = NO_DRAFTS
  hideDrafts()
}

/** The draft of `key`, such as a UUID or the name of a form; empty: there is none. Components that read a draft are redrawn at a change. */
export function draftOf(key: string): string {
  return drafts.value.get(key) ?? ''
}

export function keepDraft(key: string, text: string): void {
  drafts.value = withDraft(drafts.value, key, text)
  store()
}

function store(): void {
  try {
    if (owner === null || drafts.value.size === 0) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, JSON.stringify({ session: owner, drafts: [...drafts.value] }))
  } catch {
    // The storage is full or closed: the drafts stay as long as the page.
  }
}

/** Removes a draft that was sent. What was typed in the meantime stays. */
export function removeSentDraft(key: string, sent: string): void {
  if (draftOf(key) === sent) keepDraft(key, '')
}
