// The rows of `reeve web` and `reeve open` in the verb table. Test: test/tables/cli/table/verbs.test.ts, test/e2e/web/access/verb.test.ts.
import { WEB_RIGHTS } from '../../kernel/model/words.ts'
import type { Flag } from '../input/args.ts'
import type { Verb } from './verb.ts'

const on = (help: string): Flag => ({ kind: 'on', help })
const text = (value: string, help: string): Flag => ({ kind: 'text', value, help })

export const WEB_VERBS: Readonly<Record<'web' | 'open', Verb>> = {
  web: {
    summary: 'Open the web page of this machine',
    usage: [
      'reeve web [--no-open] [--right R]',
      'reeve web --share --read-only [--only P] [--for D] [--redact]',
      'reeve web --ssh BOX | --allow-host NAME | --listen ADDR --tls-cert F --tls-key F',
      'reeve web --sessions | --revoke [SESSION] | --stop',
    ],
    about: [
      'Opens a page with the processes of this machine in your browser. The daemon serves it on 127.0.0.1 and ::1, at the port 7338 or any free one. There is no port until you ask for the page. It closes 12 hours after the last use, or by `--stop`.',
      'A link works once, for a minute. With `--no-open`, or where no browser can be opened, the link is printed. On a terminal the command watches its link for that minute, and warns you if it was used twice. Ctrl+C leaves; the link stays.',
      `A session has a right, and each right includes those before it: ${WEB_RIGHTS.join(', ')}. \`--right\` makes a link with less than all. Commands, environments, exports and imports are closed to the page, unless \`web.allow\` in config.yaml opens them.`,
      '`--share` prints a link for another browser on this machine; its session only reads. `--only` shows one process and those below it. `--redact` leaves out inputs and results of tools, and output.',
      '`--ssh` opens the page of another machine through your own ssh, and keeps the connection open. `--allow-host` accepts a name behind your own proxy that ends TLS; its link asks for a number that only this terminal shows. `--listen` opens an address of this machine with your certificate. Without TLS, nothing is open beyond this machine.',
      '`--remember` keeps a session until 30 days without use, through a proxy or over TLS. A notification reports each new session there.',
      'A process of reeve cannot open the page: an agent is not the user. The rules are in docs/trust/security.md.',
    ],
    wordRange: [0, 1],
    flags: {
      'no-open': on('print the link instead of opening a browser'),
      right: text('RIGHT', `what its session may do: ${WEB_RIGHTS.join(', ')} (default)`),
      share: on('print a link for another browser; needs --read-only'),
      'read-only': on('its session only reads'),
      only: text('P', 'its session sees this process and those below it'),
      for: { kind: 'duration', value: 'D', help: 'how long its session lasts, as in 2h; default: until it has been idle for 12 hours' },
      redact: on('without inputs or results of tools, and without output'),
      label: text('TEXT', 'a name for the session, shown by --sessions'),
      port: { kind: 'count', value: 'N', help: 'the port to use, and no other; default: 7338 or any free one' },
      ssh: text('BOX', 'open the page of the machine BOX, over ssh'),
      'allow-host': text('NAME', 'the name of your proxy that ends TLS'),
      listen: text('ADDR', 'an IP address of this machine, as in 100.64.0.7:7443; needs TLS'),
      'tls-cert': text('FILE', 'the certificate for --listen'),
      'tls-key': text('FILE', 'the key of that certificate'),
      remember: on('keep the session until 30 days without use; needs --allow-host or --listen'),
      sessions: on('list the sessions'),
      revoke: on('end this session, or all sessions'),
      stop: on('close the page, and end its sessions'),
    },
    exits: '0; 1 refused inside of a process; 3 no such process or session; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve web', 'open the page'],
      ['reeve web --no-open', 'print a link'],
      ['reeve web --share --read-only --only fix --for 2h', 'a link that shows one process and those below it'],
      ['reeve web --ssh build', 'the page of the machine build'],
      ['reeve web --sessions', 'who has a session'],
      ['reeve web --revoke', 'end all sessions'],
    ],
    load: () => import('../verbs/system/web.ts'),
  },
  open: {
    summary: 'Open the page at a process',
    usage: ['reeve open [--no-open] P'],
    about: [
      'Opens the page of `reeve web` in your browser at one process: what it needs, its steps, files and log. With `--no-open`, or where no browser can be opened, the link is printed. It works once, for a minute, and its session has all rights.',
      'A process of reeve cannot open the page: an agent is not the user.',
    ],
    wordRange: [1, 1],
    flags: { 'no-open': on('print the link instead of opening a browser') },
    exits: '0; 1 refused inside of a process; 3 no such process; 4 the daemon cannot be reached; 64 usage error',
    examples: [
      ['reeve open docs', 'in the browser'],
      ['reeve open --no-open 5', 'print the link'],
    ],
    load: () => import('../verbs/system/open.ts'),
  },
}
