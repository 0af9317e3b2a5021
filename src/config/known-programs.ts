// The known programs of external agents: their packages, tested versions and installed versions. Only hints and `reeve doctor` use them.
// Must start no program. Tests: test/tables/config/agents/find-agents.test.ts, test/tables/config/known-programs.test.ts.
import { constants } from 'node:fs'
import { access, readFile, realpath, stat } from 'node:fs/promises'
import { basename, delimiter, dirname, join } from 'node:path'

interface KnownProgram {
  readonly package: string
  /** the newest version whose behaviour docs/reference/external-agents.md describes */
  readonly tested: string
}

/** By the name of the program. `scripts/install-agents.ts` installs these versions for the tests. */
export const KNOWN_PROGRAMS = {
  'claude-agent-acp': { package: '@agentclientprotocol/claude-agent-acp', tested: '0.100.0' },
  'codex-acp': { package: '@agentclientprotocol/codex-acp', tested: '2.6.0' },
  gemini: { package: '@google/gemini-cli', tested: '0.61.0' },
  opencode: { package: 'opencode-ai', tested: '1.18.33' },
  claude: { package: '@anthropic-ai/claude-code', tested: '2.1.328' },
  codex: { package: '@openai/codex', tested: '0.169.0' },
} as const satisfies Readonly<Record<string, KnownProgram>>

/** maximum number of folders above a program in which its package is searched */
const MAX_FOLDERS = 6

/** Returns the command that installs a program; null for an unknown program. */
export function installCommand(program: string): string | null {
  const known = Object.hasOwn(KNOWN_PROGRAMS, program) ? KNOWN_PROGRAMS[program as keyof typeof KNOWN_PROGRAMS] : undefined
  return known === undefined ? null : `npm install -g ${known.package}`
}

export interface InstalledProgram extends KnownProgram {
  readonly program: string
  /** null: neither its package nor its path names one */
  readonly version: string | null
  /** null: the version is unknown */
  readonly comparison: 'tested' | 'newer' | 'older' | null
}

/** Finds the known programs in a PATH, with their versions. */
export async function findInstalledPrograms(path: string): Promise<InstalledProgram[]> {
  const found = await Promise.all(
    Object.entries(KNOWN_PROGRAMS).map(async ([program, known]) => {
      const file = await findFile(program, path)
      if (file === null) return []
      const version = await versionOf(file, known.package)
      return [{ ...known, program, version, comparison: version === null ? null : compareVersions(version, known.tested) }]
    }),
  )
  return found.flat()
}

/** Returns the real path of a program in a PATH; null if the PATH does not have it. */
async function findFile(program: string, path: string): Promise<string | null> {
  for (const dir of path.split(delimiter).filter((each) => each !== '')) {
    const file = join(dir, program)
    try {
      await access(file, constants.X_OK)
      if ((await stat(file)).isFile()) return await realpath(file)
    } catch {
      // A missing file and one that this user cannot run mean the same here.
    }
  }
  return null
}

/** Reads the version in the `package.json` above the program. Other installers put the version into the path of the program. */
async function versionOf(file: string, packageName: string): Promise<string | null> {
  for (let dir = dirname(file), depth = 0; depth < MAX_FOLDERS && dir !== dirname(dir); dir = dirname(dir), depth += 1) {
    const version = await readVersion(join(dir, 'package.json'), packageName)
    if (version !== null) return version
  }
  return /^\d+\.\d+\.\d+/.exec(basename(file))?.[0] ?? null
}

async function readVersion(file: string, packageName: string): Promise<string | null> {
  try {
    const { name, version } = JSON.parse(await readFile(file, 'utf8')) as { readonly name?: unknown; readonly version?: unknown }
    return name === packageName && typeof version === 'string' ? version : null
  } catch {
    // Most folders have no package.json, and an unreadable one names no version.
    return null
  }
}

/** Compares the numbers of two versions. A pre-release counts as its version. */
function compareVersions(version: string, tested: string): InstalledProgram['comparison'] {
  const numbersOf = (text: string): number[] => (text.split(/[-+]/, 1)[0] ?? '').split('.').map(Number)
  const [installed, known] = [numbersOf(version), numbersOf(tested)]
  if ([...installed, ...known].some(Number.isNaN)) return null
  for (const [index, number] of known.entries()) {
    const difference = (installed[index] ?? 0) - number
    if (difference !== 0) return difference > 0 ? 'newer' : 'older'
  }
  return 'tested'
}
