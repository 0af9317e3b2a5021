// Patterns for names of processes, as in a shell. `*` is any text, and `?` any character. `[a-c]` is one of these characters, `[!a]` any
// other one. A backslash takes the next character as it is. The time of a match is bounded by the product of both lengths. Pure. Test:
// test/tables/cli/input/name-pattern.test.ts.

/** One part of a pattern: `*`, or a test of one character. */
type Part = '*' | ((char: string) => boolean)

/** Whether a word is a pattern, and not the reference of one process. */
export function isNamePattern(word: string): boolean {
  return /[*?]|\[[^\]]+\]/.test(word)
}

/** Returns the test of a name. */
export function nameMatcher(pattern: string): (name: string) => boolean {
  const parts = partsOf([...pattern])
  return (name) => matches(parts, [...name])
}

function partsOf(chars: readonly string[]): Part[] {
  const parts: Part[] = []
  for (let at = 0; at < chars.length; at++) {
    const char = chars[at]
    const end = char === '[' ? classEnd(chars, at) : -1
    if (char === '*') parts.push('*')
    else if (char === '?') parts.push(() => true)
    else if (end > 0) {
      parts.push(classTest(chars.slice(at + 1, end)))
      at = end
    } else {
      // A backslash at the end stands for itself.
      const literal = char === '\\' && at + 1 < chars.length ? chars[++at] : char
      parts.push((other) => other === literal)
    }
  }
  return parts
}

/** Returns the index of the bracket that closes a class; -1 if none does. A closing bracket at the beginning belongs to the class. */
function classEnd(chars: readonly string[], open: number): number {
  const first = chars[open + 1] === '!' || chars[open + 1] === '^' ? open + 2 : open + 1
  return chars.indexOf(']', first + 1)
}

function classTest(chars: readonly string[]): (char: string) => boolean {
  const isNegated = chars[0] === '!' || chars[0] === '^'
  const members = isNegated ? chars.slice(1) : chars
  const tests: ((char: string) => boolean)[] = []
  for (let at = 0; at < members.length; at++) {
    const [from = '', dash, to] = members.slice(at, at + 3)
    const isRange = dash === '-' && to !== undefined
    tests.push(isRange ? (char) => char >= from && char <= to : (char) => char === from)
    if (isRange) at += 2
  }
  return (char) => tests.some((test) => test(char)) !== isNegated
}

/** Matches greedily: after a mismatch only the last star takes one character more. */
function matches(parts: readonly Part[], chars: readonly string[]): boolean {
  let [part, char] = [0, 0]
  let star: { readonly part: number; char: number } | null = null
  while (char < chars.length) {
    const expected = parts[part]
    if (expected === '*') star = { part: part++, char }
    else if (expected?.(chars[char] ?? '')) [part, char] = [part + 1, char + 1]
    else if (star === null) return false
    else [part, char] = [star.part + 1, ++star.char]
  }
  return parts.slice(part).every((rest) => rest === '*')
}
