// The heartbeat monitor on a manual clock, with a real kernel: which liveness word each process gets, and when. Suspended processes get
// none, and no timer runs while no process runs.
import { describe, expect, test } from 'vitest'
import { LivenessMonitor } from '../../../../src/daemon/incarnation/liveness-monitor.ts'
import { ManualClock } from '../../../support/clock.ts'
import { waitUntilSettled } from '../../../support/kernel/daemon-core.ts'
import { TranscriptPlayer } from '../../../support/kernel/transcript.ts'
import type { FactBody } from '../../../../src/kernel/model/facts.ts'
import type { InputBody } from '../../../../src/kernel/model/inputs.ts'
import type { Process } from '../../../../src/kernel/model/process.ts'

const MINUTE_MS = 60_000

/** The process `a` with its kernel and monitor. The monitor's inputs go to the kernel at once, and the new facts go to the monitor. */
class WatchedProcess {
  readonly clock = new ManualClock()
  readonly player = new TranscriptPlayer()
  readonly judgements: { readonly at: number; readonly word: string; readonly evidence: string }[] = []
  /** the PID of the stopped program that the operating system reports */
  stoppedPid: number | null = null
  /** whether lookups of stopped programs fail */
  isUnreadable = false
  readonly logged: string[] = []
  lookupCount = 0
  readonly #since: number
  readonly monitor = new LivenessMonitor({
    clock: this.clock,
    get: (uuid) => this.player.world.overlay.get(uuid),
    submit: (input) => this.#submit(input),
    log: (message) => this.logged.push(message),
    findStopped: () => {
      this.lookupCount += 1
      return this.isUnreadable ? Promise.reject(new Error('EMFILE')) : Promise.resolve(this.stoppedPid)
    },
  })
  #seen = 0

  constructor() {
    this.#since = this.clock.now().mono
  }

  get row(): Process {
    return this.player.world.row('a') as Process
  }

  play(script: string): void {
    this.player.world.wall = this.clock.now().wall
    this.player.world.mono = this.clock.now().mono
    this.player.play(
      script
        .split('\n')
        .map((line) => `.${line.trim()}`)
        .filter((line) => line !== '.')
        .join('\n'),
    )
    this.#passFactsOn()
  }

  /** Advances the clock second by second, and waits for the lookups of each second. */
  async wind(ms: number): Promise<void> {
    for (let remainingMs = ms; remainingMs > 0; remainingMs -= 1_000) {
      this.clock.wind(Math.min(1_000, remainingMs))
      await waitUntilSettled()
    }
  }

  /** The judgements so far, each as its minute and its word. */
  get wordsByMinute(): readonly (readonly [number, string])[] {
    return this.judgements.map(({ at, word }) => [Math.round(at / MINUTE_MS), word] as const)
  }

  #submit(input: InputBody): void {
    this.player.world.wall = this.clock.now().wall
    this.player.world.mono = this.clock.now().mono
    this.player.world.step(input)
    this.#passFactsOn()
  }

  #passFactsOn(): void {
    const facts = (this.player.world.journal.get('a') ?? []).slice(this.#seen)
    this.#seen += facts.length
    for (const { body } of facts) this.#record(body)
    this.monitor.onFacts(facts.map((fact) => ({ ...fact, cursor: fact.seq })))
  }

  #record(body: FactBody): void {
    if (body.type === 'liveness.changed')
      this.judgements.push({ at: this.clock.now().mono - this.#since, word: body.word, evidence: body.evidence })
    if (body.type === 'liveness.looping' || body.type === 'liveness.breaker')
      this.judgements.push({ at: this.clock.now().mono - this.#since, word: body.type, evidence: '' })
  }
}

function watchProcess(options = ''): WatchedProcess {
  const watched = new WatchedProcess()
  watched.play(`live a ${options}`)
  return watched
}

describe('liveness is judged within its threshold for', () => {
  test('a silent process, and a stalled one without progress', async () => {
    const watched = watchProcess()
    watched.play('report a model 1')
    await watched.wind(20 * MINUTE_MS)
    expect(watched.wordsByMinute).toEqual([
      [5, 'silent'],
      [15, 'stalled'],
    ])
    expect(watched.judgements[0]?.evidence).toBe('in the model call of step 1')
    expect(watched.row.liveness).toMatchObject({ word: 'stalled' })
    watched.play('report a answer 1')
    expect(watched.wordsByMinute.at(-1)).toEqual([20, 'alive'])
    expect(watched.row.liveness).toBeUndefined()
  })

  test('a process that prints, but makes no progress', async () => {
    const watched = watchProcess('acp')
    for (let minute = 0; minute < 20; minute += 1) {
      await watched.wind(MINUTE_MS)
      watched.play('report a output')
    }
    expect(watched.wordsByMinute).toEqual([[15, 'stalled']])
  })

  test('a process that waits for the user, which has its own threshold', async () => {
    const watched = watchProcess('acp')
    await watched.wind(4 * MINUTE_MS)
    watched.play('report a asks q1 options=yes,no')
    await watched.wind(30 * MINUTE_MS)
    expect(watched.wordsByMinute).toEqual([[14, 'waiting']])
    watched.play('answer a yes')
    await watched.wind(4 * MINUTE_MS)
    expect(watched.wordsByMinute.at(-1)).toEqual([34, 'alive'])
  })

  test('a process that another program has stopped', async () => {
    const watched = new WatchedProcess()
    watched.play('spawn a acp\nstart a\nreport a up handle session=s')
    watched.stoppedPid = 4711
    await watched.wind(30_000)
    expect(watched.judgements).toMatchObject([{ word: 'stopped', evidence: 'OS pid 4711' }])
    expect(watched.judgements[0]?.at).toBeLessThanOrEqual(20_000)
    watched.stoppedPid = null
    await watched.wind(30_000)
    expect(watched.judgements.at(-1)?.word).toBe('alive')
  })

  test('a silent process whose programs cannot be examined: the error is logged once', async () => {
    const watched = new WatchedProcess()
    watched.play('spawn a acp\nstart a\nreport a up handle session=s')
    watched.isUnreadable = true
    await watched.wind(6 * MINUTE_MS)
    expect(watched.wordsByMinute).toEqual([[5, 'silent']])
    expect(watched.logged).toEqual([`the programs of process ${watched.row.pid} cannot be examined`])
    expect(watched.lookupCount).toBeGreaterThan(10)
  })

  test('a process that repeats itself, which is warned first and held later', () => {
    const watched = watchProcess()
    for (let step = 1; step <= 12; step += 1)
      watched.play(`report a model ${step}\nreport a model ${step}\nreport a answer ${step} calls=c${step}\nreport a tool c${step}`)
    expect(watched.judgements.map(({ word }) => word)).toEqual(['liveness.looping', 'liveness.looping'])
    expect(watched.row.life).toMatchObject({ holds: [{ reason: 'loop' }] })
    watched.play('resume a')
    for (let step = 13; step <= 23; step += 1)
      watched.play(`report a model ${step}\nreport a model ${step}\nreport a answer ${step} calls=c${step}\nreport a tool c${step}`)
    expect(watched.row.life).toMatchObject({ holds: [] })
    watched.play('report a model 24\nreport a answer 24 calls=c24\nreport a tool c24')
    expect(watched.row.life).toMatchObject({ holds: [{ reason: 'loop' }] })
  })
})

describe('no liveness problem is reported for', () => {
  test('a slow model that streams, for hours', async () => {
    const watched = watchProcess()
    watched.play('report a model 1')
    for (let minute = 0; minute < 120; minute += 1) {
      await watched.wind(MINUTE_MS)
      watched.monitor.recordOutput('a')
    }
    expect(watched.judgements).toEqual([])
  })

  test('a long tool that prints', async () => {
    const watched = watchProcess()
    watched.play('report a model 1\nreport a answer 1 calls=c1')
    for (let minute = 0; minute < 120; minute += 1) {
      await watched.wind(MINUTE_MS)
      watched.monitor.recordOutput('a')
    }
    expect(watched.judgements).toEqual([])
  })

  test('a process that is paused for a night, and continues after that', async () => {
    const watched = watchProcess()
    watched.play('report a model 1')
    await watched.wind(4 * MINUTE_MS)
    watched.play('signal SIGPAUSE a\nreport a answer 1\nreport a drained')
    await watched.wind(600 * MINUTE_MS)
    watched.play('resume a\nreport a model 2')
    await watched.wind(4 * MINUTE_MS)
    expect(watched.judgements).toEqual([])
  })

  test('a process that waits for its next message', async () => {
    const watched = watchProcess('interactive')
    watched.play('report a model 1\nreport a answer 1\nreport a ended 1')
    await watched.wind(600 * MINUTE_MS)
    expect(watched.judgements).toEqual([])
    expect(watched.lookupCount).toBe(0)
  })

  test('a plain command', async () => {
    const watched = new WatchedProcess()
    watched.play('spawn a command\nstart a\nreport a up handle')
    await watched.wind(60 * MINUTE_MS)
    expect(watched.judgements).toEqual([])
  })

  test('a process that was stopped only for a moment, or that writes although a program seems stopped', async () => {
    const watched = new WatchedProcess()
    watched.play('spawn a acp\nstart a\nreport a up handle session=s')
    watched.stoppedPid = 4711
    await watched.wind(6_000)
    watched.stoppedPid = null
    await watched.wind(10_000)
    watched.stoppedPid = 4711
    for (let second = 0; second < 60; second += 1) {
      await watched.wind(1_000)
      watched.play('report a output')
    }
    expect(watched.judgements).toEqual([])
  })
})

describe('the monitor runs only while a process runs', () => {
  test('no timer is set before or after, nor while all processes are paused or wait for a message', async () => {
    const watched = new WatchedProcess()
    expect(watched.clock.timers).toBe(0)
    watched.play('live a interactive')
    expect(watched.clock.timers).toBe(1)
    watched.play('signal SIGPAUSE a')
    await watched.wind(20 * MINUTE_MS)
    expect(watched.clock.timers).toBe(0)
    watched.play('report a drained\nresume a')
    expect(watched.clock.timers).toBe(1)
    watched.play('report a model 1\nreport a answer 1\nreport a ended 1')
    await watched.wind(20 * MINUTE_MS)
    expect(watched.clock.timers).toBe(0)
    watched.play('signal SIGKILL a\nreport a exited none\nreleased a')
    await watched.wind(20 * MINUTE_MS)
    expect(watched.clock.timers).toBe(0)
    expect(watched.monitor.lastActivity('a')).toBeNull()
    expect(watched.judgements).toEqual([])
  })
})
