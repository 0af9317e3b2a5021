// The pages of `reeve help`: each is complete, and no line is wider than the terminal.
import { describe, expect, test } from 'vitest'
import { COMMON_FLAGS } from '../../../../src/cli/input/args.ts'
import { topicPage, verbPage } from '../../../../src/cli/table/manual.ts'
import { TOPICS } from '../../../../src/cli/table/topics.ts'
import { listVerbs } from '../../../../src/cli/table/verb-names.ts'
import { VERBS } from '../../../../src/cli/table/verbs.ts'
import { VERB_GROUPS, overviewPage, seeAlso } from '../../../../src/cli/verbs/system/help.ts'

const unstyled = (text: string): string => text
const layoutOf = (columns: number) => ({ columns, heading: unstyled })
const withSingleSpaces = (text: string): string => text.replaceAll(/\s+/g, ' ')
const linesOf = (text: string): string[] => text.split('\n')

describe.each(listVerbs(VERBS))('the verb %s', (name, verb) => {
  const references = seeAlso(VERBS, name, TOPICS)

  test('has a page with all texts of its row', () => {
    const page = verbPage(name, verb, references, layoutOf(80))
    expect(linesOf(page).filter((line) => /^[A-Z]/.test(line))).toEqual([
      'NAME',
      'SYNOPSIS',
      'DESCRIPTION',
      'FLAGS',
      'EXAMPLES',
      'EXIT STATUS',
      ...(references.length > 0 ? ['SEE ALSO'] : []),
    ])
    const pageText = withSingleSpaces(page)
    for (const text of [
      ...verb.usage,
      ...verb.about,
      ...verb.examples.flat(),
      ...Object.values({ ...COMMON_FLAGS, ...verb.flags }).map(({ help }) => help),
    ])
      expect(pageText).toContain(withSingleSpaces(text))
    for (const flag of Object.keys(verb.flags)) expect(pageText).toContain(`--${flag}`)
  })

  test.each([40, 80, 100])('fits %d columns, except for longer words', (columns) => {
    for (const line of linesOf(verbPage(name, verb, references, layoutOf(columns))))
      if (line.trim().includes(' ')) expect(line.length, line).toBeLessThanOrEqual(columns)
  })
})

describe.each(Object.entries(TOPICS))('the topic %s', (name, topic) => {
  test('fits a screen of 80 columns and 40 rows', () => {
    const page = linesOf(topicPage(name, topic, layoutOf(80)))
    for (const line of page) expect(line.length, line).toBeLessThanOrEqual(80)
    expect(page.length).toBeLessThanOrEqual(40)
  })

  test('names existing verbs and flags, and is not a verb itself', () => {
    expect(topic.verbs.filter((verb) => !(verb in VERBS))).toEqual([])
    expect(Object.hasOwn(VERBS, name)).toBe(false)
    const allText = topic.text.flat(2).join(' ')
    for (const [, verb = ''] of allText.matchAll(/`reeve ([a-z]+)/g)) expect(VERBS, verb).toHaveProperty(verb)
    for (const [, flag = ''] of allText.matchAll(/--([a-z][a-z-]+)/g))
      expect(
        listVerbs(VERBS).some(([, verb]) => flag in verb.flags),
        flag,
      ).toBe(true)
  })
})

test('the overview is one screen of 24 rows and 80 columns, the prompt included', () => {
  const page = linesOf(overviewPage(Object.keys(TOPICS), unstyled))
  expect(page.length).toBeLessThan(24)
  for (const line of page) expect(line.length, line).toBeLessThanOrEqual(80)
})

test('the overview lists each verb and each topic once', () => {
  expect(VERB_GROUPS.flatMap(([, verbs]) => Object.keys(verbs)).toSorted()).toEqual(Object.keys(VERBS).toSorted())
  const page = overviewPage(Object.keys(TOPICS), unstyled)
  for (const name of [...Object.keys(VERBS), ...Object.keys(TOPICS)]) expect(page).toMatch(new RegExp(`(^|\\s)${name}([\\s,]|$)`, 'm'))
})

test('a page has the layout of a manual page', () => {
  expect(verbPage('stop', VERBS['stop']!, seeAlso(VERBS, 'stop', TOPICS), { columns: 60, heading: (text) => `*${text}*` }))
    .toMatchInlineSnapshot(`
      "*NAME*
          reeve stop - stop processes gracefully

      *SYNOPSIS*
          reeve stop [--dry-run] P...
          reeve stop [--dry-run] -l LABEL
          reeve stop [--dry-run] --all [--yes]

      *DESCRIPTION*
          Sends SIGTERM with a grace of 10 s (longer if the agent
          file sets it), then SIGKILL. It returns when the process
          has ended. A stopped process can be resumed.

          After the end of an agent a line lists what was
          interrupted and what is kept. \`--dry-run\` lists that
          before, and changes nothing. It shows open calls, files
          that are not recorded, queued messages, children, tasks
          and nodes.

          P may be a pattern in quotes, such as \`'web*'\`: it
          selects the living processes with such a name. \`-l
          team=web\` selects those with a label. \`--all\` selects
          all, and asks first on a terminal. \`reeve help
          references\` has the rules.

      *FLAGS*
          --dry-run          only show what would be lost and kept
          -l, --label LABEL  only processes with this label:
                             KEY=VALUE, or KEY with any value; all
                             given ones must match
          --all              stop all living processes
          -y, --yes          with --all: do not ask
          --json             print JSON (an object with "version":
                             1; streams are one object per line)
          -q, --quiet        print only errors on stderr
          --no-color         no colours (as with NO_COLOR, or
                             without a terminal)
          -h, --help         show this help

      *EXAMPLES*
          reeve stop 5
              resume it later with \`reeve resume 5\`
          reeve stop docs 'web*'
              one, and all whose name begins with web
          reeve stop --dry-run 5
              what that would cost
          reeve stop -l team=web
              all with that label
          reeve stop --all
              all, after a question

      *EXIT STATUS*
          0   success
          1   refused, not confirmed, or not ended in time
          3   no such process
          4   the daemon cannot be reached
          64  usage error

      *SEE ALSO*
          pause, resume, list-resumable, kill, signals, wait, mcp,
          references, resuming: \`reeve help NAME\`"
    `)
})
