// The tasks of a crew in files of their own: YAML and Markdown give the same, and each mistake has its line.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readTasks } from '../../src/config/crew-tasks.ts'
import { tempDir } from '../support/tmp.ts'

async function read(name: string, text: string): Promise<unknown> {
  await using dir = await tempDir()
  const file = join(dir.path, name)
  writeFileSync(file, text)
  return readTasks(file).catch((error: Error) => error.message.replaceAll(dir.path, 'DIR'))
}

const TASKS = [
  { id: 'lexer', title: 'The lexer', text: 'Write it.\n\n```md\n## not: a task\n```', acceptance: '- It has tests.' },
  { id: 'parser', title: 'The parser', text: 'The parser', needs: ['lexer', 'ask'], reviews: false, role: 'implementer' },
  { id: 'ask', title: 'Which grammar?', text: 'A or B?', kind: 'human' },
  { title: 'Clean up', text: 'Clean up' },
]

const YAML = `- id: lexer
  title: The lexer
  text: |
    Write it.

    \`\`\`md
    ## not: a task
    \`\`\`
  acceptance: [It has tests.]
- { id: parser, title: The parser, needs: [lexer, ask], reviews: false, role: implementer }
- { id: ask, title: "Which grammar?", text: A or B?, kind: human }
- { title: Clean up }
`

const MARKDOWN = `# What is to be done

Words before the first task are for people.

## lexer: The lexer

Write it.

\`\`\`md
## not: a task
\`\`\`

### Acceptance

- It has tests.

## parser: The parser
needs: lexer, ask
reviews: no
role: implementer

## ask: Which grammar? ##
kind: human
A or B?

## Clean up
`

test.each([
  ['a list', 'tasks.yaml', YAML], ['a list behind a comment', 'tasks.yml', `# mine\n\n---\n${YAML}`], ['a map', 'tasks.yaml', `tasks:\n${YAML.replaceAll(/^/gm, '  ')}`],
  ['Markdown', 'tasks.md', MARKDOWN], ['Markdown with CRLF', 'tasks.md', MARKDOWN.replaceAll('\n', '\r\n')],
])('%s', async (_, name, text) => {
  expect(await read(name, text)).toEqual(TASKS)
})

test('a long first line is no title', async () => {
  expect(await read('t.yaml', `- ${'x'.repeat(150)}`)).toMatch(/t.yaml:1: /)
  expect(await read('t.yaml', `- text: ${'x'.repeat(150)}`)).toMatchObject([{ title: `${'x'.repeat(99)}…` }])
})

describe('is refused with its place', () => {
  test.each([
    ['a misspelt key', 't.yaml', '- text: x\n- txet: y', /^DIR\/t.yaml:2: unknown key `tasks.1.txet`; did you mean `text`\?$/],
    ['a need that is none', 't.yaml', 'tasks:\n  - { id: a, text: x }\n  - { text: y, needs: [b] }', 'DIR/t.yaml:3: tasks.1.needs: there is no task `b`; there are a'],
    ['nothing', 't.yaml', '', /^DIR\/t.yaml:1: tasks: /],
    ['no YAML', 't.yaml', 'tasks: [', /^DIR\/t.yaml:1: not valid YAML: /],
    ['no task', 't.md', '# Only a title\n', 'DIR/t.md:1: there is no task in it: each begins with a line `## Title`, or `## id: Title`'],
    ['an id twice', 't.md', '## a: One\n\n## a: Two\n', 'DIR/t.md:3: the id a is there twice'],
    ['a cycle', 't.md', '## a: One\nneeds: b\n\n## b: Two\nneeds: a\n', 'DIR/t.md:1: tasks wait for each other: a needs b needs a'],
    ['a kind that is none', 't.md', '## a: One\nneeds: a\nkind: robot\n', /^DIR\/t.md:3: kind: must be one of work, human$/],
    ['a need that is none in Markdown', 't.md', '## a: One\n\ntext\n\n## Two\nneeds: b\n', 'DIR/t.md:5: there is no task `b`; there are a'],
  ])('%s', async (_, name, text, message) => {
    const said = await read(name, text)
    if (typeof message === 'string') expect(said).toBe(message)
    else expect(said).toMatch(message)
  })

  test('a file that is not there', async () => {
    await expect(readTasks('/nowhere/tasks.md')).rejects.toMatchObject({ code: 'AGENT_INVALID', message: '/nowhere/tasks.md: it is not there' })
  })
})
