// Finds the PostgreSQL programs of this machine for the tests: Debian's, and the newer one that scripts/need-postgres unpacks. Without
// one, the tests that need it are skipped with a note. It starts nothing: see server.ts.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The oldest version that the store supports. */
const OLDEST_MAJOR = 15
const DEBIANS_FOLDER = '/usr/lib/postgresql'

export interface PostgresProgram {
  readonly major: number
  /** such as `15.18` */
  readonly version: string
  /** the folder of `postgres` and `initdb` */
  readonly bin: string
}

let found: readonly PostgresProgram[] | undefined

/** One program for each major version, the oldest first; [] if there is none. */
export function availablePostgres(): readonly PostgresProgram[] {
  if (found !== undefined) return found
  const programs = [DEBIANS_FOLDER, ...unpackedFolders()].flatMap((folder) => namesIn(folder).flatMap((name) => readProgram(folder, name)))
  found = programs
    .filter((one, index) => programs.findIndex(({ major }) => major === one.major) === index)
    .toSorted((one, other) => one.major - other.major)
  if (found.length === 0) console.info('tests with PostgreSQL are not run: there is none (scripts/need-postgres installs it)')
  return found
}

function unpackedFolders(): string[] {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const own = process.env['REEVE_POSTGRES'] ?? ''
  return [...(own === '' ? [] : [own]), '/var/cache/reeve-postgres', join(cache, 'reeve-postgres')]
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch {
    // The folder does not exist, or belongs to another user.
    return []
  }
}

function readProgram(folder: string, name: string): PostgresProgram[] {
  const bin = join(folder, name, 'bin')
  const { stdout } = spawnSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' })
  const version = /\(PostgreSQL\) ((\d+)\.\d+)/.exec(stdout ?? '')
  const major = Number(version?.[2])
  return version?.[1] !== undefined && major >= OLDEST_MAJOR ? [{ major, version: version[1], bin }] : []
}
