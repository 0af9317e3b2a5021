// `reeve config`: what is in force here, and where it comes from. Reads the files itself, so that it works without a daemon.
// Test: test/e2e/cli-daemon.test.ts.
import { paths } from '../../config/paths.ts'
import { UsageError } from '../errors.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out }: Call): Promise<number> {
  const [what = ''] = args.words
  if (what === 'path') await showPaths(out)
  else if (what === 'show') await showConfig(out)
  else throw new UsageError(`config ${what}: there is show and path`)
  return 0
}

/** Throws when a daemon could not start with the configuration as it is. */
export async function check(): Promise<void> {
  const { loadConfig } = await import('../../config/config.ts')
  await loadConfig({ paths: paths(), cwd: null, env: process.env })
}

async function showPaths(out: Call['out']): Promise<void> {
  const { configFile, credentialsFile, agentsDir, state, socket, logFile } = paths()
  const named = { configFile, credentialsFile, agentsDir, state, socket, logFile }
  if (out.json) await out.value(named)
  else for (const [name, path] of Object.entries(named)) await out.line(`${name.padEnd(16)}${path}`)
}

async function showConfig(out: Call['out']): Promise<void> {
  const { loadConfig } = await import('../../config/config.ts')
  const config = await loadConfig({ paths: paths(), cwd: process.cwd(), env: process.env })
  if (out.json) await out.value({ config })
  else await out.line((await import('yaml')).stringify(config).trimEnd())
}
