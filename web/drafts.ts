// What the user has typed and not sent: messages, replies and forms, by the UUID that they are for. It survives a reload, a new start of the
// daemon and a lost link, and goes when it was sent. Kept for each tab alone. Tests: test/tables/faces/process/drafts.test.ts,
// test/e2e/web/process/tabs.test.ts.
import { signal } from '@preact/signals'

const KEY = 'reeve.drafts'
/** the most drafts that are kept; the oldest go */
const MAX_DRAFTS = 50

type Drafts = ReadonlyMap<string, string>

/** null: not read yet */
const drafts = signal<Drafts | null>(null)

/** The drafts of a stored text, which another version of the page may have written. */
export function parseDrafts(stored: string | null): Drafts {
  try {
    const entries = JSON.parse(stored ?? '[]') as unknown
    const isDraft = (entry: unknown): entry is [string, string] =>
      Array.isArray(entry) && entry.length === 2 && entry.every((part) => typeof part === 'string')
    return new Map(Array.isArray(entries) ? entries.filter(isDraft) : [])
  } catch {
    // Another version has stored something else.
    return new Map()
  }
}

/** The drafts after a change. An empty text removes its draft; the draft that was changed last is the newest. */
export function withDraft(before: Drafts, key: string, text: string): Drafts {
  const others = [...before].filter(([other]) => other !== key)
  return new Map(text === '' ? others : [...others, [key, text] as const].slice(-MAX_DRAFTS))
}

function all(): Drafts {
  // A read writes no signal, because parts read it while they are drawn.
  return drafts.value ?? parseDrafts(sessionStorage.getItem(KEY))
}

/** The draft of `key`: a UUID, or a UUID and what of it. Empty: there is none. A part that reads it is drawn again when it changes. */
export function draftOf(key: string): string {
  return all().get(key) ?? ''
}

export function keepDraft(key: string, text: string): void {
  const next = withDraft(all(), key, text)
  drafts.value = next
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...next]))
  } catch {
    // The storage is full or closed: the drafts stay as long as the page.
  }
}

/** Removes a draft that was sent. What was typed in the meantime stays. */
export function removeSent(key: string, sent: string): void {
  if (draftOf(key) === sent) keepDraft(key, '')
}
