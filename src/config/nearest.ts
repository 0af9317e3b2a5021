// The known word that a person most likely meant: one measure for verbs, flags, keys, tools and names.
// Pure, and loads nothing: the command line needs it for its errors. Test: test/tables/nearest.test.ts.

/** Longer words are not compared. */
const MAX_LETTERS = 64

/** The known word that begins with what was typed, or is at most two fifths of its letters away; undefined if none is near. */
export function nearest(typed: string, known: readonly string[]): string | undefined {
  const wanted = plain(typed)
  const begun = wanted.length >= 2 ? known.filter((word) => plain(word).startsWith(wanted)) : []
  if (begun.length === 1) return begun[0]
  const rated = known.map((word) => ({ word, far: distance(wanted, plain(word)) })).filter(({ word, far }) => far <= allowed(wanted, plain(word)))
  return rated.sort((a, b) => a.far - b.far)[0]?.word
}

/** Dashes before a flag and the case of letters do not make words differ. */
function plain(word: string): string {
  return word.replace(/^-+/, '').toLowerCase()
}

/** What shares half of its letters at most with a word is no slip of the fingers. */
function allowed(typed: string, word: string): number {
  return Math.min(Math.max(1, Math.floor(word.length * 0.4)), Math.floor(typed.length / 2))
}

/** Edit distance in which two swapped neighbours count once. */
function distance(a: string, b: string): number {
  if (a.length > MAX_LETTERS || b.length > MAX_LETTERS) return Infinity
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  const cell = (i: number, j: number): number => rows[i]?.[j] ?? Infinity
  for (let i = 1; i <= a.length; i++) {
    rows.push([i])
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      const swap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? cell(i - 2, j - 2) + 1 : Infinity
      rows[i]?.push(Math.min(cell(i - 1, j) + 1, cell(i, j - 1) + 1, cell(i - 1, j - 1) + same, swap))
    }
  }
  return cell(a.length, b.length)
}
