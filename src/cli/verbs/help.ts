// `reeve help`: all verbs on one screen, a verb's page from the table of verbs, or a topic. It uses no pager: `reeve help run | less`.
// Test: test/tables/cli-help.test.ts.
import { nearest } from '../../config/nearest.ts'
import { COMMON } from '../args.ts'
import { UsageError } from '../errors.ts'
import { topicPage, verbPage } from '../manual.ts'
import { pad } from '../text.ts'
import { everyVerb, verbNamed } from '../verb-names.ts'
import type { Call, Verb } from '../verbs.ts'
import type { Topic } from '../topics.ts'

/** All verbs, each with what it does in a few words. */
export const GROUPS: readonly (readonly [title: string, verbs: Readonly<Record<string, string>>])[] = [
  ['Talk', { run: 'start a process', attach: 'watch it, talk to it', send: 'send it a message', answer: 'what it asks' }],
  ['Look', { ps: 'list the processes', inspect: 'all about one', steps: 'its model calls', logs: 'what it said', events: 'what happened', heartbeat: 'who gets on', usage: 'tokens and cost', agents: 'what can be run' }],
  ['Steer', { pause: 'hold it', resume: 'go on, or fork it', 'list-resumable': 'and how', stop: 'end it, with time', kill: 'end it; send a signal', signals: 'what becomes of them', wait: 'until it is so', mcp: 'all this, for agents' }],
  ['Keep', { pin: 'keep it', gc: 'collect what ended', rm: 'remove it', export: 'to files', import: 'from files', lineage: 'its family of forks' }],
  ['Many', { crew: 'workers with tasks', compose: 'agents in an order' }],
  ['Around', { daemon: 'start, stop, look', doctor: 'what works here', config: 'show and change it', completion: 'for your shell', help: 'this', version: 'which one this is' }],
]

const NARROWEST = 40
const WIDEST = 100
/** Where nobody says how wide it is. */
const USUAL = 80

export async function run({ args, out }: Call): Promise<number> {
  const { TOPICS } = await import('../topics.ts')
  const name = args.words.length === 0 ? undefined : args.words.join(' ')
  if (name === undefined) {
    if (out.json) await out.value({ verbs: everyVerb().map(([each, row]) => asData(each, row)), topics: Object.entries(TOPICS).map(([each, { summary }]) => ({ name: each, summary })) })
    else await out.line(overview(Object.keys(TOPICS), (text) => out.paint('bold', text)))
    return 0
  }
  const verb = verbNamed(name)
  const topic = Object.hasOwn(TOPICS, name) ? TOPICS[name] : undefined
  if (!verb && !topic) throw unknown(name, [...everyVerb().map(([each]) => each), ...Object.keys(TOPICS)])
  const columns = Number.isFinite(out.columns) ? Math.max(NARROWEST, Math.min(out.columns, WIDEST)) : USUAL
  const layout = { columns, heading: (text: string) => out.paint('bold', text) }
  if (out.json) await out.value(verb ? asData(name, verb) : { name, ...topic })
  else if (verb) await out.line(verbPage(name, verb, seeAlso(name, TOPICS), layout))
  else if (topic) await out.line(topicPage(name, topic, layout))
  return 0
}

function unknown(name: string, known: readonly string[]): UsageError {
  const near = nearest(name, known)
  return new UsageError(`no verb and no topic "${name}"`, near ? `Did you mean \`reeve help ${near}\`?` : '`reeve help` lists all verbs and topics.')
}

/** The verbs of its group, or the parts of its family, and the topics where it matters. */
export function seeAlso(name: string, topics: Readonly<Record<string, Topic>>): string[] {
  const [family = ''] = name.split(' ')
  const parts = verbNamed(family)?.parts
  if (parts) return [family, ...Object.keys(parts).map((part) => `${family} ${part}`)].filter((each) => each !== name)
  const group = GROUPS.find(([, verbs]) => name in verbs)?.[1] ?? {}
  const about = Object.keys(topics).filter((topic) => topics[topic]?.verbs.includes(name))
  return [...Object.keys(group).filter((verb) => verb !== name && verb !== 'help' && verb !== 'version'), ...about]
}

/** On one screen of 24 rows and 80 columns: two verbs on a line. */
export function overview(topics: readonly string[], heading: (text: string) => string): string {
  const groups = GROUPS.flatMap(([title, verbs]) => {
    const cells = Object.entries(verbs).map(([name, what]) => `${pad(name, 15)}${what}`)
    const rows = Math.ceil(cells.length / 2)
    return Array.from({ length: rows }, (_, row) => `${row === 0 ? heading(pad(title, 8)) : ' '.repeat(8)}${pad(cells[row] ?? '', 36)}${cells[row + rows] ?? ''}`.trimEnd())
  })
  return [
    'reeve runs AI agents as processes: list, pause, kill and resume them.',
    'Usage: reeve VERB [FLAG]... [WORD]...   `reeve help VERB` tells all about one.',
    '',
    ...groups,
    'P in a usage is a PID, a name, or 4 digits (or more) of an ID, from either end.',
    `Topics: ${topics.slice(0, 5).join(', ')},`,
    `        ${topics.slice(5).join(', ')}   (\`reeve help TOPIC\`)`,
  ].join('\n')
}

function asData(name: string, verb: Verb): object {
  const { summary, usage, about, examples, exits } = verb
  const flags = Object.entries({ ...COMMON, ...verb.flags }).map(([flag, row]) => ({ name: flag, ...row }))
  return { name, summary, usage, about, flags, exits, examples: examples.map(([command, what]) => ({ command, what })) }
}
