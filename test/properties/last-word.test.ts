// The user's last command against everything that could undo it: masks, handlers, pending signals, agents with signals, ends,
// restart policies, new daemons and time. The model is one line: paused, not paused or ended, as the user's last command states.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { statusOf } from '../../src/kernel/model/status.ts'
import { deep } from '../support/deep.ts'
import { Player } from '../support/kernel/transcript.ts'
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

/** The user's last command for `a`, alone and with its parent's subtree. */
interface Word {
  own: boolean
  family: boolean
  ended: boolean
}

const USER: Readonly<Record<string, (word: Word) => void>> = {
  'signal SIGPAUSE a': (word) => {
    word.own = true
  },
  'signal SIGPAUSE a freeze': (word) => {
    word.own = true
  },
  'signal SIGRESUME a': (word) => Object.assign(word, { own: false, family: false }),
  'resume a only': (word) => Object.assign(word, { own: false, family: false }),
  'signal SIGPAUSE p subtree': (word) => {
    word.family = true
  },
  'signal SIGRESUME p subtree': (word) => {
    word.family = false
  },
  'signal SIGTERM a': (word) => {
    word.ended = true
  },
  'signal SIGKILL a': (word) => {
    word.ended = true
  },
}
const user = fc.constantFrom(
  ...Object.keys(USER).flatMap((line) => (line.includes('SIGTERM') || line.includes('SIGKILL') ? [line] : [line, line, line])),
)
const other = fc.oneof(
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
  readonly word: Word = { own: false, family: false, ended: false }
  readonly #player = new Player()
  readonly #comesBack: boolean

  constructor(kind: string) {
    this.#player.play(kind)
    this.#comesBack = kind.includes('restart')
  }

  get row(): Process | undefined {
    return this.#player.world.row('a')
  }

  get lives(): boolean {
    return this.row?.life.state === 'created' || this.row?.life.state === 'running'
  }

  /** The user's own pause of `a` holds, and the user's resume waits behind a mask or handler. */
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
    // An ended process needs a resume of its own, and one without a policy has ended for good.
    if (!this.lives || (line.startsWith('report') && !this.#comesBack)) return
    if (line === 'restart' || line === 'crash') this.#newDaemon(line)
    else {
      // A pause of all cancels a waiting resume of `a`: then `a` stays paused by the command before that.
      const isTakenBack = line === 'signal SIGPAUSE p subtree' && this.#resumeWaits
      const refused = this.#player.play(line).includes('refused')
      if (!refused) USER[line]?.(this.word)
      if (!refused && isTakenBack) this.word.own = true
    }
    this.drive()
  }

  /** Acts of the daemon and the driver by themselves. */
  drive(): void {
    for (const uuid of ['p', 'a']) {
      for (let i = 0; i < 8; i += 1) {
        const next = nextOf(this.#player.world.overlay.get(uuid))
        if (next === null) break
        this.#player.play(next)
      }
    }
  }

  #newDaemon(how: string): void {
    if (how === 'restart') this.#player.play('hold all daemon-shutdown')
    this.#player.world.restart(1)
    for (const uuid of ['p', 'a']) if (this.#player.world.overlay.get(uuid)) this.#player.play(`boot ${uuid}`)
    this.#player.play('release all daemon-shutdown')
  }
}

function nextOf(row: Process | undefined): string | null {
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
function outcome({ row, word, lives }: Story): readonly [found: string, wanted: string] {
  if (!row) return ['no row', 'a row']
  if (word.ended) return [lives ? 'lives' : statusOf(row), 'stopped']
  // Without a session or a hold nothing can be restored: the daemon's end interrupts such a process.
  if (row.life.state !== 'running') return [statusOf(row), 'interrupted']
  const held = row.life.holds.some(({ by, reason }) => by === 'user' && (reason === 'user' || reason === 'subtree'))
  return [held ? 'paused' : 'not paused', word.own || word.family ? 'paused' : 'not paused']
}

test("the user's last pause, resume or stop decides", () => {
  fc.assert(
    fc.property(fc.constantFrom(...KINDS), fc.array(fc.oneof(user, other, other), { maxLength: 14, size: 'max' }), (kind, lines) => {
      const story = new Story(kind)
      for (const line of [...lines, ...Array<string>(4).fill('wind 10000')]) story.play(line)
      const [found, wanted] = outcome(story)
      expect(found).toBe(wanted)
    }),
    { numRuns: deep(3_000, 50_000) },
  )
}, 300_000)
