// The pages name existing files, folders and headings. Each path in code marks leads to a file, and each link to a file and its heading.
// docs/trust/guarantees.md names tests below test/.
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../../support/env.ts'

const PATH =
  /`((?:src|test|scripts|bench)\/[\w./*-]+\.(?:ts|mjs|cjs)|(?:agents|e2e|processes|properties|scenarios|simulation|tables)\/[\w./*-]+\.test\.ts)`/g
const pages = ['README.md', 'AGENTS.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/**/*.md', { cwd: ROOT })]

function pathExists(path: string): boolean {
  if (path.includes('NAME')) return true
  const fullPath = /^(src|test|scripts|bench)\//.test(path) ? path : `test/${path}`
  return path.includes('*') ? globSync(fullPath, { cwd: ROOT }).length > 0 : existsSync(join(ROOT, fullPath))
}

test('each path of a source or test leads to a file', () => {
  const named = pages.flatMap((page) => [...readFileSync(join(ROOT, page), 'utf8').matchAll(PATH)].map(([, path = '']) => ({ page, path })))
  expect(named.length).toBeGreaterThan(150)
  expect(named.filter(({ path }) => !pathExists(path)).map(({ page, path }) => `${page} → ${path}`)).toEqual([])
})

/** The sections of the architecture page whose tables name the folders of one folder. */
const FOLDER_TABLES: readonly (readonly [title: string, folder: string])[] = [
  ['Inside of the kernel:', 'src/kernel'],
  ['Inside of the daemon:', 'src/daemon'],
  ['Inside of the store:', 'src/store'],
  ['Inside of the drivers:', 'src/drivers'],
  ['Inside of the command line:', 'src/cli'],
]

test.each(FOLDER_TABLES)('the table "%s" of the architecture page names the folders of %s', (title, folder) => {
  const page = readFileSync(join(ROOT, 'docs/contributing/architecture.md'), 'utf8')
  const table = page.slice(page.indexOf(`${title}\n`)).split('\n\n', 2)[1] ?? ''
  const named = table.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name))
  const folders = readdirSync(join(ROOT, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(named.toSorted()).toEqual(folders.map(({ name }) => name).toSorted())
})

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(heading: string): string {
  const text = heading.replaceAll('`', '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')
}

function brokenLinks(page: string, text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    const [path = '', anchor] = target.split('#')
    if (path.startsWith('http')) return []
    const file = path === '' ? page : join(dirname(page), path)
    if (path !== '' && !existsSync(join(ROOT, file))) return [`${page} → ${target}: no such file`]
    if (anchor === undefined) return []
    const headings = path === '' ? text : readFileSync(join(ROOT, file), 'utf8')
    const anchors = [...headings.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))
    return anchors.includes(anchor) ? [] : [`${page} → ${target}: no such heading`]
  })
}

test('each link leads to a file, and to a heading in it', () => {
  expect([...pages, 'CHANGELOG.md'].flatMap((page) => brokenLinks(page, readFileSync(join(ROOT, page), 'utf8')))).toEqual([])
})

test('a broken link is found', () => {
  const text = "## What's `new`\n[a](#whats-new) [b](#other) [c](agents.md#keys) [d](agents.md#no) [e](none.md)\n"
  expect(brokenLinks('docs/reference/a.md', text)).toEqual([
    'docs/reference/a.md → #other: no such heading',
    'docs/reference/a.md → agents.md#no: no such heading',
    'docs/reference/a.md → none.md: no such file',
  ])
})
