// Finds the containment that works on this machine, once per PATH in the test's process. The probe takes longer than the rest of
// a daemon's start. A daemon in a separate program still probes on its own.
import { dirname } from 'node:path'
import { probeAll, type ProbeResults, type ProbeDeps } from '../../src/drivers/contain/probe.ts'

const probesByPath = new Map<string | undefined, Promise<ProbeResults>>()

export async function probeOnce(deps: ProbeDeps): Promise<ProbeResults> {
  const path = process.env['PATH']
  const probed = probesByPath.get(path) ?? probeAll(deps)
  probesByPath.set(path, probed)
  const { probes, tools } = await probed
  return {
    probes: probes.map((probe) => (probe.kind === 'cgroup' && probe.ok ? { ...probe, detail: dirname(deps.cgroupDir ?? '') } : probe)),
    tools,
  }
}
