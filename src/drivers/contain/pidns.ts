// Containment by a PID namespace: everything that an incarnation ever starts is in it, and its end is one signal to its init.
// A program enters through `nsenter`, which stays outside as our child, starts it in a session of its own, waits for it and
// ends as it ended; this proxy is what the handle names. Signals go past it, to the program's own group, by host PIDs with
// start times. Must never let a program run anywhere but inside. Tests: test/processes/contain*.test.ts.
import type { OsHandle } from '../../kernel/types.ts'
import type { Cage } from './cage.ts'
import { handleOf, liveness, signalGroup, signalOne } from './handle.ts'
import type { OsSignal } from './handle.ts'
import { Unheld } from './holders.ts'
import type { Output } from './holders.ts'
import type { Namespace } from './namespace.ts'
import type { Namespaces } from './namespaces.ts'
import { childrenOf, isStopped, isZombie, readRow } from './proc.ts'
import { standsStill, Still } from './still.ts'
import { MemberMeter } from './use.ts'
import type { CageUse } from './use.ts'

/** The ends of programs and of the namespace are told at once; that of an orphan is not, so we look. */
const POLL_MS = 50
/** How often it is looked at what proxies hide: a program that somebody has woken, an output that it has closed. */
const HIDDEN_MS = 1_000

export class PidnsCage implements Cage {
  readonly waiting = { pollMs: POLL_MS, watch: (wake: () => void) => this.#namespace?.onEnd(wake) ?? (() => {}) }
  readonly #namespaces: Namespaces
  readonly #proxies = new Map<number, OsHandle>()
  /** of the programs that live, by the PID of their proxy */
  readonly #outputs = new Map<number, readonly Output[]>()
  readonly #unheld = new Unheld()
  readonly #still = new Still(() => this.#toStop())
  readonly #meter = new MemberMeter()
  #memoryBytes: number | null = null
  #namespace: Namespace | null = null
  #preparing: Promise<void> | null = null
  #closed = false
  #looking: NodeJS.Timeout | null = null

  constructor(namespaces: Namespaces) {
    this.#namespaces = namespaces
  }

  look(look: () => void): void {
    look()
  }

  /** Programs of one incarnation share one namespace; after a kill the next program gets a new one. */
  async prepare(): Promise<void> {
    if (this.#namespace?.isOpen === true) return
    this.#preparing ??= this.#take().finally(() => { this.#preparing = null })
    await this.#preparing
  }

  enter(argv: readonly [string, ...string[]], cwd: string): readonly [string, ...string[]] {
    if (this.#namespace === null) throw new Error('nothing was prepared')
    return this.#namespace.entering(argv, cwd)
  }

  admit(proxy: OsHandle): void {
    this.#proxies.set(proxy.pid, proxy)
    this.#meter.admit()
    this.#looking ??= setInterval(() => this.#lookBehind(), HIDDEN_MS).unref()
  }

  hears(proxy: OsHandle, outputs: readonly Output[]): void {
    if (this.#proxies.has(proxy.pid)) this.#outputs.set(proxy.pid, outputs)
  }

  ended(proxy: OsHandle): void {
    this.#proxies.delete(proxy.pid)
    this.#meter.ended(proxy.pid)
    this.#outputs.delete(proxy.pid)
    if (this.#proxies.size > 0 || this.#looking === null) return
    clearInterval(this.#looking)
    this.#looking = null
  }

  // The proxy stops itself when its program is stopped, and wakes it when it is woken: it must be awake to see the end.
  // Until it has made its program it is all that there is of it.
  signalProgram(proxy: OsHandle, signal: OsSignal): boolean {
    // All are being killed by the kernel; a proxy that was not inside was killed before.
    if (signal === 'SIGKILL' && this.#namespace?.isClosed === true) return true
    const program = programOf(proxy)
    if (program === null) return signalGroup(proxy, signal) === 'sent'
    const sent = signalGroup(program, signal) === 'sent'
    if (signal === 'SIGCONT' || signal === 'SIGKILL') signalOne(proxy, 'SIGCONT')
    return sent
  }

  members(): readonly number[] {
    return this.#scan().map((handle) => handle.pid)
  }

  // A proxy takes over what its program has used when that ends, so it is counted with the members.
  measure(how: 'look' | 'known' | 'none'): CageUse | null {
    const members = how === 'none' ? [] : this.#scan()
    const proxies = [...this.#proxies.values()].filter(({ pid }) => members.every((member) => member.pid !== pid))
    return this.#meter.look([...proxies, ...members], this.#memoryBytes)
  }

  limitMemory(bytes: number | null): void {
    this.#memoryBytes = bytes
  }

  // Orphans become children of the init: with no proxy alive, nobody can be anywhere else.
  isEmpty(): boolean {
    if (this.#proxies.size > 0) return false
    return this.#namespace === null || this.#namespace.ended || this.#namespace.isBare
  }

  signalMembers(signal: 'SIGTERM' | 'SIGINT'): void {
    for (const handle of this.#scan()) {
      signalOne(handle, signal)
      signalOne(handle, 'SIGCONT')
    }
    this.#wakeProxies()
  }

  // Members are not reaped while their proxy is stopped, and the init does not end before they are. That a proxy has stopped
  // itself without us is rare: it is woken at the next look.
  kill(): void {
    const isSecond = this.#namespace?.isClosed === true
    this.#killOutside()
    this.#namespace?.kill()
    if (isSecond || this.#still.holds) this.#wakeProxies()
  }

  freeze(): void {
    this.#still.stop()
  }

  // Twice: a list of children is exact only if none of them ended while it was read.
  isFrozen(): boolean {
    const before = this.#toStop().length
    return this.#still.allStopped() && this.#still.allStopped() && this.#toStop().length === before
  }

  thaw(): void {
    this.#still.goOn()
  }

  remove(): boolean {
    this.#closed = true
    if (this.#namespace === null || this.#namespace.ended) return true
    this.#namespace.kill()
    return false
  }

  async #take(): Promise<void> {
    await this.#namespace?.close()
    const taken = await this.#namespaces.take()
    if (this.#closed) return this.#namespaces.giveBack(taken)
    this.#namespace = taken
    taken.onEnd(() => this.#killOutside())
  }

  // A proxy that has not come inside yet would look for the namespace under a number that is another's by then, or fail with a
  // code of its own. One that is inside is left to see the end of its program: without it, the system's init would have to.
  #killOutside(): void {
    for (const proxy of this.#proxies.values()) if (childrenOf(proxy.pid).length === 0) signalOne(proxy, 'SIGKILL')
  }

  #wakeProxies(): void {
    for (const proxy of this.#proxies.values()) signalOne(proxy, 'SIGCONT')
  }

  #lookBehind(): void {
    if (this.#still.holds) return
    this.#wakeForgotten()
    this.#unheld.look([...this.#outputs.values()].flat(), () => this.members())
  }

  // A proxy stops itself with its program, and nobody tells it when that one goes on, or has ended.
  #wakeForgotten(): void {
    for (const proxy of this.#proxies.values()) {
      const program = standsStill(proxy) ? readRow(childrenOf(proxy.pid)[0] ?? 0) : null
      if (program !== null && !isStopped(program)) signalOne(proxy, 'SIGCONT')
    }
  }

  // A proxy that sees its program stopped would stop itself, at a moment of its own, and it would do so after our thaw: so
  // proxies are stopped first, and their programs once they stand still.
  #toStop(): readonly OsHandle[] {
    const proxies = [...this.#proxies.values()]
    return proxies.every(standsStill) ? [...proxies, ...this.#scan()] : proxies
  }

  /** All living members, parents before their children; the init's are looked for last, as who loses his parent goes there. */
  #scan(): readonly OsHandle[] {
    const found = new Map<number, OsHandle>()
    for (const proxy of this.#proxies.values()) {
      const children = childrenOf(proxy.pid)
      if (children.length === 0) addLiving(found, proxy.pid)
      for (const child of children) addTree(found, child)
    }
    for (const orphan of this.#namespace?.ended === false ? this.#namespace.orphans() : []) addTree(found, orphan)
    return [...found.values()]
  }
}

/** The program that the proxy has made; null if there is none yet, or none any more. */
function programOf(proxy: OsHandle): OsHandle | null {
  const [pid] = liveness(proxy) === 'alive' ? childrenOf(proxy.pid) : []
  const program = pid === undefined ? null : handleOf(pid)
  // Asked again: while it is the child of one that lives, its number is its own.
  return program !== null && childrenOf(proxy.pid).includes(program.pid) ? program : null
}

function addTree(found: Map<number, OsHandle>, pid: number): void {
  if (found.has(pid)) return
  addLiving(found, pid)
  for (const child of childrenOf(pid)) addTree(found, child)
}

function addLiving(found: Map<number, OsHandle>, pid: number): void {
  const row = readRow(pid)
  if (row !== null && !isZombie(row)) found.set(pid, { pid, startTime: row.startTime, pgid: row.pgid })
}
