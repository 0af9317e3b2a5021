// A signal to a subtree races with spawns. No descendant escapes, whatever happens before and after the signal.
// Each random life is repeated for every position of the signal.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isLiving } from '../../src/kernel/model/status.ts'
import type { RequestBody } from '../../src/daemon/loop/pipeline.ts'
import type { Decision } from '../../src/kernel/decide/draft.ts'
import type { Process } from '../../src/kernel/model/process.ts'
import { World, kernelSpec } from '../support/kernel/world.ts'
import type { Uuid } from '../../src/kernel/model/ids.ts'
import type { Signal } from '../../src/kernel/model/words.ts'

const ROOT = 'p0'
const MAX_PROCESSES = 12

/** The next event: a process is spawned, starts, comes up or ends, or all decisions so far are committed. */
type Event = readonly [what: 'spawn' | 'start' | 'up' | 'end' | 'commit', who: number]

const event = fc.tuple(
  fc.constantFrom<Event[0]>('spawn', 'spawn', 'spawn', 'start', 'start', 'up', 'end', 'commit'),
  fc.nat(MAX_PROCESSES - 1),
)
const life = fc.array(event, { minLength: 3, maxLength: 20 })

class Tree {
  readonly world = new World()
  #spawnedCount = 0
  #replies = 0

  constructor() {
    this.play(['spawn', 0])
    this.play(['start', 0])
    this.play(['up', 0])
  }

  play([what, who]: Event): void {
    const uuid = `p${who % Math.max(1, this.#spawnedCount)}`
    const pid = this.world.row(uuid)?.pid ?? 0
    switch (what) {
      case 'spawn':
        if (this.#spawnedCount < MAX_PROCESSES)
          this.request({
            type: 'spawn',
            by: 'user',
            uuid: `p${this.#spawnedCount}`,
            parent: this.#spawnedCount === 0 ? null : uuid,
            spec: kernelSpec({ interactive: true }),
          })
        if (this.world.row(`p${this.#spawnedCount}`)) this.#spawnedCount += 1
        return
      case 'start':
        this.world.step({ type: 'start', uuid, pid, missingKeys: [], containment: { kind: 'group', path: null, marker: uuid } })
        return
      case 'up':
        this.request({ type: 'report', uuid, pid, report: { type: 'up' } })
        return
      case 'end':
        if (uuid !== ROOT) this.request({ type: 'report', uuid, pid, report: { type: 'exited', code: 0, osSignal: null } })
        return
      case 'commit':
        this.world.commit()
    }
  }

  request(body: RequestBody): Decision {
    this.#replies += 1
    return this.world.step({ ...body, reply: this.#replies })
  }

  signal(signal: Signal): Decision {
    return this.request({ type: 'signal', by: 'user', uuid: ROOT, signal, subtree: true, graceMs: null, freeze: false })
  }

  /** The root and its present descendants, without those that have ended. */
  living(): Process[] {
    const subtreeOf = (uuid: Uuid): Process[] => {
      const row = this.world.row(uuid)
      return row ? [...(isLiving(row) ? [row] : []), ...[...this.world.overlay.children(uuid)].flatMap(subtreeOf)] : []
    }
    return subtreeOf(ROOT)
  }
}

function repeatAtEveryPosition(events: readonly Event[], signal: Signal, masked: boolean, check: (tree: Tree) => void): void {
  for (let position = 0; position <= events.length; position += 1) {
    const tree = new Tree()
    if (masked) tree.request({ type: 'mask', by: 'user', uuid: ROOT, mask: [signal] })
    for (const event of events.slice(0, position)) tree.play(event)
    const before = tree.living().length
    const { effects, changes } = tree.signal(signal)
    const [answer] = effects.filter((effect) => effect.type === 'reply')
    expect(answer).toMatchObject({ value: { affected: before } })
    expect(changes.facts.filter(({ body }) => body.type === 'signal.sent')).toHaveLength(before)
    for (const event of events.slice(position)) tree.play(event)
    check(tree)
  }
}

describe.each([false, true])('the root has blocked the signal: %s', (masked) => {
  test('a stop reaches all living processes below the root, and spawns in progress; the root only if it does not block it', () => {
    fc.assert(
      fc.property(life, (events) => {
        repeatAtEveryPosition(events, 'SIGTERM', masked, (tree) => {
          const escaped = tree.living().filter((row) => !(row.life.state === 'running' && row.life.stopping))
          expect(escaped.map(({ uuid }) => uuid)).toEqual(masked ? [ROOT] : [])
        })
      }),
      { numRuns: 150 },
    )
  }, 300_000)

  test('a pause holds all processes below the root, also later children; the root only if it does not block it', () => {
    fc.assert(
      fc.property(life, (events) => {
        repeatAtEveryPosition(events, 'SIGPAUSE', masked, (tree) => {
          const escaped = tree
            .living()
            .filter(
              ({ life: row }) => row.state === 'running' && !row.holds.some(({ reason, root }) => reason === 'subtree' && root === ROOT),
            )
          expect(escaped.map(({ uuid }) => uuid)).toEqual(masked ? [ROOT] : [])
        })
      }),
      { numRuns: 150 },
    )
  }, 300_000)
})
