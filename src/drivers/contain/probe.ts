// Finds out what containment works here by doing it: a cage is made, a program put in, frozen, seen frozen, killed, seen gone
// and the cage removed, for all kinds side by side and within a time. What fails says so in words that `doctor` shows.
// Leaves nothing, whatever fails. Tests: test/processes/contain-guardian.test.ts, test/processes/contain-scope.test.ts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ContainmentKind, OsHandle } from '../../kernel/types.ts'
import type { Cage } from './cage.ts'
import { CgroupCage, ownCgroup, removeCgroup } from './cgroup.ts'
import type { Probe } from './contain.ts'
import { GroupCage } from './group.ts'
import { handleOf } from './handle.ts'
import { until } from './ladder.ts'
import { MARKER } from './proc.ts'
import { findTools } from './namespace.ts'
import type { Tools } from './namespace.ts'
import { Namespaces } from './namespaces.ts'
import { PidnsCage } from './pidns.ts'

/** For all the steps of one kind. Who is slower than this at the start of a daemon is not to be relied on. */
const PROBE_MS = 5_000

const PROBE_POLL_MS = 5
/** After a failure. */
const REMOVE_MS = 500

/** What is tried: it ends by itself when its stdin does, so also if we die in between. */
const TRIAL = ['/bin/sh', '-c', 'echo up; read -r line'] as const

export interface ProbeParts {
  /** the directory of this daemon's cgroups, which is made; null without cgroup v2 */
  readonly cgroupDir: string | null
  readonly markerFor: (uuid: string) => string
}

export interface Probed {
  /** the strongest first */
  readonly probes: readonly Probe[]
  /** what namespaces are made with; null if they do not work */
  readonly tools: Tools | null
}

/** Our own cgroup's directory; null if cgroup v2 is not mounted. */
export function findOwnCgroup(): string | null {
  try {
    return ownCgroup(readFileSync('/proc/self/mountinfo', 'latin1'), readFileSync('/proc/self/cgroup', 'latin1'))
  } catch {
    return null
  }
}

export async function probeAll({ cgroupDir, markerFor }: ProbeParts): Promise<Probed> {
  const tools = toolsOrComplaint()
  const [cgroup, pidns, group] = await Promise.all([
    cgroupDir === null ? 'no cgroup v2 is mounted' : complaintOfCgroup(cgroupDir, markerFor('probe-cgroup')),
    typeof tools === 'string' ? tools : complaintOfPidns(tools, markerFor('probe-pidns')),
    complaintOf(new GroupCage(markerFor('probe-group'), { tell: () => {}, forget: () => {} }), markerFor('probe-group')),
  ])
  return {
    probes: [row('cgroup', cgroup, dirname(cgroupDir ?? '')), row('pidns', pidns, 'namespaces can be made'), row('group', group, 'needs nothing')],
    tools: pidns === null && typeof tools !== 'string' ? tools : null,
  }
}

function row(kind: ContainmentKind, complaint: string | null, detail: string): Probe {
  return { kind, ok: complaint === null, detail: complaint ?? detail }
}

function toolsOrComplaint(): Tools | string {
  if (process.platform !== 'linux') return 'there are no PID namespaces on this system'
  try {
    return findTools()
  } catch (error) {
    return (error as Error).message
  }
}

async function complaintOfCgroup(dir: string, marker: string): Promise<string | null> {
  const trial = join(dir, 'probe')
  try {
    return await complaintOf(new CgroupCage(trial), marker)
  } finally {
    removeCgroup(trial)
  }
}

async function complaintOfPidns(tools: Tools, marker: string): Promise<string | null> {
  await using namespaces = new Namespaces(tools, marker, PROBE_MS)
  return await complaintOf(new PidnsCage(namespaces), marker)
}

/** Null if the kind works; else why not. */
async function complaintOf(cage: Cage, marker: string): Promise<string | null> {
  try {
    await tryOut(cage, marker)
    return null
  } catch (error) {
    // Whoever was killed may still be on the way out, and a cgroup in use cannot be removed.
    await until(() => cage.remove(), REMOVE_MS, { ...cage.waiting, pollMs: PROBE_POLL_MS })
    return (error as Error).message
  }
}

async function tryOut(cage: Cage, marker: string): Promise<void> {
  const deadline = performance.now() + PROBE_MS
  const expect = async (done: () => boolean, complaint: string): Promise<void> => {
    if (!(await until(done, Math.max(1, deadline - performance.now()), { ...cage.waiting, pollMs: PROBE_POLL_MS }))) throw new Error(complaint)
  }
  await cage.prepare()
  const trial = startTrial(cage, marker, Math.max(1, Math.ceil(deadline - performance.now())))
  try {
    if (!(await trial.up)) throw new Error(trial.words() || 'a program could not be put into it')
    cage.freeze()
    await expect(() => cage.isFrozen(), 'what is in it could not be frozen')
    await expect(() => isKilled(cage, trial), 'what is in it could not be killed')
  } catch (error) {
    cage.kill()
    throw error
  } finally {
    trial.letGo()
    cage.thaw()
  }
  await expect(() => cage.remove(), 'it could not be removed')
}

// As the stop ladder does it: again and again, until nobody is left.
function isKilled(cage: Cage, trial: Trial): boolean {
  if (trial.hasEnded()) cage.ended(trial.handle)
  if (trial.hasEnded() && cage.isEmpty()) return true
  cage.kill()
  return false
}

interface Trial {
  readonly handle: OsHandle
  /** true when it runs; false if it ended, or time is up, before */
  readonly up: Promise<boolean>
  hasEnded(): boolean
  /** what it complained of */
  words(): string
  letGo(): void
}

function startTrial(cage: Cage, marker: string, upMs: number): Trial {
  const [program, ...args] = cage.enter(TRIAL, '/')
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', [MARKER]: marker }
  const child = spawn(program, args, { cwd: '/', detached: true, env, stdio: ['pipe', 'pipe', 'pipe'] })
  const signal = AbortSignal.timeout(upMs)
  const happens = (emitter: EventEmitter, event: string) => once(emitter, event, { signal }).then(() => true, () => false)
  const up = Promise.race([happens(child.stdout, 'data'), happens(child, 'close').then(() => false)])
  const words: string[] = []
  child.stderr.on('data', (chunk: Buffer) => { words.push(chunk.toString()) })
  const handle = handleOf(child.pid ?? 0)
  if (handle === null) throw new Error(`${program} cannot be started`)
  cage.admit(handle)
  return {
    handle, up,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    words: () => words.join('').trim(),
    letGo: () => { for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy() },
  }
}
