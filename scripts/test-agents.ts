// `npm run test:agents [-- [--only claude,codex] [--long] VITEST ARGUMENTS]`: installs the coding agents of scripts/agents.ts
// where they are not there, builds, and runs test/agents with them; `--long` pauses them for 330 s instead of 5. Where this
// machine allows it they run in a network namespace that has a loopback alone, so that nothing they do can reach anything but
// the local model server. It is no part of `npm test`.
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')
const ALONE: readonly (readonly string[])[] = [['unshare', '--net'], ['unshare', '--user', '--map-root-user', '--net']]
/** "$@" runs with a loopback that works. */
const LOOPBACK = ['sh', '-c', 'ip link set lo up && exec "$@"', 'sh']

function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const [program = '', ...args] = argv
  const { status, error } = spawnSync(program, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } })
  if (status === 0) return
  console.error(`test:agents: ${argv.slice(0, 4).join(' ')} failed${error ? `: ${error.message}` : ''}`)
  process.exit(status ?? 1)
}

/** What goes before a command so that it has no network; empty where that does not work. As root, without a user namespace. */
function withoutNetwork(): readonly string[] {
  const kinds = process.getuid?.() === 0 ? ALONE : ALONE.slice(1)
  for (const kind of kinds) {
    const [program = '', ...args] = [...kind, ...LOOPBACK, 'true']
    if (spawnSync(program, args, { stdio: 'ignore' }).status === 0) return [...kind, ...LOOPBACK]
  }
  return []
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
console.log(alone.length > 0 ? `test:agents: with a loopback alone (${alone.slice(0, -4).join(' ')})` : 'test:agents: no network namespace here: with the network of this machine')
const vitest = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--configLoader', 'native', '--config', 'test/agents/vitest.config.ts', '--root', ROOT]
run([...alone, ...vitest, ...rest], { ...(only === null ? {} : { REEVE_KINDS: only }), ...(isLong ? { REEVE_LONG: '1' } : {}) })
