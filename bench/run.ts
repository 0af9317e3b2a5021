// Runs the benchmarks one after another, each in its own process: `npm run bench`, or `npm run bench -- step ps`.
// Each prints its own table, with the required ratio in the column `bar`. All of them take some minutes.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const benchFiles = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.replace(/\.ts$/, ''))
  .filter((name) => name !== 'run')
  .sort()
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !benchFiles.includes(name))
if (unknown.length > 0) {
  console.error(`bench: there is no ${unknown.join(', ')}; there are ${benchFiles.join(', ')}`)
  process.exit(64)
}

// An additional certificate bundle would add to each measured start of Node.
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env
let failures = 0
for (const name of wanted.length > 0 ? wanted : benchFiles) {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, `${name}.ts`)], { stdio: 'inherit', env })
  if (status !== 0) failures += 1
}
process.exit(failures === 0 ? 0 : 1)
