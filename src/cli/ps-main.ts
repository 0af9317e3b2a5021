// The entry of `reeve ps` alone: it has nothing else in it, because the time that `ps` takes is a promise.
// The build makes one file of it. What it would load besides (help, --watch, the start of a daemon) is not in that file: there
// it starts main.ts, which does the command from its beginning. So nothing may be written, or changed by the daemon, before that.
// Test: test/e2e/ps-main.test.ts.
import { command, end } from './command.ts'
import { PS } from './ps-row.ts'
import { run } from './verbs/ps.ts'

const verb = { ...PS, load: async () => ({ run }) }

// Its verb comes first: what is typed otherwise is given to main.ts.
command({ name: 'ps', verb, rest: process.argv.slice(3) }).then(end)
