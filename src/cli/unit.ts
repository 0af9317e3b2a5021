// The systemd unit of a user's daemon, as text: writes it, and tells whether a person has changed it since. Pure but for the
// hash. Must never put anything secret into it: whoever may look at the user manager may read it.
// Test: test/tables/daemon-unit.test.ts.
import { createHash } from 'node:crypto'

export const UNIT = 'reeve.service'
const SUM_DIGITS = 16
/** The daemon's exit code where another one has the home: to try again is of no use. */
const TAKEN = 4

export interface UnitParts {
  /** whose home the daemon is of */
  readonly home: string
  /** the program, with an absolute path, and its words */
  readonly argv: readonly [string, ...string[]]
  readonly env: Readonly<Record<string, string>>
}

/** `TimeoutStopSec` is longer than the daemon's own patience with what it has to end. */
export function unitText({ home, argv: [program, ...words], env }: UnitParts): string {
  const body = `# Home: ${JSON.stringify(home)}

[Unit]
Description=reeve, the process kernel for AI agents

[Service]
Type=exec
ExecStart=${[quoted(program), ...words.map((word) => quoted(word).replaceAll('$', '$$$$'))].join(' ')}
${Object.entries(env).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`).join('\n')}
WorkingDirectory=/
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=${TAKEN}
Delegate=yes
KillMode=mixed
TasksMax=infinity
TimeoutStopSec=150

[Install]
WantedBy=default.target
`
  return `# Written by \`reeve daemon install\` (${sumOf(body)}). For changes: systemctl --user edit ${UNIT}\n${body}`
}

/** Whether it is, to the letter, what an install has written, this one or an earlier. */
export function isAsWritten(text: string): boolean {
  const [, sum, body] = /^# Written by `reeve daemon install` \(([0-9a-f]+)\)[^\n]*\n(.*)$/s.exec(text) ?? []
  return sum !== undefined && body !== undefined && sum === sumOf(body)
}

/** The home that a unit is for; null for one that no install has written. */
export function homeOf(text: string): string | null {
  try {
    const home: unknown = JSON.parse(/^# Home: (.*)$/m.exec(text)?.[1] ?? '')
    return typeof home === 'string' ? home : null
  } catch {
    return null
  }
}

function sumOf(body: string): string {
  return createHash('sha256').update(body).digest('hex').slice(0, SUM_DIGITS)
}

/** One word of a setting: systemd takes away quotes and backslashes, and puts something else for `%`. */
function quoted(word: string): string {
  const escaped = word.replaceAll('%', '%%').replaceAll(/["\\]/g, '\\$&').replaceAll(/[\x00-\x1f]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped}"`
}
