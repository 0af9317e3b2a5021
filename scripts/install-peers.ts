// Installs the programs with which `npm run bench spawn` and `npm run bench peers` compare reeve. Each gets an exact version and its own
// folder outside this repository: `node scripts/install-peers.ts [--postgres] [FOLDER]`. By default FOLDER is $REEVE_PEERS, or else
// ${XDG_CACHE_HOME:-~/.cache}/reeve-peers. The script never touches this repository or global packages, and skips installed peers. Only
// `--postgres` changes the machine: it runs `apt-get install postgresql` if no server is found. The benchmarks leave out missing peers.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { installInto } from './install-agents.ts'

export const PEERS = {
  pm2: { package: 'pm2', version: '7.0.4' },
  langgraph: {
    package: '@langchain/langgraph',
    version: '1.4.18',
    peerDependencies: [
      '@langchain/langgraph-sdk@1.12.0',
      '@langchain/langgraph-checkpoint@1.1.5',
      '@langchain/langgraph-checkpoint-sqlite@1.0.4',
      '@langchain/core@1.2.13',
      'zod@4.6.7',
    ],
  },
  dbos: { package: '@dbos-inc/dbos-sdk', version: '5.3.0' },
} as const

export type PeerName = keyof typeof PEERS

function peersFolder(): string {
  return resolve(process.env['REEVE_PEERS'] || join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'reeve-peers'))
}

function ownFolder(name: PeerName, folder: string): string {
  return join(folder, `${name}-${PEERS[name].version}`)
}

/** The folder that this version's modules are resolved from, or null if it is not installed. */
export function installedPeer(name: PeerName, folder = peersFolder()): string | null {
  const peerFolder = ownFolder(name, folder)
  return existsSync(join(peerFolder, 'complete')) ? peerFolder : null
}

/** The folder with `initdb` and `postgres` (Debian keeps one per version), or null. */
export function postgresPrograms(): string | null {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : []
  const folders = [...versions.map((version) => join(debian, version, 'bin')), ...(process.env['PATH'] ?? '').split(':')]
  return folders.find((dir) => ['initdb', 'postgres'].every((program) => existsSync(join(dir, program)))) ?? null
}

function installPostgres(): boolean {
  if (postgresPrograms() !== null) return true
  console.log('apt-get install --no-install-recommends postgresql: the benchmark makes its own cluster in a folder')
  return spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'postgresql'], { stdio: 'inherit' }).status === 0
}

function main(): void {
  const { values, positionals } = parseArgs({ options: { postgres: { type: 'boolean' } }, allowPositionals: true })
  const folder = positionals[0] === undefined ? peersFolder() : resolve(positionals[0])
  for (const name of Object.keys(PEERS) as PeerName[]) {
    if (installedPeer(name, folder) !== null) console.log(`${PEERS[name].package}@${PEERS[name].version} is already installed`)
    else if (!installInto(ownFolder(name, folder), PEERS[name], false)) process.exitCode = 1
  }
  if (values.postgres === true && !installPostgres()) process.exitCode = 1
  if (postgresPrograms() === null)
    console.log('PostgreSQL is missing, so DBOS is left out: node scripts/install-peers.ts --postgres installs it')
}

if (import.meta.main) main()
