// `reeve help`: prints the overview of all verbs, the page of a verb, or a topic. There is no pager: `reeve help run | less`. Test:
// test/tables/cli/table/manual.test.ts.
import { closestWord } from '../../../kernel/util/did-you-mean.ts'
import { COMMON_FLAGS } from '../../input/args.ts'
import { UsageError } from '../../errors.ts'
import { docsFolderNote } from '../../print/docs-pages.ts'
import { topicPage, verbPage } from '../../table/manual.ts'
import { padWidth } from '../../print/text.ts'
import { findVerb, listVerbs } from '../../table/verb-names.ts'
import type { Topic } from '../../table/topics.ts'
import type { Verb, VerbCall, VerbTable } from '../../table/verb.ts'

/**
 * All verbs by group, each with a short description. The overview has 21 columns for a description. A verb with an empty description
 * shares the cell of the next verb.
 */
export const VERB_GROUPS: readonly (readonly [title: string, verbs: Readonly<Record<string, string>>])[] = [
  ['Talk', { run: 'start a process', attach: 'watch and talk to it', send: 'send it a message', answer: '', needs: 'what waits for you' }],
  [
    'Look',
    {
      ps: '',
      top: 'list, watch, steer',
      web: '',
      open: 'open the web page',
      inspect: 'show one process',
      steps: 'show its model calls',
      diff: 'show its changes',
      logs: 'show text and output',
      search: 'find a text',
      events: 'show events',
      heartbeat: 'alive or stalled?',
      usage: 'tokens and cost',
      agents: 'list the agents',
      models: 'list the models',
    },
  ],
  [
    'Control',
    {
      pause: 'pause a process',
      resume: 'continue, or fork it',
      'list-resumable': 'what can continue',
      stop: 'stop it gracefully',
      kill: 'kill it, or signal it',
      signals: 'change its handlers',
      wait: 'wait for its end',
      mcp: 'reeve for MCP clients',
    },
  ],
  [
    'History',
    {
      rename: '',
      label: 'its name, its labels',
      pin: 'keep it from gc',
      gc: 'collect ended ones',
      rm: 'remove a process',
      merge: 'take its work',
      pr: 'push its work',
      export: '',
      import: 'to files and back',
      lineage: 'show its forks',
    },
  ],
  ['Groups', { crew: 'workers with tasks', compose: 'dependent agents' }],
  [
    'System',
    {
      daemon: 'start, stop, inspect',
      doctor: 'check the system',
      config: 'show and change it',
      completion: 'complete in shells',
      help: 'show help',
      version: 'show the version',
    },
  ],
]

const MIN_COLUMNS = 40
const MAX_COLUMNS = 100
/** the width of a page if that of the output is unknown */
const DEFAULT_COLUMNS = 80

export async function run({ args, out, loadVerbs }: VerbCall): Promise<number> {
  const verbs = await loadVerbs()
  const { TOPICS } = await import('../../table/topics.ts')
  const name = args.words.length === 0 ? undefined : args.words.join(' ')
  if (name === undefined) {
    if (out.json)
      await out.value({
        verbs: listVerbs(verbs).map(([each, row]) => verbJson(each, row)),
        topics: Object.entries(TOPICS).map(([each, { summary }]) => ({ name: each, summary })),
      })
    else await out.line(overviewPage(Object.keys(TOPICS), (text) => out.paint('bold', text)))
    return 0
  }
  const verb = findVerb(verbs, name)
  const topic = Object.hasOwn(TOPICS, name) ? TOPICS[name] : undefined
  if (!verb && !topic) throw unknownName(name, [...listVerbs(verbs).map(([each]) => each), ...Object.keys(TOPICS)])
  const columns = Number.isFinite(out.columns) ? Math.max(MIN_COLUMNS, Math.min(out.columns, MAX_COLUMNS)) : DEFAULT_COLUMNS
  const layout = { columns, heading: (text: string) => out.paint('bold', text) }
  if (out.json) await out.value(verb ? verbJson(name, verb) : { name, ...topic })
  else if (verb) await out.line(withDocsNote(verbPage(name, verb, seeAlso(verbs, name, TOPICS), layout)))
  else if (topic) await out.line(withDocsNote(topicPage(name, topic, layout)))
  return 0
}

/** Adds the path of the folder docs/, if the text names one of its pages. */
function withDocsNote(text: string): string {
  const note = docsFolderNote(text)
  return note === null ? text : `${text}\n\n${note}`
}

function unknownName(name: string, known: readonly string[]): UsageError {
  const near = closestWord(name, known)
  return new UsageError(
    `no verb and no topic "${name}"`,
    near ? `Did you mean \`reeve help ${near}\`?` : '`reeve help` lists all verbs and topics.',
  )
}

/** Returns what to read after a verb: the other verbs of its group or family, and the topics that name it. */
export function seeAlso(verbs: VerbTable, name: string, topics: Readonly<Record<string, Topic>>): string[] {
  const [family = ''] = name.split(' ')
  const parts = findVerb(verbs, family)?.parts
  if (parts) return [family, ...Object.keys(parts).map((part) => `${family} ${part}`)].filter((each) => each !== name)
  const group = VERB_GROUPS.find(([, members]) => name in members)?.[1] ?? {}
  const about = Object.keys(topics).filter((topic) => topics[topic]?.verbs.includes(name))
  return [...Object.keys(group).filter((verb) => verb !== name && verb !== 'help' && verb !== 'version'), ...about]
}

/** Returns the overview, with two verbs per line. The overview fits a screen of 24 rows and 80 columns. */
export function overviewPage(topics: readonly string[], heading: (text: string) => string): string {
  const groups = VERB_GROUPS.flatMap(([title, verbs]) => {
    const cells = sharedCells(verbs).map(([names, what]) => `${padWidth(names, 15)}${what}`)
    const rows = Math.ceil(cells.length / 2)
    return Array.from({ length: rows }, (_, row) =>
      `${row === 0 ? heading(padWidth(title, 8)) : ' '.repeat(8)}${padWidth(cells[row] ?? '', 36)}${cells[row + rows] ?? ''}`.trimEnd(),
    )
  })
  return [
    'reeve runs AI agents as processes. Usage: reeve VERB [FLAG]... [WORD]...',
    ...groups,
    '`reeve help VERB|TOPIC` explains one. P is a PID, a name, or digits of an ID.',
    `Topics: ${topics.join(', ')}`,
  ].join('\n')
}

/** Joins the verbs without a description with the next one: `export, import`. */
function sharedCells(verbs: Readonly<Record<string, string>>): [names: string, what: string][] {
  const cells: [string, string][] = []
  let names: string[] = []
  for (const [name, what] of Object.entries(verbs)) {
    names.push(name)
    if (what === '') continue
    cells.push([names.join(', '), what])
    names = []
  }
  return cells
}

function verbJson(name: string, verb: Verb): object {
  const { summary, usage, about, examples, exits } = verb
  const flags = Object.entries({ ...COMMON_FLAGS, ...verb.flags }).map(([flag, row]) => ({ name: flag, ...row }))
  return { name, summary, usage, about, flags, exits, examples: examples.map(([command, what]) => ({ command, what })) }
}
