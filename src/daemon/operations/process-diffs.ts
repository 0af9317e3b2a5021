// Compares the files of a process at two times: as a diff, and as a list of files with the steps that changed them. The two states may
// belong to different processes, such as a fork and its origin. Without a worktree, it uses the edits that the agent reported. Must change
// nothing. Tests: test/e2e/worktree/diff.test.ts, test/e2e/worktree/files.test.ts.
import { join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import { pathExists } from '../../drivers/common/path-exists.ts'
import { listChangedFiles, type ChangedFiles, type StepCommit } from '../../drivers/git/changed-files.ts'
import { diffOf, type Comparison, type Diff, type DiffRepository, type DiffRequest } from '../../drivers/git/diff.ts'
import { scratchObjects } from '../../drivers/git/current-files.ts'
import { findCommonStep } from '../views/lineage/common-step.ts'
import { findSide, parseSide, type DiffSide, type SideRequest, type SidesRequest } from './diff-sides.ts'
import { reportedEdits, type EditDeps } from './reported-edits.ts'
import { workPlaceOf, useGitExclusively } from './work-place.ts'
import type { Git } from '../../drivers/git/git.ts'
import type { OmittedPath } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { ProcessQueries } from '../views/process-queries.ts'
import type { Worktrees } from './worktrees.ts'

export interface ProcessDiffsDeps extends EditDeps {
  readonly worktrees: Pick<Worktrees, 'useExclusively' | 'findRecord' | 'recordsOf' | 'listRecords'>
  readonly reads: Pick<ProcessQueries, 'resolve' | 'find'>
}

export type ProcessDiffRequest = SidesRequest & Pick<DiffRequest, 'maxLines' | 'context' | 'cut'>

/** The two sides; null for edits that the agent reported. */
type Sides = { readonly from: DiffSide; readonly to: DiffSide } | null
export type ProcessDiff = Diff & { readonly sides: Sides }
export type ProcessFiles = ChangedFiles & {
  readonly sides: Sides
  /** paths that the records omit, without ignored paths, up to a limit */
  readonly left: readonly OmittedPath[]
  /** the number of omitted paths beyond the limit */
  readonly leftMore: number
}

/** Two sides in a place that has the objects of both. */
interface OpenSides {
  readonly git: Git
  readonly from: DiffSide
  readonly to: DiffSide
  readonly place: DiffRepository & { readonly objects: string }
  readonly comparison: Comparison
}

/** Records in order, and the directories of their objects. */
interface Records {
  readonly steps: readonly StepCommit[]
  readonly objects: readonly string[]
}

export class ProcessDiffs {
  readonly #deps: ProcessDiffsDeps

  constructor(deps: ProcessDiffsDeps) {
    this.#deps = deps
  }

  /**
   * Compares two states of files. Default: the commit from which the worktree began, and the present files. Errors: `INVALID` for a missing
   * worktree, step or record, and for two repositories; `NOT_FOUND` if nothing is left of the worktree.
   */
  async diff(process: Process, request: ProcessDiffRequest): Promise<ProcessDiff> {
    const { maxLines, context, cut } = request
    const reported = await reportedEdits(this.#deps, process, request)
    if (reported) return { sides: null, ...reported, text: maxLines === 0 ? '' : reported.text }
    return this.#open(process, request, async ({ git, from, to, place, comparison }) => ({
      sides: { from, to },
      ...(await diffOf(git, place, { ...comparison, maxLines, context, cut })),
    }))
  }

  /** Lists the files that differ, with the steps of the second side's process that changed them. Errors: those of `diff`. */
  async files(process: Process, request: SidesRequest): Promise<ProcessFiles> {
    const reported = await reportedEdits(this.#deps, process, request)
    if (reported) return { sides: null, files: reported.files, more: 0, left: [], leftMore: 0 }
    return this.#open(process, request, async ({ git, from, to, place, comparison }) => {
      const left = uniquePaths([...from.left, ...to.left].filter(({ why }) => why !== 'ignored'))
      const { steps, objects } = await this.#recordsBetween(from, to)
      const wholePlace = { ...place, objects: await scratchObjects(git, place.repository, [place.objects, ...objects]) }
      return {
        sides: { from, to },
        ...(await listChangedFiles(git, wholePlace, comparison, steps)),
        left,
        leftMore: from.more + to.more,
      }
    })
  }

  async #open<T>(process: Process, request: SidesRequest, work: (sides: OpenSides) => Promise<T>): Promise<T> {
    const place = workPlaceOf(process)
    const [fromRequest, toRequest] = [parseSide(request.from ?? 'base'), parseSide(request.to ?? 'now')]
    const [from, to] = [await this.#processOf(process, fromRequest), await this.#processOf(process, toRequest)]
    return useGitExclusively(this.#deps.worktrees, place.dir ?? place.repository, async (git) => {
      const sides = {
        from: await findSide(this.#deps.worktrees, git, from, fromRequest.at),
        to: await findSide(this.#deps.worktrees, git, to, toRequest.at),
      }
      const objects = await scratchObjects(git, place.repository, [...new Set([...sides.from.objects, ...sides.to.objects])])
      const isRecord = [sides.from, sides.to].some(({ of }) => of === 'step' || of === 'origin')
      const omitted = [...sides.from.left, ...sides.to.left].map(({ path }) => path)
      return work({
        git,
        ...sides,
        place: { ...place, objects },
        comparison: { from: sides.from.commit, to: sides.to.commit, only: request.path, ...(isRecord && { omitted }) },
      })
    })
  }

  /** Finds the process of a side. Errors: `INVALID` if it works in another repository; those of a reference. */
  async #processOf(process: Process, { ref }: SideRequest): Promise<Process> {
    if (ref === null) return process
    const other = await this.#deps.reads.resolve(ref)
    const [own, others] = [workPlaceOf(process), workPlaceOf(other)]
    if (own.repository === others.repository) return other
    throw new KernelError('INVALID', `processes ${process.pid} and ${other.pid} work in different repositories`, {
      repositories: [own.repository, others.repository],
    })
  }

  /** Returns the records after the first side up to the second one, with the state before them. */
  async #recordsBetween(from: DiffSide, to: DiffSide): Promise<Records> {
    const { reads, worktrees } = this.#deps
    const isSame = from.process.uuid === to.process.uuid
    const start = (isSame ? from.step : await findCommonStep(reads, from.process, to.process)) ?? -1
    const end = to.step ?? Infinity
    const [after, upTo] = [Math.min(start, end), Math.max(start, end)]
    const found = await worktrees.listRecords(to.process, { after, upTo })
    const dirs = new Map<string, boolean>()
    for (const dir of new Set(found.map(({ uuid }) => worktrees.recordsOf(uuid)))) dirs.set(dir, await pathExists(dir))
    const readable = found.filter(({ uuid }) => dirs.get(worktrees.recordsOf(uuid)))
    const steps = readable.map(({ body: { step, commit } }) => ({ step, commit }))
    // A step changed what differs from the record before it. If no record is that old, the first side is the state before the steps.
    return {
      steps: isSame && (steps[0]?.step ?? Infinity) > after ? [{ step: start, commit: from.commit }, ...steps] : steps,
      objects: [...dirs].flatMap(([dir, exists]) => (exists ? [join(dir, 'objects')] : [])),
    }
  }
}

function uniquePaths(all: readonly OmittedPath[]): OmittedPath[] {
  return [...new Map(all.map((one) => [one.path, one])).values()]
}
