// The command line that does the same as the page, with a button that copies it. Test: test/e2e/web/pages/cost.test.ts.
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { shellLine } from '../../src/api/text/shell-quote.ts'

export function CommandLine({ words }: { readonly words: readonly string[] }): JSX.Element {
  const [isCopied, setCopied] = useState(false)
  const line = shellLine(words)
  const copy = (): void => {
    navigator.clipboard.writeText(line).then(
      () => setCopied(true),
      // The browser forbids it; the line can be selected by hand.
      () => setCopied(false),
    )
  }
  return (
    <p class="command-line">
      <code>{line}</code>{' '}
      <button type="button" class="plain" onClick={copy}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </p>
  )
}
