// Looks up verbs by name. A name has one word, or two in a family of verbs (`crew up`). The command line, help, completion and the
// pages under docs/reference/verbs use it. Must not import the verb table, which the callers pass. Test:
// test/tables/cli/table/verbs.test.ts.
import { closestWord } from '../../kernel/util/did-you-mean.ts'
import { UsageError } from '../errors.ts'
import type { Verb, VerbTable } from './verb.ts'

/** Returns the verb with this name. */
export function findVerb(verbs: VerbTable, name: string): Verb | undefined {
  const [first = '', second] = name.split(' ')
  const verb = Object.hasOwn(verbs, first) ? verbs[first] : undefined
  if (second === undefined) return verb
  return verb?.parts && Object.hasOwn(verb.parts, second) ? verb.parts[second] : undefined
}

/** Returns every verb with its full name. The verbs of a family follow the family. */
export function listVerbs(verbs: VerbTable): [name: string, verb: Verb][] {
  return Object.entries(verbs).flatMap(([name, verb]) => [
    [name, verb],
    ...Object.entries(verb.parts ?? {}).map(([part, row]): [string, Verb] => [`${name} ${part}`, row]),
  ])
}

/**
 * Returns the name of the verb in a command line, and the indexes of its words. Null if the line has only flags. The name of a family
 * alone is also a verb.
 */
export function findVerbName(
  verbs: VerbTable,
  argv: readonly string[],
): { readonly name: string; readonly indexes: readonly number[] } | null {
  const first = argv.findIndex((word) => !word.startsWith('-'))
  if (first < 0) return null
  const name = argv[first] ?? ''
  const second = findVerb(verbs, name)?.parts ? argv.findIndex((word, index) => index > first && !word.startsWith('-')) : -1
  return second < 0 ? { name, indexes: [first] } : { name: `${name} ${argv[second]}`, indexes: [first, second] }
}

/** Verbs of other tools, each with the reeve command that does the same. */
const FOREIGN_VERBS: Readonly<Record<string, string>> = {
  list: 'ps',
  ls: 'ps',
  status: 'ps',
  restart: 'resume --rerun',
  start: 'run',
  log: 'logs',
  show: 'inspect',
  delete: 'rm',
  remove: 'rm',
  usages: 'usage',
  push: 'pr',
  init: 'config set',
}

/** Returns the error for an unknown verb. Its hint names the most similar verb. */
export function unknownVerb(verbs: VerbTable, name: string): UsageError {
  const [family = '', part = ''] = name.split(' ')
  const known = Object.hasOwn(FOREIGN_VERBS, family) ? FOREIGN_VERBS[family] : undefined
  if (known) return new UsageError(`no verb "${name}"`, `Did you mean \`reeve ${known}\`?`)
  const parts = findVerb(verbs, family)?.parts
  const near = parts ? closestWord(part, Object.keys(parts)) : closestWord(name, Object.keys(verbs))
  const listHint = parts ? `\`reeve help ${family}\` lists its verbs.` : '`reeve help` lists all verbs.'
  return new UsageError(`no verb "${name}"`, near ? `Did you mean \`reeve ${parts ? `${family} ${near}` : near}\`?` : listHint)
}
