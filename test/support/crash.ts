// Kills a daemon again and again while it runs agents that write numbered lines, and holds what is left to the promises:
// nothing lost that was acknowledged, nothing done twice, nothing left running, the same processes with new PIDs.
// Each round is a kill at a random moment: while the daemon boots, resumes, runs its agents, or stops in good order.
// The same code runs in the tests and, for longer, in scripts/soak.ts.
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessView } from '../../src/api/views.ts'
import type { StoredFact } from '../../src/kernel/facts.ts'
import { workingKinds } from './contained.ts'
import { DaemonHome, type Item } from './daemon.ts'
import type { Form } from './env.ts'
import { checkStore, type Checked } from './journal-check.ts'
import { Witness } from './witness.ts'

const AGENTS = 5
/** The containment of each agent: all kinds that work here, mixed. */
const KINDS = await workingKinds()
/** How far apart the beginning and the kill may be at most, in ms, by what the daemon is doing. */
const MOMENTS = { boot: 400, resume: 60, work: 350, stop: 120 } as const

export type Phase = keyof typeof MOMENTS

export interface Siege {
  readonly form?: Form
  /** how many lines each agent writes */
  readonly lines: number
  /** at most so many kills; fewer if all agents have ended before */
  readonly kills: number
  /** from 0 up to 1 */
  readonly random: () => number
  readonly killed?: (phase: Phase) => void
}

/** What happened in a life of five agents. */
export interface Tally {
  readonly kills: Record<Phase, number>
  resumes: number
  lines: number
  facts: number
  /** events that a client had seen before a kill */
  acknowledged: number
  /** calls that were cut off: their line is there, or is not */
  readonly cutOff: { written: number; absent: number }
}

/** How agents may be found after a kill, and, of those that the daemon had held for its own stop, how they go on. */
const ENDED: readonly string[] = ['interrupted', 'completed']
const GOES_ON: readonly string[] = ['starting', 'ready', 'working']

export class Broken extends Error {}

/** Five agents from their beginning to their end, with kills in between. Errors: Broken. */
export async function besiege(siege: Siege): Promise<Tally> {
  await using home = await DaemonHome.make(siege.form)
  const life = new Life(home, siege)
  await life.begin()
  try {
    for (let round = 0; round < siege.kills && !life.isOver; round++) await life.round(phaseOf(siege.random()))
    return await life.finish()
  } catch (error) {
    throw new Broken(`${(error as Error).message}\n${home.log().split('\n').slice(-30).join('\n')}`, { cause: error })
  }
}

function phaseOf(chance: number): Phase {
  if (chance < 0.2) return 'boot'
  if (chance < 0.35) return 'stop'
  return chance < 0.6 ? 'resume' : 'work'
}

class Life {
  readonly #home: DaemonHome
  readonly #siege: Siege
  readonly #tally: Tally = { kills: { boot: 0, resume: 0, work: 0, stop: 0 }, resumes: 0, lines: 0, facts: 0, acknowledged: 0, cutOff: { written: 0, absent: 0 } }
  readonly #uuids: string[] = []
  #witness: Witness | null = null
  #lastPid = 0
  #runs = false
  /** the daemon was killed in an orderly stop: what it had held itself goes on with the next start */
  #wasStopping = false
  #scratch = 0
  isOver = false

  constructor(home: DaemonHome, siege: Siege) {
    this.#home = home
    this.#siege = siege
  }

  async begin(): Promise<void> {
    await this.#start()
    const model = this.#home.script([...Array.from({ length: this.#siege.lines }, (_, index) => this.#step(index + 1)), { text: 'done' }])
    for (let agent = 0; agent < AGENTS; agent++) {
      const cwd = join(this.#home.work, String(agent))
      mkdirSync(cwd)
      const process = await this.#home.spawn({ name: `agent-${agent}`, model, cwd, containment: KINDS[agent % KINDS.length] ?? 'auto' })
      this.#uuids.push(process.uuid)
      this.#lastPid = Math.max(this.#lastPid, process.pid)
    }
  }

  /** One kill at a random moment of a phase, and all that must be true after it. */
  async round(phase: Phase): Promise<void> {
    const delayMs = this.#siege.random() * MOMENTS[phase]
    let asked: Promise<unknown> = Promise.resolve()
    if (phase === 'boot') {
      if (this.#runs) await this.#kill()
      this.#home.launch()
      this.#runs = true
    } else if (this.#runs || phase !== 'resume') await this.#resumeAll()
    else {
      await this.#start()
      asked = Promise.allSettled(this.#uuids.map((uuid) => this.#home.resume(uuid)))
    }
    if (phase === 'stop') {
      await sleep(this.#siege.random() * MOMENTS.work)
      this.#home.askToStop()
      this.#wasStopping = true
    }
    await sleep(delayMs)
    await this.#kill()
    await asked
    this.#tally.kills[phase] += 1
    this.#siege.killed?.(phase)
    await this.#examine()
  }

  /** Lets them come to their end, and looks at all once more. */
  async finish(): Promise<Tally> {
    await this.#resumeAll()
    for (const uuid of this.#uuids) {
      const { status, exit } = await this.#home.ended(uuid)
      if (status !== 'completed') throw new Broken(`process ${uuid} is ${status}: ${JSON.stringify(exit)}`)
    }
    const events = await this.#home.events()
    await this.#witness?.close()
    const { code } = await this.#home.stop()
    if (code !== 0) throw new Broken(`the daemon ended with ${code} after SIGTERM`)
    this.#runs = false
    await this.#home.nothingLeft()
    const checked = await this.#check()
    const said = events.map(({ seq, uuid, fact }) => `${seq} ${uuid} ${String(fact)}`)
    const kept = checked.facts.slice(0, said.length).map(wordsOf)
    if (said.join('\n') !== kept.join('\n')) throw new Broken('GET /v1/events says something else than the journal')
    if (events.length < checked.facts.length) throw new Broken(`GET /v1/events has ${events.length} of ${checked.facts.length} facts`)
    this.#count(checked)
    return this.#tally
  }

  #step(line: number): Item {
    const write = { name: 'bash', input: { command: `echo ${line} >> lines` } }
    return { delay_ms: 10, tools: line % 4 === 0 ? [write, { name: 'ls', input: {} }] : [write] }
  }

  /** A daemon that answers has ended all that was left, and everybody is there, with a new PID only if it is alive again. */
  async #start(): Promise<void> {
    await this.#home.start()
    this.#runs = true
    const left = this.#wasStopping ? [] : this.#home.leftovers()
    if (left.length > 0) throw new Broken(`the daemon answers, and of its predecessor there is still ${left.join(', ')}`)
    this.#witness = new Witness(this.#home.client)
    const found = await this.#home.list()
    const expected = this.#wasStopping ? [...ENDED, ...GOES_ON] : ENDED
    for (const uuid of this.#uuids) {
      const status = found.find((one) => one.uuid === uuid)?.status ?? 'not there'
      if (!expected.includes(status)) throw new Broken(`after a kill, process ${uuid} is ${status}`)
    }
    this.#wasStopping = false
    this.isOver = this.#uuids.length > 0 && found.every(({ status }) => status === 'completed')
  }

  async #resumeAll(): Promise<void> {
    if (!this.#runs) await this.#start()
    for (const { uuid, status, pid } of await this.#home.list()) {
      if (status !== 'interrupted') continue
      const resumed = await this.#home.resume(uuid)
      this.#checkResumed({ uuid, pid }, resumed)
      this.#tally.resumes += 1
    }
  }

  #checkResumed(before: Pick<ProcessView, 'uuid' | 'pid'>, { uuid, pid }: ProcessView): void {
    if (uuid !== before.uuid) throw new Broken(`the resume of ${before.uuid} gave ${uuid}`)
    if (pid <= before.pid || pid <= this.#lastPid) throw new Broken(`the resume of ${uuid} gave PID ${pid} after ${this.#lastPid}`)
    this.#lastPid = pid
  }

  async #kill(): Promise<void> {
    await this.#home.kill()
    this.#runs = false
  }

  async #examine(): Promise<void> {
    const seen = (await this.#witness?.close()) ?? []
    this.#witness = null
    // Half of the next daemons begin while the guardian of the last one may still be at work.
    if (this.#siege.random() < 0.5) await this.#home.nothingLeft()
    const checked = await this.#check()
    const kept = checked.facts.map(wordsOf)
    for (const words of seen) {
      const place = Number(words.split(' ')[0])
      if (kept[place - 1] !== words) throw new Broken(`a client was told of ${words}, and after the kill there is ${kept[place - 1] ?? 'nothing'}`)
    }
    this.#tally.acknowledged += seen.length
    const pids = checked.facts.map(({ pid }) => pid)
    this.#lastPid = pids.reduce((most, pid) => Math.max(most, pid), this.#lastPid)
  }

  /** The store by itself, and each agent's lines against its journal. */
  async #check(): Promise<Checked> {
    const checked = await checkStore(this.#home.path, join(this.#home.work, `store-${++this.#scratch}`))
    const wrong = [...checked.wrong, ...sharedPids(checked.facts)]
    for (const [agent, uuid] of this.#uuids.entries()) {
      const journal = checked.journals.get(uuid)
      if (!journal) wrong.push(`process ${uuid} was acknowledged and is not in the store`)
      else wrong.push(...this.#linesOf(agent, journal.facts).wrong.map((words) => `agent ${agent}: ${words}`))
    }
    if (wrong.length > 0) throw new Broken(wrong.join('\n'))
    return checked
  }

  #linesOf(agent: number, facts: readonly StoredFact[]): Lines {
    const file = join(this.#home.work, String(agent), 'lines')
    return compareLines(facts, () => (existsSync(file) ? readFileSync(file, 'utf8') : ''))
  }

  #count(checked: Checked): void {
    this.#tally.facts += checked.facts.length
    for (const [agent, uuid] of this.#uuids.entries()) {
      const { lines, written, absent } = this.#linesOf(agent, checked.journals.get(uuid)?.facts ?? [])
      this.#tally.lines += lines
      this.#tally.cutOff.written += written
      this.#tally.cutOff.absent += absent
    }
  }
}

interface Lines {
  readonly lines: number
  /** calls that the journal calls interrupted, whose line is there */
  readonly written: number
  readonly absent: number
  readonly wrong: readonly string[]
}

/**
 * The lines of a file against the calls that wrote them; line N is written in step N. No line is there twice, each has a call
 * that was durable before, each call that ended well has its line. The file is read last: a cut-off call may still write.
 */
function compareLines(facts: readonly StoredFact[], read: () => string): Lines {
  const started: number[] = []
  const ended = new Map<number, string>()
  const wrong: string[] = []
  for (const { body } of facts) {
    if (body.type === 'tool.started' && body.name === 'bash') started.push(body.step)
    if (body.type !== 'tool.finished' || body.name !== 'bash') continue
    ended.set(body.step, body.outcome)
    const wellKnown = body.outcome === 'interrupted' || (body.outcome === 'ok' && body.content.includes('[exit code 0]'))
    if (!wellKnown) wrong.push(`the call of step ${body.step} ended ${body.outcome}: ${body.content}`)
  }
  started.forEach((step, index) => {
    if (step !== index + 1) wrong.push(`call ${index + 1} is of step ${step}`)
    if (!ended.has(step) && index < started.length - 1) wrong.push(`the call of step ${step} has no end, and others followed`)
  })
  const lines = read().split('\n').filter(Boolean).map(Number)
  const there = new Set(lines)
  if (there.size < lines.length) wrong.push(`a line was written twice: ${lines.join(' ')}`)
  for (const line of there) if (!started.includes(line)) wrong.push(`line ${line} was written before its call was durable`)
  const cutOff = started.filter((step) => ended.get(step) !== 'ok')
  for (const step of started) if (ended.get(step) === 'ok' && !there.has(step)) wrong.push(`line ${step} is missing, and its call ended well`)
  const written = cutOff.filter((step) => there.has(step)).length
  return { lines: lines.length, written, absent: cutOff.length - written, wrong }
}

/** A PID is one incarnation's for ever. */
function sharedPids(facts: readonly StoredFact[]): string[] {
  const owners = new Map<number, string>()
  return facts.flatMap(({ uuid, pid }) => {
    const owner = owners.get(pid) ?? uuid
    owners.set(pid, owner)
    return owner === uuid ? [] : [`PID ${pid} is of ${owner} and of ${uuid}`]
  })
}

function wordsOf({ cursor, uuid, body }: StoredFact): string {
  return `${cursor} ${uuid} ${body.type}`
}
