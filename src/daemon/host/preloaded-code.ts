// Reads the daemon's whole code into memory at its start, from one packed file; modules that are imported later come from there.
// An upgrade may therefore replace or remove every file of the package while the daemon runs.
// The packed code takes 1 MB of memory; importing all of it at the start would take tens of MB.
// When reeve runs from its sources, this does nothing. Test: test/e2e/daemon/upgrade.test.ts.
import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'

/** The packed file, made by scripts/build.mjs: a line of JSON with the position of each file, then the gzipped files. */
const PACK_FILE = 'daemon.pack'
/** Matches an import of one of the daemon's files. */
const DAEMON_FILE = /^\.\/(daemon(?:-\w+)?\.js)$/

type Positions = Readonly<Record<string, readonly [from: number, to: number]>>

/** Reads the packed file, and serves all later imports from it. Must be called before the first dynamic import. */
export function preloadCode(): void {
  const file = join(import.meta.dirname, PACK_FILE)
  if (!existsSync(file)) return
  const pack = readFileSync(file)
  const filesStart = pack.indexOf('\n') + 1
  const positions = JSON.parse(pack.toString('utf8', 0, filesStart)) as Positions
  const root = new URL('./', pathToFileURL(file)).href
  registerHooks({
    resolve(specifier, context, next) {
      const file = DAEMON_FILE.exec(specifier)?.[1]
      if (file === undefined || context.parentURL?.startsWith(root) !== true) return next(specifier, context)
      return { url: root + file, format: 'module', shortCircuit: true }
    },
    load(url, context, next) {
      const position = url.startsWith(root) ? positions[url.slice(root.length)] : undefined
      if (position === undefined) return next(url, context)
      return { format: 'module', source: gunzipSync(pack.subarray(filesStart + position[0], filesStart + position[1])), shortCircuit: true }
    },
  })
}
