// The advice of `doctor` about a kind of containment that does not work, by its failure.
import { expect, test } from 'vitest'
import { containmentAdvice } from '../../../../src/drivers/contain/advice.ts'
import type { ContainmentKind } from '../../../../src/kernel/model/words.ts'

const DENIED = 'unshare: unshare failed: Operation not permitted'

// Each row: the kind, the error of the probe, the settings of the kernel, and a part of the expected advice.
test.each<[ContainmentKind, string, Record<string, string>, string]>([
  ['cgroup', 'no cgroup v2 is mounted', {}, 'systemd.unified_cgroup_hierarchy=1'],
  ['cgroup', "EACCES: permission denied, mkdir '/sys/fs/cgroup/x'", {}, 'systemd-run --user --scope -p Delegate=yes'],
  ['cgroup', "EACCES: permission denied, mkdir '/sys/fs/cgroup/x'", {}, 'reeve daemon install --now'],
  ['cgroup', "EROFS: read-only file system, mkdir '/sys/fs/cgroup/x'", {}, 'docker run'],
  ['cgroup', 'the trial program could not be killed', {}, 'Linux 5.14'],
  ['pidns', DENIED, { 'kernel/unprivileged_userns_clone': '0\n' }, 'sysctl -w kernel.unprivileged_userns_clone=1'],
  [
    'pidns',
    DENIED,
    { 'kernel/unprivileged_userns_clone': '1\n', 'kernel/apparmor_restrict_unprivileged_userns': '1\n' },
    'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  ],
  [
    'pidns',
    'unshare: unshare failed: No space left on device',
    { 'user/max_user_namespaces': '0\n' },
    'sysctl -w user.max_user_namespaces',
  ],
  ['pidns', DENIED, { 'kernel/unprivileged_userns_clone': '1\n' }, 'seccomp=unconfined'],
  ['pidns', 'unshare: mount /proc failed: Operation not permitted', {}, 'systempaths=unconfined'],
  ['pidns', 'there is no nsenter: util-linux 2.38 or newer is needed', { 'user/max_user_namespaces': '0' }, 'install util-linux'],
  ['pidns', "nsenter: unrecognized option '--wdns=/'", {}, 'util-linux 2.38'],
  ['pidns', 'there are no PID namespaces on this system', {}, 'only Linux has PID namespaces'],
  ['group', 'the trial program could not be frozen', {}, 'report'],
])('the advice about %s with the error %j and the settings %o names the remedy', (kind, detail, settings, expectedPart) => {
  expect(containmentAdvice({ kind, ok: false, detail }, (name) => settings[name] ?? null)).toContain(expectedPart)
})
