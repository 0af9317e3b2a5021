// The row of `reeve heartbeat` for the table in verbs.ts. Test: test/tables/cli-verbs.test.ts.
import type { Verb } from './verbs.ts'

export const HEARTBEAT: Readonly<Record<'heartbeat', Verb>> = {
  heartbeat: {
    summary: 'Show who is alive, silent, stalled or waiting',
    usage: ['reeve heartbeat status'],
    about: [
      'Shows what is seen of each living process. LIVENESS is `alive`, `silent` (it writes nothing), `stalled` (no step, tool or turn ends, and no model speaks), `waiting` (for a person) or `stopped` (by somebody\'s SIGSTOP); `-` is what is passed over: suspended, not begun, or ending. QUIET is how long ago it wrote anything, IDLE how long ago it got on.',
      'The words also stand in NOTE of `reeve ps`, and are events (`liveness.changed`). POLICY says what follows when it is stalled: nothing (`warn`), its turn ends (`interrupt`), or it ends (`restart`). An agent file says after how long, under `liveness`.',
    ],
    words: [1, 1],
    flags: {},
    exits: '0; 4 the daemon cannot be reached; 64 usage',
    examples: [['reeve heartbeat status', 'who gets on'], ['reeve heartbeat status --json', 'for a program']],
    load: () => import('./verbs/heartbeat.ts'),
  },
}
