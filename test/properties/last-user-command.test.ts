// The user's last command wins over everything that could undo it: masks, handlers, pending signals, signals of agents, ends,
// restart policies, new daemons and time. The model is one line: paused, not paused or ended, as the user's last command states.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { statusOf } from '../../src/kernel/model/status.ts'
import { deep } from '../support/deep.ts'
import { TranscriptPlayer } from '../support/kernel/transcript.ts'
import type { Process } from '../../src/kernel/model/process.ts'

const BLOCKABLE = ['SIGTERM', 'SIGINT', 'SIGPAUSE', 'SIGRESUME']
const subsets = Array.from({ length: 2 ** BLOCKABLE.length }, (_, bits) =>
  BLOCKABLE.filter((_signal, index) => (bits & (2 ** index)) !== 0).join(' '),
)
const KINDS = [
  'live p\nlive a interactive under=p',
  'live p\nlive a acp interactive under=p session=s',
  'live p\nlive a command under=p',
  'live a command restart=permanent max=1000',
  'live a interactive restart=permanent max=1000',
]

/** The state of `a` by the user's last commands: for `a` alone, and for its parent's subtree. */
interface UserState {
  isPausedAlone: boolean
  isTreePaused: boolean
  ended: boolean
}

const USER_COMMANDS: Readonly<Record<string, (userState: UserState) => void>> = {
  'signal SIGPAUSE a': (userState) => {
    userState.isPausedAlone = true
  },
  'signal SIGPAUSE a freeze': (userState) => {
    userState.isPausedAlone = true
  },
  'signal SIGRESUME a': (userState) => Object.assign(userState, { isPausedAlone: false, isTreePaused: false }),
  'resume a only': (userState) => Object.assign(userState, { isPausedAlone: false, isTreePaused: false }),
  'signal SIGPAUSE p subtree': (userState) => {
    userState.isTreePaused = true
  },
  'signal SIGRESUME p subtree': (userState) => {
    userState.isTreePaused = false
  },
  'signal SIGTERM a': (userState) => {
    userState.ended = true
  },
  'signal SIGKILL a': (userState) => {
    userState.ended = true
  },
}
const userCommand = fc.constantFrom(
  ...Object.keys(USER_COMMANDS).flatMap((line) => (line.includes('SIGTERM') || line.includes('SIGKILL') ? [line] : [line, line, line])),
)
const otherEvent = fc.oneof(
  fc.constantFrom(...subsets).map((mask) => `mask a ${mask}`),
  fc
    .tuple(fc.constantFrom(...BLOCKABLE), fc.constantFrom('default', 'ignore', 'message'))
    .map(([signal, handler]) => `handle a ${signal} ${handler}`),
  fc.constantFrom(
    'signal SIGPAUSE a by=agent:p',
    'signal SIGRESUME a by=agent:p',
    'signal SIGRESUME a by=coordinator',
    'hold a loop',
    'release a loop',
    'report a exited 3',
  ),
  fc.constantFrom('wind 100', 'wind 9000', 'wind 10000', 'wind 130000'),
  fc.constantFrom('restart', 'crash'),
)

class Story {
  readonly userState: UserState = { isPausedAlone: false, isTreePaused: false, ended: false }
  readonly #player = new TranscriptPlayer()
  readonly #hasRestartPolicy: boolean

  constructor(policy: string) {
    this.#player.play(policy)
    this.#hasRestartPolicy = policy.includes('restart')
  }

  get row(): Process | undefined {
    return this.#player.world.row('a')
  }

  get isAlive(): boolean {
    return this.row?.life.state === 'created' || this.row?.life.state === 'running'
  }

  /** Whether the user's own pause holds `a` while the user's resume waits behind a mask or handler. */
  get #resumeWaits(): boolean {
    const { life, signals } = this.row ?? {}
    const isHeld = life?.state === 'running' && life.holds.some(({ by, reason }) => by === 'user' && reason === 'user')
    return (
      isHeld &&
      signals?.pending.some(({ signal, by, root }) => signal === 'SIGRESUME' && by === 'user' && (root === null || root === 'a')) === true
    )
  }

  play(line: string): void {
    const isOfParent = line.includes(' p ') || line.includes('agent:p')
    if (isOfParent && !this.#player.world.overlay.get('p')) return
    // No input of this test brings an ended process back, and without a restart policy an exit would end it.
    if (!this.isAlive || (line.startsWith('report') && !this.#hasRestartPolicy)) return
    if (line === 'restart' || line === 'crash') this.#startNewDaemon(line)
    else {
      // A pause of the tree cancels a waiting resume of `a`, so that `a` stays paused by the command before that resume.
      const isTakenBack = line === 'signal SIGPAUSE p subtree' && this.#resumeWaits
      const refused = this.#player.play(line).includes('refused')
      if (!refused) USER_COMMANDS[line]?.(this.userState)
      if (!refused && isTakenBack) this.userState.isPausedAlone = true
    }
    this.drive()
  }

  /** Plays what the daemon and the drivers do without a command. */
  drive(): void {
    for (const uuid of ['p', 'a']) {
      for (let i = 0; i < 8; i += 1) {
        const nextReport = nextReportOf(this.#player.world.overlay.get(uuid))
        if (nextReport === null) break
        this.#player.play(nextReport)
      }
    }
  }

  #startNewDaemon(kindOfEnd: string): void {
    if (kindOfEnd === 'restart') this.#player.play('hold all daemon-shutdown')
    this.#player.world.restart(1)
    for (const uuid of ['p', 'a']) if (this.#player.world.overlay.get(uuid)) this.#player.play(`boot ${uuid}`)
    this.#player.play('release all daemon-shutdown')
  }
}

function nextReportOf(row: Process | undefined): string | null {
  if (!row) return null
  const { life, uuid, restart } = row
  if (life.state === 'zombie') return `released ${uuid}`
  if (life.state === 'created') return (restart?.dueMono ?? null) !== null ? 'wind 10000' : `start ${uuid}`
  if (life.state !== 'running') return null
  if (life.stopping) return life.attached && !life.stopping.wrapUp ? `report ${uuid} exited 0` : null
  if (!life.attached) return life.holds.length === 0 ? `start ${uuid}` : null
  return life.activity === 'starting' ? `report ${uuid} up session=s` : null
}

/** The state of `a`, and the state that the user's last command demands. */
function statesOf({ row, userState, isAlive }: Story): readonly [found: string, wanted: string] {
  if (!row) return ['no row', 'a row']
  if (userState.ended) return [isAlive ? 'alive' : statusOf(row), 'stopped']
  // Without a session or a hold nothing can be restored: the daemon's end interrupts such a process.
  if (row.life.state !== 'running') return [statusOf(row), 'interrupted']
  const isHeld = row.life.holds.some(({ by, reason }) => by === 'user' && (reason === 'user' || reason === 'subtree'))
  return [isHeld ? 'paused' : 'not paused', userState.isPausedAlone || userState.isTreePaused ? 'paused' : 'not paused']
}

test("the user's last pause, resume or stop decides", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...KINDS),
      fc.array(fc.oneof(userCommand, otherEvent, otherEvent), { maxLength: 14, size: 'max' }),
      (policy, lines) => {
        const story = new Story(policy)
        for (const line of [...lines, ...Array<string>(4).fill('wind 10000')]) story.play(line)
        const [found, wanted] = statesOf(story)
        expect(found).toBe(wanted)
      },
    ),
    { numRuns: deep(3_000, 50_000) },
  )
}, 300_000)
