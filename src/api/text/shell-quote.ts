// Quotes words for a shell, so that each stays one word and nothing in it is expanded. Pure. Test:
// test/tables/api/text/shell-quote.test.ts.

/** Quotes a word if that is necessary. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** Returns a command as a line for the shell. A string already is such a line. */
export function shellLine(command: string | readonly string[]): string {
  return typeof command === 'string' ? command : command.map(shellWord).join(' ')
}
