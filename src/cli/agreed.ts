// A question of yes or no to a person at a terminal; the caller has seen that there is one. Whatever is not yes is no.
// Test: test/e2e/cli-rm.test.ts, test/e2e/cli-history.test.ts.

export async function agreed(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    // Who closes the terminal or presses Ctrl+D has not said yes.
    const closed = new Promise<string>((resolve) => prompt.once('close', () => resolve('')))
    return /^y(es)?$/i.test((await Promise.race([prompt.question(`${question} [y/N] `), closed])).trim())
  } finally {
    prompt.close()
  }
}
