// Enters a systemd scope as the daemon does at its start, for a user without a cgroup. Then it prints its PID, its arguments, and
// the variable VIA, which the tests' replacement of systemd-run sets.
import { enterScope } from '../../../src/drivers/contain/backends/systemd-scope.ts'

enterScope({ env: process.env, isRoot: false, hasWritableCgroup: false, isLingering: true })
console.log(JSON.stringify({ pid: process.pid, args: process.argv.slice(2), via: process.env['VIA'] ?? null }))
