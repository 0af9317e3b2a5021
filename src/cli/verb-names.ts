// Verbs by their names: of one word, or of two for the parts of a family (`crew up`). The one place that knows how a part is
// found, for the command line, its help, its completion and the pages under docs/verbs. Test: test/tables/cli-verbs.test.ts.
import { nearest } from '../config/nearest.ts'
import { UsageError } from './errors.ts'
import { VERBS, type Verb } from './verbs.ts'

/** The verb of that name. */
export function verbNamed(name: string): Verb | undefined {
  const [first = '', second] = name.split(' ')
  const verb = Object.hasOwn(VERBS, first) ? VERBS[first] : undefined
  if (second === undefined) return verb
  return verb?.parts && Object.hasOwn(verb.parts, second) ? verb.parts[second] : undefined
}

/** Every verb with its whole name, the parts of a family behind it. */
export function everyVerb(): [name: string, verb: Verb][] {
  return Object.entries(VERBS).flatMap(([name, verb]) => [[name, verb], ...Object.entries(verb.parts ?? {}).map(([part, row]): [string, Verb] => [`${name} ${part}`, row])])
}

/** The name that stands in a command line, and where its words are. A family is a verb of its own where no part is named. */
export function nameIn(argv: readonly string[]): { readonly name: string; readonly at: readonly number[] } | null {
  const at = argv.findIndex((word) => !word.startsWith('-'))
  if (at < 0) return null
  const name = argv[at] ?? ''
  const next = verbNamed(name)?.parts ? argv.findIndex((word, index) => index > at && !word.startsWith('-')) : -1
  return next < 0 ? { name, at: [at] } : { name: `${name} ${argv[next]}`, at: [at, next] }
}

export function noVerb(name: string): UsageError {
  const [family = '', part = ''] = name.split(' ')
  const parts = verbNamed(family)?.parts
  const near = parts ? nearest(part, Object.keys(parts)) : nearest(name, Object.keys(VERBS))
  const others = parts ? `\`reeve help ${family}\` lists what there is.` : '`reeve help` lists all verbs.'
  return new UsageError(`no verb "${name}"`, near ? `Did you mean \`reeve ${parts ? `${family} ${near}` : near}\`?` : others)
}
