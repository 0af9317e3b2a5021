// A change of one file, as a diff: removed and added lines, with some lines around them. Test: test/e2e/web/actions.test.ts.
import type { JSX } from 'preact'
import { linesOfChange, type ChangeLine } from '../../src/faces/ask-diff.ts'
import { visibleText } from '../../src/faces/visible-text.ts'
import type { AskDiffView } from '../../src/api/views/process.ts'

const SIGNS: Readonly<Record<ChangeLine['kind'], string>> = { same: '  ', removed: '- ', added: '+ ', note: '' }

export function Change({ change }: { readonly change: AskDiffView }): JSX.Element {
  return (
    <figure class="change">
      <figcaption>
        {visibleText(change.path)}
        {change.oldKnown ? (change.old === null ? ' (new file)' : '') : ' (its old text is not known)'}
      </figcaption>
      <pre>
        {linesOfChange(change).map(({ kind, text }, index) => (
          <span key={index} class={kind === 'note' ? 'quiet' : kind}>{`${SIGNS[kind]}${visibleText(text)}\n`}</span>
        ))}
      </pre>
    </figure>
  )
}
