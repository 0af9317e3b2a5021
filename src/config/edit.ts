// Edits single keys of the user's config.yaml, for `reeve config`. An edit keeps comments and order. The new text is checked, and then
// replaces the file atomically. Must never return a secret: the values before and after an edit are redacted as in explain.ts.
// Test: test/tables/config/edit.test.ts.
import { randomUUID } from 'node:crypto'
import { mkdir, open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { isMap, isNode, parse, parseDocument, type Document } from 'yaml'
import { KernelError } from '../kernel/model/errors.ts'
import { readLayers, USER_FORMAT, type UserFile } from './config.ts'
import { CONFIG_KEYS, KEY_PARTS, programsByName, unknownKeyError } from './explain.ts'
import { problemError } from './problem.ts'
import { readText } from './untrusted-files.ts'
import { redactedNotifications } from './keys/notifications.ts'
import type { Paths } from './paths.ts'
import { isInDirectory } from './trust.ts'
import { parseYaml } from './yaml.ts'
import { lookUp } from '../kernel/util/lookup.ts'

/** The result of an edit: the value of a key before and after it. Undefined: not set. */
export interface Change {
  readonly file: string
  readonly key: string
  readonly before: unknown
  readonly after: unknown
}

/** The lists that may be given as words separated by commas. */
const COMMA_LISTS: ReadonlySet<string> = new Set(['fallback', 'trusted', 'web.allow'])

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
    else if (!CONFIG_KEYS.includes(path[0] ?? '')) throw unknownKeyError(path.join('.'))
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

/** Removes a directory from `trusted`. Errors: INVALID if the directory is not an entry. */
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
  if (!mayBeUnknown && !CONFIG_KEYS.includes(first)) throw unknownKeyError(key)
  if (rest.length === 0) return [first]
  if (first === 'mcp' && name !== '') return [first, name]
  const parts = lookUp(KEY_PARTS, first)
  if (parts && (mayBeUnknown || parts.includes(name))) return [first, name]
  if (parts)
    throw unknownKeyError(
      key,
      parts.map((part) => `${first}.${part}`),
    )
  throw new KernelError('INVALID', `\`${key}\` is a part of \`${first}\`: set that as a whole, or edit ${configFile}`)
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

/** Returns the error about the new value. Null if the message is about another key: the file was invalid before the edit. */
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
