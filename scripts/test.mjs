// All that must hold: the build, the lint, the types and the tests, in this order. `npm test [-- VITEST ARGUMENTS]`.
// The first that fails ends it with its own exit code.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const steps = [
  ['scripts/build.mjs'],
  ['node_modules/oxlint/bin/oxlint'],
  ['scripts/types.mjs'],
  ['node_modules/vitest/vitest.mjs', 'run', '--configLoader', 'native', ...process.argv.slice(2)],
]

if (spawnSync('git', ['--version']).error) {
  console.error('test: the tests need git, which is not there; on Debian: apt-get install git')
  process.exit(1)
}

for (const step of steps) {
  const { status, signal } = spawnSync(process.execPath, step, { cwd: root, stdio: 'inherit', env: { ...process.env, REEVE_TEST_FORM: 'bundle' } })
  if (status === 0) continue
  console.error(`test: ${step[0]} ${signal ? `was ended by ${signal}` : 'failed'}`)
  process.exit(status ?? 1)
}
