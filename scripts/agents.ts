// Installs coding agents that others wrote, each in an exact version and a folder of its own outside this repository, for
// `npm run test:agents`. It never touches package.json or what is installed globally, and it skips what is there already.
// `node scripts/agents.ts [--only claude,codex] [FOLDER]`; FOLDER is ${XDG_CACHE_HOME:-~/.cache}/reeve-agents by default.
// test/agents finds them by `installed()`.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/** The versions whose behaviour docs/external-agents.md tells of. */
export const AGENTS = {
  'claude': { package: '@anthropic-ai/claude-code', version: '2.1.328', bin: 'claude' },
  'claude-acp': { package: '@agentclientprotocol/claude-agent-acp', version: '0.100.0', bin: 'claude-agent-acp' },
  'codex': { package: '@openai/codex', version: '0.169.0', bin: 'codex' },
  'codex-acp': { package: '@agentclientprotocol/codex-acp', version: '2.6.0', bin: 'codex-acp' },
  'gemini': { package: '@google/gemini-cli', version: '0.61.0', bin: 'gemini' },
  'opencode': { package: 'opencode-ai', version: '1.18.33', bin: 'opencode' },
  'pi': { package: '@mariozechner/pi-coding-agent', version: '0.73.1', bin: 'pi' },
} as const

export type AgentName = keyof typeof AGENTS

const INSTALL_MS = 300_000

/** REEVE_AGENTS, or the folder in the user's cache. */
export function agentsFolder(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return resolve(process.env['REEVE_AGENTS'] || join(cache, 'reeve-agents'))
}

/** Where the agent's program is, or null if this version is not installed. */
export function installed(name: AgentName, folder = agentsFolder()): string | null {
  const agent = AGENTS[name]
  const modules = join(folder, name, 'node_modules')
  const about = join(modules, agent.package, 'package.json')
  const program = join(modules, '.bin', agent.bin)
  if (!existsSync(about) || !existsSync(program) || !existsSync(join(folder, name, 'complete'))) return null
  return (JSON.parse(readFileSync(about, 'utf8')) as { version: string }).version === agent.version ? program : null
}

export interface Package {
  readonly package: string
  readonly version: string
  /** what goes with it, as `name@version`: all that it asks for, so that npm looks for no more */
  readonly beside?: readonly string[]
}

/** Installs an exact version into a folder of its own, which takes its place when it is whole: others may install at the same time. */
export function installInto(own: string, what: Package, runsScripts: boolean): boolean {
  mkdirSync(dirname(own), { recursive: true })
  const fresh = mkdtempSync(`${own}.new-`)
  try {
    if (!fill(fresh, what, runsScripts)) return false
    rmSync(own, { recursive: true, force: true })
    renameSync(fresh, own)
    return true
  } catch (error) {
    if (existsSync(join(own, 'complete'))) return true
    throw error
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

/** The note `complete` is written last. */
function fill(own: string, { package: name, version, beside }: Package, runsScripts: boolean): boolean {
  const parts = [`${name}@${version}`, ...beside ?? []]
  writeFileSync(join(own, 'package.json'), `${JSON.stringify({ private: true, allowScripts: { [name]: runsScripts } })}\n`)
  const args = ['install', '--save-exact', '--no-audit', '--no-fund', '--loglevel', 'error', ...(runsScripts ? [] : ['--ignore-scripts']), ...(beside ? ['--legacy-peer-deps'] : []), ...parts]
  const began = performance.now()
  // Its compiled code would stay in the folder for temporary files.
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' }
  const { status, error } = spawnSync('npm', args, { cwd: own, env, stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MS })
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  if (status !== 0) {
    console.error(`${name}@${version} could not be installed (${error?.message ?? `npm ended with ${status}`}): it needs an npm registry that has it`)
    return false
  }
  writeFileSync(join(own, 'complete'), '')
  console.log(`${name}@${version} installed in ${seconds} s`)
  return true
}

function main(): void {
  const { values, positionals } = parseArgs({ options: { only: { type: 'string' } }, allowPositionals: true })
  const folder = positionals[0] === undefined ? agentsFolder() : resolve(positionals[0])
  const wanted = values.only?.split(',') ?? Object.keys(AGENTS)
  const unknown = wanted.filter((name) => !(name in AGENTS))
  if (unknown.length > 0) {
    console.error(`agents: unknown: ${unknown.join(', ')}; known are ${Object.keys(AGENTS).join(', ')}`)
    process.exit(2)
  }
  console.log(`agents: in ${folder}`)
  for (const name of wanted as AgentName[]) {
    if (installed(name, folder) !== null) console.log(`agents: ${AGENTS[name].package}@${AGENTS[name].version} is there`)
    // Their install scripts put the native program in its place.
    else if (!installInto(join(folder, name), AGENTS[name], true)) process.exitCode = 1
  }
}

if (import.meta.main) main()
