// Skills of a repository and of the user: which files count, which of two with the same name, and what is left out with a note.
import { createHash } from 'node:crypto'
import { mkdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MAX_SKILL_LIST_BYTES, findSkills } from '../../../src/config/skills.ts'
import { tempDir, type TempDir } from '../../support/tmp.ts'

let folder: TempDir
/** the root of the repository */
let root: string
let config: string

beforeEach(async () => {
  folder = await tempDir()
  const real = await realpath(folder.path)
  root = join(real, 'repository')
  config = join(real, 'config')
  await mkdir(join(root, 'app'), { recursive: true })
  await mkdir(join(root, '.git'))
  await writeFile(join(root, '.git/HEAD'), 'ref: refs/heads/main\n')
})
afterEach(() => folder[Symbol.asyncDispose]())

async function writeSkill(dir: string, text: string): Promise<string> {
  await mkdir(dir, { recursive: true })
  await writeFile(join(dir, 'SKILL.md'), text)
  return text
}

const skillText = (name: string, description = `About ${name}.`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\nText of ${name}.\n`

async function findNames(dir = '.', only?: readonly string[]): Promise<{ names: readonly string[]; problems: readonly string[] }> {
  const { skills, problems } = await findSkills(join(root, dir), { config }, only)
  return { names: skills.map(({ name, path }) => `${name} ${path.replace(root, 'ROOT').replace(config, 'CONFIG')}`), problems }
}

test('no folder means no skills', async () => {
  expect(await findNames()).toEqual({ names: [], problems: [] })
})

test('a skill has its name, its description, its place and the hash of its file', async () => {
  const text = await writeSkill(
    join(root, '.claude/skills/pdf'),
    '---\nname: pdf\ndescription: >\n  Reads\n  PDF files.\nlicense: MIT\n---\nText.',
  )
  expect((await findSkills(root, { config })).skills).toEqual([
    {
      name: 'pdf',
      description: 'Reads PDF files.',
      path: join(root, '.claude/skills/pdf/SKILL.md'),
      file: '.claude/skills/pdf/SKILL.md',
      sha256: createHash('sha256').update(text).digest('hex'),
    },
  ])
})

test('the nearest directory comes first, and the user last; nothing above the repository counts', async () => {
  await writeSkill(join(root, '.claude/skills/b'), skillText('b'))
  await writeSkill(join(root, '.agents/skills/a'), skillText('a'))
  await writeSkill(join(root, 'app/.claude/skills/c'), skillText('c'))
  await writeSkill(join(config, 'skills/d'), skillText('d'))
  await writeSkill(join(folder.path, '.claude/skills/e'), skillText('e'))
  expect(await findNames('app')).toEqual({
    names: [
      'c ROOT/app/.claude/skills/c/SKILL.md',
      'a ROOT/.agents/skills/a/SKILL.md',
      'b ROOT/.claude/skills/b/SKILL.md',
      'd CONFIG/skills/d/SKILL.md',
    ],
    problems: [],
  })
})

test('of two skills with the same name the nearest is used, with a note about the other', async () => {
  await writeSkill(join(root, 'app/.claude/skills/near'), skillText('same'))
  await writeSkill(join(root, '.claude/skills/far'), skillText('same'))
  expect(await findNames('app')).toEqual({
    names: ['same ROOT/app/.claude/skills/near/SKILL.md'],
    problems: [
      `${root}/.claude/skills/far/SKILL.md: it is not used, because ${root}/app/.claude/skills/near/SKILL.md has the same name and is nearer`,
    ],
  })
})

test('a link between the two folders of a repository is one skill, without a note', async () => {
  await writeSkill(join(root, '.agents/skills/pdf'), skillText('pdf'))
  await mkdir(join(root, '.claude'))
  await symlink('../.agents/skills', join(root, '.claude/skills'))
  expect(await findNames()).toEqual({ names: ['pdf ROOT/.agents/skills/pdf/SKILL.md'], problems: [] })
})

test('a link out of the repository is not used; a link of the user is', async () => {
  const outside = join(await realpath(folder.path), 'outside')
  await writeSkill(outside, '---\ndescription: Secret.\n---\n')
  await mkdir(join(root, '.claude/skills'), { recursive: true })
  await symlink(outside, join(root, '.claude/skills/linked'))
  await symlink('nowhere', join(root, '.claude/skills/broken'))
  expect(await findNames()).toEqual({
    names: [],
    problems: [`${root}/.claude/skills/linked/SKILL.md: it is a link out of the repository, so it is not used`],
  })
  await rm(join(root, '.claude'), { recursive: true })
  await mkdir(join(config, 'skills'), { recursive: true })
  await symlink(outside, join(config, 'skills/mine'))
  expect(await findNames()).toEqual({ names: [`mine ${outside}/SKILL.md`], problems: [] })
})

test.each([
  ['without front matter', 'Text.', 'it has no front matter'],
  ['without a description', '---\nname: x\n---\n', 'it has no description'],
  ['with a description that is not a text', '---\ndescription: [a]\n---\n', 'it has no description'],
  ['with a slash in its name', '---\nname: a/b\ndescription: D\n---\n', 'its name is not one of'],
  ['with too long a file', `---\ndescription: D\n---\n${'x'.repeat(300 * 1024)}`, 'it is longer than 256 KiB'],
])('a skill %s is left out with a note, and the other skills stay', async (_, text, problem) => {
  await writeSkill(join(root, '.claude/skills/bad'), text)
  await writeSkill(join(root, '.claude/skills/good'), skillText('good'))
  expect(await findNames()).toEqual({
    names: ['good ROOT/.claude/skills/good/SKILL.md'],
    problems: [expect.stringContaining(problem)],
  })
})

test('front matter that is not YAML is read line by line, and a missing name is that of the folder', async () => {
  await writeSkill(join(root, '.claude/skills/pdf'), '---\ndescription: Use it when: a PDF: is there\n---\n')
  const { skills } = await findSkills(root, { config })
  expect(skills).toMatchObject([{ name: 'pdf', description: 'Use it when: a PDF: is there' }])
})

test('a skill that only the user may start is left out', async () => {
  await writeSkill(join(root, '.claude/skills/deploy'), '---\ndescription: Deploys.\ndisable-model-invocation: true\n---\n')
  expect(await findNames()).toEqual({ names: [], problems: [] })
})

test('an agent can name its skills, and an unknown name causes a note', async () => {
  for (const name of ['a', 'b', 'c']) await writeSkill(join(root, `.claude/skills/${name}`), skillText(name))
  const { names, problems } = await findNames('.', ['b', 'z'])
  expect(names).toEqual(['b ROOT/.claude/skills/b/SKILL.md'])
  expect(problems).toEqual(['there is no skill z'])
})

test('long descriptions are cut, and skills beyond the limit of all descriptions are left out with a note', async () => {
  for (let number = 10; number < 40; number += 1)
    await writeSkill(join(root, `.claude/skills/s${number}`), skillText(`s${number}`, 'x'.repeat(2_000)))
  const { skills, problems } = await findSkills(root, { config })
  expect(skills.map(({ description }) => description.length)).toEqual(skills.map(() => 1_024))
  const bytes = skills.reduce((sum, { name, description }) => sum + Buffer.byteLength(name + description), 0)
  expect(bytes).toBeLessThanOrEqual(MAX_SKILL_LIST_BYTES)
  expect(skills.length).toBeGreaterThan(10)
  expect(problems).toEqual([expect.stringMatching(/so these are left out: s\d\d, .* and \d+ more$/)])
})
