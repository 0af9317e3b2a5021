// The containment manager of one daemon: opens one containment per incarnation, of the strongest kind that works on this machine.
// Keeps the guardian, and ends the programs that an earlier daemon of the same home left. The caller must hold the home's
// lock. Disposal leaves nothing behind. Tests: test/processes/contain.
import { mkdirSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import type { ContainmentIntent, OsHandle } from '../../kernel/model/process.ts'
import type { ContainmentBackend } from './backends/backend.ts'
import { enableMemory, hasMemoryController } from './backends/cgroup-usage.ts'
import { CgroupBackend, removeCgroup } from './backends/cgroup.ts'
import type { ContainmentManager, Containment, ApiSocket, StopResult } from './containment-contract.ts'
import { OwnedContainment } from './containment.ts'
import { socketMountPrefix, trySocketMount } from './backends/socket-mount.ts'
import { GroupBackend } from './backends/group.ts'
import { Guardian } from './guardian.ts'
import { NamespacePool } from './backends/pid-namespace-pool.ts'
import { NetworkIsolation } from './backends/no-network.ts'
import { PidnsBackend } from './backends/pidns.ts'
import { bootId } from './proc/process-table.ts'
import { prepareCgroupRoot } from './backends/cgroup-root.ts'
import type { CgroupRoot } from './backends/cgroup-root.ts'
import { daemonTag, homeTag, markerOf } from './marker.ts'
import { FifoPool } from './proc/pipes.ts'
import { probeAll } from './probe.ts'
import { recoverLeftovers } from './recover.ts'
import { EventLoopTurns, type SliceQueue } from '../common/event-loop-turns.ts'
import type { ContainmentKind } from '../../kernel/model/words.ts'

export interface ContainmentManagerOptions {
  /** the home's state directory; named pipes are created below it */
  readonly stateDir: string
  /** the id of this run of the daemon; unique within the home */
  readonly daemonId: string
  /** writes to the daemon's log */
  readonly log: (message: string) => void
  /** the time slices, shared with the whole daemon; by default the manager has its own */
  readonly timeSlices?: EventLoopTurns
  /** finds out which kinds work on this machine; by default it tries them */
  readonly probe?: typeof probeAll
}

/** Opens the manager: starts the guardian, probes the kinds, and removes empty cgroups and old pipes of earlier daemons. */
export async function openContainmentManager({
  stateDir,
  daemonId,
  log,
  timeSlices = new EventLoopTurns(),
  probe = probeAll,
}: ContainmentManagerOptions): Promise<ContainmentManager> {
  const home = resolve(stateDir)
  const tag = daemonTag(home, daemonId)
  const cgroupRoot = prepareCgroupRoot()
  const cgroups = cgroupRoot.dir === null ? null : join(cgroupRoot.dir, `reeve-${homeTag(home)}`)
  // Only empty cgroups of earlier daemons are removed here; `recover` handles the others.
  if (cgroups !== null) removeCgroup(cgroups)
  await removeOldPipes(home)
  const dir = cgroups === null ? null : join(cgroups, tag)
  // The guardian starts before any other program, because the daemon may be killed at any moment.
  const guardian = new Guardian({ cgroupDir: dir, daemonTag: tag, log })
  const boot = bootId()
  const markerFor = (uuid: string) => markerOf({ uuid, pid: '0', daemon: tag, boot })
  const { probes, tools } = await probe({ cgroupDir: dir, markerFor })
  const cgroupDir = probes.some(({ kind, ok }) => kind === 'cgroup' && ok) ? dir : null
  if (cgroupDir === null && cgroups !== null) removeCgroup(cgroups)
  const enforcesMemory = cgroupDir !== null && enableMemoryController(cgroupRoot, cgroupDir)
  const starts = timeSlices.newQueue()
  const namespaces = tools === null ? null : new NamespacePool(tools, markerFor('init'), starts)
  return new OwnedContainmentManager({
    home,
    tag,
    cgroupRoot,
    cgroupDir,
    enforcesMemory,
    probes,
    namespaces,
    pool: new FifoPool(join(home, `${PIPES_PREFIX}${tag}`)),
    guardian,
    log,
    starts,
    stops: timeSlices.newQueue(),
  })
}

const PIPES_PREFIX = 'pipes-'

interface ContainmentManagerDeps {
  readonly home: string
  readonly tag: string
  readonly cgroupRoot: CgroupRoot
  readonly cgroupDir: string | null
  /** whether the cgroups can enforce a memory limit */
  readonly enforcesMemory: boolean
  readonly probes: ContainmentManager['probes']
  /** null if PID namespaces do not work on this machine */
  readonly namespaces: NamespacePool | null
  readonly pool: FifoPool
  readonly guardian: Guardian
  readonly log: (message: string) => void
  readonly starts: SliceQueue
  readonly stops: SliceQueue
}

class OwnedContainmentManager implements ContainmentManager {
  readonly kind: ContainmentKind
  readonly probes: ContainmentManager['probes']
  readonly #deps: ContainmentManagerDeps
  readonly #openContainments = new Set<OwnedContainment>()
  readonly #networkIsolation = new NetworkIsolation()
  #socketMountCheck: Promise<void> | null = null

  constructor(deps: ContainmentManagerDeps) {
    this.#deps = deps
    // The probes are sorted, so the first kind that works is the strongest.
    this.kind = deps.probes.find(({ ok }) => ok)?.kind ?? 'group'
    this.probes = deps.probes
  }

  plan(uuid: string, pid: number, kind: ContainmentKind | 'auto'): ContainmentIntent {
    const chosen = kind === 'auto' ? this.kind : kind
    const probe = this.probes.find(({ kind: probed }) => probed === chosen)
    if (probe?.ok !== true)
      throw new KernelError(
        'INVALID',
        `Containment ${chosen} does not work here: ${probe?.detail ?? 'it is not supported on this system'}`,
        {
          kind: chosen,
        },
      )
    const marker = markerOf({ uuid, pid: String(pid), daemon: this.#deps.tag, boot: bootId() })
    const path = chosen === 'cgroup' && this.#deps.cgroupDir !== null ? join(this.#deps.cgroupDir, `${uuid}.${pid}`) : null
    return { kind: chosen, path, marker, ...(path !== null && this.#deps.enforcesMemory ? { holdsMemory: true } : {}) }
  }

  async open(intent: ContainmentIntent, tmpDir: string, network?: 'off', apiSocket?: ApiSocket): Promise<Containment> {
    const networkPrefix = network === 'off' ? await this.#networkIsolation.prefix() : []
    const mountPrefix =
      apiSocket &&
      (await socketMountPrefix(apiSocket, network).catch((error: KernelError) => {
        if (apiSocket.isNeeded) throw error
        return error
      }))
    const prefix = mountPrefix ?? networkPrefix
    const onDisposed = (disposed: OwnedContainment) => {
      this.#openContainments.delete(disposed)
    }
    const { pool, starts, stops } = this.#deps
    const containment = new OwnedContainment({
      intent,
      tmpDir,
      prefix,
      backend: this.#backendFor(intent),
      pool,
      starts,
      stops,
      onDisposed,
    })
    this.#openContainments.add(containment)
    return containment
  }

  async checkOffline(): Promise<void> {
    await this.#networkIsolation.prefix()
  }

  checkSocketMount(): Promise<void> {
    return (this.#socketMountCheck ??= trySocketMount(this.#deps.home))
  }

  recover(intent: ContainmentIntent, handle: OsHandle | null): Promise<StopResult> {
    return recoverLeftovers(intent, handle)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { guardian, pool, cgroupRoot, cgroupDir, namespaces, log } = this.#deps
    const results = await Promise.all([...this.#openContainments].map((containment) => containment.dispose()))
    const survivors = results.flatMap((result) => result.survivors)
    await namespaces?.[Symbol.asyncDispose]()
    // The cgroups are removed while the guardian still runs: otherwise nothing would remove them if the daemon died here.
    if (cgroupDir !== null) removeCgroup(dirname(cgroupDir))
    if (survivors.length === 0) await guardian[Symbol.asyncDispose]()
    else {
      log(`Processes survived their kill and are left to the guardian: ${survivors.join(', ')}`)
      await guardian.abandon()
    }
    await pool[Symbol.asyncDispose]()
    cgroupRoot[Symbol.dispose]()
  }

  #backendFor(intent: ContainmentIntent): ContainmentBackend {
    const { namespaces, guardian } = this.#deps
    if (intent.kind === 'pidns' && namespaces !== null) return new PidnsBackend(namespaces)
    return intent.path === null ? new GroupBackend(intent.marker, guardian) : new CgroupBackend(intent.path, intent.holdsMemory)
  }
}

/**
 * Enables the memory controller from the cgroup root down to the programs' cgroups. Never changes a cgroup that the daemon does
 * not own. Returns whether it is enabled.
 */
function enableMemoryController({ dir, isOurs }: CgroupRoot, cgroupDir: string): boolean {
  if (dir === null || !(isOurs ? hasMemoryController(dir, 'controllers') : hasMemoryController(dir, 'subtree_control'))) return false
  mkdirSync(cgroupDir, { recursive: true, mode: 0o700 })
  return enableMemory([dir, dirname(cgroupDir), cgroupDir])
}

async function removeOldPipes(home: string): Promise<void> {
  const names = await readdir(home)
  // The `mkfifo` of a killed daemon may still be running in such a directory.
  const retries = { maxRetries: 10, retryDelay: 20 }
  await Promise.all(
    names.filter((name) => name.startsWith(PIPES_PREFIX)).map((name) => rm(join(home, name), { recursive: true, force: true, ...retries })),
  )
}
