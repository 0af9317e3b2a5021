// Checks all types, and each pure folder once more by its own tsconfig, which knows no I/O, time or chance. `npm run types`.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const pure = readdirSync(join(root, 'src')).map((name) => join('src', name)).filter((dir) => existsSync(join(root, dir, 'tsconfig.json')))

for (const project of ['.', ...pure]) {
  const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '--noEmit', '-p', project], { cwd: root, stdio: 'inherit' })
  console.log(`types: ${project} ${tsc.status === 0 ? 'ok' : 'failed'}`)
  if (tsc.status !== 0) process.exitCode = 1
}
