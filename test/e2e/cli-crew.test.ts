// `reeve crew` on a real daemon: what the members are told, and what is said of words that name nothing.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCli, type CliResult } from '../support/cli.ts'
import { LocalDaemon } from '../support/local-daemon.ts'

let daemon: LocalDaemon
beforeEach(async () => {
  daemon = await LocalDaemon.start()
})
afterEach(async () => {
  await daemon[Symbol.asyncDispose]()
  expect(daemon.errors).toEqual([])
})

const reeve = (...args: string[]): Promise<CliResult> => runCli(daemon.home, args, { cwd: daemon.work })

describe('roles', () => {
  test('each with where it comes from, one of them as it is', async () => {
    mkdirSync(join(daemon.work, '.reeve/roles'), { recursive: true })
    writeFileSync(join(daemon.work, '.reeve/roles/reviewer.md'), 'Be kind.\n')
    const { code, stdout } = await reeve('crew', 'roles')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ROLE +SOURCE +FILE$/m)
    expect(stdout).toMatch(/^implementer +built-in +-$/m)
    expect(stdout).toMatch(/^reviewer +project +\/.*reviewer\.md$/m)
    expect((await reeve('crew', 'roles', 'reviewer')).stdout).toBe('Be kind.\n')
    expect(JSON.parse((await reeve('crew', 'roles', 'reviewer', '--json')).stdout)).toMatchObject({ version: 1, role: 'reviewer', source: 'project', prompt: 'Be kind.' })
    expect(await reeve('crew', 'roles', 'reviwer')).toMatchObject({ code: 64, stderr: 'reeve: there is no role "reviwer"\n       Did you mean reviewer?\n' })
    writeFileSync(join(daemon.work, '.reeve/roles/reviewer.md'), '')
    expect(await reeve('crew', 'roles')).toMatchObject({ code: 64, stderr: expect.stringMatching(/reviewer\.md:1: it is empty/) })
  })
})

test('the family lists its parts, and names the nearest of one that there is not', async () => {
  expect((await reeve('crew')).stdout).toMatch(/^reeve crew roles +show what/m)
  expect(await reeve('crew', 'rolse')).toMatchObject({ code: 64, stderr: 'reeve: no verb "crew rolse"\n       Did you mean `reeve crew roles`?\n' })
  expect((await reeve('crew', 'roles', '--help')).stdout).toContain('reeve crew roles [ROLE]')
  expect((await reeve('help', 'crew', 'roles')).stdout).toContain('reeve crew roles [ROLE]')
})
