// Bundles the page of `reeve web` from web/, and returns its files for dist/web; build.mjs writes them. They are a document, and files with
// hashes in their names, each also as `.br` and `.gz`.
// The worker is bundled first, because the page contains its address. Test: test/e2e/web/listener.test.ts.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** the most that a browser loads at first, with gzip, in bytes */
const MAX_FIRST_LOAD = 60 * 1024
const TARGETS = ['chrome125', 'firefox128', 'safari18']

/** The files of the page as `{ path, contents }`. Adds the files that they are made of to `inputs`. */
export async function buildWebFiles(root, outdir, inputs) {
  const bundle = async (entry, define = {}) => {
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
      chunkNames: 'part-[hash]',
      assetNames: '[name]-[hash]',
      outdir: join(outdir, 'assets'),
      define,
      metafile: true,
      write: false,
      logLevel: 'warning',
    })
    if (result.warnings.length > 0) throw new Error(`${entry}: esbuild warned`)
    Object.keys(result.metafile.inputs).forEach((input) => inputs.add(input))
    const entryOutput = Object.entries(result.metafile.outputs).find(([, output]) => output.entryPoint === entry)
    return { files: result.outputFiles, address: `/assets/${basename(entryOutput[0])}` }
  }
  const worker = await bundle('web/worker.ts')
  const main = await bundle('web/main.tsx', { REEVE_WORKER: JSON.stringify(worker.address) })
  const style = await bundle('web/app.css')
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
  const loaded = [Buffer.from(document), ...assets.map(({ contents }) => contents)]
  const firstLoad = loaded.reduce((sum, contents) => sum + gzipSync(contents, { level: 9 }).length, 0)
  if (firstLoad > MAX_FIRST_LOAD) throw new Error(`the page has ${firstLoad} bytes with gzip, and may have ${MAX_FIRST_LOAD}`)
  return [{ path: join(outdir, 'index.html'), contents: Buffer.from(document) }, ...assets.flatMap(withCompressed)]
}

/** A file that is no code, under a name with its hash. */
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
