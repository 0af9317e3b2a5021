// Reads a unified diff for a viewer: each line with its kind and its numbers in the old and the new file. Also divides a diff by file,
// puts it side by side, and measures its width. Pure.
// Test: test/tables/faces/unified-diff.test.ts.

export interface DiffLine {
  /** `head`: the heading of a file; `hunk`: where a changed part begins; `note`: such as a missing newline */
  readonly kind: 'head' | 'hunk' | 'same' | 'added' | 'removed' | 'note'
  readonly text: string
  /** the number in the old file; null: not in it */
  readonly old: number | null
  /** the number in the new file; null: not in it */
  readonly new: number | null
}

/** Returns the lines of a diff of one file. Lines outside of hunks have the kind `head`. */
export function parseDiffLines(diff: string): DiffLine[] {
  // The counts of a hunk decide where it ends: the removed line `-- a` looks like the heading `--- a`.
  let [oldAt, newAt] = [0, 0]
  let [oldLeft, newLeft] = [0, 0]
  const lines = diff.endsWith('\n') ? diff.slice(0, -1).split('\n') : diff.split('\n')
  if (diff === '') return []
  return lines.map((line): DiffLine => {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line)
    if (hunk && oldLeft === 0 && newLeft === 0) {
      oldAt = Number(hunk[1])
      newAt = Number(hunk[3])
      oldLeft = Number(hunk[2] ?? 1)
      newLeft = Number(hunk[4] ?? 1)
      return { kind: 'hunk', text: line, old: null, new: null }
    }
    if (line.startsWith('\\')) return { kind: 'note', text: line.slice(2), old: null, new: null }
    if (oldLeft === 0 && newLeft === 0) return { kind: 'head', text: line, old: null, new: null }
    const text = line.slice(1)
    if (line.startsWith('-')) {
      oldLeft -= 1
      return { kind: 'removed', text, old: oldAt++, new: null }
    }
    if (line.startsWith('+')) {
      newLeft -= 1
      return { kind: 'added', text, old: null, new: newAt++ }
    }
    oldLeft -= 1
    newLeft -= 1
    return { kind: 'same', text, old: oldAt++, new: newAt++ }
  })
}

/** Divides a diff of several files at their headings. The key is the path of the file after the change, or of a deleted file before it. */
export function diffByFile(diff: string): Map<string, string> {
  const parts = diff.split(/^(?=diff --git )/m).filter((part) => part.startsWith('diff --git '))
  return new Map(parts.map((part) => [pathOf(part), part]))
}

function pathOf(part: string): string {
  const named = /^\+\+\+ (.*)$/m.exec(part)?.[1]
  const removed = /^--- (.*)$/m.exec(part)?.[1]
  const name = named !== undefined && named !== '/dev/null' ? named : removed
  if (name !== undefined && name !== '/dev/null') return unquoted(name).replace(/^[ab]\//, '')
  const renamed = /^(?:rename|copy) to (.*)$/m.exec(part)?.[1]
  if (renamed !== undefined) return unquoted(renamed)
  // A binary or an empty file: both halves of the heading are the same path.
  const heading = part.slice('diff --git '.length, part.indexOf('\n'))
  return unquoted(heading.slice((heading.length + 1) / 2)).replace(/^b\//, '')
}

/** Git writes a name with special characters in quotes, with bytes in octal; a tab ends a name with spaces. */
function unquoted(name: string): string {
  const plain = name.replace(/\t$/, '')
  if (!plain.startsWith('"')) return plain
  const bytes: number[] = []
  const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' }
  for (const [, octal, escape, other] of plain.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\])/gsu)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8))
    else bytes.push(...new TextEncoder().encode(escape === undefined ? (other ?? '') : (escapes[escape] ?? escape)))
  }
  return new TextDecoder().decode(Uint8Array.from(bytes))
}

/** A row of a diff side by side, with the old file at the left. null: a file has no line there. */
export interface SplitRow {
  readonly left: DiffLine | null
  readonly right: DiffLine | null
}

/** Puts the lines of a diff side by side: removed lines beside those that replace them. A heading of a changed part is on both sides. */
export function splitRows(lines: readonly DiffLine[]): SplitRow[] {
  const rows: SplitRow[] = []
  let removed: DiffLine[] = []
  let added: DiffLine[] = []
  const flush = (): void => {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1)
      rows.push({ left: removed[index] ?? null, right: added[index] ?? null })
    removed = []
    added = []
  }
  let side: 'removed' | 'added' | null = null
  for (const line of lines) {
    // A note, such as a missing newline, belongs to the side of the line before it.
    if (line.kind === 'removed' || (line.kind === 'note' && side === 'removed')) {
      if (added.length > 0) flush()
      removed.push(line)
      side = 'removed'
    } else if (line.kind === 'added' || (line.kind === 'note' && side === 'added')) {
      added.push(line)
      side = 'added'
    } else {
      flush()
      rows.push({ left: line, right: line })
      side = null
    }
  }
  flush()
  return rows
}

/** what is further right is shown only in the unified layout */
const MAX_COLUMNS = 1_000
const TAB_COLUMNS = 8

/** The number of columns that the longest line of a diff needs, up to a limit. Every character counts as one column, but a tab as eight. */
export function columnsOf(lines: readonly DiffLine[]): number {
  const widest = lines.reduce((most, { kind, text }) => (kind === 'hunk' ? most : Math.max(most, columnsOfText(text))), 0)
  return Math.min(MAX_COLUMNS, widest)
}

function columnsOfText(text: string): number {
  return text.includes('\t') ? text.length + (text.split('\t').length - 1) * (TAB_COLUMNS - 1) : text.length
}
