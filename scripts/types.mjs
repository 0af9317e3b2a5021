// Checks all types: `npm run types`. The page is checked with the types of browsers. Each pure folder is checked again with its own
// tsconfig, which has no types of I/O, time or chance.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const pure = readdirSync(join(root, 'src'))
  .map((name) => join('src', name))
  .filter((dir) => existsSync(join(root, dir, 'tsconfig.json')))

// tsc is a Go program: GOGC makes it collect garbage less often, up to GOMEMLIMIT. It has two checkers, because each further one would
// compute the same types again.
const env = { GOGC: '400', GOMEMLIMIT: '3GiB', ...process.env }
const CHECKERS = ['--checkers', '2']

for (const project of ['.', ...pure, 'web']) {
  const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '--noEmit', '-p', project, ...CHECKERS], {
    cwd: root,
    stdio: 'inherit',
    env,
  })
  console.log(`types: ${project} ${tsc.status === 0 ? 'ok' : 'failed'}`)
  if (tsc.status !== 0) process.exitCode = 1
}
