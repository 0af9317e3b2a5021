// Kills a daemon repeatedly while it runs agents that write numbered lines, and checks the guarantees after each kill. No
// acknowledged work is lost or repeated, no program remains, and each process that runs again has a new PID. A kill comes at a random
// moment while the daemon boots, resumes, runs its agents, or stops on request.
// Test: test/processes/crash/random-kills.test.ts; scripts/soak.ts kills more often.
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessView } from '../../../src/api/views/process.ts'
import type { StoredFact } from '../../../src/kernel/model/facts.ts'
import { findWorkingKinds } from '../agents/containment-harness.ts'
import { DaemonHome, type ScriptAnswer } from './daemon-home.ts'
import type { Form } from '../env.ts'
import { checkStore, type StoreCheck } from './journal-check.ts'
import { EventRecorder } from './event-recorder.ts'

const AGENTS = 5
/** The agents take turns through all containment kinds that work on this machine. */
const CONTAINMENT_KINDS = await findWorkingKinds()
/** The longest time between the start of a phase and the kill, in ms, by phase. */
const LONGEST_DELAYS_MS = { boot: 400, resume: 60, work: 350, stop: 120 } as const

export type Phase = keyof typeof LONGEST_DELAYS_MS
/** The phases of the first four kills; later phases are random. */
const FIRST_PHASES: readonly Phase[] = ['work', 'resume', 'stop', 'boot']

/** A disturbance of a running daemon before the next kill. */
export type Disturbance = 'frozen' | 'clock'
const DAY_MS = 86_400_000
const CLOCK_SHIFTS_MS = [0, DAY_MS, -DAY_MS, 3_000, -3_000, -30 * 365 * DAY_MS] as const
const LONGEST_FREEZE_MS = 300

export interface KillOptions {
  readonly form?: Form
  /** the number of lines that each agent writes */
  readonly lines: number
  /** the largest number of kills; there are fewer if all agents have ended before */
  readonly kills: number
  /** from 0 up to 1 */
  readonly random: () => number
  readonly onKill?: (phase: Phase) => void
}

/** The counts of one home with five agents. */
export interface KillTally {
  readonly kills: Record<Phase, number>
  /** how often SIGSTOP froze the daemon, and how often its wall clock was set */
  readonly disturbances: Record<Disturbance, number>
  resumes: number
  lines: number
  facts: number
  /** the number of events that a client had received before a kill */
  acknowledged: number
  /** the number of interrupted calls, by whether their line was written */
  readonly cutOff: { written: number; absent: number }
}

/** the possible statuses of agents after a kill */
const STATUSES_AFTER_KILL: readonly string[] = ['interrupted', 'completed']
/** the further possible statuses of agents that the daemon had held during a stop on request */
const STATUSES_AFTER_STOP: readonly string[] = ['starting', 'ready', 'working']

export class BrokenGuarantee extends Error {}

/** Runs five agents from start to end, with kills of their daemon in between. Throws BrokenGuarantee. */
export async function killRepeatedly(options: KillOptions): Promise<KillTally> {
  await using home = await DaemonHome.create(options.form)
  const daemon = new KilledDaemon(home, options)
  await daemon.begin()
  try {
    for (let round = 0; round < options.kills && !daemon.areAllCompleted; round++)
      await daemon.killIn(FIRST_PHASES[round] ?? phaseOf(options.random()))
    return await daemon.finish()
  } catch (error) {
    throw new BrokenGuarantee(`${(error as Error).message}\n${home.readLog().split('\n').slice(-30).join('\n')}`, { cause: error })
  }
}

function phaseOf(randomNumber: number): Phase {
  if (randomNumber < 0.2) return 'boot'
  if (randomNumber < 0.35) return 'stop'
  return randomNumber < 0.6 ? 'resume' : 'work'
}

class KilledDaemon {
  readonly #home: DaemonHome
  readonly #options: KillOptions
  #rounds = 0
  readonly #tally: KillTally = {
    kills: { boot: 0, resume: 0, work: 0, stop: 0 },
    disturbances: { frozen: 0, clock: 0 },
    resumes: 0,
    lines: 0,
    facts: 0,
    acknowledged: 0,
    cutOff: { written: 0, absent: 0 },
  }
  readonly #uuids: string[] = []
  #recorder: EventRecorder | null = null
  #lastPid = 0
  #isRunning = false
  /** the daemon was killed during a stop on request: its next start resumes the processes that it had held */
  #wasStopping = false
  #copyCount = 0
  areAllCompleted = false

  constructor(home: DaemonHome, options: KillOptions) {
    this.#home = home
    this.#options = options
  }

  async begin(): Promise<void> {
    await this.#start()
    const model = this.#home.writeScript([
      ...Array.from({ length: this.#options.lines }, (_, index) => this.#step(index + 1)),
      { text: 'done' },
    ])
    for (let agent = 0; agent < AGENTS; agent++) {
      const cwd = join(this.#home.work, String(agent))
      mkdirSync(cwd)
      const process = await this.#home.spawn({
        name: `agent-${agent}`,
        model,
        cwd,
        containment: CONTAINMENT_KINDS[agent % CONTAINMENT_KINDS.length] ?? 'auto',
      })
      this.#uuids.push(process.uuid)
      this.#lastPid = Math.max(this.#lastPid, process.pid)
    }
  }

  /** Freezes the daemon or shifts its clock every other round. The guarantees must hold anyway. */
  async #disturb(): Promise<void> {
    const kind = (['frozen', null, 'clock', null] as const)[this.#rounds++ % 4]
    if (kind === 'frozen') {
      await this.#home.freezeFor(this.#options.random() * LONGEST_FREEZE_MS)
      this.#tally.disturbances.frozen += 1
    } else if (kind === 'clock') {
      this.#home.shiftClock(CLOCK_SHIFTS_MS[Math.floor(this.#options.random() * CLOCK_SHIFTS_MS.length)] ?? 0)
      this.#tally.disturbances.clock += 1
    }
  }

  /** Kills the daemon at a random moment of a phase, and checks the guarantees. */
  async killIn(phase: Phase): Promise<void> {
    const delayMs = this.#options.random() * LONGEST_DELAYS_MS[phase]
    let requests: Promise<unknown> = Promise.resolve()
    if (phase === 'boot') {
      if (this.#isRunning) await this.#kill()
      this.#home.launch()
      this.#isRunning = true
    } else if (this.#isRunning || phase !== 'resume') await this.#resumeAll()
    else {
      await this.#start()
      requests = Promise.allSettled(this.#uuids.map((uuid) => this.#home.resume(uuid)))
    }
    if (phase === 'stop') {
      await sleep(this.#options.random() * LONGEST_DELAYS_MS.work)
      this.#home.askToStop()
      this.#wasStopping = true
    }
    await this.#disturb()
    await sleep(delayMs)
    await this.#kill()
    await requests
    this.#tally.kills[phase] += 1
    this.#options.onKill?.(phase)
    await this.#checkAfterKill()
  }

  /** Lets the agents finish, and checks the guarantees once more. */
  async finish(): Promise<KillTally> {
    await this.#resumeAll()
    for (const uuid of this.#uuids) {
      const { status, exit } = await this.#home.waitForEnd(uuid)
      if (status !== 'completed') throw new BrokenGuarantee(`process ${uuid} is ${status}: ${JSON.stringify(exit)}`)
    }
    const events = await this.#home.readEvents()
    await this.#recorder?.close()
    const { code } = await this.#home.stop()
    if (code !== 0) throw new BrokenGuarantee(`the daemon ended with ${code} after SIGTERM`)
    this.#isRunning = false
    await this.#home.waitUntilNothingIsLeft()
    const checked = await this.#checkStore()
    const lines = events.map(({ seq, uuid, fact }) => `${seq} ${uuid} ${String(fact)}`)
    const storedFacts = checked.facts.slice(0, lines.length).map(factText)
    if (lines.join('\n') !== storedFacts.join('\n')) throw new BrokenGuarantee('GET /v1/events differs from the journal')
    if (events.length < checked.facts.length)
      throw new BrokenGuarantee(`GET /v1/events has ${events.length} of ${checked.facts.length} facts`)
    this.#count(checked)
    return this.#tally
  }

  #step(line: number): ScriptAnswer {
    const write = { name: 'bash', input: { command: `echo ${line} >> lines` } }
    return { delay_ms: 10, tools: line % 4 === 0 ? [write, { name: 'ls', input: {} }] : [write] }
  }

  /** Starts a daemon. When it answers, it must have ended all remaining programs, and each process must exist. */
  async #start(): Promise<void> {
    await this.#home.start()
    this.#isRunning = true
    const remaining = this.#wasStopping ? [] : this.#home.findLeftovers()
    if (remaining.length > 0)
      throw new BrokenGuarantee(`the daemon answers, but programs of its predecessor remain: ${remaining.join(', ')}`)
    this.#recorder = new EventRecorder(this.#home.client)
    const processes = await this.#home.listProcesses()
    const expected = this.#wasStopping ? [...STATUSES_AFTER_KILL, ...STATUSES_AFTER_STOP] : STATUSES_AFTER_KILL
    for (const uuid of this.#uuids) {
      const status = processes.find((one) => one.uuid === uuid)?.status ?? 'missing'
      if (!expected.includes(status)) throw new BrokenGuarantee(`after a kill, process ${uuid} is ${status}`)
    }
    this.#wasStopping = false
    this.areAllCompleted = this.#uuids.length > 0 && processes.every(({ status }) => status === 'completed')
  }

  async #resumeAll(): Promise<void> {
    if (!this.#isRunning) await this.#start()
    for (const { uuid, status, pid } of await this.#home.listProcesses()) {
      if (status !== 'interrupted') continue
      const resumed = await this.#home.resume(uuid)
      this.#checkResumed({ uuid, pid }, resumed)
      this.#tally.resumes += 1
    }
  }

  #checkResumed(before: Pick<ProcessView, 'uuid' | 'pid'>, { uuid, pid }: ProcessView): void {
    if (uuid !== before.uuid) throw new BrokenGuarantee(`the resume of ${before.uuid} returned ${uuid}`)
    if (pid <= before.pid || pid <= this.#lastPid)
      throw new BrokenGuarantee(`the resume of ${uuid} returned PID ${pid} after ${this.#lastPid}`)
    this.#lastPid = pid
  }

  async #kill(): Promise<void> {
    await this.#home.kill()
    this.#isRunning = false
  }

  async #checkAfterKill(): Promise<void> {
    const received = (await this.#recorder?.close()) ?? []
    this.#recorder = null
    // Half of the daemons start while the guardian of the previous one may still be at work.
    if (this.#options.random() < 0.5) await this.#home.waitUntilNothingIsLeft()
    const checked = await this.#checkStore()
    const storedFacts = checked.facts.map(factText)
    for (const event of received) {
      const position = Number(event.split(' ')[0])
      if (storedFacts[position - 1] !== event)
        throw new BrokenGuarantee(
          `a client had received ${event}, and after the kill the store has ${storedFacts[position - 1] ?? 'nothing'}`,
        )
    }
    this.#tally.acknowledged += received.length
    const pids = checked.facts.map(({ pid }) => pid)
    this.#lastPid = pids.reduce((most, pid) => Math.max(most, pid), this.#lastPid)
  }

  /** Checks the store, and each agent's lines against its journal. */
  async #checkStore(): Promise<StoreCheck> {
    const checked = await checkStore(this.#home.path, join(this.#home.work, `store-${++this.#copyCount}`))
    const wrong = [...checked.violations, ...sharedPids(checked.facts)]
    for (const [agent, uuid] of this.#uuids.entries()) {
      const journal = checked.journals.get(uuid)
      if (!journal) wrong.push(`process ${uuid} was acknowledged, but is not in the store`)
      else wrong.push(...this.#checkLines(agent, journal.facts).wrong.map((text) => `agent ${agent}: ${text}`))
    }
    if (wrong.length > 0) throw new BrokenGuarantee(wrong.join('\n'))
    return checked
  }

  #checkLines(agent: number, facts: readonly StoredFact[]): LineCheck {
    const file = join(this.#home.work, String(agent), 'lines')
    return compareLines(facts, () => (existsSync(file) ? readFileSync(file, 'utf8') : ''))
  }

  #count(checked: StoreCheck): void {
    this.#tally.facts += checked.facts.length
    for (const [agent, uuid] of this.#uuids.entries()) {
      const { lines, written, absent } = this.#checkLines(agent, checked.journals.get(uuid)?.facts ?? [])
      this.#tally.lines += lines
      this.#tally.cutOff.written += written
      this.#tally.cutOff.absent += absent
    }
  }
}

interface LineCheck {
  readonly lines: number
  /** the number of interrupted calls whose line exists */
  readonly written: number
  readonly absent: number
  readonly wrong: readonly string[]
}

/**
 * Compares the lines of a file with the calls that wrote them; step N writes line N. No line may exist twice. Each line needs a
 * durable call, and each successful call needs its line. The file is read after the facts, as an interrupted call may still write.
 */
function compareLines(facts: readonly StoredFact[], read: () => string): LineCheck {
  const started: number[] = []
  const ended = new Map<number, string>()
  const wrong: string[] = []
  for (const { body } of facts) {
    if (body.type === 'tool.started' && body.name === 'bash') started.push(body.step)
    if (body.type !== 'tool.finished' || body.name !== 'bash') continue
    ended.set(body.step, body.outcome)
    const isExpected = body.outcome === 'interrupted' || (body.outcome === 'ok' && body.content.includes('[exit code 0]'))
    if (!isExpected) wrong.push(`the call of step ${body.step} ended ${body.outcome}: ${body.content}`)
  }
  started.forEach((step, index) => {
    if (step !== index + 1) wrong.push(`call ${index + 1} belongs to step ${step}`)
    if (!ended.has(step) && index < started.length - 1) wrong.push(`the call of step ${step} has not ended, but later calls have started`)
  })
  const lines = read().split('\n').filter(Boolean).map(Number)
  const writtenLines = new Set(lines)
  if (writtenLines.size < lines.length) wrong.push(`a line was written twice: ${lines.join(' ')}`)
  for (const line of writtenLines) if (!started.includes(line)) wrong.push(`line ${line} was written before its call was durable`)
  const cutOff = started.filter((step) => ended.get(step) !== 'ok')
  for (const step of started)
    if (ended.get(step) === 'ok' && !writtenLines.has(step)) wrong.push(`line ${step} is missing, but its call succeeded`)
  const written = cutOff.filter((step) => writtenLines.has(step)).length
  return { lines: lines.length, written, absent: cutOff.length - written, wrong }
}

/** Returns the PIDs that belong to more than one incarnation. */
function sharedPids(facts: readonly StoredFact[]): string[] {
  const owners = new Map<number, string>()
  return facts.flatMap(({ uuid, pid }) => {
    const owner = owners.get(pid) ?? uuid
    owners.set(pid, owner)
    return owner === uuid ? [] : [`PID ${pid} belongs to ${owner} and to ${uuid}`]
  })
}

function factText({ cursor, uuid, body }: StoredFact): string {
  return `${cursor} ${uuid} ${body.type}`
}
