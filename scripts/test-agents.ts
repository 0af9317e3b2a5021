// `npm run test:agents [-- [--only claude,codex] [--long] [--pinned] VITEST ARGUMENTS]` runs test/agents; `npm test` does not.
// It installs the missing coding agents of scripts/install-agents.ts, also in their newest versions (not with `--pinned`), and builds
// first. An agent that cannot be installed is skipped, with a line of output; if none can, the run fails. `--long` pauses agents for 330 s
// instead of 5. If possible, the tests run in a network namespace with loopback only, where agents reach just the local model server.
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { AGENTS, installedProgram, type AgentName } from './install-agents.ts'

const ROOT = resolve(import.meta.dirname, '..')
/** Runs "$@" with a working loopback. */
const LOOPBACK = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
/** Commands that remove the network: as root, as an ordinary user who keeps that user, and as one who becomes root. */
const NO_NETWORK_COMMANDS: readonly (readonly string[])[] = [
  ['unshare', '--net', ...LOOPBACK],
  ['unshare', '--user', '--map-current-user', '--keep-caps', '--net', ...LOOPBACK, 'setpriv', '--inh-caps=-all', '--ambient-caps=-all'],
  ['unshare', '--user', '--map-root-user', '--net', ...LOOPBACK],
]

function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const [program = '', ...args] = argv
  const { status, error } = spawnSync(program, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } })
  if (status === 0) return
  console.error(`test:agents: ${argv.slice(0, 4).join(' ')} failed${error ? `: ${error.message}` : ''}`)
  process.exit(status ?? 1)
}

/** The prefix of a command that removes its network; empty if none works here. */
function findNoNetworkCommand(): readonly string[] {
  return (
    NO_NETWORK_COMMANDS.find(([program = '', ...args]) => spawnSync(program, [...args, 'true'], { stdio: 'ignore' }).status === 0) ?? []
  )
}

/** Installs the agents, prints which of them are still missing, and returns the others. */
function installAgents(wanted: readonly string[]): readonly string[] {
  const { status } = spawnSync(
    process.execPath,
    ['scripts/install-agents.ts', '--only', wanted.join(','), ...(isPinned ? [] : ['--newest'])],
    {
      cwd: ROOT,
      stdio: 'inherit',
    },
  )
  if (status === 2) process.exit(2)
  const missing = wanted.filter((name) => installedProgram(name as AgentName) === null)
  for (const name of missing) console.error(`test:agents: SKIPPED: ${name} cannot be installed here, and nothing of it is tested`)
  if (missing.length === wanted.length) process.exit(1)
  return wanted.filter((name) => !missing.includes(name))
}

/** Parses the arguments: this script's flags come first, vitest's arguments follow. */
function parseArguments(): {
  readonly only: string | null
  readonly isLong: boolean
  readonly isPinned: boolean
  readonly rest: readonly string[]
} {
  const rest = process.argv.slice(2)
  let only: string | null = null
  let [isLong, isPinned] = [false, false]
  for (; rest[0] === '--only' || rest[0] === '--long' || rest[0] === '--pinned'; rest.shift()) {
    if (rest[0] === '--long') isLong = true
    else if (rest[0] === '--pinned') isPinned = true
    else {
      rest.shift()
      only = rest[0] ?? ''
    }
  }
  return { only, isLong, isPinned, rest }
}

const { only, isLong, isPinned, rest } = parseArguments()
const kinds = installAgents(only?.split(',') ?? Object.keys(AGENTS))
run([process.execPath, 'scripts/build.mjs'])
const withoutNetworkArgv = findNoNetworkCommand()
console.log(
  withoutNetworkArgv.length > 0
    ? `test:agents: with loopback only (${withoutNetworkArgv.slice(0, withoutNetworkArgv.indexOf('sh')).join(' ')})`
    : 'test:agents: no network namespace here: with the network of this machine',
)
const vitest = [
  process.execPath,
  'node_modules/vitest/vitest.mjs',
  'run',
  '--configLoader',
  'native',
  '--config',
  'test/agents/vitest.config.ts',
  '--root',
  ROOT,
]
run([...withoutNetworkArgv, ...vitest, ...rest], {
  REEVE_KINDS: kinds.join(','),
  ...(isLong ? { REEVE_LONG: '1' } : {}),
  ...(isPinned ? {} : { REEVE_NEWEST: '1' }),
})
