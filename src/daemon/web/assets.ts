// The files of the page, as the build made them: a document, and files with hashes in their names, compressed beforehand. They are read
// when the listener opens, so that an upgrade of the package changes nothing under a page that is open.
// Must serve nothing but what it has read. Test: test/e2e/web/access/listener.test.ts.
import { readdir, readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { KernelError } from '../../kernel/model/errors.ts'
import { ifMissing } from '../../kernel/util/missing-file.ts'
import { IMMUTABLE } from './headers.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
}
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

export class Assets {
  readonly #document: Buffer
  /** by their names below `/assets/`, compressed ones as well */
  readonly #files: ReadonlyMap<string, Buffer>

  private constructor(document: Buffer, files: ReadonlyMap<string, Buffer>) {
    this.#document = document
    this.#files = files
  }

  /** Reads all files. Errors: UNAVAILABLE if the page was not built. */
  static async read(dir: string): Promise<Assets> {
    const document = await readFile(join(dir, 'index.html')).catch(ifMissing(null))
    if (document === null)
      throw new KernelError(
        'UNAVAILABLE',
        `the page is not in ${dir}`,
        undefined,
        'Install reeve again, or run `npm run build` in its sources.',
      )
    const names = await readdir(join(dir, 'assets'))
    return new Assets(
      document,
      new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(dir, 'assets', name))] as const))),
    )
  }

  has(path: string): boolean {
    const name = nameOf(path)
    return name !== null && TYPES[extname(name)] !== undefined && this.#files.has(name)
  }

  sendDocument(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': this.#document.length }).end(this.#document)
  }

  /** Sends a file of the page, compressed if the browser accepts that. */
  send(path: string, acceptEncoding: string, response: ServerResponse): void {
    const name = nameOf(path) ?? ''
    const accepted = acceptEncoding.split(',').map((word) => word.split(';')[0]?.trim())
    const [encoding, suffix] = ENCODINGS.find(([word, end]) => accepted.includes(word) && this.#files.has(name + end)) ?? [null, '']
    const contents = this.#files.get(name + suffix) ?? Buffer.alloc(0)
    response
      .writeHead(200, {
        'content-type': TYPES[extname(name)],
        'content-length': contents.length,
        'cache-control': IMMUTABLE,
        vary: 'accept-encoding',
        ...(encoding === null ? {} : { 'content-encoding': encoding }),
      })
      .end(contents)
  }
}

/** The name of a file below `/assets/`. */
function nameOf(path: string): string | null {
  return /^\/assets\/([\w.-]+)$/.exec(path)?.[1] ?? null
}
