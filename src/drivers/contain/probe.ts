// Finds out which kinds of containment work on this machine, by using them. For each kind it creates a containment, starts a
// program in it, freezes it, kills it and removes the containment. All kinds are probed in parallel under a time limit. `reeve
// doctor` shows the error texts. Leaves nothing behind, whatever fails.
// Test: test/e2e/lifecycle/containment.test.ts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { EventEmitter } from 'node:events'
import { dirname, join } from 'node:path'
import type { OsHandle } from '../../kernel/model/process.ts'
import type { ContainmentBackend } from './backends/backend.ts'
import { CgroupBackend, removeCgroup } from './backends/cgroup.ts'
import type { Probe } from './containment-contract.ts'
import { GroupBackend } from './backends/group.ts'
import { handleOf } from './proc/handle.ts'
import { waitUntil } from './stop-ladder.ts'
import { MARKER_VARIABLE } from './marker.ts'
import { findNamespaceTools } from './backends/pid-namespace.ts'
import type { NamespaceTools } from './backends/pid-namespace.ts'
import { NamespacePool } from './backends/pid-namespace-pool.ts'
import { PidnsBackend } from './backends/pidns.ts'
import { EventLoopTurns } from '../common/event-loop-turns.ts'
import type { ContainmentKind } from '../../kernel/model/words.ts'

/** Time limit for all steps of one kind. A kind that is slower at the start of the daemon is not reliable. */
const PROBE_MS = 5_000

const PROBE_POLL_MS = 5
/** How long the removal is retried after a failure. */
const REMOVE_MS = 500

/** The trial program. It ends when its stdin is closed, so also if the daemon dies. */
const TRIAL_PROGRAM = ['/bin/sh', '-c', 'echo up; read -r line'] as const

export interface ProbeDeps {
  /** the directory for this daemon's cgroups, created by the probe; null without cgroup v2 */
  readonly cgroupDir: string | null
  readonly markerFor: (uuid: string) => string
}

export interface ProbeResults {
  /** the results, the strongest kind first */
  readonly probes: readonly Probe[]
  /** the programs that create namespaces; null if namespaces do not work */
  readonly tools: NamespaceTools | null
}

/** Probes all kinds. A kind that fails has its error in the result. */
export async function probeAll({ cgroupDir, markerFor }: ProbeDeps): Promise<ProbeResults> {
  const tools = findNamespaceToolsOrError()
  const [cgroup, pidns, group] = await Promise.all([
    cgroupDir === null ? 'no cgroup v2 is mounted' : probeCgroup(cgroupDir, markerFor('probe-cgroup')),
    typeof tools === 'string' ? tools : probePidns(tools, markerFor('probe-pidns')),
    probeBackend(new GroupBackend(markerFor('probe-group'), { register: () => {}, unregister: () => {} }), markerFor('probe-group')),
  ])
  return {
    probes: [
      toProbe('cgroup', cgroup, dirname(cgroupDir ?? '')),
      toProbe('pidns', pidns, 'namespaces can be created'),
      toProbe('group', group, 'needs nothing'),
    ],
    tools: pidns === null && typeof tools !== 'string' ? tools : null,
  }
}

function toProbe(kind: ContainmentKind, problem: string | null, detail: string): Probe {
  return { kind, ok: problem === null, detail: problem ?? detail }
}

function findNamespaceToolsOrError(): NamespaceTools | string {
  if (process.platform !== 'linux') return 'there are no PID namespaces on this system'
  try {
    return findNamespaceTools()
  } catch (error) {
    return (error as Error).message
  }
}

async function probeCgroup(dir: string, marker: string): Promise<string | null> {
  const trial = join(dir, 'probe')
  try {
    return await probeBackend(new CgroupBackend(trial), marker)
  } finally {
    removeCgroup(trial)
  }
}

async function probePidns(tools: NamespaceTools, marker: string): Promise<string | null> {
  await using namespaces = new NamespacePool(tools, marker, new EventLoopTurns().newQueue(), PROBE_MS)
  return await probeBackend(new PidnsBackend(namespaces), marker)
}

/** Returns null if the kind works, otherwise the reason why it does not. */
async function probeBackend(backend: ContainmentBackend, marker: string): Promise<string | null> {
  try {
    await useBackend(backend, marker)
    return null
  } catch (error) {
    // The removal is retried, because a killed program may still be exiting, and a cgroup with members cannot be removed.
    await waitUntil(() => backend.remove(), REMOVE_MS, { ...backend.waiting, pollMs: PROBE_POLL_MS })
    return (error as Error).message
  }
}

async function useBackend(backend: ContainmentBackend, marker: string): Promise<void> {
  const deadline = performance.now() + PROBE_MS
  const waitFor = async (done: () => boolean, problem: string): Promise<void> => {
    if (!(await waitUntil(done, Math.max(1, deadline - performance.now()), { ...backend.waiting, pollMs: PROBE_POLL_MS })))
      throw new Error(problem)
  }
  await backend.prepare()
  const trial = startTrial(backend, marker, Math.max(1, Math.ceil(deadline - performance.now())))
  try {
    if (!(await trial.up)) throw new Error(trial.stderr() || 'no program could be started in the containment')
    backend.freeze()
    await waitFor(() => backend.isFrozen(), 'the trial program could not be frozen')
    await waitFor(() => isKilled(backend, trial), 'the trial program could not be killed')
  } catch (error) {
    backend.kill()
    throw error
  } finally {
    trial.release()
    backend.thaw()
  }
  await waitFor(() => backend.remove(), 'the containment could not be removed')
}

// Repeats the kill until no member is left, as the stop ladder does.
function isKilled(backend: ContainmentBackend, trial: Trial): boolean {
  if (trial.hasEnded()) backend.programEnded(trial.handle)
  if (trial.hasEnded() && backend.isEmpty()) return true
  backend.kill()
  return false
}

interface Trial {
  readonly handle: OsHandle
  /** resolves to true once the program runs; to false if it ended first or the time ran out */
  readonly up: Promise<boolean>
  hasEnded(): boolean
  /** what the program has written to stderr so far */
  stderr(): string
  release(): void
}

function startTrial(backend: ContainmentBackend, marker: string, upMs: number): Trial {
  const [program, ...args] = backend.enter(TRIAL_PROGRAM, '/')
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', [MARKER_VARIABLE]: marker }
  const child = spawn(program, args, { cwd: '/', detached: true, env, stdio: ['pipe', 'pipe', 'pipe'] })
  const signal = AbortSignal.timeout(upMs)
  const occurs = (emitter: EventEmitter, event: string) =>
    once(emitter, event, { signal }).then(
      () => true,
      () => false,
    )
  const up = Promise.race([occurs(child.stdout, 'data'), occurs(child, 'close').then(() => false)])
  const stderr: string[] = []
  child.stderr.on('data', (chunk: Buffer) => {
    stderr.push(chunk.toString())
  })
  const handle = handleOf(child.pid ?? 0)
  if (handle === null) throw new Error(`${program} cannot be started`)
  backend.admit(handle)
  return {
    handle,
    up,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    stderr: () => stderr.join('').trim(),
    release: () => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
    },
  }
}
