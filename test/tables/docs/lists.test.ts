// Lists that help and pages repeat as text: each holds every word of the list in the code.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TOPICS } from '../../../src/cli/table/topics.ts'
import { VERBS } from '../../../src/cli/table/verbs.ts'
import { DEFAULTS, USER_FORMAT } from '../../../src/config/config.ts'
import { OWN_TOOLS } from '../../../src/daemon/mcp/own-tools.ts'
import { SIGNAL_TABLE } from '../../../src/kernel/model/signals.ts'
import { LIMIT_NAMES, NATIVE_TOOLS, SIGNALS } from '../../../src/kernel/model/words.ts'
import { ROOT } from '../../support/env.ts'

const readPage = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
/** The words in code marks in the first cells of all tables. */
const firstCells = (path: string): string[] =>
  [...readPage(path).matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word),
  )

test.each(SIGNALS)('%s is in the help and the pages, with its number', (name) => {
  const { number, posix, blockable } = SIGNAL_TABLE[name]
  for (const verb of ['kill', 'signals']) expect(VERBS[verb]?.about.join(' ')).toContain(`${name} (${posix}`)
  expect(OWN_TOOLS.find((tool) => tool.name === 'signal')?.description).toContain(name)
  expect(readPage('docs/concepts/signals.md')).toContain(`| ${name} | ${number} | ${posix} | ${blockable ? 'yes' : 'no'} |`)
})

test.each(LIMIT_NAMES)('the limit %s is in docs/reference/limits.md', (name) => {
  expect(readPage('docs/reference/limits.md')).toContain(`\`${name}\``)
})

test.each(NATIVE_TOOLS)('the tool %s is in the pages', (name) => {
  expect(firstCells('docs/reference/tools.md')).toContain(name)
  expect(readPage('docs/reference/agents.md')).toMatch(new RegExp(`^\\| \`tools\` \\| of \`[\\w ]*\\b${name}\\b`, 'm'))
})

test.each(USER_FORMAT.knownKeys([]))('the setting %s is in the table of settings', (key) => {
  const [, table = ''] = readPage('docs/reference/agents.md').split('| key | default | who | environment |')
  expect(table).toMatch(new RegExp(`^\\| [^|]*\`${key}\``, 'm'))
})

test('the help names the built-in providers', () => {
  const [, names = ''] = /^Built-in providers: ([\w, -]+)\./m.exec(TOPICS['keys']?.text.flat(2).join('\n') ?? '') ?? []
  expect(names.split(', ').toSorted()).toEqual(DEFAULTS.providers.map(({ name }) => name).toSorted())
})
