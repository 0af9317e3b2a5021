// Parses and matches patterns of file names with `*`, `?`, `[a-z]`, `**` and braces. The patterns come from models, so their
// cost is limited. The alternatives of braces are counted before they are expanded, and matching has no exponential
// backtracking. Only a literal dot matches the leading dot of a name.
// Test: test/tables/drivers/native/tools/glob-pattern.test.ts.
import { ToolError } from './tool-error.ts'

const MAX_PATTERN_CHARS = 8_192
/** The maximum number of alternatives in the braces of one pattern. */
const MAX_ALTERNATIVES = 1_000
const MAX_EXPANDED_CHARS = 256 * 1024

/** A wildcard, or a test of one character. */
type Token = '*' | ((char: string) => boolean)
/** The pattern for one name in a path. Null stands for `**`, which matches any number of names without a leading dot. */
type Segment = null | NameSegment

interface NameSegment {
  readonly tokens: readonly Token[]
  /** true if the segment begins with a literal dot */
  readonly hasLeadingDot: boolean
  /** the name, if the segment has no wildcard */
  readonly literal: string | null
}

/** An alternative of a pattern, after its braces were expanded. */
interface Alternative {
  readonly segments: readonly Segment[]
  /** true if the alternative ends with a slash */
  readonly isDirOnly: boolean
}

/** The progress of matching a path with an alternative. */
interface Position {
  readonly alternative: Alternative
  /** the index of the next segment to match */
  readonly next: number
}

/** The result of matching the name of a directory entry. */
export interface EntryMatch {
  /** true if the whole pattern matches the entry, if it is a file */
  readonly matchesFile: boolean
  /** true if the whole pattern matches the entry, if it is a directory */
  readonly matchesDir: boolean
  /** the positions for the entries inside it, if it is a directory */
  readonly inside: readonly Position[]
  /** the positions for the entries inside it, if it is a link to a directory; `**` does not follow links */
  readonly linked: readonly Position[]
}

/** A directory that may contain matching files. */
export interface GlobRoot {
  /** its path; '' for the directory of the search */
  readonly base: string
  /** the part of the pattern that must match below it */
  readonly positions: readonly Position[]
}

/** Parses a pattern. Errors: `ToolError` for a pattern that is too long, or has too many alternatives, or groups such as `+(a|b)`. */
export function parseGlob(pattern: string): readonly GlobRoot[] {
  if (pattern.length > MAX_PATTERN_CHARS) throw new ToolError(`the pattern has more than ${MAX_PATTERN_CHARS} characters`)
  if (/(?<!\\)[?*+@!]\(/.test(pattern))
    throw new ToolError('the pattern has a group such as "+(a|b)", which is not supported; use braces: {a,b}')
  const roots = new Map<string, Position[]>()
  for (const text of expandBraces(pattern)) {
    const { base, alternative } = parseAlternative(text)
    const positions = roots.get(base) ?? []
    roots.set(base, positions)
    positions.push({ alternative, next: 0 })
  }
  return [...roots].map(([base, positions]) => ({ base, positions: skipDoubleStars(positions) }))
}

/** Matches the name of a directory entry. `positions` are those of the directory. */
export function matchEntry(positions: readonly Position[], name: string): EntryMatch {
  const afterName: Position[] = []
  const insideDoubleStar: Position[] = []
  for (const position of positions) {
    const segment = position.alternative.segments[position.next]
    if (segment === undefined) continue
    if (segment === null) {
      if (!name.startsWith('.')) insideDoubleStar.push(position)
    } else if (matchesSegment(segment, name)) afterName.push({ alternative: position.alternative, next: position.next + 1 })
  }
  const [inside, linked] = [skipDoubleStars([...afterName, ...insideDoubleStar]), skipDoubleStars(afterName)]
  return {
    matchesFile:
      afterName.some((position) => isEnd(position) && !position.alternative.isDirOnly) ||
      skipDoubleStars(insideDoubleStar).some((position) => isEnd(position) && !position.alternative.isDirOnly),
    matchesDir: inside.some(isEnd),
    inside: inside.filter((position) => !isEnd(position)),
    linked: linked.filter((position) => !isEnd(position)),
  }
}

/** True if the pattern matches the whole path of a file. */
export function matchesPath(roots: readonly GlobRoot[], path: string): boolean {
  return roots.some(({ base, positions }) => {
    if (base !== '' && !path.startsWith(`${base}/`)) return false
    const names = path.slice(base === '' ? 0 : base.length + 1).split('/')
    let currentPositions = positions
    for (const name of names.slice(0, -1)) currentPositions = matchEntry(currentPositions, name).inside
    return matchEntry(currentPositions, names.at(-1) ?? '').matchesFile
  })
}

function isEnd({ alternative, next }: Position): boolean {
  return next === alternative.segments.length
}

/** Adds the positions after each `**`, because `**` may also match no name. */
function skipDoubleStars(positions: readonly Position[]): readonly Position[] {
  const visitedByAlternative = new Map<Alternative, Set<number>>()
  const all: Position[] = []
  for (const { alternative, next: first } of positions) {
    const visited = visitedByAlternative.get(alternative) ?? new Set()
    visitedByAlternative.set(alternative, visited)
    for (let next = first; !visited.has(next); next += 1) {
      visited.add(next)
      all.push({ alternative, next })
      if (alternative.segments[next] !== null) break
    }
  }
  return all
}

/** Parses one alternative. The names before its first wildcard become the base, so that only this part of the tree is searched. */
function parseAlternative(text: string): { readonly base: string; readonly alternative: Alternative } {
  const parts = text.split('/').filter((part, index) => part !== '' || index === 0)
  const segments = parts.map((part): Segment => (part === '**' ? null : parseSegment(part)))
  const firstWildcard = segments.findIndex((segment) => segment === null || segment.literal === null)
  const depth = firstWildcard === -1 ? segments.length - 1 : firstWildcard
  const names = segments.slice(0, depth).map((segment) => segment?.literal ?? '')
  const base = depth === 1 && names[0] === '' ? '/' : names.join('/')
  return { base, alternative: { segments: segments.slice(depth), isDirOnly: text.endsWith('/') } }
}

const CLASSES: Readonly<Record<string, RegExp>> = {
  alpha: /\p{L}/u,
  digit: /\d/,
  alnum: /[\p{L}\p{N}]/u,
  upper: /\p{Lu}/u,
  lower: /\p{Ll}/u,
  space: /\s/,
  punct: /[\p{P}\p{S}]/u,
  xdigit: /[\da-f]/i,
  word: /\w/,
}

function parseSegment(text: string): Segment {
  const chars = [...text]
  const tokens: Token[] = []
  let literal: string | null = ''
  for (let at = 0; at < chars.length;) {
    const char = chars[at] ?? ''
    const set = char === '[' ? parseSet(chars, at) : null
    if (char === '*') {
      if (tokens.at(-1) !== '*') tokens.push('*')
    } else tokens.push(set?.test ?? (char === '?' ? () => true : isChar(char === '\\' ? (chars[at + 1] ?? char) : char)))
    if (char === '*' || char === '?' || set !== null) literal = null
    else if (literal !== null) literal += char === '\\' ? (chars[at + 1] ?? char) : char
    at = set?.end ?? at + (char === '\\' ? 2 : 1)
  }
  return { tokens, hasLeadingDot: chars[0] === '.' || text.startsWith('\\.'), literal }
}

function isChar(expected: string): (char: string) => boolean {
  return (char) => char === expected
}

/** Parses `[a-z]`, `[!a]` or `[[:alpha:]]`. Null for a bracket that is never closed, which counts as a literal. */
function parseSet(chars: readonly string[], start: number): { readonly test: (char: string) => boolean; readonly end: number } | null {
  const isNegated = chars[start + 1] === '!' || chars[start + 1] === '^'
  const first = start + (isNegated ? 2 : 1)
  const tests: ((char: string) => boolean)[] = []
  let at = first
  for (; at < chars.length && (chars[at] !== ']' || at === first);) {
    const named = chars[at] === '[' && chars[at + 1] === ':' ? /^\[:(\w+):\]/.exec(chars.slice(at, at + 12).join('')) : null
    const characterClass = named?.[1] !== undefined && Object.hasOwn(CLASSES, named[1]) ? CLASSES[named[1]] : undefined
    if (characterClass !== undefined && named !== null) {
      tests.push((char) => characterClass.test(char))
      at += named[0].length
      continue
    }
    if (chars[at] === '\\' && at + 1 < chars.length) at += 1
    const [from, to] = [chars[at] ?? '', chars[at + 1] === '-' && chars[at + 2] !== ']' ? chars[at + 2] : undefined]
    tests.push(to === undefined ? isChar(from) : (char) => char >= from && char <= to)
    at += to === undefined ? 1 : 3
  }
  if (at >= chars.length) return null
  return { test: (char) => tests.some((test) => test(char)) !== isNegated, end: at + 1 }
}

/**
 * Matches a name. After a mismatch, only the last `*` takes one more character; earlier ones never change. The cost is at most the product
 * of both lengths. `star` is the index of the last `*`, and `taken` is the index after the characters that it has taken.
 */
function matchesSegment({ tokens, hasLeadingDot, literal }: NameSegment, name: string): boolean {
  if (literal !== null) return literal === name
  if (name.startsWith('.') && !hasLeadingDot) return false
  const chars = [...name]
  let [at, token, star, taken] = [0, 0, -1, 0]
  while (at < chars.length) {
    const test = tokens[token]
    if (test === '*') [star, taken, token] = [token, at, token + 1]
    else if (test?.(chars[at] ?? '') === true) [at, token] = [at + 1, token + 1]
    else if (star === -1) return false
    else [taken, at, token] = [taken + 1, taken + 1, star + 1]
  }
  return tokens.slice(token).every((remaining) => remaining === '*')
}

/** Expands the braces of a pattern to all alternatives. Errors: `ToolError` for too many. */
function expandBraces(text: string): readonly string[] {
  const group = findGroup(text)
  if (group === null) return [text]
  const tails = expandBraces(text.slice(group.end))
  const heads = group.members.flatMap((member) => expandBraces(member))
  checkLimits(heads.length * tails.length, 0)
  const all = heads.flatMap((head) => tails.map((tail) => text.slice(0, group.start) + head + tail))
  checkLimits(
    all.length,
    all.reduce((sum, each) => sum + each.length, 0),
  )
  return all
}

function checkLimits(alternatives: number, chars: number): void {
  if (alternatives > MAX_ALTERNATIVES) throw new ToolError(`the braces of the pattern stand for more than ${MAX_ALTERNATIVES} alternatives`)
  if (chars > MAX_EXPANDED_CHARS) throw new ToolError('the pattern is too long with its braces expanded')
}

/** A group of braces in a pattern. */
interface Group {
  readonly start: number
  readonly end: number
  readonly members: readonly string[]
}

/** Finds the first group of braces with a comma or a range. Other braces count as literals. */
function findGroup(text: string): Group | null {
  for (let start = text.indexOf('{'); start !== -1; start = text.indexOf('{', start + 1)) {
    const parts = text[start - 1] === '\\' || text[start - 1] === '$' ? null : splitGroup(text, start)
    if (parts === null) continue
    const members = parts.members.length > 1 ? parts.members : expandRange(parts.members[0] ?? '')
    if (members !== null) return { start, end: parts.end, members }
  }
  return null
}

/** Splits the group that opens at `start` at its commas. Null if it is never closed. */
function splitGroup(text: string, start: number): Omit<Group, 'start'> | null {
  const members: string[] = []
  let [depth, from] = [0, start + 1]
  for (let at = start; at < text.length; at += 1) {
    const char = text[at]
    if (char === '\\') at += 1
    else if (char === '{') depth += 1
    else if (char === '}') depth -= 1
    if ((char === ',' && depth === 1) || depth === 0) {
      members.push(text.slice(from, at))
      from = at + 1
    }
    if (depth === 0) return { members, end: at + 1 }
  }
  return null
}

/** Expands a range such as `1..9`, `01..10`, `a..e` or `1..9..2`. Null for another text. */
function expandRange(text: string): readonly string[] | null {
  const [, from = '', to = '', by = '1'] = /^(-?\d{1,15}|[A-Za-z])\.\.(-?\d{1,15}|[A-Za-z])(?:\.\.(-?\d{1,15}))?$/.exec(text) ?? []
  const isNumber = /\d/.test(from)
  if (from === '' || isNumber !== /\d/.test(to)) return null
  const [first, last] = isNumber ? [Number(from), Number(to)] : [from.charCodeAt(0), to.charCodeAt(0)]
  const step = Math.max(1, Math.abs(Number(by)))
  const count = Math.floor(Math.abs(last - first) / step) + 1
  checkLimits(count, 0)
  const width = isNumber && [from, to].some((text) => /^-?0\d/.test(text)) ? Math.max(from.length, to.length) : 0
  const member = (value: number): string =>
    isNumber ? `${value < 0 ? '-' : ''}${String(Math.abs(value)).padStart(width - (value < 0 ? 1 : 0), '0')}` : String.fromCharCode(value)
  return Array.from({ length: count }, (_, index) => member(first + index * step * Math.sign(last - first)))
}
