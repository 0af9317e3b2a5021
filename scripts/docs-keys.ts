// Writes docs/reference/keys.md from the table of keys and the list of pages: `node scripts/docs-keys.ts`.
// Test: test/tables/docs/keys.test.ts.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { actionsAt, GO_KEY, KEYS, keyTexts, type KeyPlace } from '../src/faces/keys.ts'

const root = new URL('..', import.meta.url)

const PLACES: readonly (readonly [KeyPlace, title: string, text: string])[] = [
  ['anywhere', 'Everywhere', 'These keys work on every page.'],
  ['list', 'In the list of processes', 'These keys apply to the selected row. Actions apply to all tagged rows instead, if there are any.'],
  ['need', 'On a question', 'These keys apply to the question that has the focus, or to the one that the peek or the page shows.'],
  ['process', 'On the page of a process', 'These keys apply to that process.'],
  ['dialog', 'In a dialog that ends processes', 'The key that opened the dialog never confirms it.'],
]

/** The pages with a key, as web/pages.ts lists them. */
function pageRows(): string[] {
  const source = readFileSync(new URL('web/pages.ts', root), 'utf8')
  return [...source.matchAll(/title: '([^']+)'[^\n]*? key: '([^']+)'/g)].map(
    ([, title, key]) => `| \`${GO_KEY} ${key}\` | opens ${title} |`,
  )
}

export function keysPage(): string {
  const sections = PLACES.map(([place, title, text]) => {
    const rows = actionsAt(new Set([place])).flatMap((action) =>
      action === 'goToPage'
        ? pageRows()
        : [
            `| ${keyTexts(action)
              .map((key) => `\`${key}\``)
              .join(' ')} | ${KEYS[action].does} |`,
          ],
    )
    return `## ${title}\n\n${text}\n\n| key | what it does |\n| --- | --- |\n${rows.join('\n')}`
  })
  return `# Keys of the page

The page of \`reeve web\` has a key for each action, and \`?\` shows those that work where you are.

Keys without Ctrl work only while no field has the focus, and not in the first 0.4 s of a dialog. The dialog of \`?\` can switch them off.
A question that appeared less than 0.4 s ago takes no key. A key for an answer stands for a kind of option, never for its position: \`a\` always means "allow once".
On a Mac, ⌘K does what Ctrl+K does.

${sections.join('\n\n')}
`
}

if (import.meta.main) writeFileSync(fileURLToPath(new URL('docs/reference/keys.md', root)), keysPage())
