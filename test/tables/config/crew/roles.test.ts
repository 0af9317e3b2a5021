// The prompt of a role: the project's nearest file, the user's file, or the built-in prompt; and the contents of the built-in prompts.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readRolePrompt, ROLES } from '../../../../src/config/crew/roles.ts'
import { tempDir, type TempDir } from '../../../support/tmp.ts'

let dir: TempDir
beforeEach(async () => {
  dir = await tempDir()
})
afterEach(() => dir[Symbol.asyncDispose]())

const writeRole = (path: string, text: string): string => {
  const file = join(dir.path, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text)
  return file
}
const findPrompt = (role: 'reviewer' | 'generic' = 'reviewer') =>
  readRolePrompt(role, join(dir.path, 'project/deep'), { agentsDir: join(dir.path, 'home/agents') })

describe('the source of a prompt', () => {
  beforeEach(() => {
    mkdirSync(join(dir.path, 'project/deep'), { recursive: true })
  })

  test('is the built-in prompt without a file', async () => {
    expect(await findPrompt()).toMatchObject({
      role: 'reviewer',
      source: 'built-in',
      file: null,
      prompt: expect.stringContaining('You are a reviewer'),
    })
  })

  test("is the nearest file of the project, else the user's file; other roles are unaffected", async () => {
    const user = writeRole('home/roles/reviewer.md', '\uFEFFby the user\n')
    expect(await findPrompt()).toEqual({ role: 'reviewer', source: 'user', file: user, prompt: 'by the user' })
    const project = writeRole('project/.reeve/roles/reviewer.md', '---\nno: front matter\n---\n')
    expect(await findPrompt()).toEqual({ role: 'reviewer', source: 'project', file: project, prompt: '---\nno: front matter\n---' })
    const nearest = writeRole('project/deep/.reeve/roles/reviewer.md', 'near')
    expect(await findPrompt()).toMatchObject({ file: nearest, prompt: 'near' })
    expect(await findPrompt('generic')).toMatchObject({ source: 'built-in' })
  })

  test('is never a file of 0 bytes, because the shell creates such a file before a prompt is printed into it', async () => {
    writeRole('project/.reeve/roles/reviewer.md', '')
    expect(await findPrompt()).toMatchObject({ source: 'built-in' })
  })

  test('cannot be a blank file, which is an error', async () => {
    const file = writeRole('project/.reeve/roles/reviewer.md', ' \n\n')
    await expect(findPrompt()).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: `${file}:1: the file is empty: write the prompt of the role, or remove the file`,
    })
  })
})

describe('the built-in prompts', () => {
  const CLOSING = ['post_message', 'report_implementation_complete', 'report_review_verdict', 'signal_ready']
  const TOOLS_BY_ROLE: Readonly<Record<string, readonly string[]>> = {
    implementer: ['post_message', 'report_implementation_complete', 'signal_ready'],
    researcher: ['post_message', 'report_implementation_complete', 'signal_ready'],
    reviewer: ['post_message', 'report_review_verdict', 'signal_ready'],
    generic: CLOSING,
    coordinator: [],
  }

  test.each(ROLES)('the prompt of a %s names each tool that can end its turn, and no other', async (role) => {
    const { prompt } = await readRolePrompt(role, dir.path, { agentsDir: join(dir.path, 'agents') })
    const ending = prompt.split('## How to end a turn')[1] ?? ''
    expect(CLOSING.filter((tool) => ending.includes(`\`${tool}\``))).toEqual(TOOLS_BY_ROLE[role])
    expect(prompt).toContain('the MCP server `reeve`')
  })
})
