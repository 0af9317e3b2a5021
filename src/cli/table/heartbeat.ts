// The row of `reeve heartbeat` in the verb table. Test: test/tables/cli/table/verbs.test.ts.
import type { Verb } from './verb.ts'

export const HEARTBEAT_VERBS: Readonly<Record<'heartbeat', Verb>> = {
  heartbeat: {
    summary: 'Show which processes are alive, silent, stalled or waiting',
    usage: ['reeve heartbeat [status]'],
    about: [
      'Shows the liveness of each living process. LIVENESS is `alive`, `silent` (no output), `stalled` (no progress), `waiting` (for the user) or `stopped` (by a SIGSTOP of another program). A process makes progress when a step, tool or turn ends, or a model streams. `-` marks processes that are not checked: suspended, not started, or ending. QUIET is the time since the last output, IDLE the time since the last progress.',
      '`reeve ps` shows the same values in NOTE, and each change is an event (`liveness.changed`). POLICY is the action on a stall: none (`warn`), end the turn (`interrupt`), or end and restart the process (`restart`). `liveness` in an agent file sets the thresholds.',
    ],
    wordRange: [0, 1],
    flags: {},
    exits: '0; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve heartbeat', 'the state of all processes'],
      ['reeve heartbeat status --json', 'for a program'],
    ],
    load: () => import('../verbs/heartbeat.ts'),
  },
}
