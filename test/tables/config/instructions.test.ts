// Instructions of a repository: which files count, in which order, how much of them, and which are not used.
import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MAX_INSTRUCTION_BYTES, readInstructions } from '../../../src/config/instructions.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let folder: TempDir
/** the root of the repository */
let root: string

beforeEach(async () => {
  folder = await tempDir()
  root = join(await realpath(folder.path), 'repository')
  await mkdir(join(root, 'packages', 'app'), { recursive: true })
  await mkdir(join(root, '.git'))
  await writeFile(join(root, '.git', 'HEAD'), 'ref: refs/heads/main\n')
})
afterEach(() => folder[Symbol.asyncDispose]())

/** The names and texts of the files that count for a directory of the repository. */
async function textsFor(dir: string): Promise<readonly (readonly [name: string, text: string])[]> {
  const { instructions } = await readInstructions(join(root, dir))
  return (instructions?.files ?? []).map(({ name, text }) => [name, text])
}

test('a repository without AGENTS.md and CLAUDE.md has no instructions', async () => {
  expect(await readInstructions(root)).toEqual({ instructions: null, problems: [] })
})

test('the nearest file comes first, and AGENTS.md counts before CLAUDE.md', async () => {
  await writeFile(join(root, 'AGENTS.md'), 'root\n')
  await writeFile(join(root, 'CLAUDE.md'), 'not used')
  await writeFile(join(root, 'packages', 'CLAUDE.md'), '\uFEFFpackages')
  await writeFile(join(root, 'packages', 'app', 'AGENTS.md'), 'app')
  await writeFile(join(folder.path, 'AGENTS.md'), 'above the repository')
  expect(await textsFor('packages/app')).toEqual([
    ['packages/app/AGENTS.md', 'app'],
    ['packages/CLAUDE.md', 'packages'],
    ['AGENTS.md', 'root'],
  ])
  expect(await textsFor('.')).toEqual([['AGENTS.md', 'root']])
})

test('an empty directory with the name .git makes no repository', async () => {
  await mkdir(join(root, 'packages', '.git'))
  await writeFile(join(root, 'AGENTS.md'), 'root')
  expect(await textsFor('packages')).toEqual([['AGENTS.md', 'root']])
})

test('outside of a repository only the working directory counts', async () => {
  await rm(join(root, '.git'), { recursive: true })
  await writeFile(join(root, 'AGENTS.md'), 'root')
  expect(await textsFor('packages')).toEqual([])
  expect(await textsFor('.')).toEqual([['AGENTS.md', 'root']])
})

test('the hash is that of the whole file, and a blank file does not count', async () => {
  await writeFile(join(root, 'AGENTS.md'), 'text')
  await writeFile(join(root, 'packages', 'AGENTS.md'), ' \n')
  const { instructions } = await readInstructions(join(root, 'packages'))
  expect(instructions?.files).toEqual([
    { path: join(root, 'AGENTS.md'), name: 'AGENTS.md', sha256: createHash('sha256').update('text').digest('hex'), text: 'text' },
  ])
})

test('files beyond the limit are cut at the end of a line, or left out with a note', async () => {
  const line = `${'x'.repeat(99)}\n`
  await writeFile(join(root, 'packages', 'app', 'AGENTS.md'), line.repeat(200))
  await writeFile(join(root, 'packages', 'AGENTS.md'), line.repeat(200))
  await writeFile(join(root, 'AGENTS.md'), 'root')
  const { instructions, problems } = await readInstructions(join(root, 'packages', 'app'))
  expect(
    instructions?.files.map(({ name, isCut = false, text }) => [name, isCut, text.split('\n').every((each) => each.length === 99)]),
  ).toEqual([
    ['packages/app/AGENTS.md', false, true],
    ['packages/AGENTS.md', true, true],
  ])
  const bytes = instructions?.files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0) ?? 0
  expect(bytes).toBeGreaterThan(MAX_INSTRUCTION_BYTES - 200)
  expect(bytes).toBeLessThanOrEqual(MAX_INSTRUCTION_BYTES)
  expect(problems).toEqual([expect.stringContaining('it is left out')])
})

test('a link within the repository is followed, and a link out of it is not used', async () => {
  await writeFile(join(root, 'CONTRIBUTING.md'), 'shared')
  await symlink('../CONTRIBUTING.md', join(root, 'packages', 'AGENTS.md'))
  await writeFile(join(folder.path, 'secret'), 'secret')
  await symlink(join(folder.path, 'secret'), join(root, 'AGENTS.md'))
  await symlink('nowhere', join(root, 'packages', 'app', 'AGENTS.md'))
  const { instructions, problems } = await readInstructions(join(root, 'packages', 'app'))
  expect(instructions?.files.map(({ text }) => text)).toEqual(['shared'])
  expect(problems).toEqual([`${join(root, 'AGENTS.md')}: it is a link out of the repository, so it is not used`])
})

test('a file that is not a readable text is not used, but named', async () => {
  execFileSync('mkfifo', [join(root, 'packages', 'app', 'AGENTS.md')])
  await writeFile(join(root, 'packages', 'AGENTS.md'), Buffer.from([0xff, 0xfe, 0x41]))
  await writeFile(join(root, 'AGENTS.md'), 'x'.repeat(300 * 1024))
  const { instructions, problems } = await readInstructions(join(root, 'packages', 'app'))
  expect(instructions).toBeNull()
  expect(problems.map((problem) => problem.replace(/^.*: /, ''))).toEqual([
    'it is not a regular file',
    'it is not UTF-8 text',
    'it is longer than 256 KiB',
  ])
})

test.skipIf(process.getuid?.() === 0)('a file that cannot be read is named', async () => {
  await writeFile(join(root, 'AGENTS.md'), 'x')
  await chmod(join(root, 'AGENTS.md'), 0)
  expect((await readInstructions(root)).problems).toEqual([expect.stringContaining('it cannot be read')])
})
