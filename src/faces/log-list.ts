// The lines of a log as a viewer keeps them. Joins newly read lines with the known ones, and finds a text in them. The number of a line
// stays the same, so that a viewer keeps its place. Pure. Test: test/tables/faces/log-list.test.ts.
import type { LogLine } from '../api/views/process.ts'
import { colouredParts, type ColouredPart } from './visible-text.ts'

/** An answer of the API with lines of a log. */
export interface LogRead {
  readonly lines: readonly LogLine[]
  /** where the earlier lines end; null: there are none */
  readonly before: string | null
}

export interface LogList extends LogRead {
  /** the number of the first line; below 0 after earlier lines were read */
  readonly first: number
  /** true: lines were dropped at the beginning, and are not read again */
  readonly isCut: boolean
}

/** The most lines that are kept. */
export const MAX_LOG_LINES = 10_000
/** the lines that must be equal where a page continues the list, if later lines of the overlap differ */
const OVERLAP_LINES = 50
/** the last lines may differ, because a note can take the place of a line that it repeats */
const UNSETTLED_LINES = 3
/** the part of a line that is shown and searched, in characters */
const LINE_CHARS = 5_000

/** Joins a list with a newly read page of the newest lines. Lines that did not change stay the same objects. */
export function joinNewest(list: LogList | null, page: LogRead): LogList {
  if (list === null) return { ...page, first: 0, isCut: false }
  const from = page.before === null ? 0 : startOf(list.lines, page.lines)
  // More lines came than a page has: those between are missing, so the list begins anew.
  if (from === null) return { ...page, first: list.first + list.lines.length, isCut: false }
  const kept = list.lines.slice(0, from)
  const lines = [...kept, ...page.lines.map((line, index) => unlessEqual(list.lines[from + index], line))]
  const excess = Math.max(0, lines.length - MAX_LOG_LINES)
  const isCut = list.isCut || excess > 0
  return {
    lines: lines.slice(excess),
    before: isCut ? null : from === 0 ? page.before : list.before,
    first: list.first + excess,
    isCut,
  }
}

/** Puts earlier lines before a list. */
export function joinEarlier(list: LogList, page: LogRead): LogList {
  const lines = page.lines.slice(Math.max(0, page.lines.length - MAX_LOG_LINES + list.lines.length))
  const isCut = lines.length < page.lines.length
  return { lines: [...lines, ...list.lines], before: isCut ? null : page.before, first: list.first - lines.length, isCut }
}

/**
 * The index in `lines` where `page` begins; null: it begins after them. The whole overlap counts, because a program can repeat a line many
 * times. If none is equal as a whole, the longest equal beginning counts: a late line of another process may stand between.
 */
function startOf(lines: readonly LogLine[], page: readonly LogLine[]): number | null {
  const settled = lines.length - UNSETTLED_LINES
  let [start, longest]: [number | null, number] = [null, OVERLAP_LINES - 1]
  for (let from = Math.max(0, lines.length - page.length); from < settled; from += 1) {
    const count = equalLines(lines, page, from)
    if (from + count >= settled) return startOfAll(lines, page, from)
    if (count > longest) [start, longest] = [from, count]
  }
  return start
}

/** The first index from `from` on where the last lines are equal, too; `from` if they have changed. */
function startOfAll(lines: readonly LogLine[], page: readonly LogLine[], from: number): number {
  for (let start = from; start <= from + UNSETTLED_LINES; start += 1)
    if (start + equalLines(lines, page, start) === lines.length) return start
  return from
}

/** How many lines from `from` on are equal to the first ones of `page`. */
function equalLines(lines: readonly LogLine[], page: readonly LogLine[], from: number): number {
  let at = from
  for (let line = lines[at]; line && isSameLine(line, page[at - from]); line = lines[at]) at += 1
  return at - from
}

function isSameLine(a: LogLine, b: LogLine | undefined): boolean {
  return b !== undefined && a.at === b.at && a.text === b.text && a.stream === b.stream && a.uuid === b.uuid
}

function unlessEqual(before: LogLine | undefined, line: LogLine): LogLine {
  return before && isSameLine(before, line) && before.call?.state === line.call?.state ? before : line
}

/** A part of a line, and whether it is what the user looks for. */
export interface LogPart extends ColouredPart {
  readonly isMatch: boolean
}

/** The parts of a line by colour, and by what the user looks for. `find`: null: nothing. */
export function logParts(text: string, find: RegExp | null): LogPart[] {
  const parts = colouredParts(shownPart(text))
  if (find === null) return parts.map((part) => ({ ...part, isMatch: false }))
  const matches = [
    ...parts
      .map((part) => part.text)
      .join('')
      .matchAll(find),
  ].map(({ index, 0: { length } }) => [index, index + length] as const)
  const cut: LogPart[] = []
  let [at, next] = [0, 0]
  for (const part of parts) {
    const end = at + part.text.length
    for (let from = at; from < end;) {
      while ((matches[next]?.[1] ?? Infinity) <= from) next += 1
      const [start, stop] = matches[next] ?? [Infinity, Infinity]
      const isMatch = start <= from
      const to = Math.min(end, isMatch ? stop : start)
      cut.push({ ...part, text: part.text.slice(from - at, to - at), isMatch })
      from = to
    }
    at = end
  }
  return cut
}

function shownPart(text: string): string {
  return text.length > LINE_CHARS ? text.slice(0, LINE_CHARS).toWellFormed() : text
}

/** The number of characters of a line that are not shown. */
export function hiddenChars(text: string): number {
  return Math.max(0, text.length - LINE_CHARS)
}

/** The pattern of a plain text, without regard to case; null: there is nothing to look for. */
export function patternOf(text: string): RegExp | null {
  return text === '' ? null : new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'giu')
}

/** the shown text of each line */
const texts = new WeakMap<LogLine, string>()

/** The numbers of the lines that match `find`; null matches none. */
export function linesWith({ lines, first }: LogList, find: RegExp | null): number[] {
  if (find === null) return []
  return lines.flatMap((line, index) => (textOf(line).search(find) >= 0 ? [first + index] : []))
}

function textOf(line: LogLine): string {
  const known = texts.get(line)
  if (known !== undefined) return known
  const text = colouredParts(shownPart(line.text))
    .map((part) => part.text)
    .join('')
  texts.set(line, text)
  return text
}

/** The next match after line `number`, or before it with -1. The search wraps around at the ends. Null: there is no match. */
export function nextMatch(matches: readonly number[], number: number | null, by: 1 | -1): number | null {
  if (matches.length === 0) return null
  // A search begins at the newest line.
  if (number === null) return matches.at(-1) ?? null
  const index = by === 1 ? matches.findIndex((match) => match > number) : matches.findLastIndex((match) => match < number)
  return (index < 0 ? matches.at(by === 1 ? 0 : -1) : matches[index]) ?? null
}
