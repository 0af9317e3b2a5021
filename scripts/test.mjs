// Runs the build, the checks of format, lint and types, and the tests, in this order. `npm test [-- VITEST ARGUMENTS]`.
// With `--deep` (`npm run test:deep [-- VITEST ARGUMENTS]`): the build, then the large sizes of the test files that have two sizes.
// A failed build ends the run. Every other step runs, and the run ends with the exit code of the first that failed. Small sizes keep their
// files in memory if it has room, large sizes on the disk.
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const isDeep = process.argv[2] === '--deep'
const rest = process.argv.slice(isDeep ? 3 : 2)
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--configLoader', 'native']

/** Test files with a large size (test/support/deep.ts), and those that have no small one. */
function deepFiles() {
  const files = globSync('test/**/*.test.ts', { cwd: root }).filter(
    (file) => file.endsWith('.deep.test.ts') || readFileSync(`${root}/${file}`, 'utf8').includes("/support/deep.ts'"),
  )
  if (files.length === 0) throw new Error('no test file has a large size')
  return files.toSorted()
}

const MEMORY = '/dev/shm'
const LEAST_MEMORY_BYTES = 2 * 1024 ** 3

/**
 * A folder in memory from which programs may be run; '' if there is none. On a disk the tests take a fifth more CPU time, and wait for the
 * disk.
 */
function roomInMemory() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize < LEAST_MEMORY_BYTES) return ''
    const dir = mkdtempSync(join(MEMORY, 'reeve-t-'))
    try {
      writeFileSync(join(dir, 'program'), '#!/bin/sh\n', { mode: 0o700 })
      return spawnSync(join(dir, 'program')).status === 0 ? MEMORY : ''
    } finally {
      rmSync(dir, { recursive: true })
    }
  } catch {
    // Without such a folder the tests use the usual one.
    return ''
  }
}

/** The rules that need types take ten seconds: only `npm run lint` and CI run them. */
const lint = ['node_modules/oxlint/bin/oxlint', ...(process.env['CI'] ? ['--type-aware'] : [])]
const everything = [['node_modules/oxfmt/bin/oxfmt', '--check'], lint, ['scripts/types.mjs'], [...vitest, ...rest]]
const steps = [
  ['scripts/build.mjs'],
  ...(isDeep ? [[...vitest, ...(rest.some((one) => !one.startsWith('-')) ? rest : [...deepFiles(), ...rest])]] : everything),
]

if (spawnSync('git', ['--version']).error) {
  console.error('test: the tests need git, which is missing; on Debian: apt-get install git')
  process.exit(1)
}

const env = {
  ...process.env,
  REEVE_TEST_FORM: 'bundle',
  REEVE_TEST_DEEP: isDeep ? '1' : '0',
  REEVE_TEST_ROOM: isDeep ? '' : roomInMemory(),
}
const failures = []
for (const step of steps) {
  const { status, signal } = spawnSync(process.execPath, step, { cwd: root, stdio: 'inherit', env })
  if (status === 0) continue
  failures.push({ text: `test: ${step[0]} ${signal ? `was ended by ${signal}` : 'failed'}`, code: status ?? 1 })
  if (step === steps[0] || signal) break
}
for (const { text } of failures) console.error(text)
process.exit(failures[0]?.code ?? 0)
