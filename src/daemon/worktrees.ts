// Worktrees of processes, and the records of their files, as the daemon keeps them: planned with a spec, made at the first start,
// removed with their process. Owns the two directories that they are in. Whatever lies there and belongs to no process is
// removed as if its process had just been: salvaged first.
// Test: test/e2e/worktree.test.ts, test/e2e/worktree-removal.test.ts.
import { access, mkdir, readdir, realpath, rm } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { KernelError } from '../kernel/errors.ts'
import { isLiving } from '../kernel/status.ts'
import { Git, GitError } from '../drivers/files/git.ts'
import { RunFiles, checkThere } from '../drivers/files/run-files.ts'
import { giveAway } from '../drivers/files/crew-tree.ts'
import { copyRecord, draftOf } from '../drivers/files/records.ts'
import { HANDED_OVER } from '../drivers/files/salvage.ts'
import { findBase, findRepository, removeWorktree } from '../drivers/files/worktree.ts'
import { isRetired } from './retirements.ts'
import type { RunFilesParts } from '../drivers/files/run-files.ts'
import type { WorktreeEnd } from '../drivers/files/worktree.ts'
import type { Container } from '../drivers/contain/contain.ts'
import type { StoredFact } from '../kernel/facts.ts'
import type { Process, ProcessSpec, Uuid } from '../kernel/types.ts'
import type { Store } from '../store/store.ts'
import type { Lines } from './lines.ts'

export interface WorktreesParts {
  readonly container: Container
  readonly store: Pick<Store, 'process' | 'tail'>
  /** the daemon's state directory */
  readonly state: string
  readonly tmpDir: string
  readonly newUuid: () => Uuid
  /** by worktree */
  readonly lines: Lines
  /** the processes of the table */
  readonly rows: () => Iterable<Process>
  readonly log: (message: string, error: unknown) => void
}

export interface NewFork {
  /** of the fork */
  readonly uuid: Uuid
  /** the origin's, with what was said otherwise */
  readonly spec: ProcessSpec
  readonly origin: Process
  readonly step: number
  readonly withFiles: boolean
  /** a directory that was named */
  readonly cwd: string | null
}

/** Which record a fork begins with. */
export interface ForkedFiles {
  readonly step: number
  readonly commit: string
}

/** Variables that would make git work somewhere else. */
const ELSEWHERE = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX', 'GIT_COMMON_DIR', 'GIT_OBJECT_DIRECTORY', 'GIT_ALTERNATE_OBJECT_DIRECTORIES', 'GIT_NAMESPACE']

const BRANCHES = 'reeve/'
const RECORDS = '.git'
/** begins the reference of a model that a file plays */
const SCRIPT = 'script:'

/** Records that are looked at in one go. */
const PAGE = 100

export class Worktrees {
  readonly #parts: WorktreesParts
  readonly #worktrees: string
  readonly #records: string

  constructor(parts: WorktreesParts) {
    this.#parts = parts
    this.#worktrees = join(parts.state, 'worktrees')
    this.#records = join(parts.state, 'files')
  }

  /**
   * The spec of a process that is to have a worktree of the repository that holds its directory, on a branch and at a commit of
   * its own or, of a crew's member, as that says. Errors: `INVALID`.
   */
  async plan(uuid: Uuid, spec: ProcessSpec, at?: { readonly branch: string; readonly base: string }): Promise<ProcessSpec> {
    const env = Object.fromEntries(Object.entries(spec.env).filter(([name]) => !ELSEWHERE.includes(name)))
    const { dir: repository, head, prefix, branches } = await this.#with((git) => findRepository(git, spec.cwd, env))
    const dir = await this.#dirOf(uuid)
    const model = spec.model === null ? null : fromHere(spec.model, spec.cwd)
    const fallback = spec.fallback ? { fallback: spec.fallback.map((ref) => fromHere(ref, spec.cwd)) } : {}
    return { ...spec, ...fallback, model, env, cwd: resolve(dir, prefix), worktree: { repository, dir, branch: branchOf(uuid, at?.branch.slice(BRANCHES.length) ?? spec.name, branches), base: at?.base ?? head } }
  }

  /**
   * The spec of a fork: with the files of the newest record at or before a step in a worktree of its own, or in a directory that
   * was named. A worktree is never shared. Errors: `INVALID` with what there is.
   */
  async forFork({ uuid, spec, origin, step, withFiles, cwd }: NewFork): Promise<{ readonly spec: ProcessSpec; readonly files: ForkedFiles | null }> {
    const { worktree, ...rest } = spec
    if (!withFiles) {
      if (worktree && cwd === null) throw new KernelError('INVALID', `process ${origin.pid} has a worktree of its own, which a fork does not share: --with-files gives it one with the files of that step, --cwd DIR another directory`)
      return { spec: cwd === null ? spec : { ...rest, cwd }, files: null }
    }
    if (cwd !== null) throw new KernelError('INVALID', 'the files of a step come in a worktree of its own: --with-files and --cwd do not go together')
    const own = origin.spec.worktree
    if (!worktree || !own) throw new KernelError('INVALID', `no files of process ${origin.pid} are recorded: only those of \`reeve run --worktree\` are`)
    const record = await this.#recordAt(origin, step)
    const { repository } = worktree
    const { base, branches } = await this.#with((git) => findBase(git, { repository, commits: [record.body.head, own.base], env: spec.env }))
    const dir = await this.#dirOf(uuid)
    // The last thing that can fail: nobody else would remove it.
    await this.#copy(uuid, record, spec)
    const files = { uuid: record.uuid, step: record.body.step, commit: record.body.commit }
    return {
      spec: { ...rest, cwd: join(dir, placeIn(own.dir, origin.spec.cwd)), worktree: { repository, dir, branch: branchOf(uuid, spec.name, branches), base, files } },
      files: { step: files.step, commit: files.commit },
    }
  }

  /** The records of a process that did not come to be, or is removed; also those whose making was cut off. */
  async forget(uuid: Uuid): Promise<void> {
    const dir = this.#recordsOf(uuid)
    await Promise.all([dir, draftOf(dir)].map((path) => rm(path, { recursive: true, force: true })))
  }

  /** For one incarnation; null if its process has no worktree. */
  of(process: Process, say: RunFilesParts['say']): RunFiles | null {
    const { uuid, spec: { worktree } } = process
    return worktree ? new RunFiles({ process, worktree, dir: this.#recordsOf(uuid), open: () => this.#open(), say }) : null
  }

  /** Errors: `NOT_RESUMABLE` with the way out, for one whose worktree is gone, or was to be made by another home. */
  async check(process: Process): Promise<void> {
    const { pid, files, spec: { worktree } } = process
    // Its first start clears the place of what an earlier beginning left there. What an import names may be anybody's.
    if (worktree && !files && worktree.dir !== await this.#dirOf(process.uuid)) {
      throw new KernelError('NOT_RESUMABLE', `its worktree ${worktree.dir} was to be made by another home, and never was`, { dir: worktree.dir }, `\`reeve resume --fork --cwd DIR ${pid}\` goes on in a directory that you name.`)
    }
    return checkThere(process)
  }

  /** Errors: `CONFLICT` while somebody works in the worktree of this process. */
  checkIdle(process: Process): void {
    const other = this.#worker(process)
    if (other) throw new KernelError('CONFLICT', `process ${other.pid} still works in its worktree ${process.spec.worktree?.dir ?? ''}`, { uuid: other.uuid })
  }

  /** Another process that works in the worktree of this one. */
  #worker({ uuid, spec: { worktree } }: Process): Process | undefined {
    if (!worktree) return undefined
    for (const other of this.#parts.rows()) {
      if (other.uuid !== uuid && isLiving(other) && `${other.spec.cwd}${sep}`.startsWith(`${worktree.dir}${sep}`)) return other
    }
    return undefined
  }

  /** Removes the worktree and the records of a process that was removed. Never rejects: what could not be judged stays, and is told. */
  async remove({ uuid, spec: { worktree, env } }: Pick<Process, 'uuid' | 'spec'>): Promise<WorktreeEnd | null> {
    // One that was imported names the worktree of the home that it comes from, which is not ours to remove.
    if (!worktree || worktree.dir !== await this.#dirOf(uuid)) return null
    const end = await this.#end({ dir: worktree.dir, uuid, branch: worktree.branch, repository: worktree.repository, env })
    if (end && Object.keys(end).length > 1) this.#parts.log(told(end), null)
    await this.forget(uuid).catch((error: unknown) => this.#parts.log(`the records of ${uuid} cannot be removed`, error))
    return end
  }

  /**
   * The worktree of one that has retired goes, as at its removal; its records stay for a fork, and its work for a successor.
   * Never rejects. Nothing while somebody works in it.
   */
  async retire(process: Process): Promise<void> {
    const { uuid, spec: { worktree, env } } = process
    if (!worktree || worktree.dir !== await this.#dirOf(uuid) || this.#worker(process)) return
    const heir = await this.#heirOf(process)
    if (heir === null) return
    const { dir, branch, repository } = worktree
    const end = await this.#end({ dir, uuid, branch, repository, env }, heir === undefined ? undefined : ((git) => giveAway(git, { repository, dir, branch, env }, `${HANDED_OVER}${heir}`)))
    if (end && Object.keys(end).length > 1) this.#parts.log(`of ${process.spec.name ?? uuid}, which retired: ${told(end)}`, null)
  }

  /** What an earlier daemon did not come to remove: those that are there now, one after another. Resolves when they are known. */
  async sweep(): Promise<{ readonly done: Promise<void> }> {
    const [worktrees, records] = await Promise.all([namesIn(this.#worktrees), namesIn(this.#records)])
    return { done: this.#sweep(worktrees, records).catch((error: unknown) => this.#parts.log('old worktrees cannot be removed', error)) }
  }

  async #sweep(worktrees: readonly string[], records: readonly string[]): Promise<void> {
    const { store, log } = this.#parts
    for (const uuid of worktrees) {
      const process = await store.process(uuid)
      if (process && isRetired(process)) await this.retire(process)
      if (process) continue
      const end = await this.#end({ dir: join(this.#worktrees, uuid), uuid, branch: null, env: environment() })
      if (end) log(`of a process that is gone: ${told(end)}`, null)
    }
    for (const name of records) {
      // A draft, too: its process may be at making it by now.
      if (await store.process(ownerOf(name))) continue
      await rm(join(this.#records, name), { recursive: true, force: true })
    }
  }

  /** Who goes on with the work of a member; undefined: nobody, null: it is not known yet. */
  async #heirOf({ spec: { member } }: Process): Promise<Uuid | null | undefined> {
    const members = member && (await this.#parts.store.process(member.crew))?.crew?.members
    const heir = members?.find(({ id }) => id === member?.id)?.heir ?? undefined
    return heir && (members?.find(({ id }) => id === heir)?.uuid ?? null)
  }

  async #end(worktree: Parameters<typeof removeWorktree>[1], first?: (git: Git) => Promise<unknown>): Promise<WorktreeEnd | null> {
    try {
      return await this.#parts.lines.run(worktree.dir, () => this.#with(async (git) => {
        if (await isThere(worktree.dir)) await first?.(git)
        return removeWorktree(git, worktree)
      }))
    } catch (error) {
      return { dir: worktree.dir, kept: error instanceof Error ? error.message : String(error) }
    }
  }

  /** The newest record at or before a step, of the process or of those that it was forked from. */
  async #recordAt(origin: Process, step: number): Promise<RecordFact> {
    let first: number | null = null
    for (let before = origin.seq + 1; ;) {
      const page = await this.#parts.store.tail(origin.uuid, PAGE, ['files.recorded'], before)
      for (const fact of page.toReversed()) {
        if (!isRecord(fact)) continue
        if (fact.body.step <= step) return this.#there(fact, step)
        first = fact.body.step
      }
      if (page.length < PAGE) break
      before = page[0]?.seq ?? 0
    }
    throw new KernelError('INVALID', `no files of process ${origin.pid} are recorded at or before step ${step}${first === null ? '' : `: the first are those of step ${first}`}`)
  }

  async #there(fact: RecordFact, step: number): Promise<RecordFact> {
    if (await isThere(this.#recordsOf(fact.uuid))) return fact
    throw new KernelError('INVALID', `the files of step ${step} were recorded by process ${fact.uuid}, and are not here: they go with that process, and no export has them`)
  }

  /** From now on the origin may go: the record is the fork's own. */
  async #copy(uuid: Uuid, { uuid: from, body: { commit, step } }: RecordFact, { worktree, env }: ProcessSpec): Promise<void> {
    await this.#dirOf(uuid)
    try {
      await this.#with((git) => copyRecord(git, this.#recordsOf(from), { dir: this.#recordsOf(uuid), repository: worktree?.repository ?? '', env }, commit))
    } catch (error) {
      await this.forget(uuid)
      if (error instanceof GitError) throw new KernelError('INVALID', `the files of step ${step} cannot be read: ${error.message}`)
      throw error
    }
  }

  #recordsOf(uuid: Uuid): string {
    return join(this.#records, `${uuid}${RECORDS}`)
  }

  /** Where its worktree is to be; the directories above it are there. */
  async #dirOf(uuid: Uuid): Promise<string> {
    for (const dir of [this.#worktrees, this.#records]) await mkdir(dir, { recursive: true, mode: 0o700 })
    return join(await realpath(this.#worktrees), uuid)
  }

  #open(): ReturnType<Container['open']> {
    const { container, newUuid, tmpDir } = this.#parts
    return container.open(container.plan(newUuid(), 0, 'auto'), tmpDir)
  }

  async #with<T>(work: (git: Git) => Promise<T>): Promise<T> {
    await using git = new Git(() => this.#open())
    return await work(git)
  }
}

type RecordFact = StoredFact & { readonly body: Extract<StoredFact['body'], { type: 'files.recorded' }> }

function isRecord(fact: StoredFact): fact is RecordFact {
  return fact.body.type === 'files.recorded'
}

/** A script is named from where somebody was, and may be no part of the repository. */
function fromHere(model: string, cwd: string): string {
  return model.startsWith(SCRIPT) ? `${SCRIPT}${resolve(cwd, model.slice(SCRIPT.length))}` : model
}

/** What became of it, for the log: a collection has nobody else to tell. */
function told({ dir, kept, salvaged, branch }: WorktreeEnd): string {
  if (kept !== undefined) return `the worktree ${dir} stays: ${kept}`
  const saved = salvaged === undefined ? '' : `; what was not committed is in ${salvaged}`
  return `the worktree ${dir} was removed${saved}${branch === undefined ? '' : `; the branch ${branch} stays, as it has commits of its own`}`
}

/** `reeve/docs`, or with the short id where there is one of that name. */
function branchOf(uuid: Uuid, name: string | null, taken: readonly string[]): string {
  const id = uuid.slice(-8)
  const first = `${BRANCHES}${name ?? id}`
  return isRefName(first) && !taken.includes(first) ? first : `${BRANCHES}${name === null || !isRefName(first) ? '' : `${name}-`}${id}`
}

/** The same place in another worktree; its top for one that was told to work elsewhere. */
function placeIn(worktree: string, cwd: string): string {
  const place = relative(worktree, cwd)
  return place === '..' || place.startsWith(`..${sep}`) ? '' : place
}

/** Names of processes are nearly names of branches. */
export function isRefName(name: string): boolean {
  return !/\.\.|\.$|\.lock$/.test(name)
}

/** Of a repository of records, or of one that is being made. */
function ownerOf(name: string): Uuid {
  return name.slice(0, name.indexOf(RECORDS))
}

function environment(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
}

async function namesIn(dir: string): Promise<readonly string[]> {
  return readdir(dir).catch(() => [])
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false)
}
