// docs/reference/api.md matches the code: every route, and every fact with the type and the fields of its event.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventOf } from '../../../src/daemon/loop/events.ts'
import { ROUTES } from '../../../src/daemon/http/routes.ts'
import type { FactBody } from '../../../src/kernel/model/facts.ts'
import { ROOT } from '../../support/env.ts'

const page = readFileSync(join(ROOT, 'docs/reference/api.md'), 'utf8')

/** Rows of all tables of the page, by cell. */
const tableRows = page
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .slice(2, -2)
      .split(/(?<!\\) \| /)
      .map((cell) => cell.trim()),
  )
const codeWords = (cell: string | undefined): string[] => [...(cell ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '')

test('the page has every route, and no other', () => {
  const routes = ROUTES.map(({ method, path }) => `${method} ${path}`)
  const documented = tableRows.flatMap(([first]) => codeWords(first)).filter((word) => /^(GET|POST|DELETE) \//.test(word))
  expect(documented.toSorted()).toEqual(routes.toSorted())
})

test('the page has every fact with the type of its event', () => {
  const union = ['src/kernel/model/facts.ts', 'src/kernel/model/crew/facts.ts', 'src/kernel/model/compose.ts']
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n')
  const facts = [...union.matchAll(/^ {2}\| \{\s+readonly type: '([a-z.]+)'(.*?)\}$/gms)].filter(([, type]) => type?.includes('.'))
  const documented = new Map(
    tableRows.filter((row) => row.length === 3 && codeWords(row[1])[0]?.includes('.')).map((row) => [codeWords(row[1])[0], row]),
  )
  expect([...documented.keys()].toSorted()).toEqual(facts.map(([, type]) => type).toSorted())
  for (const [, type = '', fields = ''] of facts) {
    const [shown, , described] = documented.get(type) ?? []
    const event = eventOf({ uuid: 'u', seq: 1, pid: 1, at: 0, cursor: 1, body: { type } as FactBody })
    expect(codeWords(shown), type).toEqual([event.type])
    const named = [...fields.matchAll(/readonly (\w+)\??:/g)]
      .map((match) => match[1])
      .filter((name) => name !== 'pid' && name !== 'elapsedMs')
    for (const name of named) expect(codeWords(described), `${type}: ${name}`).toContain(name === 'status' ? 'httpStatus' : name)
  }
})
