// Manages the worktrees and file records of processes: plans them with a spec, opens them for an incarnation, and removes them with their
// process. Also finds and lists records. A worktree is salvaged before it is removed. A worktree or record of a process that the store does
// not know must never be removed: it is moved aside.
// Tests: test/tables/daemon/operations/worktrees.test.ts, test/e2e/worktree/worktree.test.ts, test/e2e/worktree/removal.test.ts,
// test/e2e/worktree/retired-worktree.test.ts.
import { mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { join, relative, resolve, sep } from 'node:path'
import { isMissing } from '../../kernel/util/missing-file.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import { isLiving } from '../../kernel/model/status.ts'
import { Git, GitError, gitUser, GitTimeout } from '../../drivers/git/git.ts'
import { IncarnationWorktree, checkWorktreeExists } from '../../drivers/git/incarnation-worktree.ts'
import { keepForSuccessor } from '../../drivers/git/crew/member-worktree.ts'
import { copyRecord, draftPath } from '../../drivers/git/records.ts'
import { HANDOVER_REFS } from '../../drivers/git/salvage.ts'
import { findBase, findRepository, removeWorktree } from '../../drivers/git/worktree.ts'
import { asideDir } from '../../store/files/aside-dir.ts'
import { pathExists } from '../../drivers/common/path-exists.ts'
import type { IncarnationWorktreeDeps } from '../../drivers/git/incarnation-worktree.ts'
import type { OldWorktree, RemovedWorktree } from '../../drivers/git/worktree.ts'
import type { ContainmentManager } from '../../drivers/contain/containment-contract.ts'
import type { StoredFact } from '../../kernel/model/facts.ts'
import type { Process } from '../../kernel/model/process.ts'
import type { Store } from '../../store/store.ts'
import type { KeyedQueue } from '../loop/keyed-queue.ts'
import type { Uuid } from '../../kernel/model/ids.ts'
import type { ProcessSpec, RunnableSpec } from '../../kernel/model/process-spec.ts'
import { hasWorktreeToRetire } from './has-worktree-to-retire.ts'
import { withoutUndefined } from '../../kernel/util/without-undefined.ts'
import { errorText } from '../../kernel/util/error-text.ts'

export interface WorktreesDeps {
  readonly containments: ContainmentManager
  readonly store: Pick<Store, 'process' | 'tail' | 'tombstone'>
  /** the daemon's state directory */
  readonly state: string
  readonly tmpDir: string
  readonly newUuid: () => Uuid
  /** its keys are directories of worktrees */
  readonly queue: KeyedQueue
  /** returns all processes of the table */
  readonly rows: () => Iterable<Process>
  readonly log: (message: string, error: unknown) => void
}

/** A fork whose files are planned. */
export interface NewFork {
  /** the UUID of the fork */
  readonly uuid: Uuid
  /** the origin's spec with the overrides of the request */
  readonly spec: ProcessSpec
  readonly origin: Process
  /** the step of the origin at which the fork starts */
  readonly step: number
  readonly withFiles: boolean
  /** the working directory in the request, or null */
  readonly cwd: string | null
}

/** The file record that a fork starts with. */
export interface ForkedFiles {
  readonly step: number
  readonly commit: string
}

/** Environment variables that would redirect git to another repository. */
const GIT_LOCATION_VARIABLES = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_PREFIX',
  'GIT_COMMON_DIR',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_NAMESPACE',
]

/** the prefix of the names of reeve's branches */
const BRANCH_PREFIX = 'reeve/'
/** the suffix of a records repository; the name before it is a UUID */
const RECORDS_SUFFIX = '.git'
/** the prefix of a model reference that names a script file */
const SCRIPT_PREFIX = 'script:'

/** Record facts per read of the journal. */
const PAGE_FACTS = 100
/** The greatest number of listed records. */
const MAX_RECORDS = 10_000

export class Worktrees {
  readonly #deps: WorktreesDeps
  readonly #worktrees: string
  /** the directory of notes: each has the branch of a worktree whose removal has begun */
  readonly #removalNotes: string
  readonly #records: string

  constructor(deps: WorktreesDeps) {
    this.#deps = deps
    this.#worktrees = join(deps.state, 'worktrees')
    this.#removalNotes = join(deps.state, 'branches')
    this.#records = join(deps.state, 'files')
  }

  /**
   * Plans a worktree of the repository that contains the spec's directory, and returns the spec with it. `at` has the branch and the base
   * commit of a crew's member; default: a new branch at HEAD. Errors: `INVALID` outside of a repository.
   */
  async plan(uuid: Uuid, spec: RunnableSpec, at?: { readonly branch: string; readonly base: string }): Promise<RunnableSpec> {
    const env = Object.fromEntries(Object.entries(spec.env).filter(([name]) => !GIT_LOCATION_VARIABLES.includes(name)))
    const { dir: repository, head, prefix, branches } = await this.#withGit((git) => findRepository(git, spec.cwd, env))
    const dir = await this.#dirOf(uuid)
    return {
      ...withAbsoluteScripts(spec),
      env,
      cwd: resolve(dir, prefix),
      worktree: {
        repository,
        dir,
        branch: branchOf(uuid, at?.branch.slice(BRANCH_PREFIX.length) ?? spec.name, branches),
        base: at?.base ?? head,
      },
    }
  }

  /**
   * Returns the spec of a fork: in the directory of the request or else of the origin, or with `withFiles` in a new worktree. The new
   * worktree gets the files of the newest record at or before the step. Copies that record for the fork. Errors: `INVALID`, for example
   * without such a record.
   */
  async planFork({
    uuid,
    spec,
    origin,
    step,
    withFiles,
    cwd,
  }: NewFork): Promise<{ readonly spec: ProcessSpec; readonly files: ForkedFiles | null }> {
    if (!withFiles) {
      if (spec.worktree && cwd === null)
        throw new KernelError(
          'INVALID',
          `process ${origin.pid} has a worktree of its own, which a fork does not share. Use --with-files for a new worktree with the files of that step, or --cwd DIR for another directory`,
        )
      const { worktree: _, ...withoutWorktree } = spec
      return { spec: cwd === null ? spec : { ...withoutWorktree, cwd }, files: null }
    }
    if (cwd !== null)
      throw new KernelError('INVALID', '--with-files and --cwd exclude each other: the files of a step come in a new worktree')
    const originWorktree = origin.spec.worktree
    if (!spec.worktree || !originWorktree)
      throw new KernelError('INVALID', `no files of process ${origin.pid} are recorded: only those of \`reeve run --worktree\` are`)
    const record = await this.findRecord(origin, step)
    const { worktree, ...rest } = spec
    const { repository } = worktree
    const { base, branches } = await this.#withGit((git) =>
      findBase(git, { repository, commits: [record.body.head, originWorktree.base], env: spec.env }),
    )
    const dir = await this.#dirOf(uuid)
    // The copy comes last: if a later step failed, nothing would remove it.
    await this.#copyRecord(uuid, record, { spec, origin: origin.spec })
    const files = { uuid: record.uuid, step: record.body.step, commit: record.body.commit }
    return {
      spec: {
        ...rest,
        cwd: join(dir, pathInWorktree(originWorktree.dir, origin.spec.cwd)),
        worktree: { repository, dir, branch: branchOf(uuid, spec.name, branches), base, files },
      },
      files: { step: files.step, commit: files.commit },
    }
  }

  /** Deletes the records of a process that was removed or could not be created. Also deletes an unfinished copy of records. */
  async deleteRecords(uuid: Uuid): Promise<void> {
    const dir = this.recordsOf(uuid)
    await Promise.all([dir, draftPath(dir)].map((path) => rm(path, { recursive: true, force: true })))
  }

  /** Opens the worktree of a process for one incarnation; null if it has none. */
  openFor(process: Process, send: IncarnationWorktreeDeps['send']): IncarnationWorktree | null {
    const {
      uuid,
      spec: { worktree },
    } = process
    return worktree
      ? new IncarnationWorktree({ process, worktree, dir: this.recordsOf(uuid), open: (network) => this.#openContainment(network), send })
      : null
  }

  /** Checks that a process to resume has its worktree. Errors: `NOT_RESUMABLE` if it is gone or belongs to another home. */
  async checkForResume(process: Process): Promise<void> {
    const {
      pid,
      files,
      spec: { worktree },
    } = process
    // The first start of a process empties the directory of its worktree. For an imported process it may contain files of the user.
    if (worktree && !files && worktree.dir !== (await this.#dirOf(process.uuid))) {
      throw new KernelError(
        'NOT_RESUMABLE',
        `its worktree ${worktree.dir} belongs to another home, which never created it`,
        { dir: worktree.dir },
        `\`reeve resume --fork --cwd DIR ${pid}\` continues in a directory of your choice.`,
      )
    }
    return checkWorktreeExists(process)
  }

  /** Checks that no other process works in the worktree of a process. Errors: `CONFLICT`. */
  checkIdle(process: Process): void {
    const other = this.otherUserOf(process)
    if (other)
      throw new KernelError(
        'CONFLICT',
        `process ${other.pid} still works in the worktree of process ${process.pid}, ${process.spec.worktree?.dir ?? ''}`,
        {
          uuid: other.uuid,
        },
      )
  }

  /** Finds another living process that works in the worktree of this process. */
  otherUserOf({ uuid, spec: { worktree } }: Process): Process | undefined {
    if (!worktree) return undefined
    for (const other of this.#deps.rows()) {
      if (other.uuid !== uuid && isLiving(other) && `${other.spec.cwd}${sep}`.startsWith(`${worktree.dir}${sep}`)) return other
    }
    return undefined
  }

  /**
   * Removes the worktree and the records of a removed process; null if it had no worktree in this home. A worktree that git cannot examine
   * stays, and the result has the reason. Errors: only those of a state directory that cannot be used.
   */
  async remove({ uuid, spec }: Pick<Process, 'uuid' | 'spec'>): Promise<RemovedWorktree | null> {
    const { worktree } = spec
    // The worktree of an imported process belongs to another home.
    if (!worktree || worktree.dir !== (await this.#dirOf(uuid))) return null
    const removed = await this.#removeWorktree({
      dir: worktree.dir,
      uuid,
      branch: worktree.branch,
      repository: worktree.repository,
      ...gitUser(spec),
    })
    if (removed && hasRemains(removed)) this.#deps.log(removalText(removed), null)
    await this.deleteRecords(uuid).catch((error: unknown) => this.#deps.log(`the records of ${uuid} cannot be removed`, error))
    return removed
  }

  /**
   * Removes the worktree of a retired process. Its records are kept for forks, and its work is kept for a successor in its crew. Does
   * nothing while another process works in the worktree. A worktree that git cannot examine stays, which is logged. Errors: those of the
   * store, and of a state directory that cannot be used.
   */
  async retire(process: Process): Promise<void> {
    const {
      uuid,
      spec,
      spec: { worktree },
    } = process
    if (!worktree || worktree.dir !== (await this.#dirOf(uuid)) || this.otherUserOf(process)) return
    const successor = await this.#successorOf(process)
    if (successor === null) return
    const { dir, branch, repository } = worktree
    const removed = await this.#removeWorktree(
      { dir, uuid, branch, repository, ...gitUser(spec) },
      successor === undefined
        ? undefined
        : (git) => keepForSuccessor(git, { repository, dir, branch, ...gitUser(spec) }, `${HANDOVER_REFS}${successor}`),
    )
    if (removed && hasRemains(removed)) this.#deps.log(`${process.spec.name ?? uuid} has retired: ${removalText(removed)}`, null)
  }

  /**
   * Removes the worktrees and records that an earlier daemon could not remove, one by one. Resolves when they are listed; `done` resolves
   * when they are removed.
   */
  async sweep(): Promise<{ readonly done: Promise<void> }> {
    const folders = [this.#worktrees, this.#removalNotes, this.#records]
    const [worktrees = [], removals = [], records = []] = await Promise.all(folders.map((dir) => this.#namesIn(dir)))
    return {
      done: this.#removeLeftovers([...new Set([...worktrees, ...removals])], records).catch((error: unknown) =>
        this.#deps.log('old worktrees cannot be removed', error),
      ),
    }
  }

  /** Lists the names in a folder; none if it cannot be read, which is logged. Never rejects, so that the daemon can start. */
  async #namesIn(dir: string): Promise<readonly string[]> {
    return readdir(dir).catch((error: unknown) => {
      if (!isMissing(error)) this.#deps.log(`${dir} cannot be read: what an earlier daemon left in it stays`, error)
      return []
    })
  }

  /** Removes leftovers. `worktrees`: the names of worktrees and removal notes; `records`: the names of records repositories. */
  async #removeLeftovers(worktrees: readonly string[], records: readonly string[]): Promise<void> {
    const { store, log } = this.#deps
    for (const uuid of worktrees) {
      const process = await store.process(uuid)
      if (process && hasWorktreeToRetire(process)) await this.retire(process)
      if (process || (await this.#moveAsideIfUnknown('worktrees', uuid, uuid))) continue
      const removed = await this.#removeWorktree({
        dir: join(this.#worktrees, uuid),
        uuid,
        branch: null,
        env: daemonEnvironment(),
        ...(await this.#readRemovalNote(uuid)),
      })
      if (removed) log(`left by a removed process: ${removalText(removed)}`, null)
    }
    for (const name of records) {
      const uuid = ownerOf(name)
      // A living process may be writing a draft of its records now.
      if (await store.process(uuid)) continue
      // A draft may be deleted in any case: it is an unfinished copy of files that exist elsewhere.
      if (name === `${uuid}${RECORDS_SUFFIX}` && (await this.#moveAsideIfUnknown('files', name, uuid))) continue
      await rm(join(this.#records, name), { recursive: true, force: true })
    }
  }

  /**
   * Moves a file or directory aside if the store has never known its process, for example after a restore of an older store.
   * Returns true if the process is unknown.
   */
  async #moveAsideIfUnknown(folder: string, name: string, uuid: Uuid): Promise<boolean> {
    const { store, state, log } = this.#deps
    if (await store.tombstone(uuid)) return false
    if (!(await pathExists(join(state, folder, name)))) return true
    const dir = join(asideDir(state), folder)
    await mkdir(dir, { recursive: true, mode: 0o700 })
    const to = join(dir, (await pathExists(join(dir, name))) ? `${name}.${this.#deps.newUuid()}` : name)
    await rename(join(state, folder, name), to)
    log(`the store knows no process ${uuid}: its ${folder === 'files' ? 'file records were' : 'worktree was'} moved to ${to}`, null)
    return true
  }

  /** Finds the process of a crew member's successor; undefined if it has none, null while its process is not known yet. */
  async #successorOf({ spec: { member } }: Process): Promise<Uuid | null | undefined> {
    const members = member && (await this.#deps.store.process(member.crew))?.crew?.members
    const successor = members?.find(({ id }) => id === member?.id)?.heir ?? undefined
    return successor && (members?.find(({ id }) => id === successor)?.uuid ?? null)
  }

  /** Salvages and removes a worktree. `before` runs first, if the worktree exists. Null if there was nothing to remove. */
  async #removeWorktree(worktree: OldWorktree, before?: (git: Git) => Promise<unknown>): Promise<RemovedWorktree | null> {
    try {
      return await this.#deps.queue.run(worktree.dir, () =>
        this.#withGit(async (git) => {
          if (await pathExists(worktree.dir)) await before?.(git)
          await this.#noteRemoval(worktree)
          const removed = await removeWorktree(git, worktree)
          await rm(join(this.#removalNotes, worktree.uuid), { force: true })
          return removed
        }),
      )
    } catch (error) {
      return { dir: worktree.dir, kept: errorText(error) }
    }
  }

  /** Notes the branch of a worktree that is being removed. If the daemon is killed during the removal, the next one finishes it. */
  async #noteRemoval({ uuid, branch, repository }: OldWorktree): Promise<void> {
    if (branch === null || repository === undefined) return
    await mkdir(this.#removalNotes, { recursive: true, mode: 0o700 })
    await writeFile(join(this.#removalNotes, uuid), JSON.stringify({ branch, repository }), { mode: 0o600, flush: true })
  }

  /** Reads the note of an interrupted removal; null if no removal had begun. */
  async #readRemovalNote(uuid: Uuid): Promise<Pick<OldWorktree, 'branch' | 'repository'> | null> {
    try {
      return JSON.parse(await readFile(join(this.#removalNotes, uuid), 'utf8')) as Pick<OldWorktree, 'branch' | 'repository'>
    } catch {
      // The note is missing or incomplete, so the removal had not begun.
      return null
    }
  }

  /** Finds the newest record at or before a step, of the process or its origins. Errors: INVALID. */
  async findRecord(origin: Process, step: number): Promise<RecordFact> {
    let oldestStep: number | null = null
    for (let before = origin.seq + 1; ;) {
      const page = await this.#deps.store.tail(origin.uuid, PAGE_FACTS, ['files.recorded'], before)
      for (const fact of page.toReversed()) {
        if (!isRecord(fact)) continue
        if (fact.body.step <= step) return this.#checkRecordExists(fact, step)
        oldestStep = fact.body.step
      }
      if (page.length < PAGE_FACTS) break
      before = page[0]?.seq ?? 0
    }
    throw new KernelError(
      'INVALID',
      `no files of process ${origin.pid} are recorded at or before step ${step}${oldestStep === null ? '' : `: the first are those of step ${oldestStep}`}`,
    )
  }

  /**
   * Lists the newest records, about `MAX_RECORDS` at most, with a step after `after` and up to `upTo`, in order. The newest record before
   * them comes first, as their beginning. For a fork, the records of its origins are included.
   */
  async listRecords(process: Process, { after, upTo }: { readonly after: number; readonly upTo: number }): Promise<RecordFact[]> {
    const found: RecordFact[] = []
    for (let before = process.seq + 1; found.length < MAX_RECORDS;) {
      const page = await this.#deps.store.tail(process.uuid, PAGE_FACTS, ['files.recorded'], before)
      const records = page.toReversed().filter(isRecord)
      found.push(...records.filter(({ body }) => body.step <= upTo))
      if (page.length < PAGE_FACTS || (found.at(-1)?.body.step ?? Infinity) <= after) break
      before = page[0]?.seq ?? 0
      await setImmediate()
    }
    const end = found.findIndex(({ body }) => body.step <= after)
    return (end < 0 ? found : found.slice(0, end + 1)).reverse()
  }

  async #checkRecordExists(fact: RecordFact, step: number): Promise<RecordFact> {
    if (await pathExists(this.recordsOf(fact.uuid))) return fact
    throw new KernelError(
      'INVALID',
      `the files of step ${step} are missing: process ${fact.uuid} recorded them; they are removed with it, and exports do not contain them`,
    )
  }

  /** Copies a record to the fork, so that the origin can be removed. */
  async #copyRecord(
    uuid: Uuid,
    { uuid: from, body: { commit, step } }: RecordFact,
    { spec, origin }: { readonly spec: ProcessSpec; readonly origin: ProcessSpec },
  ): Promise<void> {
    await this.#dirOf(uuid)
    try {
      // The origin wrote these records, so git runs with the origin's permissions.
      const user = { ...gitUser(origin), ...gitUser(spec) }
      await this.#withGit((git) =>
        copyRecord(git, this.recordsOf(from), { dir: this.recordsOf(uuid), repository: spec.worktree?.repository ?? '', ...user }, commit),
      )
    } catch (error) {
      await this.deleteRecords(uuid)
      if (error instanceof GitError) throw new KernelError('INVALID', `the files of step ${step} cannot be read: ${error.message}`)
      throw error
    }
  }

  /** Returns the path of the repository of records of a process. */
  recordsOf(uuid: Uuid): string {
    return join(this.#records, `${uuid}${RECORDS_SUFFIX}`)
  }

  /** Returns the directory of a process's worktree, and creates the directories above it. */
  async #dirOf(uuid: Uuid): Promise<string> {
    for (const dir of [this.#worktrees, this.#records]) await mkdir(dir, { recursive: true, mode: 0o700 })
    return join(await realpath(this.#worktrees), uuid)
  }

  #openContainment(network?: 'off'): ReturnType<ContainmentManager['open']> {
    const { containments, newUuid, tmpDir } = this.#deps
    return containments.open(containments.plan(newUuid(), 0, 'auto'), tmpDir, network)
  }

  /** Runs `work` while no other job uses the worktree. */
  useExclusively<T>(dir: string, work: (git: Git) => Promise<T>): Promise<T> {
    return this.#deps.queue.run(dir, () => this.#withGit(work))
  }

  /**
   * Runs `work`, which only reads, beside other jobs of the worktree. Ends git after a time limit. Errors: `GitTimeout` then.
   */
  async readBriefly<T>(limitMs: number, work: (git: Git) => Promise<T>): Promise<T> {
    const limit = AbortSignal.timeout(limitMs)
    const git = new Git((network) => this.#openContainment(network), limit)
    const close = (): Promise<void> => git[Symbol.asyncDispose]()
    const timeout = new GitTimeout(`git took more than ${limitMs} ms`)
    const timedOut = new Promise<never>((_, reject) => limit.addEventListener('abort', () => reject(timeout), { once: true }))
    const reading = work(git)
    // After the time limit the caller waits neither for the disposal nor for the error of the ended git.
    reading.then(close, close).catch((error: unknown) => this.#deps.log('git could not be released', error))
    return Promise.race([reading, timedOut])
  }

  async #withGit<T>(work: (git: Git) => Promise<T>): Promise<T> {
    await using git = new Git((network) => this.#openContainment(network))
    return await work(git)
  }
}

export type RecordFact = StoredFact & { readonly body: Extract<StoredFact['body'], { type: 'files.recorded' }> }

function isRecord(fact: StoredFact): fact is RecordFact {
  return fact.body.type === 'files.recorded'
}

/** Makes the paths of scripted models absolute: they are relative to the caller's directory, not to the worktree. */
function withAbsoluteScripts(spec: RunnableSpec): RunnableSpec {
  if (spec.driver !== 'native') return spec
  const { model, fallback, cwd } = spec
  return {
    ...spec,
    model: withAbsoluteScript(model, cwd),
    ...(fallback && { fallback: fallback.map((ref) => withAbsoluteScript(ref, cwd)) }),
  }
}

function withAbsoluteScript(model: string, cwd: string): string {
  return model.startsWith(SCRIPT_PREFIX) ? `${SCRIPT_PREFIX}${resolve(cwd, model.slice(SCRIPT_PREFIX.length))}` : model
}

/** Whether a removal left something: the worktree itself, salvaged files or a branch. */
function hasRemains({ kept, salvaged, branch }: RemovedWorktree): boolean {
  return kept !== undefined || salvaged !== undefined || branch !== undefined
}

/** Describes the outcome of a removal, for the log. */
function removalText({ dir, kept, salvaged, branch }: RemovedWorktree): string {
  if (kept !== undefined) return `the worktree ${dir} stays: ${kept}`
  const saved = salvaged === undefined ? '' : `; its uncommitted files are in ${salvaged}`
  return `the worktree ${dir} was removed${saved}${branch === undefined ? '' : `; the branch ${branch} stays, because it has commits of its own`}`
}

/** Returns the name of a new branch: `reeve/NAME`, or `reeve/NAME-ID` if that branch exists or the name is not valid. */
function branchOf(uuid: Uuid, name: string | null, existingBranches: readonly string[]): string {
  const id = uuid.slice(-8)
  const first = `${BRANCH_PREFIX}${name ?? id}`
  return isRefName(first) && !existingBranches.includes(first)
    ? first
    : `${BRANCH_PREFIX}${name === null || !isRefName(first) ? '' : `${name}-`}${id}`
}

/** Returns the path of a directory relative to a worktree; empty for a directory outside of it. */
function pathInWorktree(worktree: string, cwd: string): string {
  const path = relative(worktree, cwd)
  return path === '..' || path.startsWith(`..${sep}`) ? '' : path
}

/** True if the name of a process is also valid as the name of a branch. */
export function isRefName(name: string): boolean {
  return !/\.\.|\.$|\.lock$/.test(name)
}

/** Returns the process that a records repository, or a draft of one, belongs to. */
function ownerOf(name: string): Uuid {
  return name.slice(0, name.indexOf(RECORDS_SUFFIX))
}

function daemonEnvironment(): Record<string, string> {
  return withoutUndefined(process.env) as Record<string, string>
}
