// Runs a crew on a real repository, under a real daemon that can be killed. Model answers come from files. A file
// `hold-STEP-TASK` in the HOME of the members makes that step of that task wait, once.
// Used mainly by test/processes/crew, test/e2e/crew and test/scenarios.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CrewUpView } from '../../../src/api/views/crew-up.ts'
import type { EventView } from '../../../src/api/views/daemon.ts'
import type { ProcessView } from '../../../src/api/views/process.ts'
import { runCli } from '../daemon/cli.ts'
import { DaemonHome } from '../daemon/daemon-home.ts'
import { ROOT, testEnv } from '../env.ts'
import { checkStore, type Journal } from '../daemon/journal-check.ts'
import { Repository } from '../git/repository.ts'

const SCRIPTS = join(ROOT, 'test/support/crew-scripts')
const WAIT_MS = 120_000
const CHECK_MS = 40

/** A step of a script that a test can make wait. */
export type Step = 'task' | 'review' | 'feedback' | 'commit'

export interface TestTask {
  readonly id: string
  readonly title?: string
  readonly text: string
  readonly needs?: readonly string[]
}

/** Makes a task with the text `Write FILE.txt with WORD.`, which the scripts understand. With `carelessly` the first try is wrong. */
export function makeTask(id: string, needs: readonly string[] = [], carelessly = false): TestTask {
  return { id, title: `the file ${id}`, text: `Write ${id}.txt with ${id}${carelessly ? ', carelessly' : ''}.`, needs }
}

export class CrewHome implements AsyncDisposable {
  readonly home: DaemonHome
  readonly repository: Repository
  /** HOME of all members */
  readonly membersHome: string
  /** the crew's process */
  uuid = ''

  private constructor(home: DaemonHome, repository: Repository, membersHome: string) {
    this.home = home
    this.repository = repository
    this.membersHome = membersHome
  }

  static async make(): Promise<CrewHome> {
    const home = await DaemonHome.create()
    const membersHome = join(home.work, 'user')
    mkdirSync(membersHome)
    const repository = Repository.make(join(home.work, 'project'), membersHome)
    repository.git('config', 'user.name', 'P')
    repository.git('config', 'user.email', 'p@example.org')
    return new CrewHome(home, repository, membersHome)
  }

  static model(role: 'worker' | 'coordinator'): string {
    return `script:${join(SCRIPTS, `${role}.yaml`)}`
  }

  /** Commits the crew's file, and starts the daemon and the crew. */
  async up(definition: object, name = 'team'): Promise<void> {
    this.repository.commit({ 'reeve.yaml': JSON.stringify({ crews: { [name]: definition } }), 'README.md': '# a project\n' }, 'begin')
    await this.home.start()
    const { process } = await this.home.client.post<CrewUpView>('/v1/crews', {
      cwd: this.repository.dir,
      crew: name,
      env: testEnv(this.membersHome),
    })
    this.uuid = process.uuid
  }

  async cli(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runCli(this.home.path, args, { cwd: this.repository.dir, env: { HOME: this.membersHome } })
    if (code !== 0) throw new Error(`reeve ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`)
    return stdout
  }

  /** Makes the next such step of the task wait, once. */
  hold(step: Step, task: string): void {
    writeFileSync(join(this.membersHome, `hold-${step}-${task}`), '')
  }

  /** Resolves when the step has begun to wait. */
  waitForHold(step: Step, task: string): Promise<void> {
    return this.waitUntil(() => existsSync(join(this.membersHome, `held-${step}-${task}`)), `${step} of ${task} is held`)
  }

  /** Waits for a fact of the crew; returns the first one that matches. */
  async waitForFact(type: string, isMatch: (event: EventView) => boolean = () => true): Promise<EventView> {
    let found: EventView | undefined
    let lastSeq = 0
    await this.waitUntil(async () => {
      const events = await this.home.readEvents(lastSeq)
      lastSeq = events.at(-1)?.seq ?? lastSeq
      found = events.find((event) => event.uuid === this.uuid && event['fact'] === type && isMatch(event))
      return found !== undefined
    }, `${type}: ${isMatch.toString()}`)
    if (!found) throw new Error(`there is no fact ${type}`)
    return found
  }

  /** The process of the member to which a task was first assigned. */
  async memberOf(task: string): Promise<ProcessView> {
    const { member } = await this.waitForFact('task.assigned', (event) => event['task'] === task)
    const views = await this.home.listProcesses()
    const found = views.find((view) => view.parentUuid === this.uuid && view.name?.endsWith(String(member)))
    if (!found) throw new Error(`${String(member)} is not among ${views.map(({ name }) => name).join(', ')}`)
    return found
  }

  /** Kills the daemon with SIGKILL, and starts a new one. */
  async restartDaemon(): Promise<void> {
    await this.home.kill()
    await this.home.start()
  }

  async waitForEnd(): Promise<ProcessView> {
    let view: ProcessView | null = null
    await this.waitUntil(async () => (view = await this.home.view(this.uuid)).state === 'dead', 'the crew has ended')
    return view ?? this.home.view(this.uuid)
  }

  async waitUntil(condition: () => boolean | Promise<boolean>, description: string): Promise<void> {
    const deadline = performance.now() + WAIT_MS
    while (!(await condition())) {
      if (performance.now() > deadline) throw new Error(`not within ${WAIT_MS / 1_000} s: ${description}\n${await this.#describeState()}`)
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS))
    }
  }

  /** Reads the journals of the crew and of all its present and former members. No daemon may run. */
  async journals(): Promise<{ readonly crew: Journal; readonly members: readonly Journal[]; readonly violations: readonly string[] }> {
    const { journals, violations } = await checkStore(this.home.path, join(this.home.work, `store-${Date.now()}`))
    const crew = journals.get(this.uuid)
    if (!crew) throw new Error('the crew is not in the store')
    return { crew, members: [...journals.values()].filter(({ process }) => process.spec.member?.crew === this.uuid), violations }
  }

  /** The names in a folder of the daemon; empty when the folder does not exist. */
  leftIn(folder: string): string[] {
    const dir = join(this.home.path, folder)
    return existsSync(dir) ? readdirSync(dir) : []
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]()
  }

  /** Describes the crew's state for the message of a failed test. */
  async #describeState(): Promise<string> {
    const events = await this.home.readEvents().catch(() => [])
    const views = await this.home.listProcesses().catch(() => [])
    const lines = events
      .filter(({ type }) => /^(crew|task|process\.(error|exited|note))/.test(type))
      .map(({ version: _v, uuid, pid: _p, at: _a, type: _t, ...rest }) => `${uuid.slice(-4)} ${JSON.stringify(rest)}`)
    return [
      ...lines.slice(-60),
      ...views.map(({ name, status, activity, turn, lastText, note }) => JSON.stringify({ name, status, activity, turn, lastText, note })),
      this.home.readLog().slice(-3_000),
    ].join('\n')
  }
}
