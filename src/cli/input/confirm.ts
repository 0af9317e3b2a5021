// Asks the user a yes-or-no question on the terminal; the caller has checked that there is a terminal. Any answer but yes means no. Test:
// test/e2e/cli/rm.test.ts, test/e2e/cli/gc-pin-archive.test.ts.

export async function askToConfirm(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    // A closed terminal and Ctrl+D mean no.
    const closed = new Promise<string>((resolve) => prompt.once('close', () => resolve('')))
    return /^y(es)?$/i.test((await Promise.race([prompt.question(`${question} [y/N] `), closed])).trim())
  } finally {
    prompt.close()
  }
}
