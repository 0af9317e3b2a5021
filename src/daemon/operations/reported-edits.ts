// The changes of a process without a worktree, as its agent reported them: the inputs of its successful calls that edit files. reeve has
// no record of such files. So line numbers are unknown, and what programs changed is missing.
// Test: test/e2e/worktree/reported-edits.test.ts.
import { isAbsolute, relative } from 'node:path'
import { isPlainCommand } from '../../kernel/model/capabilities.ts'
import { cutForReading } from '../../drivers/git/diff.ts'
import { findEdits, hunkOf, type FileEdit } from './file-edits.ts'
import { parseSide, type SideRequest, type SidesRequest } from './diff-sides.ts'
import { workPlaceOf } from './work-place.ts'
import type { ChangedFile } from '../../drivers/git/changed-files.ts'
import type { DiffCut, Diff } from '../../drivers/git/diff.ts'
import type { StoredFact, ToolOutcome } from '../../kernel/model/facts.ts'
import type { SliceQueue } from '../../drivers/common/event-loop-turns.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'

/** Facts per page; a page is small, because a fact may contain a long text. */
const PAGE_FACTS = 32
/** The limits of what is read: the newest edits, and their text in characters. */
const MAX_EDITS = 5_000
const MAX_CHARS = 8 * 1024 * 1024
const WHOLE: DiffCut = { fileBytes: MAX_CHARS, bytes: MAX_CHARS }

export interface EditDeps {
  readonly store: Pick<Store, 'tail'>
  readonly slices: SliceQueue
}

interface ReportedEdit extends FileEdit {
  readonly step: number
}

export type ReportedEdits = Diff & { readonly files: readonly ChangedFile[] }

/** Returns the edits that the agent of a process reported. Null if the process has recorded files, or no agent that edits. */
export async function reportedEdits(
  deps: EditDeps,
  process: Process,
  { from, to, path, cut = WHOLE }: SidesRequest & { readonly cut?: DiffCut | undefined },
): Promise<ReportedEdits | null> {
  const { spec } = process
  if (spec.worktree || spec.crew || isPlainCommand(spec) || spec.driver === 'compose' || spec.driver === 'supervisor') return null
  const sides = [parseSide(from ?? 'base'), parseSide(to ?? 'now')] as const
  // Without a worktree there are no files that could be compared with those of another process.
  if (sides.some(({ ref }) => ref !== null)) workPlaceOf(process)
  const [after, upTo] = sides.map(({ at }) => stepOf(at, process)) as [number, number]
  const edits = (await readEdits(deps, process, after, upTo)).map((edit) => ({ ...edit, path: pathFrom(spec.cwd, edit.path) }))
  const byPath = Map.groupBy(
    edits.filter((edit) => path === undefined || edit.path === path || edit.path.startsWith(`${path}/`)),
    (edit) => edit.path,
  )
  const changes = [...byPath].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([file, fileEdits]) => changeOf(file, fileEdits))
  const files = changes.map(({ file }) => file)
  return { files, ...cutForReading(changes.map(({ text }) => text).join(''), files, files, cut) }
}

function stepOf(at: SideRequest['at'], { originStep }: Process): number {
  if (at === 'now') return Infinity
  return at === 'base' ? 0 : at === 'origin' ? (originStep ?? 0) : at
}

/**
 * Returns the path relative to the working directory if it is below it. Replaces control characters, so that the path stays on one line.
 */
function pathFrom(cwd: string, path: string): string {
  const name = path.replaceAll(/[\0-\x1f]/g, '?')
  if (!isAbsolute(name)) return name
  const inside = relative(cwd, name)
  return inside === '' || inside.startsWith('..') ? name : inside
}

/** Reads the newest edits of the steps after `after` up to `upTo`, in order. */
async function readEdits({ store, slices }: EditDeps, { uuid, seq }: Process, after: number, upTo: number): Promise<ReportedEdit[]> {
  const edits: ReportedEdit[] = []
  const outcomes = new Map<string, ToolOutcome>()
  let chars = 0
  for (let before = seq + 1; before > 1;) {
    await slices.next()
    const page = await store.tail(uuid, PAGE_FACTS, ['model.finished', 'tool.finished'], before)
    for (const fact of page.toReversed()) {
      const { body } = fact
      if ('step' in body && body.step <= after) return edits.reverse()
      if (body.type === 'tool.finished') outcomes.set(body.callId, body.outcome)
      const found = body.type === 'model.finished' && body.step <= upTo ? editsOf(fact, outcomes) : []
      chars += found.reduce((sum, edit) => sum + edit.before.length + edit.after.length, 0)
      if (edits.length >= MAX_EDITS || chars > MAX_CHARS) return edits.reverse()
      edits.push(...found.reverse())
      // Only the calls of this step have these outcomes.
      if (body.type === 'model.finished') outcomes.clear()
    }
    if (page.length < PAGE_FACTS) break
    before = page[0]?.seq ?? 0
  }
  return edits.reverse()
}

/** Returns the edits of the successful calls of a step. */
function editsOf({ body }: StoredFact, outcomes: ReadonlyMap<string, ToolOutcome>): ReportedEdit[] {
  if (body.type !== 'model.finished') return []
  return body.message.flatMap((part) =>
    part.type === 'tool-call' && outcomes.get(part.callId) === 'ok'
      ? findEdits(part.input).map((edit) => ({ ...edit, step: body.step }))
      : [],
  )
}

function changeOf(path: string, edits: readonly ReportedEdit[]): { readonly file: ChangedFile; readonly text: string } {
  const hunks = edits.map((edit) => hunkOf(edit, `step ${edit.step}`)).join('')
  const count = (sign: string): number => hunks.split('\n').filter((line) => line.startsWith(sign)).length
  return {
    text: `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n${hunks}`,
    file: {
      path,
      from: null,
      change: 'changed',
      insertions: count('+'),
      deletions: count('-'),
      large: false,
      steps: [...new Set(edits.map(({ step }) => step))],
    },
  }
}
