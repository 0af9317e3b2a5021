// Finds what a shell can offer at the cursor: verbs, flags, values, and names of processes. They come from the verb table, the
// configuration and the running daemon. Must never start a daemon, and must not wait long for one.
// Test: test/tables/cli/completion/complete-line.test.ts, test/e2e/cli/completion.test.ts.
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { ProcessView } from '../../api/views/process.ts'
import { connect, type Reeve } from '../../index.ts'
import { COMMON_FLAGS, type Flag, type FlagTable } from '../input/args.ts'
import { BLOCKABLE_SIGNALS } from '../../kernel/model/signals.ts'
import { SIGNAL_NUMBERS } from '../input/signals.ts'
import { oneLine } from '../print/text.ts'
import { isLiteral, nextWords } from './next-words.ts'
import { findVerb, findVerbName } from '../table/verb-names.ts'
import type { Verb, VerbTable } from '../table/verb.ts'
import {
  EFFORTS,
  GATEWAY_MODES,
  HANDLERS,
  USAGE_GROUPS,
  WAIT_TARGETS,
  WEB_RIGHTS,
  PERMISSION_POLICIES,
  RESTART_WORDS,
  STATUSES,
} from '../../kernel/model/words.ts'
import { ROLES, COMMIT_GATES, MERGE_MODES } from '../../kernel/model/crew/words.ts'

/** A word with its description. A word that ends with `/`, `=` or `:` is incomplete. */
export type Candidate = readonly [word: string, about: string]

export interface Completion {
  readonly words: readonly Candidate[]
  /** `dirs`: the shell completes a directory. A number: the index of the word at which the command line of a program begins. */
  readonly shell?: 'dirs' | number
}

/** the longest wait for an answer of the daemon */
const DAEMON_TIMEOUT_MS = 800
/** the greatest number of ended processes and crews that are offered */
const MAX_ENDED = 50

/** Completes the last word. `words`: the command line after `reeve`, up to the cursor; its last word may be empty. */
export async function completeLine(verbs: VerbTable, words: readonly string[]): Promise<Completion> {
  const before = words.slice(0, -1)
  const current = words.at(-1) ?? ''
  const found = findVerbName(verbs, before)
  if (!found) return filterByPrefix(current, current.startsWith('-') ? flagWords(COMMON_FLAGS, before) : verbWords(verbs))
  const verb = findVerb(verbs, found.name)
  if (!verb) return { words: [] }
  const end = verb.takesCommand ? before.indexOf('--') : -1
  if (end >= 0) return { words: [], shell: end + 1 }
  const typed = before.filter((_, index) => !found.indexes.includes(index))
  if (verb.parts && !current.startsWith('-')) return filterByPrefix(current, verbWords(verb.parts))
  return completeArguments({ verbs, name: found.name, verb }, typed, current)
}

/** The verb whose arguments are completed. */
interface Context {
  readonly verbs: VerbTable
  readonly name: string
  readonly verb: Verb
}

async function completeArguments(context: Context, before: readonly string[], current: string): Promise<Completion> {
  const { name, verb } = context
  // The flags of the verb come first, and replace common flags of the same name.
  const flags = { ...verb.flags, ...COMMON_FLAGS, ...verb.flags }
  const pending = flagBeforeValue(flags, before.at(-1))
  if (pending) return completeValue(context, pending, current, '')
  const [, inline = '', value = ''] = /^(--[\w-]+=)(.*)$/s.exec(current) ?? []
  const inlineFlag = flags[inline.slice(2, -1)]
  if (inlineFlag && inlineFlag.kind !== 'on') return completeValue(context, inlineFlag, value, inline)
  if (current.startsWith('-')) return filterByPrefix(current, flagWords(flags, before))
  const words = before.filter((word, index) => !word.startsWith('-') && !flagBeforeValue(flags, before[index - 1]))
  // The grammar counts the verb as one word, even if its name has two.
  const kinds = nextWords(
    verb.usage.map((usage) => usage.replace(`reeve ${name}`, 'reeve VERB')),
    words,
  )
  const all = await Promise.all(kinds.map(async (kind) => (isLiteral(kind) ? [[kind, ''] as const] : candidatesOf(kind, context, words))))
  if (kinds.includes('DIR')) return { words: filterByPrefix(current, all.flat()).words, shell: 'dirs' }
  return filterByPrefix(current, all.flat())
}

/** Returns the flag whose value must follow this word; undefined if no value must follow. */
function flagBeforeValue(flags: FlagTable, word: string | undefined): Flag | undefined {
  if (word === undefined) return undefined
  const flag = word.startsWith('--')
    ? flags[word.slice(2)]
    : Object.values(flags).find(({ short }) => short !== undefined && new RegExp(`^-\\w*${short}$`).test(word))
  return flag && flag.kind !== 'on' ? flag : undefined
}

async function completeValue(context: Context, flag: Flag, current: string, prefix: string): Promise<Completion> {
  if (flag.value === 'DIR') return { words: [], shell: 'dirs' }
  const { words } = filterByPrefix(current, await flagValues(flag.value ?? '', context, current))
  return { words: words.map(([word, about]) => [prefix + word, about]) }
}

async function flagValues(kind: string, context: Context, current: string): Promise<readonly Candidate[]> {
  if (kind === 'KEY=VALUE') return filterWords(current)
  if (kind === 'PROVIDER/NAME' && current.startsWith('script:')) return scriptPaths(current)
  if (kind === 'PROVIDER/NAME' && current.startsWith('replay:'))
    return (await processWords('')).map(([word, about]) => [`replay:${word}`, about])
  return candidatesOf(kind, { ...context, name: '' }, [])
}

function filterByPrefix(current: string, words: readonly Candidate[]): Completion {
  return { words: words.filter(([word]) => word.startsWith(current)).map(([word, about]) => [word, oneLine(about)]) }
}

function verbWords(verbs: VerbTable): Candidate[] {
  return Object.entries(verbs).map(([name, { summary }]) => [name, summary])
}

/** Returns the flags that are not given yet, and those that can be repeated. */
function flagWords(flags: FlagTable, before: readonly string[]): Candidate[] {
  const isGiven = (name: string): boolean => before.some((word) => word === `--${name}` || word.startsWith(`--${name}=`))
  return Object.entries(flags)
    .filter(([name, { kind }]) => kind === 'list' || !isGiven(name))
    .map(([name, { help }]) => [`--${name}`, help])
}

/** Returns the candidates for a kind of word, such as `P` or `TASK`; none for free text. `words`: the typed words after the verb. */
async function candidatesOf(kind: string, context: Context, words: readonly string[]): Promise<readonly Candidate[]> {
  switch (kind) {
    case 'CREW':
      return crewNames()
    case 'RUN':
      return runNames(context.name)
    case 'NODE':
      return nodeNames(context.name)
    case 'TASK':
      return taskIds(words[0])
    case 'MEMBER':
      return memberIds(words[0])
    case 'P':
      return (await processWords(context.name)).filter(([word]) => !words.includes(word))
    case 'COLUMN':
      return Object.keys((await import('../print/ps-more-columns.ts')).PS_COLUMNS).map((word) => [word, ''])
    case 'LABEL':
      return labelWords()
    case 'VERB':
      return verbWords(context.verbs)
    case 'GATE':
      return COMMIT_GATES.map((gate) => [gate, ''])
    case 'MERGE':
      return MERGE_MODES.map((merge) => [merge, ''])
    case 'ROLE':
      return ROLES.map((role) => [role, ''])
    case 'TOPIC':
      return Object.entries((await import('../table/topics.ts')).TOPICS).map(([name, { summary }]) => [name, summary])
    case 'SIGNAL':
      return SIGNAL_NUMBERS.map(([name, number]) => [name, number])
    case 'SIGNAL=HANDLER':
      return BLOCKABLE_SIGNALS.flatMap((name) => HANDLERS.map((handler) => [`${name}=${handler}`, ''] as const))
    case 'LEVEL':
      return EFFORTS.map((level) => [level, ''])
    case 'KIND':
      return (await import('../verbs/run.ts')).CONTAINMENTS.map((word) => [word, ''])
    case 'MODE':
      return GATEWAY_MODES.map((word) => [word, ''])
    case 'WHEN':
      return RESTART_WORDS.map((word) => [word, ''])
    case 'POLICY':
      return PERMISSION_POLICIES.map((word) => [word, ''])
    case 'GROUP':
      return USAGE_GROUPS.map((word) => [word === 'label' ? 'label:' : word, ''])
    case 'RIGHT':
      return WEB_RIGHTS.map((word) => [word, ''])
    case 'SESSION':
      return sessionIds()
    case 'WHAT':
      return [...WAIT_TARGETS, 'done'].map((word) => [word, ''])
    case 'VALUE':
      return candidatesOf(KIND_OF_KEY[words.at(-1) ?? ''] ?? '', context, [])
    case 'PROVIDER':
      return (await candidatesOf('PROVIDER/NAME', context, [])).flatMap(([word, about]) =>
        word.endsWith('/') ? [[word.slice(0, -1), about] as const] : [],
      )
    case 'PROVIDER/NAME':
    case 'AGENT':
    case 'TOOL':
    case 'KEY':
      return (await import('../verbs/system/config.ts')).loadCompletions(kind)
    case 'X':
      return [...(await candidatesOf('TOOL', context, words)), ...PERMISSIONS]
    default:
      return []
  }
}

/** The words of `--allow` and `--deny` that are not tools. */
const PERMISSIONS: readonly Candidate[] = [
  ['read:', 'a path to read'],
  ['write:', 'a path to write'],
  ['network', ''],
  ['spawn', 'start any agent'],
  ['spawn:', 'start one agent'],
  ['signal', 'signal other processes'],
]

/** The kind of word for the value of a configuration key. */
const KIND_OF_KEY: Readonly<Record<string, string>> = {
  defaultModel: 'PROVIDER/NAME',
  fallback: 'PROVIDER/NAME',
  defaultAgent: 'AGENT',
  effort: 'LEVEL',
  containment: 'KIND',
}

type Row = Pick<ProcessView, 'pid' | 'name' | 'agent' | 'status' | 'state' | 'uuid'>

/** Whether a verb can act on a process. Verbs without an entry can act on all processes. */
const CAN_ACT_ON: Readonly<Record<string, (row: Row) => boolean>> = {
  rm: ({ state }) => state === 'dead',
  answer: ({ status }) => status === 'waiting' || status === 'suspended',
  resume: ({ state, status }) => state === 'dead' || status === 'suspended',
  ...Object.fromEntries(
    ['attach', 'send', 'pause', 'kill', 'signals', 'stop', 'wait'].map((verb) => [
      verb,
      ({ state }: Row) => state === 'created' || state === 'running',
    ]),
  ),
}

/** Returns the processes that the verb can act on: their names, then their PIDs. */
async function processWords(verb: string): Promise<Candidate[]> {
  const canActOn = CAN_ACT_ON[verb] ?? (() => true)
  const rows = (await listProcesses()).filter(canActOn).toReversed()
  return [
    ...rows.flatMap(({ pid, name, status }): Candidate[] => (name === null ? [] : [[oneLine(name), `PID ${pid}, ${status}`]])),
    ...rows.map(({ pid, name, agent, status }): Candidate => [String(pid), `${name ?? agent}, ${status}`]),
  ]
}

/** Returns the compose runs by name; for `compose down` only the living ones. */
async function runNames(verb: string): Promise<Candidate[]> {
  const found = (await askDaemon((reeve) => reeve.compose.list())) ?? []
  const matchingRuns = verb === 'compose down' ? found.filter(({ exit }) => exit === null) : found
  return matchingRuns.map(({ name, pid, status }) => [name ?? String(pid), `PID ${pid}, ${status}`])
}

/** Returns the nodes of the newest run of this directory; for `compose up` those of the file. */
async function nodeNames(verb: string): Promise<Candidate[]> {
  if (verb === 'compose up')
    return ((await askDaemon((reeve) => reeve.compose.plan()))?.nodes ?? []).map(({ name, needs }) => [
      name,
      needs.length === 0 ? '' : `needs ${needs.join(', ')}`,
    ])
  const found = (await askDaemon((reeve) => reeve.compose.list())) ?? []
  const { pickRun } = await import('../input/which-run.ts')
  return found.length === 0 ? [] : pickRun(found, process.cwd()).nodes.map(({ name, state }) => [name, state])
}

/** Returns the living crews, and the newest ended ones. */
async function crewNames(): Promise<Candidate[]> {
  const found = (await askDaemon((reeve) => reeve.crews.list({ all: true }))) ?? []
  return found
    .slice(-MAX_ENDED)
    .toReversed()
    .map(({ name, pid, status }) => [name ?? String(pid), `PID ${pid}, ${status}`])
}

async function taskIds(crew: string | undefined): Promise<Candidate[]> {
  const found = crew === undefined ? undefined : await askDaemon((reeve) => reeve.crews.get(crew))
  return (found?.tasks ?? []).map(({ id, state, title }) => [id, `${state}, ${title}`])
}

async function memberIds(crew: string | undefined): Promise<Candidate[]> {
  const found = crew === undefined ? undefined : await askDaemon((reeve) => reeve.crews.get(crew))
  return (found?.members ?? []).filter(({ state }) => state !== 'gone').map(({ id, role, phase }) => [id, `${role}, ${phase}`])
}

/** Resolves to the answer of the daemon; undefined if no daemon answers in time. */
async function askDaemon<T>(ask: (reeve: Reeve) => Promise<T>): Promise<T | undefined> {
  const timeout = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), DAEMON_TIMEOUT_MS).unref())
  // Without a daemon there are no names to offer, which is not an error.
  return Promise.race([ask(connect({ start: false })).catch(() => undefined), timeout])
}

/** Requests the processes. Empty if no daemon answers in time. */
async function listProcesses(): Promise<Row[]> {
  return (
    (await askDaemon((reeve) =>
      reeve.list({ all: true, limit: MAX_ENDED, fields: ['pid', 'name', 'agent', 'status', 'state', 'uuid'] }),
    )) ?? []
  )
}

/** Completes a filter such as `status=failed`: first the key, then the values that occur. */
async function filterWords(current: string): Promise<Candidate[]> {
  const { FILTERS, STATES } = await import('../verbs/ps.ts')
  const [key = '', value] = current.split('=')
  if (value === undefined) return Object.keys(FILTERS).map((filter) => [`${filter}=`, ''])
  const rows = key === 'status' || key === 'state' ? [] : await listProcesses()
  const values: Readonly<Record<string, readonly string[]>> = {
    status: STATUSES,
    state: STATES,
    name: rows.flatMap(({ name }) => name ?? []),
    agent: rows.map(({ agent }) => agent),
    parent: rows.map(({ pid }) => String(pid)),
  }
  return [...new Set(values[key] ?? [])].map((word) => [`${key}=${word}`, ''])
}

/** Returns the sessions of the web page. */
async function sessionIds(): Promise<Candidate[]> {
  const found = await askDaemon((reeve) => reeve.web.get())
  return (found?.sessions ?? []).map(({ id, right, userAgent }) => [id, `${right}, ${userAgent}`])
}

/** Returns the labels of the living processes and of the newest ended ones. */
async function labelWords(): Promise<Candidate[]> {
  const rows = (await askDaemon((reeve) => reeve.list({ all: true, limit: MAX_ENDED, fields: ['labels'] }))) ?? []
  const words = rows.flatMap(({ labels }) => Object.entries(labels).map(([key, value]) => (value === '' ? key : `${key}=${value}`)))
  return [...new Set(words)].map((word) => [word, ''])
}

/** Returns the directories and scripts that complete the typed path. */
function scriptPaths(current: string): Candidate[] {
  const typed = current.slice('script:'.length)
  const dir = typed.endsWith('/') ? typed : typed.includes('/') ? `${dirname(typed)}/`.replace('//', '/') : ''
  const showHidden = typed.slice(dir.length).startsWith('.')
  const entries = readdirSync(dir || '.', { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry): Candidate[] => {
    const word = `script:${dir}${entry.name}${entry.isDirectory() ? '/' : ''}`
    const fits = word.startsWith(current) && (showHidden || !entry.name.startsWith('.'))
    return fits && (entry.isDirectory() || /\.(ya?ml|json)$/.test(entry.name)) ? [[word, '']] : []
  })
}
