// Suggests how to make a kind of containment work on this machine, from the probe's error text and the system's settings. Pure, except for
// the injected reader of settings. docs/trust/containment.md explains the same in detail.
// Tests: test/tables/drivers/contain/advice.test.ts.
import type { Probe } from './containment-contract.ts'

/** Reads a kernel setting such as `user/max_user_namespaces`; null if the kernel has no such setting. */
export type ReadSetting = (name: string) => string | null

/** Returns one line of advice for a kind of containment that does not work. */
export function containmentAdvice({ kind, detail }: Probe, read: ReadSetting): string {
  if (kind === 'cgroup') return adviceOnCgroup(detail)
  if (kind === 'pidns') return adviceOnPidns(detail, read)
  return 'process groups work on each supported system, so this is a defect of reeve: docs/guides/troubleshooting.md describes how to report it'
}

function adviceOnCgroup(detail: string): string {
  if (detail.includes('no cgroup v2'))
    return 'the system must mount cgroup v2 (kernel option `systemd.unified_cgroup_hierarchy=1`); macOS has none'
  if (detail.includes('EROFS'))
    return 'the cgroups of this container are read-only: give it writable ones (`docker run --privileged`, `podman run --systemd=always`)'
  if (/EACCES|EPERM/.test(detail))
    return 'have a cgroup delegated: `reeve daemon install --now` makes the daemon a unit of your systemd; for one run: `systemd-run --user --scope -p Delegate=yes reeve daemon run`'
  return 'Linux 5.14 or newer and a writable cgroup v2 are needed'
}

const BLOCKING_SETTINGS = [
  ['user/max_user_namespaces', '0', 'sysctl -w user.max_user_namespaces=10000'],
  ['kernel/unprivileged_userns_clone', '0', 'sysctl -w kernel.unprivileged_userns_clone=1'],
  ['kernel/apparmor_restrict_unprivileged_userns', '1', 'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0'],
] as const

function adviceOnPidns(detail: string, read: ReadSetting): string {
  if (detail.includes('on this system')) return 'only Linux has PID namespaces'
  const setting = BLOCKING_SETTINGS.find(([name, bad]) => read(name)?.trim() === bad)
  // Without a new enough util-linux, the setting was not what failed: the first thing to mend is the program.
  if (setting !== undefined && !detail.includes('util-linux'))
    return `user namespaces are switched off here; root can allow them: \`${setting[2]}\``
  if (/util-linux|option/.test(detail)) return 'install util-linux 2.38 or newer (Debian 12, Ubuntu 24.04, Fedora 37)'
  if (detail.includes('mount'))
    return 'a new /proc cannot be mounted here, usually because a container masks its own: `docker run --security-opt systempaths=unconfined`'
  return 'namespaces cannot be created here: in a container try `--security-opt seccomp=unconfined`, or `--cap-add SYS_ADMIN`'
}
