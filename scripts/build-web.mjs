// Bundles the page of `reeve web` from web/, and returns its files for dist/web; build.mjs writes them. The files are a document, and
// assets with hashes in their names, each also as `.br` and `.gz`. The worker is bundled first, because the page contains its address.
// Test: test/e2e/web/access/listener.test.ts.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** the most bytes, with gzip, that a browser may load at first, and then in addition for each page */
const MAX_FIRST_LOAD = 60 * 1024
const MAX_PAGE = 45 * 1024
const TARGETS = ['chrome125', 'firefox128', 'safari18']

/** The files of the page as `{ path, contents }`. Adds the files that they are made of to `inputs`. */
export async function buildWebFiles(root, outdir, inputs) {
  const bundled = (entry, options) => bundle(root, outdir, inputs, entry, options)
  const worker = await bundled('web/worker.ts')
  const main = await bundled('web/main.tsx', { define: { REEVE_WORKER: JSON.stringify(worker.address) } })
  const style = await bundled(STYLE, { plugins: [allStyles(root)] })
  const icon = hashed(join(root, 'web/icon.svg'), outdir)
  const addresses = { 'main.tsx': main.address, 'app.css': style.address, 'icon.svg': `/assets/${basename(icon.path)}` }
  const assets = [...worker.files, ...main.files, ...style.files, icon].map(({ path, contents }) => ({
    path,
    contents: Buffer.from(contents),
  }))
  const document = readFileSync(join(root, 'web/index.html'), 'utf8').replaceAll(/\{\{([\w.]+)\}\}/g, (_, name) => {
    if (addresses[name] === undefined) throw new Error(`web/index.html names ${name}, which is not built`)
    return addresses[name]
  })
  const firstLoad = sizeOf([
    Buffer.from(document),
    ...worker.start,
    ...main.start,
    ...style.start,
    readFileSync(join(root, 'web/icon.svg')),
  ])
  if (firstLoad > MAX_FIRST_LOAD) throw new Error(`the page loads ${firstLoad} bytes at first with gzip, and may load ${MAX_FIRST_LOAD}`)
  for (const { name, bytes } of main.pages)
    if (bytes > MAX_PAGE) throw new Error(`${name} loads ${bytes} bytes with gzip, and may load ${MAX_PAGE}`)
  const kib = (bytes) => `${(bytes / 1024).toFixed(1)} KiB`
  console.log(
    `build: dist/web ${kib(firstLoad)} with gzip at first, ${main.pages.map(({ name, bytes }) => `${basename(name)} ${kib(bytes)}`).join(', ')}`,
  )
  return [{ path: join(outdir, 'index.html'), contents: Buffer.from(document) }, ...assets.flatMap(withCompressed)]
}

/** Bundles one entry. `start`: what is loaded with it at once; `pages`: what it loads later, with sizes. */
async function bundle(root, outdir, inputs, entry, options = {}) {
  const result = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: TARGETS,
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    preserveSymlinks: true,
    tsconfigRaw: {},
    legalComments: 'none',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    outdir: join(outdir, 'assets'),
    metafile: true,
    write: false,
    logLevel: 'warning',
    ...options,
  })
  if (result.warnings.length > 0) throw new Error(`${entry}: esbuild warned`)
  Object.keys(result.metafile.inputs).forEach((input) => inputs.add(input))
  const { outputs } = result.metafile
  const outputOf = (path) => Object.keys(outputs).find((output) => outputs[output].entryPoint === path)
  const contentsOf = (output) => result.outputFiles.find(({ path }) => path === join(root, output)).contents
  const withImports = (output, seen = new Set()) => {
    if (seen.has(output)) return seen
    seen.add(output)
    for (const one of outputs[output].imports) if (one.kind === 'import-statement') withImports(one.path, seen)
    return seen
  }
  const start = withImports(outputOf(entry))
  const pages = Object.keys(outputs)
    .filter((output) => outputs[output].entryPoint !== undefined && !start.has(output))
    .map((output) => ({
      name: outputs[output].entryPoint,
      bytes: sizeOf([...withImports(output)].filter((one) => !start.has(one)).map(contentsOf)),
    }))
  return { files: result.outputFiles, address: `/assets/${basename(outputOf(entry))}`, start: [...start].map(contentsOf), pages }
}

const STYLE = 'web/app.css'

/** Adds all files of web/styles to web/app.css: each part of the page has its own file. */
function allStyles(root) {
  return {
    name: 'all styles',
    setup(hooks) {
      hooks.onLoad({ filter: /web\/app\.css$/ }, ({ path }) => {
        const files = readdirSync(join(root, 'web/styles')).filter((name) => name.endsWith('.css'))
        const imports = files.toSorted().map((name) => `@import './styles/${name}';`)
        // The order of the layers counts, not the order of the files.
        return { contents: ['@layer base, parts, pages;', ...imports, readFileSync(path, 'utf8')].join('\n'), loader: 'css' }
      })
    },
  }
}

/** The sum of the sizes of files, each with gzip, in bytes. */
function sizeOf(files) {
  return files.reduce((sum, contents) => sum + gzipSync(contents, { level: 9 }).length, 0)
}

/** A file that is copied as it is, under a name with its hash. */
function hashed(file, outdir) {
  const contents = readFileSync(file)
  const hash = createHash('sha256').update(contents).digest('hex').slice(0, 8).toUpperCase()
  const end = extname(file)
  return { path: join(outdir, 'assets', `${basename(file, end)}-${hash}${end}`), contents }
}

function withCompressed({ path, contents }) {
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }
  return [
    { path, contents },
    { path: `${path}.br`, contents: brotliCompressSync(contents, quality) },
    { path: `${path}.gz`, contents: gzipSync(contents, { level: 9 }) },
  ]
}
