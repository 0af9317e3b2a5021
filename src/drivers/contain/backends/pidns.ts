// Containment by a PID namespace, which contains everything that an incarnation starts. One signal to its init ends all of it. A program
// enters through `nsenter`, which stays outside as our child and is called the proxy. The proxy starts the program in its own session,
// waits for it and exits with its status. The program's handle names the proxy; signals go directly to the program's group, by host PIDs
// with start times. Must never let a program run outside. Tests: test/processes/contain.
import type { OsHandle } from '../../../kernel/model/process.ts'
import type { ContainmentBackend } from './backend.ts'
import { handleOf, handleState, signalGroup, signalOne } from '../proc/handle.ts'
import type { OsSignal } from '../proc/handle.ts'
import { UnheldOutputs } from '../proc/pipe-holders.ts'
import type { OutputPipe } from '../proc/pipe-holders.ts'
import type { Namespace } from './pid-namespace.ts'
import type { NamespacePool } from './pid-namespace-pool.ts'
import { childrenOf, isStopped, isZombie, readRow } from '../proc/process-table.ts'
import { isStoppedOrEnded, SigstopFreezer } from '../proc/sigstop.ts'
import { MemberMeter } from '../proc/usage.ts'
import type { BackendUsage } from '../proc/usage.ts'

/** The polling interval for orphans: the system does not report their end, unlike that of programs and of the namespace. */
const POLL_MS = 50
/** The interval of checks for two changes that a proxy hides: its program was continued, or has closed an output. */
const HIDDEN_CHECK_MS = 1_000

export class PidnsBackend implements ContainmentBackend {
  readonly waiting = { pollMs: POLL_MS, watch: (wake: () => void) => this.#namespace?.onEnd(wake) ?? (() => {}) }
  readonly #namespaces: NamespacePool
  readonly #proxies = new Map<number, OsHandle>()
  /** output pipes of living programs, by the PID of their proxy */
  readonly #outputs = new Map<number, readonly OutputPipe[]>()
  readonly #unheldOutputs = new UnheldOutputs()
  readonly #freezer = new SigstopFreezer(() => this.#processesToStop())
  readonly #meter = new MemberMeter()
  #memoryBytes: number | null = null
  #namespace: Namespace | null = null
  #preparing: Promise<void> | null = null
  #isClosed = false
  #checkTimer: NodeJS.Timeout | null = null

  constructor(namespaces: NamespacePool) {
    this.#namespaces = namespaces
  }

  scheduleCheck(check: () => void): void {
    check()
  }

  /** Creates the namespace that all programs of one incarnation share. After a kill, the next program gets a new namespace. */
  async prepare(): Promise<void> {
    if (this.#namespace?.isOpen === true) return
    this.#preparing ??= this.#takeNamespace().finally(() => {
      this.#preparing = null
    })
    await this.#preparing
  }

  enter(argv: readonly [string, ...string[]], cwd: string): readonly [string, ...string[]] {
    if (this.#namespace === null) throw new Error('nothing was prepared')
    return this.#namespace.entryCommand(argv, cwd)
  }

  admit(proxy: OsHandle): void {
    this.#proxies.set(proxy.pid, proxy)
    this.#meter.discardEarlierUsage()
    this.#checkTimer ??= setInterval(() => this.#checkHidden(), HIDDEN_CHECK_MS).unref()
  }

  trackOutputs(proxy: OsHandle, outputs: readonly OutputPipe[]): void {
    if (this.#proxies.has(proxy.pid)) this.#outputs.set(proxy.pid, outputs)
  }

  programEnded(proxy: OsHandle): void {
    this.#proxies.delete(proxy.pid)
    this.#meter.addEnded(proxy.pid)
    this.#outputs.delete(proxy.pid)
    if (this.#proxies.size > 0 || this.#checkTimer === null) return
    clearInterval(this.#checkTimer)
    this.#checkTimer = null
  }

  // A proxy stops itself when its program is stopped, and must be continued to notice the program's end. If the proxy has not started
  // its program yet, the proxy itself is signalled.
  signalProgram(proxy: OsHandle, signal: OsSignal): boolean {
    // The kernel is killing all members. Proxies that had not entered were killed before.
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

  // Proxies count as members here, because a proxy inherits its program's usage when the program ends.
  measure(memberScope: 'all' | 'known' | 'none'): BackendUsage | null {
    const members = memberScope === 'none' ? [] : this.#scan()
    const proxies = [...this.#proxies.values()].filter(({ pid }) => members.every((member) => member.pid !== pid))
    return this.#meter.measure([...proxies, ...members], this.#memoryBytes)
  }

  limitMemory(bytes: number | null): void {
    this.#memoryBytes = bytes
  }

  // Without a living proxy all members are children of the init, because orphans become its children.
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

  // A stopped proxy does not reap its program, and the init cannot end before the program is reaped. So a frozen proxy is continued.
  // A proxy that stopped itself is rare, and is continued at the next kill.
  kill(): void {
    const isRepeated = this.#namespace?.isClosed === true
    this.#killUnentered()
    this.#namespace?.kill()
    if (isRepeated || this.#freezer.hasStopped) this.#wakeProxies()
  }

  freeze(): void {
    this.#freezer.stop()
  }

  // Everything is checked twice: a list of children is exact only if no child ended while it was read.
  isFrozen(): boolean {
    const before = this.#processesToStop().length
    return this.#freezer.tryToStopAll() && this.#freezer.tryToStopAll() && this.#processesToStop().length === before
  }

  thaw(): void {
    this.#freezer.resume()
  }

  remove(): boolean {
    this.#isClosed = true
    if (this.#namespace === null || this.#namespace.ended) return true
    this.#namespace.kill()
    return false
  }

  async #takeNamespace(): Promise<void> {
    await this.#namespace?.close()
    const taken = await this.#namespaces.take()
    if (this.#isClosed) return this.#namespaces.giveBack(taken)
    this.#namespace = taken
    taken.onEnd(() => this.#killUnentered())
  }

  // Kills the proxies that have not entered the namespace yet. They could enter another namespace under a reused descriptor, or
  // fail with an exit code of their own. A proxy that has entered stays alive to reap its program; otherwise the system's init
  // would have to.
  #killUnentered(): void {
    for (const proxy of this.#proxies.values()) if (childrenOf(proxy.pid).length === 0) signalOne(proxy, 'SIGKILL')
  }

  #wakeProxies(): void {
    for (const proxy of this.#proxies.values()) signalOne(proxy, 'SIGCONT')
  }

  #checkHidden(): void {
    if (this.#freezer.hasStopped) return
    this.#continueProxies()
    this.#unheldOutputs.check([...this.#outputs.values()].flat(), () => this.members())
  }

  // A proxy stops itself with its program, but gets no notification when the program continues.
  #continueProxies(): void {
    for (const proxy of this.#proxies.values()) {
      const program = isStoppedOrEnded(proxy) ? readRow(childrenOf(proxy.pid)[0] ?? 0) : null
      if (program !== null && !isStopped(program)) signalOne(proxy, 'SIGCONT')
    }
  }

  // Proxies are stopped first, and their programs only when all proxies have stopped. Otherwise a proxy that finds its program
  // stopped would stop itself later, possibly after our thaw.
  #processesToStop(): readonly OsHandle[] {
    const proxies = [...this.#proxies.values()]
    return proxies.every(isStoppedOrEnded) ? [...proxies, ...this.#scan()] : proxies
  }

  /** Finds all living members; parents come before their children. The init's children come last, because orphans move there. */
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

/** Returns the program of a proxy; null before the program starts and after it has ended. */
function programOf(proxy: OsHandle): OsHandle | null {
  const [pid] = handleState(proxy) === 'alive' ? childrenOf(proxy.pid) : []
  const program = pid === undefined ? null : handleOf(pid)
  // The child is checked again: while its parent lives, its PID cannot be reused.
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
