// Installs what reeve is measured against, in an exact version and a folder outside this repository, for `npm run bench spawn`:
// `node scripts/peers.ts [FOLDER]`; FOLDER is ${XDG_CACHE_HOME:-~/.cache}/reeve-peers by default. It never touches package.json
// or what is installed globally, and it skips what is there already. The benchmarks do without what is not.
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { installInto } from './agents.ts'

export const PM2 = { package: 'pm2', version: '7.0.4' } as const

function peersFolder(): string {
  return resolve(process.env['REEVE_PEERS'] || join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'reeve-peers'))
}

/** The folder of this version's module, or null if it is not installed. */
export function installedPm2(folder = peersFolder()): string | null {
  const own = join(folder, `pm2-${PM2.version}`)
  return existsSync(join(own, 'complete')) ? join(own, 'node_modules/pm2') : null
}

function main(folder: string): void {
  if (installedPm2(folder) !== null) console.log(`pm2@${PM2.version} is there`)
  else if (!installInto(join(folder, `pm2-${PM2.version}`), PM2, false)) process.exitCode = 1
}

if (import.meta.main) main(process.argv[2] === undefined ? peersFolder() : resolve(process.argv[2]))
