// Shows and edits the configuration for `reeve config`: the values in force with their sources, and single keys of the user's config.yaml.
// An edit keeps comments and order. The new text is checked, and then replaces the file atomically. Must never show a secret: only the
// names of MCP servers with their programs, and the origins of URLs, are shown. Test: test/tables/config/edit.test.ts.
import { randomUUID } from 'node:crypto'
import { mkdir, open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { isMap, isNode, parse, parseDocument, stringify, type Document } from 'yaml'
import { KernelError } from '../kernel/model/errors.ts'
import { DEFAULTS, hintOfUserKey, readLayers, USER_FORMAT, type ConfigSources, type UserFile } from './config.ts'
import { BUDGET_KEYS } from './keys/budgets.ts'
import { problemError } from './problem.ts'
import { readText } from './untrusted-files.ts'
import { WEB_KEYS } from './keys/web.ts'
import { GATEWAY_DEFAULTS, GATEWAY_KEYS } from './keys/gateway.ts'
import { GC_DEFAULTS, GC_KEYS } from './keys/gc.ts'
import { LIVENESS_DEFAULTS, LIVENESS_KEYS } from './keys/liveness.ts'
import { FILE_LIMIT_KEYS } from './limit-rules.ts'
import { NOTIFICATION_KEYS, redactedNotifications } from './keys/notifications.ts'
import type { Paths } from './paths.ts'
import { isInDirectory } from './trust.ts'
import { parseYaml } from './yaml.ts'
import { lookUp } from '../kernel/util/lookup.ts'

/** A key with the value in force. */
export interface ConfigEntry {
  readonly key: string
  readonly value: unknown
  readonly source: 'default' | 'user' | 'project' | 'environment'
  /** the file or variable that sets the value; `default` if none does; `not set` for a part without a value */
  readonly where: string
}

/** The result of an edit: the value of a key before and after it. Undefined: not set. */
export interface Change {
  readonly file: string
  readonly key: string
  readonly before: unknown
  readonly after: unknown
}

const KEYS = USER_FORMAT.knownKeys([])
/** The keys whose parts can be set one by one, with these parts. */
const PARTS: Readonly<Partial<Record<keyof UserFile, readonly string[]>>> = {
  gc: GC_KEYS,
  liveness: LIVENESS_KEYS,
  notifications: NOTIFICATION_KEYS,
  gateway: GATEWAY_KEYS,
  limits: FILE_LIMIT_KEYS,
  budgets: BUDGET_KEYS,
  web: WEB_KEYS,
}
/** The lists that may be given as words separated by commas. */
const COMMA_LISTS: ReadonlySet<string> = new Set(['fallback', 'trusted', 'web.allow'])

/** Returns every key with the value in force, in a fixed order. Errors: AGENT_INVALID with `file:line` for an invalid file. */
export async function explainConfig(sources: ConfigSources): Promise<readonly ConfigEntry[]> {
  const layers = await readLayers(sources)
  return KEYS.map((key) => {
    const layer = layers.findLast(({ values }) => key in values)
    const value = layer ? layer.values[key as keyof UserFile] : key in DEFAULTS ? DEFAULTS[key as keyof typeof DEFAULTS] : {}
    const entry: ConfigEntry = { key, value, source: layer?.source ?? 'default', where: layer?.where(key) ?? 'default' }
    if (key === 'providers') return withBuiltIn(entry)
    if (key === 'notifications') return { ...entry, value: redactedNotifications((value ?? {}) as NonNullable<UserFile['notifications']>) }
    if (key === 'liveness') return { ...entry, value: { ...LIVENESS_DEFAULTS, ...(value as UserFile['liveness']) } }
    if (key === 'gc') return { ...entry, value: { ...GC_DEFAULTS, ...(value as UserFile['gc']) } }
    if (key === 'gateway') return { ...entry, value: { ...GATEWAY_DEFAULTS, ...(value as UserFile['gateway']) } }
    return key === 'mcp' ? { ...entry, value: programsByName(value as UserFile['mcp']) } : entry
  })
}

/**
 * Returns a key, or a part of one such as `limits.budgetUsd`, with the value in force; null: not set. Errors: INVALID for an unknown key;
 * AGENT_INVALID for an invalid file.
 */
export async function findEntry(sources: ConfigSources, key: string): Promise<ConfigEntry> {
  const entries = await explainConfig(sources)
  const found = entries.find((entry) => entry.key === key)
  if (found) return found
  const [first = '', ...rest] = key.split('.')
  const name = rest.join('.')
  const whole = entries.find((entry) => entry.key === first)
  const parts = lookUp(PARTS, first)
  if (!whole || (!parts?.includes(name) && first !== 'mcp'))
    throw unknownKeyError(
      key,
      parts?.map((part) => `${first}.${part}`),
    )
  const value = lookUp(whole.value as Record<string, unknown>, name)
  return value === undefined ? { key, value: null, source: 'default', where: 'not set' } : { ...whole, key, value }
}

function withBuiltIn(entry: ConfigEntry): ConfigEntry {
  if (entry.source === 'default') return entry
  const configured = entry.value as typeof DEFAULTS.providers
  const builtIn = DEFAULTS.providers.filter((provider) => !configured.some(({ name }) => name === provider.name))
  return { ...entry, value: [...configured, ...builtIn], where: `${entry.where}: the first ${configured.length}; the others are built in` }
}

/** Returns the program or origin of each MCP server. Environment, headers and arguments are omitted: they may contain secrets. */
function programsByName(servers: UserFile['mcp']): Record<string, string> {
  return Object.fromEntries(Object.entries(servers ?? {}).map(([name, { command, url }]) => [name, command ?? originOf(url)]))
}

function originOf(url: string | undefined): string {
  return url && URL.canParse(url) ? new URL(url).origin : 'http'
}

/** Formats a value as YAML, with each item of a list on its own line. */
export function formatYaml(value: unknown): string {
  if (Array.isArray(value) && value.length > 0) return value.map((item) => `- ${inlineYaml(item)}`).join('\n')
  return inlineYaml(value)
}

/** Formats `key: value` as in the file. */
export function formatEntry(key: string, value: unknown): string {
  const text = formatYaml(value)
  return text.includes('\n') || text.startsWith('- ') ? `${key}:\n${text.replaceAll(/^/gm, '  ')}` : `${key}: ${text}`
}

/** Formats a value as YAML on one line. */
export function inlineYaml(value: unknown): string {
  return stringify(value, { collectionStyle: 'flow', flowCollectionPadding: true, lineWidth: 0 }).trimEnd()
}

/** Sets a key. `text` is YAML; some lists may be words separated by commas. Errors: INVALID; AGENT_INVALID for an invalid file. */
export async function setKey(where: Paths, key: string, text: string): Promise<Change> {
  const path = parseKeyPath(key, where)
  const value = parseValue(key, text)
  return editConfig(where, path, (document) => document.setIn(path, isScalar(value) ? value : document.createNode(value)))
}

/** Removes a key, so that its default applies. */
export async function unsetKey(where: Paths, key: string): Promise<Change> {
  return editConfig(where, parseKeyPath(key, where, true), (document, path) => {
    if (document.hasIn(path)) document.deleteIn(path)
    // An unknown key can be removed if the file has it. Otherwise its name is a typing error.
    else if (!KEYS.includes(path[0] ?? '')) throw unknownKeyError(path.join('.'))
    const parent: unknown = path.length > 1 ? document.get(path[0]) : null
    if (isMap(parent) && parent.items.length === 0) document.delete(path[0])
  })
}

/** Adds the real path of a directory to `trusted`. If an entry already contains the directory, changes nothing, and returns `already`. */
export async function trustDirectory(where: Paths, dir: string): Promise<Change | { readonly already: string }> {
  const real = await realpath(dir).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new KernelError('INVALID', `there is no directory ${resolve(dir)}`) : error
  })
  if (!(await stat(real)).isDirectory()) throw new KernelError('INVALID', `${real} is not a directory`)
  const trusted = await readTrusted(where)
  const already = trusted.find((entry) => isInDirectory(real, entry))
  if (already !== undefined) return { already }
  return editConfig(where, ['trusted'], (document) =>
    document.setIn(['trusted'], document.createNode([...trusted.filter((entry) => !isInDirectory(entry, real)), real])),
  )
}

export async function untrustDirectory(where: Paths, dir: string): Promise<Change> {
  const real = await realpath(dir).catch(() => resolve(dir))
  const trusted = await readTrusted(where)
  const others = trusted.filter((entry) => entry !== real)
  const parentEntry = others.find((entry) => isInDirectory(real, entry))
  if (parentEntry !== undefined) throw new KernelError('INVALID', `${real} is trusted as a part of ${parentEntry}: untrust that directory`)
  if (others.length === trusted.length) throw new KernelError('INVALID', `${real} is not trusted`)
  return editConfig(where, ['trusted'], (document) =>
    others.length === 0 ? document.deleteIn(['trusted']) : document.setIn(['trusted'], document.createNode(others)),
  )
}

async function readTrusted(where: Paths): Promise<readonly string[]> {
  const [user] = await readLayers({ paths: where, cwd: null })
  return user?.values.trusted ?? []
}

/** Splits a dotted key into a path of at most two parts. Deeper keys must be edited in the file. Errors: INVALID. */
function parseKeyPath(key: string, { configFile }: Paths, mayBeUnknown = false): readonly string[] {
  const [first = '', ...rest] = key.split('.')
  const name = rest.join('.')
  if (!mayBeUnknown && !KEYS.includes(first)) throw unknownKeyError(key)
  if (rest.length === 0) return [first]
  if (first === 'mcp' && name !== '') return [first, name]
  const parts = lookUp(PARTS, first)
  if (parts && (mayBeUnknown || parts.includes(name))) return [first, name]
  if (parts)
    throw unknownKeyError(
      key,
      parts.map((part) => `${first}.${part}`),
    )
  throw new KernelError('INVALID', `\`${key}\` is a part of \`${first}\`: set that as a whole, or edit ${configFile}`)
}

function unknownKeyError(key: string, keys: readonly string[] = KEYS): KernelError {
  return new KernelError('INVALID', `there is no key \`${key}\`; ${hintOfUserKey(key, keys) ?? `there are ${keys.join(', ')}`}`)
}

function parseValue(key: string, text: string): unknown {
  try {
    const value: unknown = parse(text)
    if (value === null) throw new KernelError('INVALID', `\`${key}\` needs a value; \`reeve config unset ${key}\` removes it`)
    return COMMA_LISTS.has(key) && typeof value === 'string' ? value.split(',').map((item) => item.trim()) : value
  } catch (error) {
    if (error instanceof KernelError) throw error
    throw new KernelError(
      'INVALID',
      `\`${text}\` is not valid YAML: ${(error as Error).message.split('\n')[0]?.replace(/ at line \d+, column \d+:$/, '')}`,
    )
  }
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object'
}

async function editConfig(
  where: Paths,
  path: readonly string[],
  edit: (document: Document, path: readonly string[]) => void,
): Promise<Change> {
  // Links are followed, so that an edit keeps them. A missing file has no links.
  const file = await realpath(where.configFile).catch(() => where.configFile)
  const found = await readText(file)
  const document = parseDocument(found?.text ?? '', { stringKeys: true })
  const [firstError] = document.errors
  // `syntaxError` parses the text again, because its message has the line of the error.
  if (firstError) throw syntaxError(found?.text ?? '', file)
  const before = shownValueAt(document, path)
  edit(document, path)
  if (isMap(document.contents) && document.contents.items.length === 0) document.contents = null
  const text = formatDocument(document, found?.text ?? '')
  const parsed = parseYaml(text, USER_FORMAT, file)
  if (!parsed.ok) throw invalidValueError(parsed.problem.message, path) ?? problemError(parsed.problem)
  if (text !== found?.text) await replaceFile(file, text)
  return { file, key: path.join('.'), before, after: shownValueAt(document, path) }
}

/** Returns the error about the new value; null if the message is about another key, so that the file was invalid before. */
function invalidValueError(message: string, [key = '']: readonly string[]): KernelError | null {
  return message.startsWith(key) ? new KernelError('INVALID', message) : null
}

function syntaxError(text: string, file: string): KernelError {
  const parsed = parseYaml(text, USER_FORMAT, file)
  return parsed.ok ? new KernelError('INTERNAL', `${file} was refused without a reason`) : problemError(parsed.problem)
}

/** Returns the value at a path without secrets, to be shown. */
function shownValueAt(document: Document, path: readonly string[]): unknown {
  const node: unknown = document.getIn(path, true)
  const value: unknown = isNode(node) ? node.toJS(document) : node
  if (path[0] === 'notifications' && typeof value === 'object' && value !== null) return redactPart(path[1], value)
  if (path[0] !== 'mcp' || typeof value !== 'object') return value
  return path.length === 1 ? programsByName(value as UserFile['mcp']) : programsByName({ one: value } as UserFile['mcp'])['one']
}

function redactPart(part: string | undefined, value: object): unknown {
  if (part === undefined) return redactedNotifications(value)
  return part === 'webhook' ? Reflect.get(redactedNotifications({ webhook: value as { url: string } }), part) : value
}

/** Formats the document, with spaces inside brackets if the old text had them. */
function formatDocument(document: Document, oldText: string): string {
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: /[[{] \S/.test(oldText) })
  return document.contents === null ? text.replace(/\s*null\n$/, (end) => (end.length < text.length ? '\n' : '')) : text
}

/** Replaces a file atomically, and keeps its mode and owner. */
async function replaceFile(file: string, text: string): Promise<void> {
  // A missing file has no mode or owner to keep.
  const old = await stat(file).catch(() => null)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    await using handle = await open(temporary, 'wx', 0o600)
    if (old) await restoreOwnership(handle, old)
    await handle.writeFile(text)
    await handle.sync()
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function restoreOwnership(
  handle: FileHandle,
  { mode, uid, gid }: { readonly mode: number; readonly uid: number; readonly gid: number },
): Promise<void> {
  const current = await handle.stat()
  if (current.uid !== uid || current.gid !== gid) await handle.chown(uid, gid)
  await handle.chmod(mode & 0o777)
}
