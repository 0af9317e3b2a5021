// The entry of `reeve ps` alone. This file contains nothing else, because the documentation promises how fast `ps` starts. The build
// bundles it into one file, without the code that is loaded on demand (help, --watch, the start of a daemon). In that file, each such
// import starts main.ts, which runs the whole command again. Only the code that prints errors is loaded without a restart. So the
// command must not write or change anything before such an import. Test: test/e2e/cli/ps-main.test.ts.
import { runCommand, exitWhenWritten } from './command.ts'
import { PS_VERB } from './table/ps.ts'
import { run } from './verbs/ps.ts'

const verb = { ...PS_VERB, load: async () => ({ run }) }

// bin/reeve runs this entry only if `ps` is the first word; all other command lines go to main.ts.
// oxlint-disable-next-line typescript/no-floating-promises -- `runCommand` never rejects
runCommand({ name: 'ps', verb, rest: process.argv.slice(3) }).then(exitWhenWritten)
