// The container of one daemon: makes a containment per incarnation, of the strongest kind that works here, keeps the
// guardian, and ends what an earlier daemon of the same home left. Whoever opens it holds the home's lock.
// Nothing of it is left once it is disposed. Tests: test/processes/contain*.test.ts.
import { mkdirSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { KernelError } from '../../kernel/errors.ts'
import type { ContainmentIntent, ContainmentKind, OsHandle } from '../../kernel/types.ts'
import type { Cage } from './cage.ts'
import { enableMemory, hasMemory } from './cgroup-use.ts'
import { CgroupCage, removeCgroup } from './cgroup.ts'
import type { Container, Containment, StopResult } from './contain.ts'
import { OwnedContainment } from './containment.ts'
import { GroupCage } from './group.ts'
import { Guardian } from './guardian.ts'
import { Namespaces } from './namespaces.ts'
import { Offline } from './offline.ts'
import { PidnsCage } from './pidns.ts'
import { bootId } from './proc.ts'
import { settleIn } from './leaf.ts'
import type { Place } from './leaf.ts'
import { daemonTag, homeTag, markerOf } from './marker.ts'
import { FifoPool } from './pipes.ts'
import { probeAll } from './probe.ts'
import { recoverLeftovers } from './recover.ts'

export interface ContainerOptions {
  /** the home's state directory; pipes are made below it */
  readonly stateDir: string
  /** names this run of the daemon; never used twice in one home */
  readonly daemonId: string
  /** words for the daemon's log */
  readonly log: (message: string) => void
}

export async function openContainer({ stateDir, daemonId, log }: ContainerOptions): Promise<Container> {
  const home = resolve(stateDir)
  const tag = daemonTag(home, daemonId)
  const place = settleIn()
  const cgroups = place.dir === null ? null : join(place.dir, `reeve-${homeTag(home)}`)
  // Of earlier daemons, this takes only what nobody lives in; the rest is `recover`'s.
  if (cgroups !== null) removeCgroup(cgroups)
  await removeOldPipes(home)
  const dir = cgroups === null ? null : join(cgroups, tag)
  // The guardian comes first: from here on we may be killed at any moment.
  const guardian = new Guardian({ cgroupDir: dir, daemonTag: tag, log })
  const boot = bootId()
  const markerFor = (uuid: string) => markerOf({ uuid, pid: '0', daemon: tag, boot })
  const { probes, tools } = await probeAll({ cgroupDir: dir, markerFor })
  const cgroupDir = probes.some(({ kind, ok }) => kind === 'cgroup' && ok) ? dir : null
  if (cgroupDir === null && cgroups !== null) removeCgroup(cgroups)
  const holdsMemory = cgroupDir !== null && handMemory(place, cgroupDir)
  const namespaces = tools === null ? null : new Namespaces(tools, markerFor('init'))
  return new OwnedContainer({ tag, place, cgroupDir, holdsMemory, probes, namespaces, pool: new FifoPool(join(home, `${PIPES}${tag}`)), guardian, log })
}

const PIPES = 'pipes-'

interface Parts {
  readonly tag: string
  readonly place: Place
  readonly cgroupDir: string | null
  /** cgroups here can keep a memory limit */
  readonly holdsMemory: boolean
  readonly probes: Container['probes']
  /** null if they do not work here */
  readonly namespaces: Namespaces | null
  readonly pool: FifoPool
  readonly guardian: Guardian
  readonly log: (message: string) => void
}

class OwnedContainer implements Container {
  readonly kind: ContainmentKind
  readonly probes: Container['probes']
  readonly #parts: Parts
  readonly #open = new Set<OwnedContainment>()
  readonly #offline = new Offline()

  constructor(parts: Parts) {
    this.#parts = parts
    // The strongest is the first.
    this.kind = parts.probes.find(({ ok }) => ok)?.kind ?? 'group'
    this.probes = parts.probes
  }

  plan(uuid: string, pid: number, kind: ContainmentKind | 'auto'): ContainmentIntent {
    const chosen = kind === 'auto' ? this.kind : kind
    const probe = this.probes.find((each) => each.kind === chosen)
    if (probe?.ok !== true) throw new KernelError('INVALID', `Containment ${chosen} does not work here: ${probe?.detail ?? 'it is not supported'}`, { kind: chosen })
    const marker = markerOf({ uuid, pid: String(pid), daemon: this.#parts.tag, boot: bootId() })
    const path = chosen === 'cgroup' && this.#parts.cgroupDir !== null ? join(this.#parts.cgroupDir, `${uuid}.${pid}`) : null
    return { kind: chosen, path, marker, ...(path !== null && this.#parts.holdsMemory ? { holdsMemory: true } : {}) }
  }

  async open(intent: ContainmentIntent, tmpDir: string, network?: 'off'): Promise<Containment> {
    const prefix = network === 'off' ? await this.#offline.prefix() : []
    const disposed = (done: OwnedContainment) => { this.#open.delete(done) }
    const containment = new OwnedContainment({ intent, tmpDir, prefix, cage: this.#cageOf(intent), pool: this.#parts.pool, disposed })
    this.#open.add(containment)
    return containment
  }

  async checkOffline(): Promise<void> {
    await this.#offline.prefix()
  }

  recover(intent: ContainmentIntent, handle: OsHandle | null): Promise<StopResult> {
    return recoverLeftovers(intent, handle)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { guardian, pool, place, cgroupDir, namespaces, log } = this.#parts
    const results = await Promise.all([...this.#open].map((containment) => containment.dispose()))
    const survivors = results.flatMap((result) => result.survivors)
    await namespaces?.[Symbol.asyncDispose]()
    // Before the guardian is let go of: if we die from here on, nobody comes after us to remove them.
    if (cgroupDir !== null) removeCgroup(dirname(cgroupDir))
    if (survivors.length === 0) await guardian[Symbol.asyncDispose]()
    else {
      log(`Processes survived their kill and are left to the guardian: ${survivors.join(', ')}`)
      await guardian.abandon()
    }
    await pool[Symbol.asyncDispose]()
    place[Symbol.dispose]()
  }

  #cageOf(intent: ContainmentIntent): Cage {
    const { namespaces, guardian } = this.#parts
    if (intent.kind === 'pidns' && namespaces !== null) return new PidnsCage(namespaces)
    return intent.path === null ? new GroupCage(intent.marker, guardian) : new CgroupCage(intent.path, intent.holdsMemory)
  }
}

/** From the place down to the programs' own; nobody else's place is changed for it. */
function handMemory({ dir, isOurs }: Place, cgroupDir: string): boolean {
  if (dir === null || !(isOurs ? hasMemory(dir, 'controllers') : hasMemory(dir, 'subtree_control'))) return false
  mkdirSync(cgroupDir, { recursive: true, mode: 0o700 })
  return enableMemory([dir, dirname(cgroupDir), cgroupDir])
}

async function removeOldPipes(home: string): Promise<void> {
  const names = await readdir(home)
  // A killed daemon's `mkfifo` may still be at work in there.
  const again = { maxRetries: 10, retryDelay: 20 }
  await Promise.all(names.filter((name) => name.startsWith(PIPES)).map((name) => rm(join(home, name), { recursive: true, force: true, ...again })))
}
