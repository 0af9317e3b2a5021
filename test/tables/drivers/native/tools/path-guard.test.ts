// File tools with limited paths, on real files. Neither `..` nor a link, a broken link, or a path that changes during the call leads out
// of the allowed paths. Allowed paths work as usual.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { link, mkdir, readFile, readdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ToolCall } from '../../../../../src/drivers/native/context/context.ts'
import { FreezableTimers } from '../../../../../src/drivers/common/freezable-timers.ts'
import { Toolbox } from '../../../../../src/drivers/native/tools/toolbox.ts'
import type { ToolCallResult } from '../../../../../src/drivers/native/tools/toolbox.ts'
import { openContainmentHarness } from '../../../../support/agents/containment-harness.ts'
import type { ContainmentHarness } from '../../../../support/agents/containment-harness.ts'
import type { PathAccess } from '../../../../../src/kernel/model/spec-parts.ts'

let contained: ContainmentHarness
let cwd: string
let outside: string
let paths: PathAccess
let openedContainment: ReturnType<ContainmentHarness['open']>

beforeEach(async () => {
  contained = await openContainmentHarness()
  openedContainment = contained.open(contained.manager.kind)
  cwd = join(contained.dir, 'work')
  outside = join(contained.dir, 'out')
  await mkdir(join(cwd, 'src/deep'), { recursive: true })
  await mkdir(outside)
  await writeFile(join(outside, 'secret'), 'SECRET line')
  await writeFile(join(cwd, 'plain.txt'), 'plain line')
  await writeFile(join(cwd, 'src/a.txt'), 'inside line')
  await symlink(outside, join(cwd, 'src/way'))
  await symlink(join(outside, 'secret'), join(cwd, 'src/file'))
  await symlink(join(outside, 'new'), join(cwd, 'src/nowhere'))
  await symlink('a.txt', join(cwd, 'src/own'))
  paths = { read: [cwd], write: [join(cwd, 'src')] }
})
afterEach(() => contained[Symbol.asyncDispose]())

async function runTool(name: string, input: unknown): Promise<ToolCallResult> {
  const call: ToolCall = { type: 'tool-call', callId: 'c', name, input }
  const containment = await openedContainment
  const { signal } = new AbortController()
  return new Toolbox({ tools: null, deny: [] }).run(call, {
    callId: 'call',
    cwd,
    paths,
    env: {},
    containment,
    timers: new FreezableTimers(),
    signal,
    endSignal: signal,
    output: () => undefined,
  })
}

const refusal = (message: string): unknown => ({
  outcome: 'denied',
  content: expect.stringContaining(message),
  refused: { what: 'paths', detail: expect.stringContaining(message) },
})

describe('reading is refused', () => {
  test.each([
    ['by an absolute path', 'read', { path: '/etc/passwd' }],
    ['by ..', 'read', { path: '../out/secret' }],
    ['by .. behind a link', 'read', { path: 'src/way/../../../out/secret' }],
    ['through a link to a directory', 'read', { path: 'src/way/secret' }],
    ['through a link to a file', 'read', { path: 'src/file' }],
    ['of a directory above', 'ls', { path: '..' }],
    ['of a directory behind a link', 'ls', { path: 'src/way' }],
    ['by a search in another directory', 'grep', { pattern: 'line', path: '../out' }],
    ['by a search in a linked file', 'grep', { pattern: 'line', path: 'src/file' }],
    ['by a pattern in another directory', 'glob', { pattern: '*', path: '../out' }],
    ['by a pattern with ..', 'glob', { pattern: '../out/*' }],
    ['by a pattern that follows a link', 'glob', { pattern: 'src/way/*' }],
    ['by an edit, which reads first', 'edit', { path: '../out/secret', old_text: 'SECRET', new_text: 'x' }],
  ])('%s', async (_, name, input) => {
    expect(await runTool(name, input)).toEqual(refusal('may not be read: only what is below'))
  })
})

describe('writing is refused', () => {
  test.each([
    ['where only reading is allowed', 'write', { path: 'plain.txt', content: 'x' }, 'may not be written'],
    ['by ..', 'write', { path: 'src/../../out/new', content: 'x' }, 'may not be written'],
    ['through a link to a directory', 'write', { path: 'src/way/new', content: 'x' }, 'may not be written'],
    ['through directories that the call would create', 'write', { path: 'src/way/deep/er/new', content: 'x' }, 'may not be written'],
    ['through a link to a file', 'write', { path: 'src/file', content: 'x' }, 'may not be written'],
    ['through a link that leads nowhere', 'write', { path: 'src/nowhere', content: 'x' }, 'it is a link that leads nowhere'],
    ['by an edit', 'edit', { path: 'plain.txt', old_text: 'plain', new_text: 'x' }, 'may not be written'],
  ])('%s', async (_, name, input, message) => {
    expect(await runTool(name, input)).toEqual(refusal(message))
    expect(await readdir(outside)).toEqual(['secret'])
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('SECRET line')
    expect(await readFile(join(cwd, 'plain.txt'), 'utf8')).toBe('plain line')
  })

  test.each([
    ['a file of the repository', 'src/.git/config'],
    ['the file of a worktree', 'src/.git'],
    ['a file of a repository deep below', 'src/deep/er/.git/hooks/pre-commit'],
    ['a path in another case', 'src/.GIT/config'],
    ['by a name that a file system folds', 'src/.g\u200cit/config'],
    ['by a short name', 'src/GIT~1/config'],
    ['by ..', 'src/deep/../.git/config'],
    ['through a link to the directory', 'src/link/config'],
    ['through a link to a file of the repository', 'src/conf'],
    ['a file of a bare repository', 'src/bare/config'],
    ['a file deep in a bare repository', 'src/bare/hooks/pre-commit'],
  ])("for git's own files: %s", async (_, path) => {
    await mkdir(join(cwd, 'src/.git'))
    await writeFile(join(cwd, 'src/.git/config'), 'old')
    await symlink('.git', join(cwd, 'src/link'))
    await symlink('.git/config', join(cwd, 'src/conf'))
    for (const name of ['objects', 'refs']) await mkdir(join(cwd, 'src/bare', name), { recursive: true })
    await writeFile(join(cwd, 'src/bare/HEAD'), 'ref: refs/heads/main')
    expect(await runTool('write', { path, content: 'x' })).toEqual(refusal("it belongs to git's own files"))
    expect([await readFile(join(cwd, 'src/.git/config'), 'utf8'), await readdir(join(cwd, 'src/bare'))]).toEqual([
      'old',
      ['HEAD', 'objects', 'refs'],
    ])
    paths = { read: [cwd], write: [join(cwd, 'src'), join(cwd, 'src/.git'), join(cwd, 'src/bare')] }
    if (/^src\/(\.git|bare)\//.test(path))
      expect(await runTool('write', { path, content: 'named' }), 'the allowed paths name it').toMatchObject({ outcome: 'ok' })
  })

  test('everywhere, if no path is writable', async () => {
    paths = { read: [cwd], write: [] }
    expect(await runTool('write', { path: 'src/x', content: '' })).toEqual(refusal('no path may be written'))
  })

  test('to a hard link replaces only this name, and the other name keeps its content', async () => {
    await link(join(outside, 'secret'), join(cwd, 'src/second'))
    expect(await runTool('write', { path: 'src/second', content: 'mine' })).toMatchObject({ outcome: 'ok' })
    expect(await readFile(join(cwd, 'src/second'), 'utf8')).toBe('mine')
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('SECRET line')
  })
})

describe('an allowed path', () => {
  test.each([
    ['read', { path: 'plain.txt' }, 'plain line'],
    ['read', { path: 'src/own' }, 'inside line'],
    ['read', { path: 'src/way/../a.txt' }, 'inside line'],
    ['ls', { path: 'src' }, 'a.txt\ndeep/\nfile\nnowhere\nown\nway'],
    ['glob', { pattern: '**/*.txt' }, 'plain.txt\nsrc/a.txt'],
    ['grep', { pattern: 'line' }, 'plain.txt:1: plain line\nsrc/a.txt:1: inside line'],
    ['edit', { path: 'src/own', old_text: 'inside', new_text: 'new' }, 'replaced 1 occurrence in src/own'],
  ])('%s %j works', async (name, input, content) => {
    expect(await runTool(name, input)).toEqual({ outcome: 'ok', content })
  })

  test('is written with its directories, and leaves no temporary file', async () => {
    await runTool('write', { path: 'src/x/y/z.sh', content: 'one' })
    expect(await runTool('write', { path: 'src/x/y/z.sh', content: 'two' })).toMatchObject({ outcome: 'ok' })
    expect(await readFile(join(cwd, 'src/x/y/z.sh'), 'utf8')).toBe('two')
    expect(await readdir(join(cwd, 'src/x/y'))).toEqual(['z.sh'])
  })

  test('is written even if the allowed directory does not exist yet', async () => {
    paths = { write: [join(cwd, 'build/out')] }
    expect(await runTool('write', { path: 'build/out/a/b.txt', content: 'x' })).toMatchObject({ outcome: 'ok' })
    expect(await runTool('write', { path: 'build/other', content: 'x' })).toEqual(refusal('may not be written'))
    expect(await runTool('read', { path: '../out/secret' })).toEqual({ outcome: 'ok', content: 'SECRET line' })
  })
})

test('a path that keeps changing never leads out of the allowed paths', async () => {
  const [door, inner] = [join(cwd, 'src/door'), join(cwd, 'src/inner')]
  await mkdir(inner)
  await writeFile(join(inner, 'secret'), 'mine')
  await symlink(outside, join(cwd, 'src/lead'))
  await rename(inner, door)
  // Alternates between a directory within the allowed paths and a link that leads out.
  const swap = `const { renameSync, rmSync } = require('node:fs'); const [door, inner, lead] = process.argv.slice(1)
    const mv = (from, to) => { for (;;) try { return renameSync(from, to) } catch { try { rmSync(to, { recursive: true }) } catch {} } }
    console.log('up'); for (;;) { mv(door, inner); mv(lead, door); mv(door, lead); mv(inner, door) }`
  const swapper = spawn(process.execPath, ['-e', swap, door, inner, join(cwd, 'src/lead')], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(swapper.stdout, 'data')
  const counts = { ok: 0, other: 0 }
  const leaked: string[] = []
  try {
    for (let tries = 0; tries < 50_000 && (counts.ok < 30 || counts.other < 30); tries += 1) {
      const read = await runTool('read', { path: 'src/door/secret' })
      const written = await runTool('write', { path: `src/door/${tries}`, content: 'x' })
      const list = await runTool('grep', { pattern: 'SECRET', path: 'src' })
      for (const { outcome } of [read, written]) counts[outcome === 'ok' ? 'ok' : 'other'] += 1
      if ([read, list].some(({ outcome, content }) => outcome === 'ok' && content.includes('SECRET')))
        leaked.push(read.content, list.content)
    }
  } finally {
    swapper.kill('SIGKILL')
    await once(swapper, 'exit')
  }
  expect(leaked).toEqual([])
  expect(await readdir(outside)).toEqual(['secret'])
  expect(Math.min(counts.ok, counts.other)).toBeGreaterThanOrEqual(30)
})
