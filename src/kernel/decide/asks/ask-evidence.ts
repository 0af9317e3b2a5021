// Limits the evidence of an ask, so that its fact stays small however large a change is. Must never shorten anything without a mark,
// because the user decides by what is shown.
// Tests: test/tables/kernel/decide/asks/ask-evidence.test.ts, test/properties/ask-evidence.test.ts.
import type { AskDiff, AskEvidence, AskTool } from '../../model/asks.ts'
import { truncate } from '../../util/truncate.ts'

/** maximum length of a tool's input, in characters of JSON */
export const INPUT_CHARS = 12_000
/** maximum length of each text in an input that is too long */
const INPUT_TEXT_CHARS = 2_000
/** maximum length of the old and new texts of all files together, in characters */
export const DIFF_CHARS = 40_000
/** maximum number of files and of locations */
export const MAX_FILES = 32
/** maximum length of a path or of a tool's name, in characters */
const PATH_CHARS = 400
/** number of equal lines that are kept on each side of a change when the others are left out */
const CONTEXT_LINES = 3
/** The mark at the place of a text that was left out. */
const MARK = '…'

/** Returns the evidence within the limits. What is left out is marked. */
export function boundEvidence({ source, tool, diff, moreFiles = 0 }: AskEvidence): AskEvidence {
  const leftFiles = moreFiles + Math.max(0, diff.length - MAX_FILES)
  return { source, tool: boundTool(tool), diff: boundDiffs(diff.slice(0, MAX_FILES)), ...(leftFiles > 0 ? { moreFiles: leftFiles } : {}) }
}

function boundTool({ name, kind, input, isCut, locations }: AskTool): AskTool {
  const bounded = boundInput(input)
  const wasCut = isCut === true || bounded !== input
  return {
    name: truncate(name, PATH_CHARS, MARK),
    kind,
    input: bounded,
    ...(wasCut ? { isCut: true } : {}),
    locations: locations.slice(0, MAX_FILES).map((path) => truncate(path, PATH_CHARS, MARK)),
  }
}

/**
 * Returns a short value unchanged. Shortens the texts in a long value. If it is still too long, returns the beginning of its JSON as a
 * text.
 */
function boundInput(input: unknown): unknown {
  const json = JSON.stringify(input ?? null)
  if (json.length <= INPUT_CHARS) return input
  const shorter = JSON.stringify(input, (_, value: unknown) =>
    typeof value === 'string' ? truncate(value, INPUT_TEXT_CHARS, MARK) : value,
  )
  return shorter.length <= INPUT_CHARS ? (JSON.parse(shorter) as unknown) : truncate(json, INPUT_CHARS / 2, MARK)
}

/** Each file gets an equal share of the room that the files before it have left. */
function boundDiffs(diffs: readonly AskDiff[]): readonly AskDiff[] {
  let left = DIFF_CHARS
  return diffs.map((diff, index) => {
    const bounded = boundDiff(diff, Math.floor(left / (diffs.length - index)))
    left -= lengthOf(bounded)
    return bounded
  })
}

function lengthOf({ old, new: text }: Pick<AskDiff, 'old' | 'new'>): number {
  return (old?.length ?? 0) + text.length
}

/** Leaves out equal lines first. Cuts the ends of the texts only if that is not enough. */
function boundDiff(diff: AskDiff, room: number): AskDiff {
  const path = truncate(diff.path, PATH_CHARS, MARK)
  if (lengthOf(diff) <= room) return { ...diff, path }
  const focused = withoutEqualLines(diff)
  const { old } = focused
  const length = lengthOf(focused)
  if (length <= room) return { ...focused, path }
  const half = Math.floor(room / 2)
  const oldRoom = Math.max(half, room - focused.new.length)
  const shortOld = old === null ? null : truncate(old, oldRoom)
  const shortNew = truncate(focused.new, room - (shortOld?.length ?? 0))
  return { ...focused, path, old: shortOld, new: shortNew, cut: (diff.cut ?? 0) + length - lengthOf({ old: shortOld, new: shortNew }) }
}

/** Leaves out the equal lines before and after the change, except for some next to it. */
function withoutEqualLines(diff: AskDiff): AskDiff {
  if (diff.old === null || diff.cut !== undefined) return diff
  const [old, text] = [diff.old.split('\n'), diff.new.split('\n')]
  const most = Math.min(old.length, text.length)
  let before = 0
  while (before < most && old[before] === text[before]) before += 1
  let after = 0
  while (after < most - before && old.at(-1 - after) === text.at(-1 - after)) after += 1
  const [skippedBefore, skippedAfter] = [Math.max(0, before - CONTEXT_LINES), Math.max(0, after - CONTEXT_LINES)]
  if (skippedBefore + skippedAfter === 0) return diff
  const keep = (lines: readonly string[]): string => lines.slice(skippedBefore, lines.length - skippedAfter).join('\n')
  const { before: earlier, after: later } = diff.equal ?? { before: 0, after: 0 }
  return { ...diff, old: keep(old), new: keep(text), equal: { before: earlier + skippedBefore, after: later + skippedAfter } }
}
