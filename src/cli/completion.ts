// What may stand where the cursor is: verbs, flags, values and live names, for the shells' completion. Everything comes from
// the table of verbs, the configuration and a daemon that runs; none is started, and none is waited for long.
// Test: test/tables/completion.test.ts, test/e2e/completion.test.ts.
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { CrewView } from '../api/crew-views.ts'
import type { RoleView } from '../api/role-views.ts'
import type { ProcessView } from '../api/views.ts'
import { connect, type Reeve } from '../index.ts'
import { COMMON, type Flag, type Flags } from './args.ts'
import { EFFORTS } from './effort.ts'
import { HANDLERS, SIGNALS } from './signals.ts'
import { oneLine } from './text.ts'
import { isLiteral, nextWords } from './usage.ts'
import { nameIn, verbNamed } from './verb-names.ts'
import { VERBS, type Verb } from './verbs.ts'

/** A word with what it means. One that ends with `/`, `=` or `:` is not whole yet. */
export type Candidate = readonly [word: string, about: string]

export interface Completion {
  readonly words: readonly Candidate[]
  /** `dirs`: the shell completes a directory; a number: a command line of its own begins behind so many words */
  readonly shell?: 'dirs' | number
}

/** How long a daemon may take to say which processes there are. */
const PATIENCE_MS = 800
/** Ended processes that are offered, the newest. */
const MAX_ENDED = 50

/** `words` is the command line after `reeve` up to the cursor; its last word may be empty. */
export async function complete(words: readonly string[]): Promise<Completion> {
  const before = words.slice(0, -1)
  const current = words.at(-1) ?? ''
  const at = before.findIndex((word) => !word.startsWith('-'))
  if (at < 0) return fitting(current, current.startsWith('-') ? flagWords(COMMON, before) : verbs())
  const found = nameIn(before)
  const verb = verbNamed(found?.name ?? '')
  if (!found || !verb) return { words: [] }
  const end = verb.takesCommand ? before.indexOf('--') : -1
  if (end >= 0) return { words: [], shell: end + 1 }
  const typed = before.filter((_, index) => !found.at.includes(index))
  if (verb.parts && !current.startsWith('-')) return fitting(current, named(verb.parts))
  return ofVerb(found.name, verb, typed, current)
}

async function ofVerb(name: string, verb: Verb, before: readonly string[], current: string): Promise<Completion> {
  // Its own stand first.
  const flags = { ...verb.flags, ...COMMON, ...verb.flags }
  const open = openFlag(flags, before.at(-1))
  if (open) return valueOf(open, current, '')
  const [, inline = '', value = ''] = /^(--[\w-]+=)(.*)$/s.exec(current) ?? []
  const named = flags[inline.slice(2, -1)]
  if (named && named.kind !== 'on') return valueOf(named, value, inline)
  if (current.startsWith('-')) return fitting(current, flagWords(flags, before))
  const words = before.filter((word, index) => !word.startsWith('-') && !openFlag(flags, before[index - 1]))
  // A name of two words is one in a usage.
  const kinds = nextWords(verb.usage.map((usage) => usage.replace(`reeve ${name}`, 'reeve VERB')), words)
  const all = await Promise.all(kinds.map((kind) => (isLiteral(kind) ? [[kind, ''] as const] : ofKind(kind, name, words))))
  if (kinds.includes('DIR')) return { words: fitting(current, all.flat()).words, shell: 'dirs' }
  return fitting(current, all.flat())
}

/** The flag whose value is awaited behind this word. */
function openFlag(flags: Flags, word: string | undefined): Flag | undefined {
  if (word === undefined) return undefined
  const flag = word.startsWith('--') ? flags[word.slice(2)] : Object.values(flags).find(({ short }) => short !== undefined && new RegExp(`^-\\w*${short}$`).test(word))
  return flag && flag.kind !== 'on' ? flag : undefined
}

async function valueOf(flag: Flag, current: string, lead: string): Promise<Completion> {
  if (flag.value === 'DIR') return { words: [], shell: 'dirs' }
  const { words } = fitting(current, await valuesOf(flag.value ?? '', current))
  return { words: words.map(([word, about]) => [lead + word, about]) }
}

async function valuesOf(kind: string, current: string): Promise<readonly Candidate[]> {
  if (kind === 'KEY=VALUE') return filters(current)
  if (kind === 'PROVIDER/NAME' && current.startsWith('script:')) return scripts(current)
  if (kind === 'PROVIDER/NAME' && current.startsWith('replay:')) return (await processes('')).map(([word, about]) => [`replay:${word}`, about])
  return ofKind(kind, '', [])
}

function fitting(current: string, words: readonly Candidate[]): Completion {
  return { words: words.filter(([word]) => word.startsWith(current)).map(([word, about]) => [word, oneLine(about)]) }
}

function verbs(): Candidate[] {
  return named(VERBS)
}

function named(verbs: Readonly<Record<string, Verb>>): Candidate[] {
  return Object.entries(verbs).map(([name, { summary }]) => [name, summary])
}

/** Those that are not there yet; what may be repeated is offered again. */
function flagWords(flags: Flags, before: readonly string[]): Candidate[] {
  const isThere = (name: string): boolean => before.some((word) => word === `--${name}` || word.startsWith(`--${name}=`))
  return Object.entries(flags).filter(([name, { kind }]) => kind === 'list' || !isThere(name)).map(([name, { help }]) => [`--${name}`, help])
}

/** What a word of this kind may be; none if it is anybody's guess. */
async function ofKind(kind: string, verb: string, words: readonly string[]): Promise<readonly Candidate[]> {
  switch (kind) {
    case 'CREW': return crews()
    case 'RUN': return runs(verb)
    case 'NODE': return nodes(verb)
    case 'TASK': return tasks(words[0])
    case 'MEMBER': return members(words[0])
    case 'P': return (await processes(verb)).filter(([word]) => !words.includes(word))
    case 'VERB': return verbs()
    case 'GATE': return GATES.map((gate) => [gate, ''])
    case 'MERGE': return MERGES.map((merge) => [merge, ''])
    case 'ROLE': return ROLES.map((role) => [role, ''])
    case 'TOPIC': return Object.entries((await import('./topics.ts')).TOPICS).map(([name, { summary }]) => [name, summary])
    case 'SIGNAL': return SIGNALS.map(([name, number]) => [name, number])
    case 'SIGNAL=HANDLER': return SIGNALS.flatMap(([name]) => (name === 'SIGKILL' ? [] : HANDLERS.map((one) => [`${name}=${one}`, ''] as const)))
    case 'LEVEL': return EFFORTS.map((level) => [level, ''])
    case 'KIND': return (await import('./verbs/run.ts')).CONTAINMENTS.map((one) => [one, ''])
    case 'MODE': return (await import('./gateway-mode.ts')).GATEWAY_MODES.map((one) => [one, ''])
    case 'WHEN': return (await import('./verbs/run.ts')).RESTARTS.map((one) => [one, ''])
    case 'POLICY': return (await import('./verbs/run.ts')).PERMISSIONS.map((one) => [one, ''])
    case 'GROUP': return (await import('./verbs/usage.ts')).GROUPINGS.map((one) => [one, ''])
    case 'WHAT': return (await import('./verbs/wait.ts')).WAITABLE.map((one) => [one, ''])
    case 'VALUE': return ofKind(KIND_OF_KEY[words.at(-1) ?? ''] ?? '', verb, [])
    case 'PROVIDER/NAME':
    case 'AGENT':
    case 'TOOL':
    case 'KEY': return (await import('./verbs/config.ts')).choices(kind)
    case 'X': return [...(await ofKind('TOOL', verb, words)), ...PERMITS]
    default: return []
  }
}

const GATES = ['auto', 'coordinator', 'human'] as const satisfies readonly CrewView['gate'][]
const MERGES = ['auto', 'leave'] as const satisfies readonly CrewView['merge'][]
const ROLES = ['coordinator', 'generic', 'implementer', 'reviewer', 'researcher'] as const satisfies readonly RoleView['role'][]

/** What can be allowed and denied beside tools. */
const PERMITS: readonly Candidate[] = [['read:', 'a place to read'], ['write:', 'a place to write'], ['network', ''], ['spawn', 'agents of its own'], ['spawn:', 'one agent'], ['signal', 'signals to others']]

/** What the values of keys of the configuration are. */
const KIND_OF_KEY: Readonly<Record<string, string>> = { defaultModel: 'PROVIDER/NAME', fallback: 'PROVIDER/NAME', defaultAgent: 'AGENT', effort: 'LEVEL', containment: 'KIND' }

type Row = Pick<ProcessView, 'pid' | 'name' | 'agent' | 'status' | 'state' | 'uuid'>

/** Which processes a verb can do something about; all, unless it is said. */
const CONCERNED: Readonly<Record<string, (row: Row) => boolean>> = {
  rm: ({ state }) => state === 'dead',
  answer: ({ status }) => status === 'waiting' || status === 'suspended',
  resume: ({ state, status }) => state === 'dead' || status === 'suspended',
  ...Object.fromEntries(['attach', 'send', 'pause', 'kill', 'signals', 'stop', 'wait'].map((verb) => [verb, ({ state }: Row) => state === 'created' || state === 'running'])),
}

/** Each by its name and by its PID. */
async function processes(verb: string): Promise<Candidate[]> {
  const isConcerned = CONCERNED[verb] ?? (() => true)
  const rows = (await listed()).filter(isConcerned).toReversed()
  return [
    ...rows.flatMap(({ pid, name, status }): Candidate[] => (name === null ? [] : [[oneLine(name), `PID ${pid}, ${status}`]])),
    ...rows.map(({ pid, name, agent, status }): Candidate => [String(pid), `${name ?? agent}, ${status}`]),
  ]
}

/** What runs are called, those that live for what ends them. */
async function runs(verb: string): Promise<Candidate[]> {
  const found = (await asked((reeve) => reeve.compose.list())) ?? []
  const concerned = verb === 'compose down' ? found.filter(({ exit }) => exit === null) : found
  return concerned.map(({ name, pid, status }) => [name ?? String(pid), `PID ${pid}, ${status}`])
}

/** Of the newest run of this directory; of one that is to begin, those of its file. */
async function nodes(verb: string): Promise<Candidate[]> {
  if (verb === 'compose up') return ((await asked((reeve) => reeve.compose.plan()))?.nodes ?? []).map(({ name, needs }) => [name, needs.length === 0 ? '' : `needs ${needs.join(', ')}`])
  const found = (await asked((reeve) => reeve.compose.list())) ?? []
  const { pickRun } = await import('./compose-pick.ts')
  return found.length === 0 ? [] : pickRun(found, process.cwd()).nodes.map(({ name, state }) => [name, state])
}

/** What the crews are called that live, and the newest that have ended. */
async function crews(): Promise<Candidate[]> {
  const found = (await asked((reeve) => reeve.crews.list({ all: true }))) ?? []
  return found.slice(-MAX_ENDED).toReversed().map(({ name, pid, status }) => [name ?? String(pid), `PID ${pid}, ${status}`])
}

async function tasks(crew: string | undefined): Promise<Candidate[]> {
  const found = crew === undefined ? undefined : await asked((reeve) => reeve.crews.get(crew))
  return (found?.tasks ?? []).map(({ id, state, title }) => [id, `${state}, ${title}`])
}

async function members(crew: string | undefined): Promise<Candidate[]> {
  const found = crew === undefined ? undefined : await asked((reeve) => reeve.crews.get(crew))
  return (found?.members ?? []).filter(({ state }) => state !== 'gone').map(({ id, role, phase }) => [id, `${role}, ${phase}`])
}

/** Undefined where no daemon answers in time. */
async function asked<T>(ask: (reeve: Reeve) => Promise<T>): Promise<T | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), PATIENCE_MS).unref())
  return Promise.race([ask(connect({ start: false })).catch(() => undefined), late])
}

/** None where no daemon answers in time. */
async function listed(): Promise<Row[]> {
  return (await asked((reeve) => reeve.list({ all: true, limit: MAX_ENDED, fields: ['pid', 'name', 'agent', 'status', 'state', 'uuid'] }))) ?? []
}

/** `status=failed`: first the key, then what is there. */
async function filters(current: string): Promise<Candidate[]> {
  const { FILTERS, STATES, STATUSES } = await import('./verbs/ps.ts')
  const [key = '', value] = current.split('=')
  if (value === undefined) return Object.keys(FILTERS).map((one) => [`${one}=`, ''])
  const rows = key === 'status' || key === 'state' ? [] : await listed()
  const values: Readonly<Record<string, readonly string[]>> = {
    status: STATUSES, state: STATES, name: rows.flatMap(({ name }) => name ?? []), agent: rows.map(({ agent }) => agent), parent: rows.map(({ pid }) => String(pid)),
  }
  return [...new Set(values[key] ?? [])].map((one) => [`${key}=${one}`, ''])
}

/** Directories and scripts below what is typed of a path. */
function scripts(current: string): Candidate[] {
  const typed = current.slice('script:'.length)
  const dir = typed.endsWith('/') ? typed : typed.includes('/') ? `${dirname(typed)}/`.replace('//', '/') : ''
  const shown = typed.slice(dir.length).startsWith('.')
  const entries = readdirSync(dir || '.', { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry): Candidate[] => {
    const word = `script:${dir}${entry.name}${entry.isDirectory() ? '/' : ''}`
    const fits = word.startsWith(current) && (shown || !entry.name.startsWith('.'))
    return fits && (entry.isDirectory() || /\.(ya?ml|json)$/.test(entry.name)) ? [[word, '']] : []
  })
}
