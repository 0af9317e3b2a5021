// Formats the systemd unit of a user's daemon, and detects later changes by the user. The unit must never contain secrets: everyone who
// can access the user manager can read it. Test: test/tables/cli/service/unit.test.ts.
import { createHash } from 'node:crypto'

export const UNIT_NAME = 'reeve.service'
/** the length of the checksum in the first line of the unit */
const CHECKSUM_DIGITS = 16
/** the exit code of a daemon whose home has another daemon; a restart would not help */
const HOME_TAKEN_EXIT = 4

export interface UnitSettings {
  /** the home of the daemon */
  readonly home: string
  /** the absolute path of the program, and its arguments */
  readonly argv: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string>>
  /** whether `systemd-notify` exists, by which the daemon reports to systemd that it is ready, and that its event loop is not blocked */
  readonly canNotify: boolean
}

/** No time limit for the start, because a large store may need a migration. Later systemd restarts a daemon that is silent for 60 s. */
const NOTIFY_SETTINGS = `Type=notify
NotifyAccess=all
TimeoutStartSec=infinity
WatchdogSec=60
WatchdogSignal=SIGKILL`

/** Formats the unit. `TimeoutStopSec` is longer than the time that the daemon gives to its own processes. */
export function unitText({ home, argv: [program, ...words], env, canNotify }: UnitSettings): string {
  const body = `# Home: ${JSON.stringify(home)}

[Unit]
Description=reeve, the process kernel for AI agents

[Service]
${canNotify ? NOTIFY_SETTINGS : 'Type=exec'}
ExecStart=${[quoteWord(program), ...words.map((word) => quoteWord(word).replaceAll('$', '$$$$'))].join(' ')}
${Object.entries(env)
  .map(([name, value]) => `Environment=${quoteWord(`${name}=${value}`)}`)
  .join('\n')}
WorkingDirectory=/
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=${HOME_TAKEN_EXIT}
Delegate=yes
KillMode=mixed
TasksMax=infinity
TimeoutStopSec=150

[Install]
WantedBy=default.target
`
  return `# Written by \`reeve daemon install\` (${checksum(body)}). For changes: systemctl --user edit ${UNIT_NAME}\n${body}`
}

/** Whether the unit is exactly as this or an earlier install wrote it. */
export function isUnmodifiedUnit(text: string): boolean {
  const [, sum, body] = /^# Written by `reeve daemon install` \(([0-9a-f]+)\)[^\n]*\n(.*)$/s.exec(text) ?? []
  return sum !== undefined && body !== undefined && sum === checksum(body)
}

/** Returns the home in a unit; null for a unit that reeve has not written. */
export function homeOfUnit(text: string): string | null {
  try {
    const home: unknown = JSON.parse(/^# Home: (.*)$/m.exec(text)?.[1] ?? '')
    return typeof home === 'string' ? home : null
  } catch {
    // Without a valid line with the home, reeve has not written this unit.
    return null
  }
}

function checksum(body: string): string {
  return createHash('sha256').update(body).digest('hex').slice(0, CHECKSUM_DIGITS)
}

/** Quotes a word of a setting: systemd removes quotes and backslashes, and expands `%`. */
function quoteWord(word: string): string {
  const escaped = word
    .replaceAll('%', '%%')
    .replaceAll(/["\\]/g, '\\$&')
    .replaceAll(/[\x00-\x1f]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped}"`
}
