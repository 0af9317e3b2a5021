// The command line that does the same as the page, with a button that copies it. Test: test/e2e/web/pages/cost.test.ts.
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { shellLine } from '../../src/api/text/shell-quote.ts'

export function CommandLine({ words }: { readonly words: readonly string[] }): JSX.Element {
  // The line may change after it was copied.
  const [copied, setCopied] = useState<string | null>(null)
  const line = shellLine(words)
  const copy = (): void => {
    navigator.clipboard.writeText(line).then(
      () => setCopied(line),
      // The browser forbids it; the line can be selected by hand.
      () => setCopied(null),
    )
  }
  return (
    <p class="command-line">
      <code>{line}</code>{' '}
      <button type="button" class="plain" onClick={copy}>
        {copied === line ? 'Copied' : 'Copy'}
      </button>
    </p>
  )
}
