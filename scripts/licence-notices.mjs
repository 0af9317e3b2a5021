// The notices of bundled packages: name, version, licence and its text, as those licences require. `scripts/build.mjs` writes them
// to `dist/THIRD_PARTY_NOTICES`. A package without a permissive licence ends the build. Test: test/e2e/cli/pack.test.ts.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const PERMISSIVE = new Set(['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'BlueOak-1.0.0', 'Unlicense'])
const LICENCE_FILE = /^(licen[cs]e|copying|notice)(\.|-|$)/i
const RULE = '-'.repeat(80)

/** The folder of the package that holds this input of a bundle; null for a file of the project itself. */
export function packageFolder(input) {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? null
}

/** The text of all notices, by name. `inputs` are paths below `root`. Throws for a licence that is missing or not permissive. */
export function noticesOf(root, inputs) {
  const folders = new Set([...inputs].map(packageFolder).filter((folder) => folder !== null))
  const notices = new Map([...folders].map((folder) => noticeOf(join(root, folder))))
  const all = [...notices].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, text]) => text)
  return `The programs of reeve contain the following packages.\n\n${all.join(`\n${RULE}\n\n`)}`
}

function noticeOf(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  if (!PERMISSIVE.has(license))
    throw new Error(`${name} ${version} has the licence ${JSON.stringify(license)}, which is not known to be permissive`)
  const texts = readdirSync(folder)
    .filter((file) => LICENCE_FILE.test(file))
    .toSorted()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim())
  const owner = typeof author === 'string' ? author : author?.name
  const text =
    texts.length > 0 ? texts.join('\n\n') : `Copyright: ${owner ?? `the authors of ${name}`}\nhttps://spdx.org/licenses/${license}.html`
  return [`${name} ${version}`, `${name} ${version} (${license})\n\n${text}\n`]
}
