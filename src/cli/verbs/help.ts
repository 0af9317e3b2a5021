// `reeve help`, from the table of verbs. Test: test/tables/cli-verbs.test.ts.
import { nearest } from '../../config/nearest.ts'
import type { Flag, Flags } from '../args.ts'
import { UsageError } from '../errors.ts'
import { pad } from '../text.ts'
import { COMMON, VERBS, type Call, type Verb } from '../verbs.ts'

const GROUPS: readonly (readonly [title: string, verbs: readonly string[]])[] = [
  ['Run and steer', ['run', 'attach', 'send', 'pause', 'resume', 'kill', 'stop', 'wait']],
  ['Look', ['ps', 'inspect', 'steps', 'logs', 'events', 'agents']],
  ['Around it', ['daemon', 'doctor', 'config', 'help', 'version']],
]

export async function run({ args, out }: Call): Promise<number> {
  const name = args.words[0]
  if (name !== undefined && !Object.hasOwn(VERBS, name)) {
    const near = nearest(name, Object.keys(VERBS))
    throw new UsageError(`no verb "${name}"`, near && `Did you mean \`reeve help ${near}\`?`)
  }
  const verb = name === undefined ? undefined : VERBS[name]
  if (out.json) await out.value(verb ? asData(name!, verb) : { verbs: Object.entries(VERBS).map(([each, row]) => asData(each, row)) })
  else await out.line(verb ? verbHelp(name!, verb) : overview())
  return 0
}

function overview(): string {
  const groups = GROUPS.map(([title, names]) => `${title}:\n${rows(names.map((name) => [name, VERBS[name]?.summary ?? '']))}`)
  return [
    'reeve runs AI agents as processes: list them, pause them, kill them, resume them.',
    'Usage: reeve VERB [FLAG]... [WORD]...',
    ...groups,
    'P is a PID, a name, or the first or last 4 digits (or more) of an ID. `reeve help VERB` tells more.',
  ].join('\n\n')
}

export function verbHelp(name: string, verb: Verb): string {
  return [
    `reeve ${name}: ${verb.summary}`,
    `Usage:\n${verb.usage.map((usage) => `  ${usage}`).join('\n')}`,
    ...verb.about.map((paragraph) => wrapped(paragraph)),
    `Flags:\n${rows(flagRows({ ...COMMON, ...verb.flags }))}`,
    wrapped(`Exit codes: ${verb.exits}.`),
    `Examples:\n${rows(verb.examples)}`,
  ].join('\n\n')
}

/** `-d, --detach` and `--name NAME` with their help; a verb's own flags first. */
export function flagRows(flags: Flags): [string, string][] {
  const own = Object.entries(flags).filter(([name]) => !(name in COMMON))
  const common = Object.entries(flags).filter(([name]) => name in COMMON)
  return [...own, ...common].map(([name, flag]) => [flagText(name, flag), flag.help])
}

function flagText(name: string, flag: Flag): string {
  return `${flag.short ? `-${flag.short}, ` : ''}--${name}${flag.value ? ` ${flag.value}` : ''}`
}

function rows(pairs: readonly (readonly [string, string])[]): string {
  const longest = Math.min(40, Math.max(...pairs.map(([left]) => left.length)))
  return pairs.map(([left, right]) => (left.length > longest ? `  ${left}\n  ${pad('', longest)}  ${right}` : `  ${pad(left, longest)}  ${right}`)).join('\n')
}

const WRAP_COLUMNS = 100

function wrapped(paragraph: string): string {
  const lines = ['']
  for (const word of paragraph.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + word.length >= WRAP_COLUMNS) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join('\n')
}

function asData(name: string, verb: Verb): object {
  const { summary, usage, about, examples, exits } = verb
  const flags = Object.entries({ ...COMMON, ...verb.flags }).map(([flag, row]) => ({ name: flag, ...row }))
  return { name, summary, usage, about, flags, exits, examples: examples.map(([command, what]) => ({ command, what })) }
}
