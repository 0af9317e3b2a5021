// Repeats the operations on the simulated repository of a crew with real git and the daemon's own jobs, step by step. Each job must
// have the same result, and after each step the same files and refs must exist. Only the names of commits differ.
// Used by test/processes/crew/simulated-git.test.ts.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CrewGit } from '../../../src/daemon/crew/jobs/git.ts'
import { CrewJobs } from '../../../src/daemon/crew/jobs/jobs.ts'
import { KeyedQueue } from '../../../src/daemon/loop/keyed-queue.ts'
import { Git } from '../../../src/drivers/git/git.ts'
import { addWorktree } from '../../../src/drivers/git/worktree.ts'
import { openContainmentHarness, type ContainmentHarness } from '../agents/containment-harness.ts'
import { kernelSpec } from '../kernel/world.ts'
import { performMisuse } from './misused-git.ts'
import {
  BASE_FILES,
  isComparedRef,
  failsVerify,
  TEXTS,
  WIP_FILES,
  type Operation,
  type Content,
  type Step,
} from '../simulated-git/simulated-repository.ts'
import { treeId, type Files } from '../simulated-git/objects.ts'
import { Repository } from '../git/repository.ts'
import { uuidOf } from '../store/facts.ts'
import type { Command } from '../../../src/kernel/model/crew/commands.ts'
import type { ShellCommandRun } from '../../../src/kernel/model/crew/shell-command-results.ts'
import type { Crew } from '../../../src/kernel/model/crew/crew.ts'
import type { CrewEffect, CrewJobsDeps } from '../../../src/daemon/crew/jobs/jobs.ts'
import type { Process } from '../../../src/kernel/model/process.ts'
import type { MemberId } from '../../../src/kernel/model/crew/words.ts'
import type { JobResult } from '../../../src/kernel/model/crew/facts.ts'
import type { ProcessSpec, CrewSpec } from '../../../src/kernel/model/process-spec.ts'

type OperationOf<T extends Operation['type']> = Extract<Operation, { type: T }>

const CREW = uuidOf(1)
const RUNNING = { state: 'running', stopping: null, holds: [] } as const
const RAN = { end: 'exited', signal: null, ms: 1, output: '', left: 0 } as const
const NAMES = /\b[0-9a-f]{40}\b/g

export class RealGit implements AsyncDisposable {
  readonly #contained: ContainmentHarness
  readonly #repository: Repository
  readonly #git: CrewGit
  readonly #jobs: CrewJobs
  readonly #rows = new Map<string, Process>()
  /** the name in git of each commit of the simulated git */
  readonly #names = new Map<string, string>()
  #row: Process | null = null
  #facts: OperationOf<'job'>['facts'] = []
  #onJobDone: (result: JobResult) => void = () => undefined
  #failed: (error: Error) => void = (error) => {
    throw error
  }

  private constructor(contained: ContainmentHarness, repository: Repository) {
    this.#contained = contained
    this.#repository = repository
    let opened = 0
    this.#git = new CrewGit({
      containments: contained.manager,
      tmpDir: contained.dir,
      newUuid: () => uuidOf(1_000 + (opened += 1)),
      worktrees: join(contained.dir, 'w'),
      queue: new KeyedQueue(),
    })
    this.#jobs = new CrewJobs(this.#jobsDeps())
  }

  static async make(base: string): Promise<RealGit> {
    const contained = await openContainmentHarness()
    const repository = Repository.make(join(contained.dir, 'repo'), contained.dir)
    // Turns off rename detection: the simulated git has no renames.
    repository.git('config', 'merge.renames', 'false')
    const real = new RealGit(contained, repository)
    real.#names.set(base, repository.commit(BASE_FILES))
    repository.git('checkout', '-q', '-b', 'wip')
    repository.commit(WIP_FILES, TEXTS.foreign)
    repository.git('checkout', '-q', 'main')
    return real
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#contained[Symbol.asyncDispose]()
  }

  /** Repeats one step. Throws if its result or the files and refs differ from the simulated git. */
  async repeat({ operation, crew, after }: Step): Promise<void> {
    this.#row = this.#process(crew.row, crew.spec)
    await this.#perform(operation)
    const actual = this.#content()
    const differences = [...differencesOf(after.refs, actual.refs), ...differencesOf(after.trees, actual.trees)]
    if (differences.length > 0)
      throw new Error(`after ${describeOperation(operation)} git and the simulated git differ:\n${differences.join('\n')}`)
  }

  async #perform(operation: Operation): Promise<void> {
    switch (operation.type) {
      case 'spawn':
        return this.#spawnMember(operation.member)
      case 'write':
        return this.#writeFiles(this.#dir(operation.member), operation.files)
      case 'commit':
        return this.#commit(operation)
      case 'misuse': {
        const { what, member, number, neighbour } = operation
        const dir = this.#dir(member)
        return performMisuse(what, { dir, number, neighbour, branch: `reeve/crew.${member}`, run: (...args) => this.#tryGit(dir, ...args) })
      }
      case 'user-change':
        return this.#changeAsUser(operation)
      case 'job':
        return this.#performJob(operation)
    }
  }

  #dir(member: MemberId): string {
    return join(this.#contained.dir, 'w', member)
  }

  #writeFiles(dir: string, files: Files): void {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text)
  }

  /** Runs git as a worker does. Returns null if git fails. */
  #tryGit(dir: string, ...args: readonly string[]): string | null {
    try {
      return this.#repository.gitIn(dir, ...args)
    } catch {
      return null
    }
  }

  // The number in each message keeps commits apart: git gives equal commits of the same second one name, the simulated git does not.
  #commit({ member, merge, number }: OperationOf<'commit'>): void {
    const dir = this.#dir(member)
    this.#tryGit(dir, 'add', '-A')
    this.#tryGit(dir, 'commit', '-q', '-m', `what was asked for ${number}`)
    if (merge === null || this.#tryGit(dir, 'merge', '-q', '-m', `a merge ${number}`, this.#withRealNames(merge)) !== null) return
    const files =
      this.#tryGit(dir, 'diff', '--name-only', '--diff-filter=U')
        ?.split('\n')
        .filter((name) => name !== '') ?? []
    for (const file of files) if (existsSync(join(dir, file))) writeFileSync(join(dir, file), `resolved ${number}\n`)
    this.#tryGit(dir, 'add', '-A')
    this.#tryGit(dir, 'commit', '-q', '--no-edit')
  }

  #changeAsUser({ what, number }: OperationOf<'user-change'>): void {
    const repository = this.#repository
    const ref = 'refs/heads/reeve/crew'
    if (what === 'commit') repository.commit({ 'main.txt': `by the user ${number}\n` })
    else if (what === 'switch')
      repository.git('checkout', '-q', repository.git('branch', '--show-current') === 'main' ? 'reeve/crew' : 'main')
    else if (what === 'delete') repository.git('update-ref', '-d', ref)
    else if (what === 'back') this.#tryGit(repository.dir, 'update-ref', ref, `${ref}~1`)
    else
      repository.git(
        'update-ref',
        ref,
        repository.git('commit-tree', `${ref}^{tree}`, '-p', ref, '-m', `by the user, on the branch of the crew ${number}`),
      )
  }

  async #spawnMember(id: MemberId): Promise<void> {
    const repository = this.#repository
    const branchPlan = await this.#git.planMemberBranch(this.#crew(), id)
    if (!branchPlan) throw new Error('the crew has no repository')
    const worktree = { repository: join(repository.dir, '.git'), dir: this.#dir(id), ...branchPlan }
    await using gitOfMember = new Git(() => this.#contained.open('group'))
    await addWorktree(gitOfMember, { ...worktree, env: repository.env })
    const uuid = `u-${id}`
    this.#rows.set(uuid, {
      uuid,
      life: RUNNING,
      files: { ...worktree },
      spec: { ...kernelSpec({ env: repository.env, cwd: worktree.dir }), worktree, member: { crew: CREW, id, role: 'generic' } },
    } as unknown as Process)
  }

  async #performJob({ job, facts, result }: OperationOf<'job'>): Promise<void> {
    this.#facts = this.#withRealNames(facts)
    const requested = this.#withRealNames(job)
    const { promise, resolve, reject } = Promise.withResolvers<JobResult>()
    this.#onJobDone = resolve
    this.#failed = reject
    this.#jobs.perform({ type: 'crew.job', uuid: CREW, job: requested } as CrewEffect)
    const answer = await promise
    // Waits until the daemon has recorded that the job is done.
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
    this.#recordNames(result, answer)
    const [want, got] = [this.#comparable(this.#withRealNames(result)), this.#comparable(answer)]
    if (JSON.stringify(want) !== JSON.stringify(got))
      throw new Error(
        `${describeOperation({ type: 'job', job } as Operation)} has different results. The simulated git:\n${JSON.stringify(want)}\ngit:\n${JSON.stringify(got)}\n${JSON.stringify(answer)}`,
      )
  }

  /** Records that the commits in the same field of both results are one commit. */
  #recordNames(model: JobResult, real: JobResult): void {
    const found = new Map(Object.entries(real))
    for (const [name, value] of Object.entries(model)) {
      const realValue: unknown = found.get(name)
      if (typeof value === 'string' && typeof realValue === 'string' && /^[0-9a-f]{40}$/.test(value) && name !== 'tree')
        this.#names.set(value, realValue)
    }
  }

  /** Replaces the simulated names of commits with those of git. */
  #withRealNames<T>(value: T): T {
    return JSON.parse(JSON.stringify(value).replaceAll(NAMES, (name) => this.#names.get(name) ?? name)) as T
  }

  /** Returns the part of a result that must be the same in both: commits as their trees, no texts. */
  #comparable(result: JobResult): unknown {
    const { read: _, dir: __, by: ____, output, error, reason, without, command: ___, ...rest } = { ...result } as Record<string, unknown>
    const present = Object.fromEntries(
      Object.entries({ output, error, reason, without }).map(([name, value]) => [name, value !== undefined]),
    )
    // Results may differ in their notes about created commits.
    return sortByKey({
      ...rest,
      ...present,
      ...(rest['commit'] ? { output: false } : {}),
      ...('from' in rest ? { from: 'a commit' } : {}),
      ...Object.fromEntries(
        Object.entries(rest).flatMap(([name, value]) =>
          typeof value === 'string' && name !== 'tree' && name !== 'from' && /^[0-9a-f]{40}$/.test(value)
            ? [[name, `tree ${this.#repository.git('rev-parse', `${value}^{tree}`)}`]]
            : [],
        ),
      ),
    })
  }

  #crew(): Process {
    if (!this.#row) throw new Error('there is no crew')
    return this.#row
  }

  #process(row: Crew, spec: CrewSpec): Process {
    const repository = this.#repository
    const realSpec: CrewSpec = this.#withRealNames({ ...spec, git: spec.git && { ...spec.git, repository: join(repository.dir, '.git') } })
    return {
      uuid: CREW,
      pid: 1,
      life: RUNNING,
      spec: { ...kernelSpec({ env: repository.env, driver: 'crew', cwd: repository.dir }), crew: realSpec },
      crew: this.#withRealNames(row),
    } as unknown as Process
  }

  #jobsDeps(): CrewJobsDeps {
    const row = (uuid: string): Process | undefined => (uuid === CREW ? this.#crew() : this.#rows.get(uuid))
    const request = async (input: { readonly command: Command }): Promise<void> => {
      if (input.command.type === 'job_done') this.#onJobDone(input.command.result)
    }
    return {
      table: { get: row },
      git: this.#git,
      clock: {
        after: (_: number, callback: () => void) => {
          setImmediate(callback)
        },
      },
      store: {
        process: async (uuid: string) => row(uuid),
        facts: async (_: string, start: number) => this.#facts.slice(start, start + 1).map((body) => ({ body })),
      },
      commands: {
        run: async (spec: ProcessSpec, command: { readonly command: string }): Promise<ShellCommandRun> => ({
          ...RAN,
          code: command.command === 'make check' && failsVerify(filesIn(spec.cwd)) ? 1 : 0,
        }),
      },
      pipeline: () => ({
        request,
        submit: () => {
          throw new Error('nothing is submitted here')
        },
      }),
      log: (message: string, error: unknown) => this.#failed(new Error(message, { cause: error })),
    } as unknown as CrewJobsDeps
  }

  #content(): Content {
    const repository = this.#repository
    const lines = repository
      .git('for-each-ref', '--format=%(refname) %(tree)')
      .split('\n')
      .map((line) => line.split(' '))
    const refs = Object.fromEntries(lines.flatMap(([ref = '', tree = '']) => (isComparedRef(ref) ? [[ref, tree]] : [])))
    const members = [...this.#rows.keys()].map((uuid) => uuid.slice('u-'.length) as MemberId)
    const trees = Object.fromEntries([
      ...members.map((id) => [id, this.#contentOf(this.#dir(id), join(repository.dir, '.git', 'worktrees', id))]),
      ['the user', this.#contentOf(repository.dir, join(repository.dir, '.git'))],
    ])
    return { refs, trees }
  }

  #contentOf(dir: string, gitDir: string): string {
    if (!existsSync(dir)) return 'gone'
    if (!existsSync(join(dir, '.git'))) return 'broken'
    const head = readFileSync(join(gitDir, 'HEAD'), 'utf8').trimEnd()
    return `${head.startsWith('ref: ') ? head.slice('ref: '.length) : 'detached'} ${treeId(filesIn(dir))}`
  }
}

/** Reads all files in the folder that git would put into a tree. */
function filesIn(dir: string): Files {
  return Object.fromEntries(
    readdirSync(dir)
      .filter((name) => name !== '.git')
      .map((name) => [name, readFileSync(join(dir, name), 'utf8')]),
  )
}

function sortByKey(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function differencesOf(model: Readonly<Record<string, string>>, real: Readonly<Record<string, string>>): string[] {
  return [...new Set([...Object.keys(model), ...Object.keys(real)])]
    .filter((name) => model[name] !== real[name])
    .map((name) => `${name}: ${model[name] ?? 'nothing'} in the simulated git, ${real[name] ?? 'nothing'} in git`)
}

function describeOperation(operation: Operation): string {
  if (operation.type !== 'job') return JSON.stringify(operation)
  return `the job ${JSON.stringify(operation.job).slice(0, 300)}`
}
