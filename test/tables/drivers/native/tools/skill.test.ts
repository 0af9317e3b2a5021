// The tool `skill` on real files: the text, the list of files, a changed skill, links, worktrees and limits.
import { createHash } from 'node:crypto'
import { mkdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FreezableTimers } from '../../../../../src/drivers/common/freezable-timers.ts'
import { Toolbox } from '../../../../../src/drivers/native/tools/toolbox.ts'
import type { ToolCallResult } from '../../../../../src/drivers/native/tools/toolbox.ts'
import type { PathAccess, Skill, WorktreeSpec } from '../../../../../src/kernel/model/spec-parts.ts'
import { openContainmentHarness } from '../../../../support/agents/containment-harness.ts'
import type { ContainmentHarness } from '../../../../support/agents/containment-harness.ts'

const TEXT = '---\nname: pdf\ndescription: Reads PDF files.\n---\n\nRun scripts/read.py.\n'
const FILE = '.claude/skills/pdf/SKILL.md'

let contained: ContainmentHarness
/** the root of the repository */
let root: string
/** the folder of the skill */
let folder: string

beforeEach(async () => {
  contained = await openContainmentHarness()
  root = join(await realpath(contained.dir), 'repository')
  folder = join(root, '.claude/skills/pdf')
  await mkdir(join(folder, 'scripts'), { recursive: true })
  await writeFile(join(folder, 'SKILL.md'), TEXT)
  await writeFile(join(folder, 'scripts/read.py'), '')
})
afterEach(() => contained[Symbol.asyncDispose]())

interface LoadOptions {
  readonly name?: string
  readonly worktree?: WorktreeSpec
  readonly paths?: PathAccess
  readonly deny?: readonly string[]
}

const skill = (): Skill => ({
  name: 'pdf',
  description: 'Reads PDF files.',
  path: join(folder, 'SKILL.md'),
  file: FILE,
  sha256: createHash('sha256').update(TEXT).digest('hex'),
})

async function loadSkill({ name = 'pdf', worktree, paths, deny = [] }: LoadOptions = {}): Promise<ToolCallResult> {
  const box = new Toolbox({ tools: null, deny, skills: [skill()], ...(worktree ? { worktree } : {}) })
  const { signal } = new AbortController()
  return box.run(
    { type: 'tool-call', callId: 'c', name: 'skill', input: { name } },
    {
      callId: 'c',
      cwd: root,
      ...(paths ? { paths } : {}),
      env: {},
      containment: await contained.open(contained.manager.kind),
      timers: new FreezableTimers(),
      signal,
      endSignal: signal,
      output: () => undefined,
    },
  )
}

test('the tool returns the text without the front matter, and the other files', async () => {
  expect(await loadSkill()).toEqual({
    outcome: 'ok',
    content: `Skill pdf, in ${folder}:\n\nRun scripts/read.py.\n\nOther files in its folder:\nscripts/read.py`,
  })
  expect(new Toolbox({ tools: null, deny: [], skills: [skill()] }).effect('skill')).toBe('read')
})

test('without skills there is no such tool, and it can be denied', async () => {
  expect(new Toolbox({ tools: null, deny: [] }).offeredTools().map(({ name }) => name)).not.toContain('skill')
  expect(await loadSkill({ deny: ['skill'] })).toMatchObject({ outcome: 'denied' })
})

test('an unknown name is an error that lists the skills', async () => {
  expect(await loadSkill({ name: 'xls' })).toEqual({ outcome: 'error', content: 'there is no skill "xls"; the skills are: pdf' })
})

test('a changed skill has a note about the change, and a long skill is cut', async () => {
  await writeFile(join(folder, 'SKILL.md'), `${TEXT}${'x'.repeat(50_000)}\nThe end.`)
  await rm(join(folder, 'scripts'), { recursive: true })
  const { content } = await loadSkill()
  expect(Buffer.byteLength(content)).toBeLessThanOrEqual(32 * 1024)
  expect(content).toMatch(/bytes omitted …\]\n.*The end\.\n\nA part of the text is left out/s)
  expect(content).toMatch(/This skill has changed since this process began\.\n\nIts folder has no other files\.$/)
})

test('a skill whose file was removed is an error', async () => {
  await rm(folder, { recursive: true })
  expect(await loadSkill()).toEqual({ outcome: 'error', content: 'the file of the skill pdf does not exist any more' })
})

test('a link in the place of the file is not followed', async () => {
  await rm(join(folder, 'SKILL.md'))
  await symlink('/etc/passwd', join(folder, 'SKILL.md'))
  expect(await loadSkill()).toMatchObject({ outcome: 'error', content: expect.stringContaining('has become a link') })
})

test('links in the folder of the skill are not listed, and a long list is cut', async () => {
  await symlink('/etc/passwd', join(folder, 'passwd'))
  for (let number = 0; number < 120; number += 1) await writeFile(join(folder, `f${number}`), '')
  const { content } = await loadSkill()
  expect(content).not.toContain('passwd')
  expect(content.match(/^f\d+$/gm)?.length).toBe(100)
  expect(content).toMatch(/\[… and more …\]$/)
})

test('a list that leaves out directories is marked as incomplete', async () => {
  for (let number = 0; number < 60; number += 1) await mkdir(join(folder, `d${number}`))
  await writeFile(join(folder, 'd59', 'last'), '')
  expect((await loadSkill()).content).toMatch(/\[… and more …\]$/)
})

test('in a worktree the tool reads the copy of the worktree, or the original if there is no copy', async () => {
  const dir = join(root, '..', 'worktree')
  const worktree: WorktreeSpec = { repository: join(root, '.git'), dir, branch: 'b', base: 'c' }
  expect((await loadSkill({ worktree })).content).toContain(`in ${folder}:`)
  await mkdir(join(dir, '.claude/skills/pdf'), { recursive: true })
  await writeFile(join(dir, FILE), TEXT.replace('Run', 'Start'))
  const { content } = await loadSkill({ worktree })
  expect(content).toContain(`in ${await realpath(dir)}/.claude/skills/pdf:\n\nStart scripts/read.py.`)
})

test('a skill outside of the allowed paths is denied', async () => {
  expect(await loadSkill({ paths: { read: [join(root, 'src')] } })).toMatchObject({ outcome: 'denied', refused: { what: 'paths' } })
  expect(await loadSkill({ paths: { read: [root] } })).toMatchObject({ outcome: 'ok' })
})
