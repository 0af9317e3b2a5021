// Builds dist/: the command line, the daemon and the library, each with the types of the latter. `npm run build`.
// Every entry must be there and every step succeed: nothing is left out in silence. Files are written beside their place and
// renamed, and files of earlier builds go last, so that a second build at the same time does no harm.
// Test: test/e2e/bin.test.ts.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const started = performance.now()

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node24',
  // Names stay: shortening them made the daemon 3 MB larger, not smaller.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  metafile: true,
  write: false,
  logLevel: 'warning',
}

// The command line is CommonJS and one file per start: ESM in chunks took 8 ms more. What needs packages lies beside it, and
// long texts that few starts show. Only what knows nothing of the rest can lie there: it would have a copy of its own.
const besideCli = {
  name: 'beside the command line',
  setup(hooks) {
    const beside = (filter, path) => hooks.onResolve({ filter }, ({ kind }) => (kind === 'dynamic-import' ? { path, external: true } : null))
    beside(/config\/(edit|choices)\.ts$/, './config.cjs')
    beside(/\/(topics|completion-scripts)\.ts$/, './texts.cjs')
  },
}
// `ps` has a file of its own. What it loads on demand, but the hints of errors, is a command that main.cjs does from its beginning.
const handOver = {
  name: 'hand over',
  setup(hooks) {
    const isElsewhere = ({ kind, path }) => kind === 'dynamic-import' && !path.endsWith('/hints.ts')
    hooks.onResolve({ filter: /./ }, (one) => (isElsewhere(one) ? { path: './main.cjs', external: true } : null))
  },
}
const cli = { format: 'cjs', outExtension: { '.js': '.cjs' }, outdir: 'dist/cli', define: { 'import.meta.dirname': '__dirname' } }

// Packages in CommonJS ask for Node's own modules with `require`, which ESM does not have.
const banner = { js: "import{createRequire as reeveRequire}from'node:module';const require=reeveRequire(import.meta.url);" }
const esm = { format: 'esm', splitting: true, outdir: 'dist' }

function besideBundle(outfile, ...files) {
  const stdin = { contents: files.map((file) => `export * from './${file}'`).join('\n'), resolveDir: root }
  return { entry: outfile, options: { ...cli, outdir: undefined, outfile, stdin } }
}

// Node shows the line that threw: with all in one line an uncaught error of the library is a page of code.
const legible = { minifyWhitespace: false, minifySyntax: false }

const bundles = [
  { entry: 'dist/cli/main.cjs', options: { ...cli, entryPoints: { main: 'src/cli/main.ts' }, plugins: [besideCli] } },
  { entry: 'dist/cli/ps.cjs', options: { ...cli, entryPoints: { ps: 'src/cli/ps-main.ts' }, plugins: [handOver] } },
  besideBundle('dist/cli/config.cjs', 'src/config/edit.ts', 'src/config/choices.ts'),
  besideBundle('dist/cli/texts.cjs', 'src/cli/topics.ts', 'src/cli/completion-scripts.ts'),
  { entry: 'dist/daemon.js', options: { ...esm, entryPoints: { daemon: 'src/daemon/main.ts' }, chunkNames: 'daemon-[hash]', banner } },
  { entry: 'dist/index.js', options: { ...esm, entryPoints: { index: 'src/index.ts' }, chunkNames: 'index-[hash]', packages: 'external', ...legible } },
]

/** Bytes that are loaded at the start of an entry: the file and what it imports statically. */
function startBytes(metafile, entry) {
  const seen = new Set()
  const queue = [entry]
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    const imports = metafile.outputs[file].imports.filter((one) => one.kind === 'import-statement' && !one.external)
    queue.push(...imports.map((one) => one.path))
  }
  return { files: [...seen], bytes: [...seen].reduce((sum, file) => sum + metafile.outputs[file].bytes, 0) }
}

/** The command line starts at each key press: no package may be among what it loads at once. */
function checkCli(metafile, files) {
  const inputs = files.flatMap((file) => Object.keys(metafile.outputs[file].inputs))
  const packages = inputs.filter((input) => input.includes('node_modules'))
  if (packages.length > 0) throw new Error(`the command line loads packages at its start: ${packages.slice(0, 3).join(', ')}`)
}

/** A dynamic import; no method of that name, nor a call of it. */
const IMPORT = /(?<![.}])\bimport\(/

/** What `bin/reeve` runs as a vm.Script. */
const STARTED = ['dist/cli/main.cjs', 'dist/cli/ps.cjs']

/**
 * The first line of such a file is a sum of the rest, by which `bin/reeve` keeps what V8 made of it. What is CommonJS is required: a
 * vm.Script can import nothing without a warning. Who hands over to main.cjs goes no further.
 */
function named(bundled) {
  const whole = Buffer.from(bundled).toString('latin1').replaceAll('import("./main.cjs")', 'new Promise(()=>require("./main.cjs"))')
  const contents = Buffer.from(whole.replaceAll(/\bimport\(("(?:\.\/\w+\.cjs|node:[\w/]+)")\)/g, 'Promise.resolve(require($1))'), 'latin1')
  if (contents.toString('latin1').split(IMPORT).length > 2) throw new Error('the command line may import one file dynamically, the daemon: bin/reeve runs it as a vm.Script')
  if (contents.some((byte) => byte > 0x7f)) throw new Error('the command line is not ASCII, and bin/reeve reads it as such')
  const sum = createHash('sha256').update(contents).digest('hex').slice(0, 16)
  return Buffer.concat([Buffer.from(`// ${sum}\n`), contents])
}

function put(path, contents) {
  mkdirSync(dirname(path), { recursive: true })
  const beside = `${path}.${process.pid}.tmp`
  writeFileSync(beside, contents)
  renameSync(beside, path)
}

/** Bundles in memory; nothing is written before all have succeeded. */
async function bundle({ entry, options }) {
  const result = await build({ ...common, ...options })
  if (result.warnings.length > 0) throw new Error(`${entry}: esbuild warned`)
  const start = startBytes(result.metafile, entry)
  if (STARTED.includes(entry)) checkCli(result.metafile, start.files)
  const all = result.outputFiles.reduce((sum, file) => sum + file.contents.length, 0)
  console.log(`build: ${entry} ${kib(start.bytes)} at its start, ${kib(all)} in all`)
  return result.outputFiles
}

/** Declarations name their neighbours by `.ts`, and only `.js` is sure to be understood by all readers of a package. */
function types() {
  const out = join(dist, `types.${process.pid}.tmp`)
  try {
    const args = [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'scripts/tsconfig.types.json'), '--outDir', out]
    const tsc = spawnSync(process.execPath, args, { stdio: 'inherit' })
    if (tsc.status !== 0) throw new Error('the declarations could not be made')
    const files = filesIn(out)
    return files.map((file) => {
      const path = join(dist, 'types', relative(out, file))
      put(path, readFileSync(file, 'utf8').replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2'))
      return path
    })
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}

function filesIn(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
}

function kib(bytes) {
  return `${(bytes / 1024).toFixed(0)} KiB`
}

try {
  const outputs = (await Promise.all(bundles.map(bundle))).flat()
  const kept = new Set([...types(), ...outputs.map((file) => file.path)])
  for (const file of outputs) put(file.path, STARTED.includes(relative(root, file.path)) ? named(file.contents) : file.contents)
  for (const file of filesIn(dist)) if (!kept.has(file) && !file.includes('.tmp')) rmSync(file, { force: true })
  console.log(`build: done in ${Math.round(performance.now() - started)} ms`)
} catch (error) {
  console.error(`build: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}
