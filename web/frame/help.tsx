// The keys that work on the current page, from the table of keys. Test: test/e2e/web/keys.test.ts.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { GO_KEY, KEYS, keyTexts, type KeyAction } from '../../src/faces/keys.ts'
import { availableActions, hasSingleKeys, setSingleKeys } from '../keyboard.ts'
import { PAGES } from '../pages.ts'
import { Dialog } from '../dialogs/dialog.tsx'

const opened = signal<readonly KeyAction[] | null>(null)

/** Shows the keys that work now. */
export function openHelp(): void {
  opened.value = availableActions()
}

export function HelpDialog(): JSX.Element | null {
  if (!opened.value) return null
  return (
    <Dialog title="Keys" onClose={() => (opened.value = null)}>
      <div class="key-list">
        {opened.value
          .filter((action) => action !== 'goToPage')
          .map((action) => (
            <KeyLine key={action} keys={keyTexts(action)} does={KEYS[action].does} />
          ))}
        {PAGES.map(({ key, title }) =>
          key === undefined ? null : <KeyLine key={title} keys={[`${GO_KEY} ${key}`]} does={`open ${title}`} />,
        )}
      </div>
      <label>
        <input type="checkbox" checked={hasSingleKeys.value} onChange={(event) => setSingleKeys(event.currentTarget.checked)} /> keys
        without Ctrl work
      </label>
    </Dialog>
  )
}

function KeyLine({ keys, does }: { readonly keys: readonly string[]; readonly does: string }): JSX.Element {
  return (
    <p>
      <span class="key-names">
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </span>
      {does}
    </p>
  )
}
