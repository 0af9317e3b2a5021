// `npm run test:agents [-- [--only claude,codex] [--long] VITEST ARGUMENTS]`: installs the coding agents of scripts/agents.ts
// where they are not there, builds, and runs test/agents with them; `--long` pauses them for 330 s instead of 5. Where this
// machine allows it they run in a network namespace that has a loopback alone, so that nothing they do can reach anything but
// the local model server. It is no part of `npm test`.
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')
/** "$@" runs with a loopback that works. */
const LOOPBACK = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
/** As root; as an ordinary user, who stays one; and where that does not work. */
const ALONE: readonly (readonly string[])[] = [
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

/** What goes before a command so that it has no network; empty where that does not work. */
function withoutNetwork(): readonly string[] {
  return ALONE.find(([program = '', ...args]) => spawnSync(program, [...args, 'true'], { stdio: 'ignore' }).status === 0) ?? []
}

/** Ours come first; what follows is vitest's. */
function read(): { readonly only: string | null; readonly isLong: boolean; readonly rest: readonly string[] } {
  const rest = process.argv.slice(2)
  let only: string | null = null
  let isLong = false
  for (; rest[0] === '--only' || rest[0] === '--long'; rest.shift()) {
    if (rest[0] === '--long') isLong = true
    else {
      rest.shift()
      only = rest[0] ?? ''
    }
  }
  return { only, isLong, rest }
}

const { only, isLong, rest } = read()
run([process.execPath, 'scripts/agents.ts', ...(only === null ? [] : ['--only', only])])
run([process.execPath, 'scripts/build.mjs'])
const alone = withoutNetwork()
console.log(alone.length > 0 ? `test:agents: with a loopback alone (${alone.slice(0, alone.indexOf('sh')).join(' ')})` : 'test:agents: no network namespace here: with the network of this machine')
const vitest = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--configLoader', 'native', '--config', 'test/agents/vitest.config.ts', '--root', ROOT]
run([...alone, ...vitest, ...rest], { ...(only === null ? {} : { REEVE_KINDS: only }), ...(isLong ? { REEVE_LONG: '1' } : {}) })
