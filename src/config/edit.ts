// The user's config.yaml as `reeve config` shows and changes it: what is in force and who says so, one key set or taken away.
// Comments and order stay; the whole is checked before it takes the file's place, which it does in one step. Must never show
// a secret: of MCP servers only their names and programs come out. Test: test/tables/config-edit.test.ts.
import { randomUUID } from 'node:crypto'
import { mkdir, open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { isMap, isNode, parse, parseDocument, stringify, type Document } from 'yaml'
import { KernelError } from '../kernel/errors.ts'
import { DEFAULTS, readLayers, USER_FORMAT, type ConfigSources, type UserFile } from './config.ts'
import { problemError, readText } from './files.ts'
import { GATEWAY_DEFAULTS, GATEWAY_KEYS } from './gateway.ts'
import { GC_DEFAULTS, GC_KEYS } from './gc.ts'
import { LIVENESS_DEFAULTS, LIVENESS_KEYS } from './liveness.ts'
import { NOTIFICATION_KEYS, shownNotifications } from './notifications.ts'
import { nearest } from './nearest.ts'
import type { Paths } from './paths.ts'
import { isIn } from './trust.ts'
import { parseYaml } from './yaml.ts'

/** A key with the value that is in force. */
export interface Entry {
  readonly key: string
  readonly value: unknown
  readonly source: 'default' | 'user' | 'project' | 'environment'
  /** in words: the file or the variable that says so */
  readonly where: string
}

/** What a change did to a key; undefined is not set. */
export interface Change {
  readonly file: string
  readonly key: string
  readonly before: unknown
  readonly after: unknown
}

const KEYS = USER_FORMAT.known([])
/** Keys whose parts are set one by one. */
const PARTS: Readonly<Partial<Record<string, readonly string[]>>> = { gc: GC_KEYS, liveness: LIVENESS_KEYS, notifications: NOTIFICATION_KEYS, gateway: GATEWAY_KEYS }
/** Lists that may be written with commas. */
const WORDS: ReadonlySet<string> = new Set(['fallback', 'trusted'])

/** Every key in force, in a fixed order. Throws AGENT_INVALID with `file:line` for a bad file. */
export async function explain(sources: ConfigSources): Promise<readonly Entry[]> {
  const layers = await readLayers(sources)
  return KEYS.map((key) => {
    const layer = layers.findLast(({ said }) => key in said)
    const value = layer ? layer.said[key as keyof UserFile] : key in DEFAULTS ? DEFAULTS[key as keyof typeof DEFAULTS] : {}
    const entry: Entry = { key, value, source: layer?.source ?? 'default', where: layer?.where(key) ?? 'default' }
    if (key === 'providers') return withBuiltIn(entry)
    if (key === 'notifications') return { ...entry, value: shownNotifications((value ?? {}) as NonNullable<UserFile['notifications']>) }
    if (key === 'liveness') return { ...entry, value: { ...LIVENESS_DEFAULTS, ...(value as UserFile['liveness']) } }
    if (key === 'gc') return { ...entry, value: { ...GC_DEFAULTS, ...(value as UserFile['gc']) } }
    if (key === 'gateway') return { ...entry, value: { ...GATEWAY_DEFAULTS, ...(value as UserFile['gateway']) } }
    return key === 'mcp' ? { ...entry, value: programs(value as UserFile['mcp']) } : entry
  })
}

function withBuiltIn(entry: Entry): Entry {
  if (entry.source === 'default') return entry
  const own = entry.value as typeof DEFAULTS.providers
  const builtIn = DEFAULTS.providers.filter((one) => !own.some(({ name }) => name === one.name))
  return { ...entry, value: [...own, ...builtIn], where: `${entry.where}: the first ${own.length}; the others are built in` }
}

/** Environment, headers and arguments may be secrets. */
function programs(servers: UserFile['mcp']): Record<string, string> {
  return Object.fromEntries(Object.entries(servers ?? {}).map(([name, { command, url }]) => [name, command ?? originOf(url)]))
}

function originOf(url: string | undefined): string {
  return url && URL.canParse(url) ? new URL(url).origin : 'http'
}

/** One value as YAML; of a list each item on its line. */
export function asYaml(value: unknown): string {
  if (Array.isArray(value) && value.length > 0) return value.map((item) => `- ${flow(item)}`).join('\n')
  return flow(value)
}

/** `key: value` as it would stand in the file. */
export function lineOf(key: string, value: unknown): string {
  const text = asYaml(value)
  return text.includes('\n') || text.startsWith('- ') ? `${key}:\n${text.replaceAll(/^/gm, '  ')}` : `${key}: ${text}`
}

/** A value on one line. */
export function flow(value: unknown): string {
  return stringify(value, { collectionStyle: 'flow', flowCollectionPadding: true, lineWidth: 0 }).trimEnd()
}

/** Sets a key: `text` is YAML, or for lists of words these with commas. Errors: INVALID, and AGENT_INVALID for a file that is not right. */
export async function setKey(where: Paths, key: string, text: string): Promise<Change> {
  const path = pathOf(key, where)
  const value = valueOf(key, text)
  return change(where, path, (document) => document.setIn(path, isPlain(value) ? value : document.createNode(value)))
}

/** Takes a key away, so that its default counts. */
export async function unsetKey(where: Paths, key: string): Promise<Change> {
  return change(where, pathOf(key, where, true), (document, path) => {
    if (document.hasIn(path)) document.deleteIn(path)
    // What is wrong in there may be taken away; what is not there was not meant.
    else if (!KEYS.includes(path[0] ?? '')) throw noKey(path[0] ?? '')
    const around: unknown = path.length > 1 ? document.get(path[0]) : null
    if (isMap(around) && around.items.length === 0) document.delete(path[0])
  })
}

/** Adds a real directory to `trusted`; null if it is in there, or below one that is. */
export async function trust(where: Paths, dir: string): Promise<Change | { readonly already: string }> {
  const real = await realpath(dir).catch((error: NodeJS.ErrnoException) => { throw error.code === 'ENOENT' ? new KernelError('INVALID', `there is no directory ${resolve(dir)}`) : error })
  if (!(await stat(real)).isDirectory()) throw new KernelError('INVALID', `${real} is not a directory`)
  const trusted = await trustedOf(where)
  const already = trusted.find((one) => isIn(real, one))
  if (already !== undefined) return { already }
  return change(where, ['trusted'], (document) => document.setIn(['trusted'], document.createNode([...trusted.filter((one) => !isIn(one, real)), real])))
}

export async function untrust(where: Paths, dir: string): Promise<Change> {
  const real = await realpath(dir).catch(() => resolve(dir))
  const trusted = await trustedOf(where)
  const rest = trusted.filter((one) => one !== real)
  const above = rest.find((one) => isIn(real, one))
  if (above !== undefined) throw new KernelError('INVALID', `${real} is trusted as a part of ${above}: untrust that one`)
  if (rest.length === trusted.length) throw new KernelError('INVALID', `${real} is not trusted`)
  return change(where, ['trusted'], (document) => (rest.length === 0 ? document.deleteIn(['trusted']) : document.setIn(['trusted'], document.createNode(rest))))
}

async function trustedOf(where: Paths): Promise<readonly string[]> {
  const [user] = await readLayers({ paths: where, cwd: null })
  return user?.said.trusted ?? []
}

/** Deeper keys are left to an editor: what they mean depends on what stands around them. */
function pathOf(key: string, { configFile }: Paths, mayBeWrong = false): readonly string[] {
  const [first = '', ...rest] = key.split('.')
  const name = rest.join('.')
  if (!mayBeWrong && !KEYS.includes(first)) throw noKey(first)
  if (rest.length === 0) return [first]
  if (first === 'mcp' && name !== '') return [first, name]
  const parts = PARTS[first]
  if (parts && (mayBeWrong || parts.includes(name))) return [first, name]
  if (parts) throw noKey(key, parts.map((one) => `${first}.${one}`))
  throw new KernelError('INVALID', `\`${key}\` is a part of \`${first}\`: set that as a whole, or edit ${configFile}`)
}

function noKey(key: string, keys: readonly string[] = KEYS): KernelError {
  const near = nearest(key, keys)
  return new KernelError('INVALID', `there is no key \`${key}\`; ${near ? `did you mean \`${near}\`?` : `there are ${keys.join(', ')}`}`)
}

function valueOf(key: string, text: string): unknown {
  try {
    const value: unknown = parse(text)
    if (value === null) throw new KernelError('INVALID', `\`${key}\` needs a value; \`reeve config unset ${key}\` takes it away`)
    return WORDS.has(key) && typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value
  } catch (error) {
    if (error instanceof KernelError) throw error
    throw new KernelError('INVALID', `\`${text}\` is not valid YAML: ${(error as Error).message.split('\n')[0]?.replace(/ at line \d+, column \d+:$/, '')}`)
  }
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object'
}

async function change(where: Paths, path: readonly string[], edit: (document: Document, path: readonly string[]) => void): Promise<Change> {
  const file = await realpath(where.configFile).catch(() => where.configFile)
  const found = await readText(file)
  const document = parseDocument(found?.text ?? '', { stringKeys: true })
  const [syntax] = document.errors
  // The usual reader words it, with its line.
  if (syntax) throw problemOf(found?.text ?? '', file)
  const before = plainAt(document, path)
  edit(document, path)
  if (isMap(document.contents) && document.contents.items.length === 0) document.contents = null
  const text = textOf(document, found?.text ?? '')
  const problem = parseYaml(text, USER_FORMAT, file)
  if (!problem.ok) throw changedBad(problem.problem.message, path) ?? problemError(problem.problem)
  if (text !== found?.text) await replace(file, text)
  return { file, key: path.join('.'), before, after: plainAt(document, path) }
}

/** A value that may not be is no fault of the file: nothing of it was written. */
function changedBad(message: string, [key = '']: readonly string[]): KernelError | null {
  return message.startsWith(key) ? new KernelError('INVALID', message) : null
}

function problemOf(text: string, file: string): KernelError {
  const parsed = parseYaml(text, USER_FORMAT, file)
  return parsed.ok ? new KernelError('INTERNAL', `${file} was refused without a reason`) : problemError(parsed.problem)
}

/** For people: without secrets. */
function plainAt(document: Document, path: readonly string[]): unknown {
  const node: unknown = document.getIn(path, true)
  const value: unknown = isNode(node) ? node.toJS(document) : node
  if (path[0] === 'notifications' && typeof value === 'object' && value !== null) return shownPart(path[1], value)
  if (path[0] !== 'mcp' || typeof value !== 'object') return value
  return path.length === 1 ? programs(value as UserFile['mcp']) : programs({ one: value } as UserFile['mcp'])['one']
}

function shownPart(part: string | undefined, value: object): unknown {
  if (part === undefined) return shownNotifications(value)
  return part === 'webhook' ? Reflect.get(shownNotifications({ webhook: value as { url: string } }), part) : value
}

/** Written as it was, as far as the library lets us: brackets are padded where they were. */
function textOf(document: Document, was: string): string {
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: /[[{] \S/.test(was) })
  return document.contents === null ? text.replace(/\s*null\n$/, (end) => (end.length < text.length ? '\n' : '')) : text
}

/** Whole or not at all, with the mode and the owner that it had. */
async function replace(file: string, text: string): Promise<void> {
  const old = await stat(file).catch(() => null)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const beside = `${file}.${randomUUID()}.tmp`
  try {
    await using handle = await open(beside, 'wx', 0o600)
    if (old) await keep(handle, old)
    await handle.writeFile(text)
    await handle.sync()
    await rename(beside, file)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}

async function keep(handle: FileHandle, { mode, uid, gid }: { readonly mode: number; readonly uid: number; readonly gid: number }): Promise<void> {
  const now = await handle.stat()
  if (now.uid !== uid || now.gid !== gid) await handle.chown(uid, gid)
  await handle.chmod(mode & 0o777)
}
