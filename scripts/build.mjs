// Builds dist/: the command line, the daemon, the page, and the library with its types. `npm run build`.
// Every entry must exist and every step succeed: nothing is left out silently. Files are written under another name and
// renamed, and files of earlier builds are removed last. So a second build at the same time does no harm.
// Test: test/e2e/cli/bin.test.ts.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { buildWebFiles } from './build-web.mjs'
import { noticesOf } from './licence-notices.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')
const started = performance.now()

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  // The paths of packages are part of the output: they must be the same through a linked node_modules.
  preserveSymlinks: true,
  target: 'node24',
  // Names stay, except in the file of `ps`: short names made the daemon 3 MB larger, not smaller.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  metafile: true,
  write: false,
  logLevel: 'warning',
}

// The command line is CommonJS and one file per start: ESM in chunks took 8 ms more. Code that needs packages, and long texts that
// few starts show, have files beside it. Such code must not import the rest of the command line, which the file would contain a second
// time.
const besideCli = {
  name: 'beside the command line',
  setup(hooks) {
    const beside = (filter, path) =>
      hooks.onResolve({ filter }, ({ kind }) => (kind === 'dynamic-import' ? { path, external: true } : null))
    beside(/config\/(edit|explain|completion-values)\.ts$/, './config.cjs')
    beside(/\/(topics|shell-scripts)\.ts$/, './texts.cjs')
  },
}
// `ps` has its own file. For everything that it loads on demand (except to print errors), main.cjs runs the command from its beginning.
const handOver = {
  name: 'hand over',
  setup(hooks) {
    const isElsewhere = ({ kind, path }) => kind === 'dynamic-import' && !/\/(hints|docs-pages)\.ts$/.test(path)
    hooks.onResolve({ filter: /./ }, (one) => (isElsewhere(one) ? { path: './main.cjs', external: true } : null))
  },
}
const cli = { format: 'cjs', outExtension: { '.js': '.cjs' }, outdir: 'dist/cli', define: { 'import.meta.dirname': '__dirname' } }

// Packages in CommonJS load Node's modules with `require`, which ESM does not have.
const banner = { js: "import{createRequire as reeveRequire}from'node:module';const require=reeveRequire(import.meta.url);" }
const esm = { format: 'esm', splitting: true, outdir: 'dist' }

function besideBundle(outfile, ...files) {
  const stdin = { contents: files.map((file) => `export * from './${file}'`).join('\n'), resolveDir: root }
  return { entry: outfile, options: { ...cli, outdir: undefined, outfile, stdin } }
}

// Node prints the line that threw: with all code in one line, an uncaught error of the library would be a page of code.
const legible = { minifyWhitespace: false, minifySyntax: false }

/** The daemon. The code that it loads at first use goes into one file beside it (src/daemon/host/preloaded-code.ts). */
const DAEMON = 'dist/daemon.js'

const bundles = [
  { entry: 'dist/cli/main.cjs', options: { ...cli, entryPoints: { main: 'src/cli/main.ts' }, plugins: [besideCli] } },
  {
    entry: 'dist/cli/ps.cjs',
    options: { ...cli, entryPoints: { ps: 'src/cli/ps-main.ts' }, plugins: [handOver], minifyIdentifiers: true },
  },
  besideBundle('dist/cli/config.cjs', 'src/config/edit.ts', 'src/config/explain.ts', 'src/config/completion-values.ts'),
  besideBundle('dist/cli/texts.cjs', 'src/cli/table/topics.ts', 'src/cli/completion/shell-scripts.ts'),
  { entry: DAEMON, options: { ...esm, entryPoints: { daemon: 'src/daemon/main.ts' }, chunkNames: 'daemon-[hash]', banner } },
  {
    entry: 'dist/index.js',
    options: { ...esm, entryPoints: { index: 'src/index.ts' }, chunkNames: 'index-[hash]', packages: 'external', ...legible },
  },
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

/** Throws if the command line loads a package at its start: completion starts it at each key press. */
function checkCli(metafile, files) {
  const inputs = files.flatMap((file) => Object.keys(metafile.outputs[file].inputs))
  const packages = inputs.filter((input) => input.includes('node_modules'))
  if (packages.length > 0) throw new Error(`the command line loads packages at its start: ${packages.slice(0, 3).join(', ')}`)
}

/** Matches a dynamic import, but no method named `import` and no call of one. */
const IMPORT = /(?<![.}])\bimport\(/

/** The files that `bin/reeve` runs as a vm.Script. */
const STARTED = ['dist/cli/main.cjs', 'dist/cli/ps.cjs']

/**
 * Puts a checksum of the file into its first line: `bin/reeve` keeps V8's compiled code by that sum. Imports of CommonJS become
 * `require`, because a vm.Script imports nothing without a warning. A file that hands over to main.cjs never continues.
 */
function startable(bundled) {
  const whole = Buffer.from(bundled).toString('latin1').replaceAll('import("./main.cjs")', 'new Promise(()=>require("./main.cjs"))')
  const contents = Buffer.from(whole.replaceAll(/\bimport\(("(?:\.\/\w+\.cjs|node:[\w/]+)")\)/g, 'Promise.resolve(require($1))'), 'latin1')
  if (contents.toString('latin1').split(IMPORT).length > 2)
    throw new Error('the command line may import one file dynamically, the daemon: bin/reeve runs it as a vm.Script')
  if (contents.some((byte) => byte > 0x7f)) throw new Error('the command line is not ASCII, and bin/reeve reads it as such')
  const sum = createHash('sha256').update(contents).digest('hex').slice(0, 16)
  return Buffer.concat([Buffer.from(`// ${sum}\n`), contents])
}

function writeAtomically(path, contents) {
  mkdirSync(dirname(path), { recursive: true })
  const beside = `${path}.${process.pid}.tmp`
  writeFileSync(beside, contents)
  renameSync(beside, path)
}

/** All files that went into a bundle, as paths below the root. */
const inputs = new Set()

/** A program of the daemon as one text: the daemon may start it after an upgrade has removed its files. */
async function programText(entry) {
  const result = await build({ ...common, entryPoints: [entry], format: 'cjs' })
  Object.keys(result.metafile.inputs).forEach((input) => inputs.add(input))
  return result.outputFiles[0].text
}

/** Bundles one entry in memory; nothing is written before all bundles have succeeded. */
async function bundle({ entry, options }, programs) {
  const result = await build({
    ...common,
    ...options,
    define: { ...programs, REEVE_BUILD: JSON.stringify(NO_BUILD), ...options.define },
  })
  if (result.warnings.length > 0) throw new Error(`${entry}: esbuild warned`)
  Object.keys(result.metafile.inputs).forEach((input) => inputs.add(input))
  const start = startBytes(result.metafile, entry)
  if (STARTED.includes(entry)) checkCli(result.metafile, start.files)
  const all = result.outputFiles.reduce((sum, file) => sum + file.contents.length, 0)
  console.log(`build: ${entry} ${kib(start.bytes)} at its start, ${kib(all)} in all`)
  return result.outputFiles.map(({ path, contents }) => ({
    path,
    contents,
    isPacked: entry === DAEMON && !start.files.includes(relative(root, path)),
  }))
}

/** The placeholder of the build's checksum, of the same length. */
const NO_BUILD = '<build of reeve>'

/** Replaces the placeholder in each file by the checksum of all files. */
function withBuild(files) {
  const inOrder = files.toSorted((one, other) => (one.path < other.path ? -1 : 1))
  const sum = createHash('sha256')
  for (const { path, contents } of inOrder) sum.update(`${relative(root, path)}\0${contents.length}\0`).update(contents)
  const build = sum.digest('hex').slice(0, NO_BUILD.length)
  return files.map((file) => ({
    ...file,
    contents: Buffer.from(Buffer.from(file.contents).toString('latin1').replaceAll(NO_BUILD, build), 'latin1'),
  }))
}

/** Makes daemon.pack: a line of JSON with the position of each file, and then each file, gzipped. */
function pack(files) {
  const places = {}
  const pieces = []
  let from = 0
  for (const { path, contents } of files) {
    const piece = gzipSync(contents, { level: 9 })
    places[relative(dist, path)] = [from, from + piece.length]
    pieces.push(piece)
    from += piece.length
  }
  return { path: join(dist, 'daemon.pack'), contents: Buffer.concat([Buffer.from(`${JSON.stringify(places)}\n`), ...pieces]) }
}

/** Writes the declarations, and returns their paths. Their imports end in `.js`: not all readers of a package understand `.ts`. */
function writeTypes() {
  const out = join(dist, `types.${process.pid}.tmp`)
  try {
    const args = [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'scripts/tsconfig.types.json'), '--outDir', out]
    const tsc = spawnSync(process.execPath, args, { stdio: 'inherit' })
    if (tsc.status !== 0) throw new Error('the declarations could not be made')
    const files = filesIn(out)
    return files.map((file) => {
      const path = join(dist, 'types', relative(out, file))
      writeAtomically(path, readFileSync(file, 'utf8').replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2'))
      return path
    })
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}

function filesIn(dir) {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => join(one.parentPath, one.name))
}

function kib(bytes) {
  return `${(bytes / 1024).toFixed(0)} KiB`
}

try {
  const programs = {
    REEVE_FILE_WORKER: JSON.stringify(await programText('src/drivers/native/tools/file-worker.ts')),
    REEVE_MCP_PROGRAM: JSON.stringify(await programText('src/cli/mcp/agent-program.ts')),
  }
  const built = withBuild((await Promise.all(bundles.map((one) => bundle(one, programs)))).flat())
  const page = await buildWebFiles(root, join(dist, 'web'), inputs)
  const notices = { path: join(dist, 'THIRD_PARTY_NOTICES'), contents: noticesOf(root, inputs) }
  const outputs = [notices, pack(built.filter((file) => file.isPacked)), ...built.filter((file) => !file.isPacked), ...page]
  const kept = new Set([...writeTypes(), ...outputs.map((file) => file.path)])
  for (const { path, contents } of outputs) writeAtomically(path, STARTED.includes(relative(root, path)) ? startable(contents) : contents)
  for (const file of filesIn(dist)) if (!kept.has(file) && !file.includes('.tmp')) rmSync(file, { force: true })
  console.log(`build: done in ${Math.round(performance.now() - started)} ms`)
} catch (error) {
  console.error(`build: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}
