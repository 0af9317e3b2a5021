// A change of one file, as removed and added lines. Test: test/e2e/web/actions.test.ts.
import type { JSX } from 'preact'
import { visibleText } from '../../src/faces/visible-text.ts'
import type { AskDiffView } from '../../src/api/views/process.ts'

export function Change({ change }: { readonly change: AskDiffView }): JSX.Element {
  const removed = change.old === null || change.old === '' ? [] : change.old.split('\n')
  const added = change.new === '' ? [] : change.new.split('\n')
  return (
    <figure class="change">
      <figcaption>
        {visibleText(change.path)}
        {change.old === null ? (change.oldKnown ? ' (new file)' : ' (its old text is not known)') : ''}
      </figcaption>
      <pre>
        {removed.map((line, index) => (
          <span key={`-${index}`} class="removed">{`- ${visibleText(line)}\n`}</span>
        ))}
        {added.map((line, index) => (
          <span key={`+${index}`} class="added">{`+ ${visibleText(line)}\n`}</span>
        ))}
      </pre>
      {change.cut > 0 ? <p class="problem">{change.cut} characters are not shown.</p> : null}
    </figure>
  )
}
