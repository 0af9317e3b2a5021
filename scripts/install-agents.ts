// Installs external coding agents for `npm run test:agents`, each in an exact version and in its own folder outside this repository.
// The script never touches this repository or global packages, and skips installed agents.
// `node scripts/install-agents.ts [--only claude,codex] [--newest] [FOLDER]`; by default FOLDER is $REEVE_AGENTS, or else
// ${XDG_CACHE_HOME:-~/.cache}/reeve-agents. `--newest` also installs the newest published version of each, if that is another version.
// test/agents finds them by `installedProgram()` and `newestInstalled()`.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { KNOWN_PROGRAMS } from '../src/config/known-programs.ts'

const knownAgent = <Program extends keyof typeof KNOWN_PROGRAMS>(bin: Program) => ({
  package: KNOWN_PROGRAMS[bin].package,
  version: KNOWN_PROGRAMS[bin].tested,
  bin,
})

/** The versions whose behaviour docs/reference/external-agents.md describes. */
export const AGENTS = {
  claude: knownAgent('claude'),
  'claude-acp': knownAgent('claude-agent-acp'),
  codex: knownAgent('codex'),
  'codex-acp': knownAgent('codex-acp'),
  gemini: knownAgent('gemini'),
  opencode: knownAgent('opencode'),
  pi: { package: '@mariozechner/pi-coding-agent', version: '0.73.1', bin: 'pi' },
} as const

export type AgentName = keyof typeof AGENTS

const INSTALL_MS = 300_000
const VIEW_MS = 30_000
/** The suffix of the folder of a newest version. */
const NEWEST_SUFFIX = '-newest'

/** The folder of all agents: REEVE_AGENTS, or one in the user's cache. */
export function agentsFolder(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return resolve(process.env['REEVE_AGENTS'] || join(cache, 'reeve-agents'))
}

/** The path of the agent's program, or null if this version is not installed. */
export function installedProgram(name: AgentName, folder = agentsFolder()): string | null {
  const agent = AGENTS[name]
  const modules = join(folder, name, 'node_modules')
  const packageFile = join(modules, agent.package, 'package.json')
  const program = join(modules, '.bin', agent.bin)
  if (!existsSync(packageFile) || !existsSync(program) || !existsSync(join(folder, name, 'complete'))) return null
  return (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }).version === agent.version ? program : null
}

/** The version that was the newest at its installation, with its program. Null if none is installed, or it is the pinned version. */
export function newestInstalled(name: AgentName, folder = agentsFolder()): { readonly version: string; readonly program: string } | null {
  const newestFolder = join(folder, `${name}${NEWEST_SUFFIX}`)
  const program = join(newestFolder, 'node_modules', '.bin', AGENTS[name].bin)
  const packageFile = join(newestFolder, 'node_modules', AGENTS[name].package, 'package.json')
  if (!existsSync(packageFile) || !existsSync(program) || !existsSync(join(newestFolder, 'complete'))) return null
  const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
  return version === AGENTS[name].version ? null : { version, program }
}

/** The newest version in the registry; null if the registry does not answer. */
function publishedVersion(name: AgentName): string | null {
  const { status, stdout } = spawnSync('npm', ['view', AGENTS[name].package, 'version'], { encoding: 'utf8', timeout: VIEW_MS })
  return status === 0 ? stdout.trim() : null
}

function installNewest(name: AgentName, folder: string): void {
  const version = publishedVersion(name)
  const { package: packageName, version: pinnedVersion } = AGENTS[name]
  if (version === null)
    return console.log(`agents: the registry does not name the newest ${packageName}, so only ${packageName}@${pinnedVersion} is tested`)
  if (version === pinnedVersion) {
    rmSync(join(folder, `${name}${NEWEST_SUFFIX}`), { recursive: true, force: true })
    return console.log(`agents: ${packageName}@${version} is the newest`)
  }
  if (newestInstalled(name, folder)?.version === version)
    return console.log(`agents: ${packageName}@${version}, the newest, is already installed`)
  // A new version that cannot be installed must not fail the tests.
  if (!installInto(join(folder, `${name}${NEWEST_SUFFIX}`), { package: packageName, version }, true))
    console.log(`agents: ${packageName}@${version}, the newest, is not tested`)
}

export interface Package {
  readonly package: string
  readonly version: string
  /** its peer dependencies as `name@version`, all of them: npm then adds none */
  readonly peerDependencies?: readonly string[]
}

/** Installs an exact version into its own folder. The folder is renamed into place when complete: another run may install it meanwhile. */
export function installInto(own: string, what: Package, runsScripts: boolean): boolean {
  mkdirSync(dirname(own), { recursive: true })
  const temporaryFolder = mkdtempSync(`${own}.new-`)
  try {
    if (!installPackage(temporaryFolder, what, runsScripts)) return false
    rmSync(own, { recursive: true, force: true })
    renameSync(temporaryFolder, own)
    return true
  } catch (error) {
    if (existsSync(join(own, 'complete'))) return true
    throw error
  } finally {
    rmSync(temporaryFolder, { recursive: true, force: true })
  }
}

/** Runs npm in a new folder. The marker file `complete` is written last. */
function installPackage(own: string, { package: name, version, peerDependencies = [] }: Package, runsScripts: boolean): boolean {
  const parts = [`${name}@${version}`, ...peerDependencies]
  writeFileSync(join(own, 'package.json'), `${JSON.stringify({ private: true, allowScripts: { [name]: runsScripts } })}\n`)
  const args = [
    'install',
    '--save-exact',
    '--no-audit',
    '--no-fund',
    '--loglevel',
    'error',
    ...(runsScripts ? [] : ['--ignore-scripts']),
    ...(peerDependencies.length > 0 ? ['--legacy-peer-deps'] : []),
    ...parts,
  ]
  const beganMs = performance.now()
  // npm's compile cache would stay in the folder for temporary files.
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' }
  const { status, error } = spawnSync('npm', args, { cwd: own, env, stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MS })
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(1)
  if (status !== 0) {
    console.error(
      `${name}@${version} could not be installed (${error?.message ?? `npm ended with ${status}`}): it needs an npm registry that has it`,
    )
    return false
  }
  writeFileSync(join(own, 'complete'), '')
  console.log(`${name}@${version} installed in ${seconds} s`)
  return true
}

function main(): void {
  const { values, positionals } = parseArgs({ options: { only: { type: 'string' }, newest: { type: 'boolean' } }, allowPositionals: true })
  const folder = positionals[0] === undefined ? agentsFolder() : resolve(positionals[0])
  const wanted = values.only?.split(',') ?? Object.keys(AGENTS)
  const unknown = wanted.filter((name) => !(name in AGENTS))
  if (unknown.length > 0) {
    console.error(`agents: unknown: ${unknown.join(', ')}; known are ${Object.keys(AGENTS).join(', ')}`)
    process.exit(2)
  }
  console.log(`agents: in ${folder}`)
  for (const name of wanted as AgentName[]) {
    if (installedProgram(name, folder) !== null) console.log(`agents: ${AGENTS[name].package}@${AGENTS[name].version} is already installed`)
    // The install scripts of these packages put the native program in its place.
    else if (!installInto(join(folder, name), AGENTS[name], true)) process.exitCode = 1
    if (values.newest) installNewest(name, folder)
  }
}

if (import.meta.main) main()
