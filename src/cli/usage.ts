// What may stand at a place of a verb's command line, read from its usage in the table: a literal, or the name of a kind of
// word (`P`, `KEY`, `DIR`). So completion lists nothing that the table has already. Pure. Test: test/tables/completion.test.ts.

interface Word {
  readonly alternatives: readonly string[]
  /** may be repeated */
  readonly many: boolean
}

/** The literals and kinds that may follow the words that are there, in the order of the usage. */
export function nextWords(usage: readonly string[], before: readonly string[]): string[] {
  const found = usage.map(wordsOf).flatMap((words) => {
    const at = before.length
    const fits = before.every((word, index) => isIt(wordAt(words, index), word))
    return fits ? (wordAt(words, at)?.alternatives ?? []) : []
  })
  return [...new Set(found)]
}

function wordAt(words: readonly Word[], index: number): Word | undefined {
  const last = words.at(-1)
  return words[index] ?? (last?.many ? last : undefined)
}

function isIt(word: Word | undefined, typed: string): boolean {
  return word?.alternatives.some((one) => one === typed || !isLiteral(one)) ?? false
}

export function isLiteral(word: string): boolean {
  return /^[a-z][a-z-]*$/.test(word)
}

/** `reeve config trust|untrust [DIR]`: its words without the flags and what stands behind `--`. */
function wordsOf(usage: string): Word[] {
  const [words = ''] = usage.replaceAll(/\[(-[^\]]*|FLAG)\](\.\.\.)?/g, '').split(/ -- |"/)
  return words.replaceAll(' | ', '|').split(/\s+/).slice(2).filter((word) => word !== '').map((word) => {
    const many = word.replaceAll(/[[\]]/g, '').endsWith('...')
    return { alternatives: word.replaceAll(/[[\].]/g, '').split('|'), many }
  })
}
