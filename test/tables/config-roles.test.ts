// Which prompt a role has: the nearest of the project, the user's, the built-in one; and that the built-in ones say what each must.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { rolePrompt, ROLES } from '../../src/config/roles.ts'
import { tempDir, type TempDir } from '../support/tmp.ts'

let dir: TempDir
beforeEach(async () => { dir = await tempDir() })
afterEach(() => dir[Symbol.asyncDispose]())

const put = (path: string, text: string): string => {
  const file = join(dir.path, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text)
  return file
}
const asked = (role: 'reviewer' | 'generic' = 'reviewer') => rolePrompt(role, join(dir.path, 'project/deep'), { agentsDir: join(dir.path, 'home/agents') })

describe('where it comes from', () => {
  beforeEach(() => { mkdirSync(join(dir.path, 'project/deep'), { recursive: true }) })

  test('nobody wrote one: the built-in words', async () => {
    expect(await asked()).toMatchObject({ role: 'reviewer', source: 'built-in', file: null, prompt: expect.stringContaining('You are a reviewer') })
  })

  test("the user's, then the project's, the nearest first; other roles stay as they are", async () => {
    const user = put('home/roles/reviewer.md', '\uFEFFby the user\n')
    expect(await asked()).toEqual({ role: 'reviewer', source: 'user', file: user, prompt: 'by the user' })
    const project = put('project/.reeve/roles/reviewer.md', '---\nno: front matter\n---\n')
    expect(await asked()).toEqual({ role: 'reviewer', source: 'project', file: project, prompt: '---\nno: front matter\n---' })
    const near = put('project/deep/.reeve/roles/reviewer.md', 'near')
    expect(await asked()).toMatchObject({ file: near, prompt: 'near' })
    expect(await asked('generic')).toMatchObject({ source: 'built-in' })
  })

  test('one without a byte is none: the shell makes it before what it is to have is asked for', async () => {
    put('project/.reeve/roles/reviewer.md', '')
    expect(await asked()).toMatchObject({ source: 'built-in' })
  })

  test('an empty one is an error, not a role without words', async () => {
    const file = put('project/.reeve/roles/reviewer.md', ' \n\n')
    await expect(asked()).rejects.toMatchObject({ code: 'AGENT_INVALID', message: `${file}:1: it is empty: write what the role does, or remove it` })
  })
})

describe('the built-in words', () => {
  const CLOSING = ['post_message', 'report_implementation_complete', 'report_review_verdict', 'signal_ready']
  const OF: Readonly<Record<string, readonly string[]>> = {
    implementer: ['post_message', 'report_implementation_complete', 'signal_ready'], researcher: ['post_message', 'report_implementation_complete', 'signal_ready'],
    reviewer: ['post_message', 'report_review_verdict', 'signal_ready'], generic: CLOSING, coordinator: [],
  }

  test.each(ROLES)('of a %s name each tool that can end its turn, and no other', async (role) => {
    const { prompt } = await rolePrompt(role, dir.path, { agentsDir: join(dir.path, 'agents') })
    const ending = prompt.split('## How each turn ends')[1] ?? ''
    expect(CLOSING.filter((tool) => ending.includes(`\`${tool}\``))).toEqual(OF[role])
    expect(prompt).toContain('the server `reeve`')
  })
})
