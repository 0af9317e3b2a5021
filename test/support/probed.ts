// Finds the containment that works on this machine, once per PATH in the test's process. The probe takes longer than the rest of
// a daemon's start. Daemons in separate programs, and the first ones here, probe each time.
import { dirname } from 'node:path'
import { probeAll, type ProbeResults, type ProbeDeps } from '../../src/drivers/contain/probe.ts'

const found = new Map<string | undefined, Promise<ProbeResults>>()

export async function probeOnce(parts: ProbeDeps): Promise<ProbeResults> {
  const path = process.env['PATH']
  const probed = found.get(path) ?? probeAll(parts)
  found.set(path, probed)
  const { probes, tools } = await probed
  return {
    probes: probes.map((probe) => (probe.kind === 'cgroup' && probe.ok ? { ...probe, detail: dirname(parts.cgroupDir ?? '') } : probe)),
    tools,
  }
}
