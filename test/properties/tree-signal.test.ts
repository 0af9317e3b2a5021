// A signal to a subtree races spawns: whatever has happened when it comes, and whatever comes after it, no descendant escapes.
// Each life by chance is lived once for every place at which the signal may come.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isLiving } from '../../src/kernel/status.ts'
import type { RequestBody } from '../../src/daemon/pipeline.ts'
import type { InputBody } from '../../src/kernel/inputs.ts'
import type { Decision } from '../../src/kernel/work.ts'
import type { Process, Signal, Uuid } from '../../src/kernel/types.ts'
import { World, kernelSpec } from '../support/kernel/world.ts'

const ROOT = 'p0'
const MAX_PROCESSES = 12

/** What happens next: somebody is born, is started, comes up, ends, or all so far is committed. */
type Event = readonly [what: 'spawn' | 'start' | 'up' | 'end' | 'commit', who: number]

const event = fc.tuple(fc.constantFrom<Event[0]>('spawn', 'spawn', 'spawn', 'start', 'start', 'up', 'end', 'commit'), fc.nat(MAX_PROCESSES - 1))
const life = fc.array(event, { minLength: 3, maxLength: 20 })

class Tree {
  readonly world = new World()
  #born = 0
  #replies = 0

  constructor() {
    this.play(['spawn', 0])
    this.play(['start', 0])
    this.play(['up', 0])
  }

  play([what, who]: Event): void {
    const uuid = `p${who % Math.max(1, this.#born)}`
    const pid = this.world.row(uuid)?.pid ?? 0
    switch (what) {
      case 'spawn':
        if (this.#born < MAX_PROCESSES) this.ask({ type: 'spawn', by: 'user', uuid: `p${this.#born}`, parent: this.#born === 0 ? null : uuid, spec: kernelSpec({ interactive: true }) })
        if (this.world.row(`p${this.#born}`)) this.#born += 1
        return
      case 'start': this.world.step({ type: 'start', uuid, pid, missingKeys: [], containment: { kind: 'group', path: null, marker: uuid } }); return
      case 'up': this.ask({ type: 'report', uuid, pid, report: { type: 'up' } }); return
      case 'end':
        if (uuid !== ROOT) this.ask({ type: 'report', uuid, pid, report: { type: 'exited', code: 0, osSignal: null } })
        return
      case 'commit': this.world.commit()
    }
  }

  ask(body: RequestBody): Decision {
    this.#replies += 1
    return this.world.step({ ...body, reply: this.#replies } as InputBody)
  }

  signal(signal: Signal): Decision {
    return this.ask({ type: 'signal', by: 'user', uuid: ROOT, signal, subtree: true, graceMs: null, freeze: false })
  }

  /** The root and all that descend from it as the tree is now, those alone that live. */
  living(): Process[] {
    const under = (uuid: Uuid): Process[] => {
      const row = this.world.row(uuid)
      return row ? [...(isLiving(row) ? [row] : []), ...[...this.world.overlay.children(uuid)].flatMap(under)] : []
    }
    return under(ROOT)
  }
}

function everyPlace(events: readonly Event[], signal: Signal, masked: boolean, check: (tree: Tree) => void): void {
  for (let place = 0; place <= events.length; place += 1) {
    const tree = new Tree()
    if (masked) tree.ask({ type: 'mask', by: 'user', uuid: ROOT, mask: [signal] })
    for (const one of events.slice(0, place)) tree.play(one)
    const before = tree.living().length
    const { effects, changes } = tree.signal(signal)
    const [answer] = effects.filter((effect) => effect.type === 'reply')
    expect(answer).toMatchObject({ value: { affected: before } })
    expect(changes.facts.filter(({ body }) => body.type === 'signal.sent')).toHaveLength(before)
    for (const one of events.slice(place)) tree.play(one)
    check(tree)
  }
}

describe.each([false, true])('the root has blocked it: %s', (masked) => {
  test('who is to be stopped is, with all that were being born', () => {
    fc.assert(fc.property(life, (events) => {
      everyPlace(events, 'SIGTERM', masked, (tree) => {
        const going = tree.living().filter((row) => !(row.life.state === 'running' && row.life.stopping))
        expect(going.map(({ uuid }) => uuid)).toEqual(masked ? [ROOT] : [])
      })
    }), { numRuns: 150 })
  }, 120_000)

  test('who is to be paused is, and who is born later is born held', () => {
    fc.assert(fc.property(life, (events) => {
      everyPlace(events, 'SIGPAUSE', masked, (tree) => {
        const going = tree.living().filter(({ life: row }) => row.state === 'running' && !row.holds.some(({ reason, root }) => reason === 'subtree' && root === ROOT))
        expect(going.map(({ uuid }) => uuid)).toEqual(masked ? [ROOT] : [])
      })
    }), { numRuns: 150 })
  }, 120_000)
})
