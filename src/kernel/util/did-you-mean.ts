// Finds the known word that the user most likely meant, for verbs, flags, keys, tools and names. Pure. Must import nothing, because the
// command line loads this file at each start. Test: test/tables/kernel/util/did-you-mean.test.ts.

/** maximum length of the words that are compared */
const MAX_LETTERS = 64

/**
 * Returns the known word that begins with the typed text, if there is exactly one and the text has two letters. Otherwise returns the most
 * similar word; undefined if no word is similar.
 */
export function closestWord(typed: string, known: readonly string[]): string | undefined {
  const wanted = normalize(typed)
  const beginning = wanted.length >= 2 ? known.filter((word) => normalize(word).startsWith(wanted)) : []
  if (beginning.length === 1) return beginning[0]
  const similar = known
    .map((word) => ({ word, edits: distance(wanted, normalize(word)) }))
    .filter(({ word, edits }) => edits <= maxDistance(wanted, normalize(word)))
  return similar.sort((a, b) => a.edits - b.edits)[0]?.word
}

/** Removes the dashes before a flag and ignores case. */
function normalize(word: string): string {
  return word.replace(/^-+/, '').toLowerCase()
}

/**
 * Returns the maximum number of edits that count as a typing error. That is two fifths of the word, but at least one. It is never more than
 * half of the typed text.
 */
function maxDistance(typed: string, word: string): number {
  return Math.min(Math.max(1, Math.floor(word.length * 0.4)), Math.floor(typed.length / 2))
}

/** Returns the edit distance of two words. Swapped neighbouring letters count as one edit. */
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
