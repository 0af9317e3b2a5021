// Formats the pages of `reeve help` about a verb or a topic, for a number of columns. Pure: the caller passes the function that styles
// headings. Only a single long word may be wider than the columns. Test: test/tables/cli/table/manual.test.ts.
import { COMMON_FLAGS, type Flag, type FlagTable } from '../input/args.ts'
import { padWidth, displayWidth } from '../print/text.ts'
import type { Topic } from './topics.ts'
import type { Verb } from './verb.ts'

export interface Layout {
  readonly columns: number
  /** returns a heading with its style */
  readonly heading: (text: string) => string
}

const INDENT = 4
/** the greatest part of a line that the left column of a table may use */
const MAX_LEFT_SHARE = 0.35

/** Returns the page of a verb. `see`: the verbs and topics to read next. */
export function verbPage(name: string, verb: Verb, see: readonly string[], layout: Layout): string {
  return page(layout, [
    ['NAME', wrapText(`reeve ${name} - ${lowerFirst(verb.summary)}`, layout)],
    ['SYNOPSIS', verb.usage.flatMap((usage) => wrapText(usage, layout))],
    ['DESCRIPTION', paragraphLines(verb.about, layout)],
    ['FLAGS', table(flagRows({ ...COMMON_FLAGS, ...verb.flags }), layout)],
    ['EXAMPLES', exampleLines(verb.examples, layout)],
    ['EXIT STATUS', exitLines(verb.exits, layout)],
    ['SEE ALSO', seeAlsoLines(see, layout)],
  ])
}

export function topicPage(name: string, topic: Topic, layout: Layout): string {
  return page(layout, [
    ['NAME', wrapText(`${name} - ${lowerFirst(topic.summary)}`, layout)],
    ['DESCRIPTION', paragraphLines(topic.text, layout)],
    ['SEE ALSO', seeAlsoLines(topic.verbs, layout)],
  ])
}

/** Returns pairs of a flag (`-d, --detach`, `--name NAME`) and its help. Common flags are last. */
export function flagRows(flags: FlagTable): [string, string][] {
  const ofVerb = Object.entries(flags).filter(([name]) => !(name in COMMON_FLAGS))
  const common = Object.entries(flags).filter(([name]) => name in COMMON_FLAGS)
  return [...ofVerb, ...common].map(([name, flag]) => [flagText(name, flag), flag.help])
}

function flagText(name: string, flag: Flag): string {
  return `${flag.short ? `-${flag.short}, ` : ''}--${name}${flag.value ? ` ${flag.value}` : ''}`
}

function page({ heading }: Layout, sections: readonly (readonly [string, readonly string[]])[]): string {
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => `${heading(title)}\n${lines.join('\n')}`)
    .join('\n\n')
}

function paragraphLines(parts: Topic['text'], layout: Layout): string[] {
  return parts.flatMap((part, index) => [
    ...(index > 0 ? [''] : []),
    ...(typeof part === 'string' ? wrapText(part, layout) : table(part, layout)),
  ])
}

/** Formats examples. The description is beside the command if that fits for all examples, else below it. */
function exampleLines(pairs: Verb['examples'], layout: Layout): string[] {
  const [left, right] = [0, 1].map((side) => Math.max(...pairs.map((pair) => displayWidth(pair[side] ?? '')))) as [number, number]
  if (INDENT + left + 2 + right <= layout.columns)
    return pairs.map(([command, what]) => `${' '.repeat(INDENT)}${padWidth(command, left)}  ${what}`)
  return pairs.flatMap(([command, what]) => [...wrapText(command, layout), ...wrapText(what, layout, INDENT * 2)])
}

function seeAlsoLines(names: readonly string[], layout: Layout): string[] {
  return names.length === 0 ? [] : wrapText(`${names.join(', ')}: \`reeve help NAME\``, layout)
}

function exitLines(text: string, layout: Layout): string[] {
  const rows = exitRows(text)
  return rows.some(([code]) => code !== '') ? table(rows, layout) : wrapText(`${text}.`, layout)
}

/** Splits `0; 3 no such process; the code of the process` into pairs of a code and its meaning. A part without a code has an empty one. */
export function exitRows(text: string): [string, string][] {
  return text.split('; ').map((part) => {
    const [, code = '', meaning = part] = /^(\d+) ?(.*)$/.exec(part) ?? []
    return [code, meaning || 'success']
  })
}

/** Formats pairs side by side. If a left side is too long, its right side is below it. */
function table(pairs: readonly (readonly [string, string])[], layout: Layout): string[] {
  const maxLeft = Math.floor(layout.columns * MAX_LEFT_SHARE)
  const left = Math.min(maxLeft, Math.max(...pairs.map(([text]) => displayWidth(text))))
  const indent = INDENT + left + 2
  return pairs.flatMap(([term, meaning]) => {
    const lines = wrapText(meaning, layout, indent)
    if (displayWidth(term) > left) return [...wrapText(term, layout), ...lines]
    const [first = '', ...more] = lines
    return [`${' '.repeat(INDENT)}${padWidth(term, left)}  ${first.trimStart()}`.trimEnd(), ...more]
  })
}

/** Wraps text between words. A word that is too long has a line of its own. */
function wrapText(text: string, { columns }: Layout, indent = INDENT): string[] {
  const room = Math.max(20, columns - indent)
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line === undefined || displayWidth(line) + 1 + displayWidth(word) > room) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines.filter((line) => line !== '').map((line) => ' '.repeat(indent) + line)
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
