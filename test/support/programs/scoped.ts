// A program that goes into a scope as the daemon does at its start, for a user without a cgroup; then says who and where it is.
import { enterScope } from '../../../src/drivers/contain/scope.ts'

enterScope({ env: process.env, isRoot: false, hasCgroup: false, lingers: true })
console.log(JSON.stringify({ pid: process.pid, args: process.argv.slice(2), via: process.env['VIA'] ?? null }))
