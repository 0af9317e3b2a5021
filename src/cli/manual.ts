// The pages of `reeve help`: a verb's row and a topic laid out for so many columns. Pure: headings are painted by a function.
// No line is wider than asked. Test: test/tables/cli-help.test.ts.
import { COMMON, type Flag, type Flags } from './args.ts'
import { pad, width } from './text.ts'
import type { Topic } from './topics.ts'
import type { Verb } from './verbs.ts'

export interface Layout {
  readonly columns: number
  readonly heading: (text: string) => string
}

const INDENT = 4
/** The left of a table takes at most so much of a line. */
const LEFT_SHARE = 0.35

/** `see` are the verbs and topics to read next. */
export function verbPage(name: string, verb: Verb, see: readonly string[], layout: Layout): string {
  return page(layout, [
    ['NAME', wrapped(`reeve ${name} - ${lower(verb.summary)}`, layout)],
    ['SYNOPSIS', verb.usage.flatMap((usage) => wrapped(usage, layout))],
    ['DESCRIPTION', paragraphs(verb.about, layout)],
    ['FLAGS', table(flagRows({ ...COMMON, ...verb.flags }), layout)],
    ['EXAMPLES', examples(verb.examples, layout)],
    ['EXIT STATUS', exits(verb.exits, layout)],
    ['SEE ALSO', seeAlso(see, layout)],
  ])
}

export function topicPage(name: string, topic: Topic, layout: Layout): string {
  return page(layout, [
    ['NAME', wrapped(`${name} - ${lower(topic.summary)}`, layout)],
    ['DESCRIPTION', paragraphs(topic.text, layout)],
    ['SEE ALSO', seeAlso(topic.verbs, layout)],
  ])
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

function page({ heading }: Layout, sections: readonly (readonly [string, readonly string[]])[]): string {
  return sections.filter(([, lines]) => lines.length > 0).map(([title, lines]) => `${heading(title)}\n${lines.join('\n')}`).join('\n\n')
}

function paragraphs(parts: Topic['text'], layout: Layout): string[] {
  return parts.flatMap((part, index) => [...(index > 0 ? [''] : []), ...(typeof part === 'string' ? wrapped(part, layout) : table(part, layout))])
}

/** Side by side if all fit on their lines, else what each does below it. */
function examples(pairs: Verb['examples'], layout: Layout): string[] {
  const [left, right] = [0, 1].map((side) => Math.max(...pairs.map((pair) => width(pair[side] ?? '')))) as [number, number]
  if (INDENT + left + 2 + right <= layout.columns) return pairs.map(([command, what]) => `${' '.repeat(INDENT)}${pad(command, left)}  ${what}`)
  return pairs.flatMap(([command, what]) => [...wrapped(command, layout), ...wrapped(what, layout, INDENT * 2)])
}

function seeAlso(names: readonly string[], layout: Layout): string[] {
  return names.length === 0 ? [] : wrapped(`${names.join(', ')}: \`reeve help NAME\``, layout)
}

/** `0; 3 no such process; 64 usage` by code; what is no code stays a sentence. */
function exits(text: string, layout: Layout): string[] {
  const parts = text.split('; ').map((part) => /^(\d+) ?(.*)$/.exec(part))
  if (parts.some((part) => part === null)) return wrapped(`${text}.`, layout)
  return table(parts.map((part): [string, string] => [part?.[1] ?? '', part?.[2] || 'it was done']), layout)
}

/** Pairs side by side; where the left one is too long, the right one stands below it. */
function table(pairs: readonly (readonly [string, string])[], layout: Layout): string[] {
  const most = Math.floor(layout.columns * LEFT_SHARE)
  const left = Math.min(most, Math.max(...pairs.map(([one]) => width(one))))
  const indent = INDENT + left + 2
  return pairs.flatMap(([one, other]) => {
    const rest = wrapped(other, layout, indent)
    if (width(one) > left) return [...wrapped(one, layout), ...rest]
    const [first = '', ...more] = rest
    return [`${' '.repeat(INDENT)}${pad(one, left)}  ${first.trimStart()}`.trimEnd(), ...more]
  })
}

/** Words in lines. A word that is too long for one stands alone. */
function wrapped(text: string, { columns }: Layout, indent = INDENT): string[] {
  const room = Math.max(20, columns - indent)
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line === undefined || width(line) + 1 + width(word) > room) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines.filter((line) => line !== '').map((line) => ' '.repeat(indent) + line)
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
