// Finds the words that can come next in the command line of a verb. Reads them from the usage lines in the verb table, so that completion
// needs no separate list. A word of a usage line is a literal, or the name of a kind (`P`, `KEY`, `DIR`). Pure.
// Test: test/tables/cli/completion/complete-line.test.ts.

/** A word of a usage. */
interface UsageWord {
  readonly alternatives: readonly string[]
  readonly isRepeatable: boolean
}

/** Returns the literals and kinds that can follow the words `before`, in the order of the usage. */
export function nextWords(usage: readonly string[], before: readonly string[]): string[] {
  const found = usage.map(usageWords).flatMap((words) => {
    const at = before.length
    const fits = before.every((word, index) => matchesWord(wordAt(words, index), word))
    return fits ? (wordAt(words, at)?.alternatives ?? []) : []
  })
  return [...new Set(found)]
}

function wordAt(words: readonly UsageWord[], index: number): UsageWord | undefined {
  const last = words.at(-1)
  return words[index] ?? (last?.isRepeatable ? last : undefined)
}

function matchesWord(word: UsageWord | undefined, typed: string): boolean {
  return word?.alternatives.some((alternative) => alternative === typed || !isLiteral(alternative)) ?? false
}

/** Whether a word of a usage is a literal, and not a kind. */
export function isLiteral(word: string): boolean {
  return /^[a-z][a-z-]*$/.test(word)
}

/** Parses a usage (`reeve config trust|untrust [DIR]`) without its flags and without the part after `--`. */
function usageWords(usage: string): UsageWord[] {
  const [words = ''] = usage.replaceAll(/\[(-[^\]]*|FLAG)\](\.\.\.)?/g, '').split(/ -- |"/)
  return words
    .replaceAll(' | ', '|')
    .split(/\s+/)
    .slice(2)
    .filter((word) => word !== '')
    .map((word) => {
      const isRepeatable = word.replaceAll(/[[\]]/g, '').endsWith('...')
      return { alternatives: word.replaceAll(/[[\].]/g, '').split('|'), isRepeatable }
    })
}
