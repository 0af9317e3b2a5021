// File tools that are held to places, on real files: every way out that there is (links, `..`, links on the way, links that
// lead nowhere, a way that changes while it is walked), and that what is inside works as ever.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { link, mkdir, readFile, readdir, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ToolCall } from '../../src/drivers/native/context.ts'
import { Freezer } from '../../src/drivers/native/tools/freezer.ts'
import { Toolbox } from '../../src/drivers/native/tools/toolbox.ts'
import type { CallEnd } from '../../src/drivers/native/tools/toolbox.ts'
import type { Places } from '../../src/kernel/permits.ts'
import { newContained } from '../support/contained.ts'
import type { Contained } from '../support/contained.ts'

let contained: Contained
let cwd: string
let out: string
let places: Places
let opened: ReturnType<Contained['open']>

beforeEach(async () => {
  contained = await newContained()
  opened = contained.open(contained.container.kind)
  cwd = join(contained.dir, 'work')
  out = join(contained.dir, 'out')
  await mkdir(join(cwd, 'src/deep'), { recursive: true })
  await mkdir(out)
  await writeFile(join(out, 'secret'), 'SECRET line')
  await writeFile(join(cwd, 'plain.txt'), 'plain line')
  await writeFile(join(cwd, 'src/a.txt'), 'inside line')
  await symlink(out, join(cwd, 'src/way'))
  await symlink(join(out, 'secret'), join(cwd, 'src/file'))
  await symlink(join(out, 'new'), join(cwd, 'src/nowhere'))
  await symlink('a.txt', join(cwd, 'src/own'))
  places = { read: [cwd], write: [join(cwd, 'src')] }
})
afterEach(() => contained[Symbol.asyncDispose]())

async function run(name: string, input: unknown): Promise<CallEnd> {
  const call: ToolCall = { type: 'tool-call', callId: 'c', name, input }
  const containment = await opened
  const { signal } = new AbortController()
  return new Toolbox({ tools: null, deny: [] }).run(call, { callId: 'call', cwd, places, env: {}, containment, freezer: new Freezer(), signal, ending: signal, output: () => undefined })
}

const refused = (words: string): unknown => ({ outcome: 'denied', content: expect.stringContaining(words), refused: { what: 'paths', detail: expect.stringContaining(words) } })

describe('reading is refused', () => {
  test.each([
    ['by name', 'read', { path: '/etc/passwd' }],
    ['by ..', 'read', { path: '../out/secret' }],
    ['by .. behind a link', 'read', { path: 'src/way/../../../out/secret' }],
    ['through a link to a directory', 'read', { path: 'src/way/secret' }],
    ['through a link to a file', 'read', { path: 'src/file' }],
    ['of a directory', 'ls', { path: '..' }],
    ['of a directory behind a link', 'ls', { path: 'src/way' }],
    ['by a search elsewhere', 'grep', { pattern: 'line', path: '../out' }],
    ['by a search in a linked file', 'grep', { pattern: 'line', path: 'src/file' }],
    ['by a pattern elsewhere', 'glob', { pattern: '*', path: '../out' }],
    ['by a pattern that climbs', 'glob', { pattern: '../out/*' }],
    ['by a pattern that follows a link', 'glob', { pattern: 'src/way/*' }],
    ['of what is to be changed', 'edit', { path: '../out/secret', old_text: 'SECRET', new_text: 'x' }],
  ])('%s', async (_, name, input) => {
    expect(await run(name, input)).toEqual(refused('may not be read: only what is below'))
  })
})

describe('writing is refused', () => {
  test.each([
    ['where only reading is allowed', 'write', { path: 'plain.txt', content: 'x' }, 'may not be written'],
    ['by ..', 'write', { path: 'src/../../out/new', content: 'x' }, 'may not be written'],
    ['through a link to a directory', 'write', { path: 'src/way/new', content: 'x' }, 'may not be written'],
    ['through directories that it would make', 'write', { path: 'src/way/deep/er/new', content: 'x' }, 'may not be written'],
    ['through a link to a file', 'write', { path: 'src/file', content: 'x' }, 'may not be written'],
    ['through a link that leads nowhere', 'write', { path: 'src/nowhere', content: 'x' }, 'it is a link that leads nowhere'],
    ['of a change', 'edit', { path: 'plain.txt', old_text: 'plain', new_text: 'x' }, 'may not be written'],
  ])('%s', async (_, name, input, words) => {
    expect(await run(name, input)).toEqual(refused(words))
    expect(await readdir(out)).toEqual(['secret'])
    expect(await readFile(join(out, 'secret'), 'utf8')).toBe('SECRET line')
    expect(await readFile(join(cwd, 'plain.txt'), 'utf8')).toBe('plain line')
  })

  test('everywhere, where there is no place for it', async () => {
    places = { read: [cwd], write: [] }
    expect(await run('write', { path: 'src/x', content: '' })).toEqual(refused('nothing may'))
  })

  test('of a file with a second name, which keeps what it had', async () => {
    await link(join(out, 'secret'), join(cwd, 'src/second'))
    expect(await run('write', { path: 'src/second', content: 'mine' })).toMatchObject({ outcome: 'ok' })
    expect(await readFile(join(cwd, 'src/second'), 'utf8')).toBe('mine')
    expect(await readFile(join(out, 'secret'), 'utf8')).toBe('SECRET line')
  })
})

describe('what is inside', () => {
  test.each([
    ['read', { path: 'plain.txt' }, 'plain line'],
    ['read', { path: 'src/own' }, 'inside line'],
    ['read', { path: 'src/way/../a.txt' }, 'inside line'],
    ['ls', { path: 'src' }, 'a.txt\ndeep/\nfile\nnowhere\nown\nway'],
    ['glob', { pattern: '**/*.txt' }, 'plain.txt\nsrc/a.txt'],
    ['grep', { pattern: 'line' }, 'plain.txt:1: plain line\nsrc/a.txt:1: inside line'],
    ['edit', { path: 'src/own', old_text: 'inside', new_text: 'new' }, 'replaced 1 place in src/own'],
  ])('%s %j works', async (name, input, content) => {
    expect(await run(name, input)).toEqual({ outcome: 'ok', content })
  })

  test('is written with its directories, keeps its mode, and leaves nothing beside it', async () => {
    await run('write', { path: 'src/x/y/z.sh', content: 'one' })
    expect(await run('write', { path: 'src/x/y/z.sh', content: 'two' })).toMatchObject({ outcome: 'ok' })
    expect(await readFile(join(cwd, 'src/x/y/z.sh'), 'utf8')).toBe('two')
    expect(await readdir(join(cwd, 'src/x/y'))).toEqual(['z.sh'])
    expect((await stat(join(cwd, 'src/x/y/z.sh'))).isFile()).toBe(true)
  })

  test('is written also where the place itself is still to be made', async () => {
    places = { write: [join(cwd, 'build/out')] }
    expect(await run('write', { path: 'build/out/a/b.txt', content: 'x' })).toMatchObject({ outcome: 'ok' })
    expect(await run('write', { path: 'build/other', content: 'x' })).toEqual(refused('may not be written'))
    expect(await run('read', { path: '../out/secret' })).toEqual({ outcome: 'ok', content: 'SECRET line' })
  })
})

test('a way that changes all the time leads out for nobody', async () => {
  const [door, inner] = [join(cwd, 'src/door'), join(cwd, 'src/inner')]
  await mkdir(inner)
  await writeFile(join(inner, 'secret'), 'mine')
  await symlink(out, join(cwd, 'src/lead'))
  await rename(inner, door)
  // In turn a directory of our own and a link that leads out.
  const swap = `const { renameSync, rmSync } = require('node:fs'); const [door, inner, lead] = process.argv.slice(1)
    const mv = (from, to) => { for (;;) try { return renameSync(from, to) } catch { try { rmSync(to, { recursive: true }) } catch {} } }
    console.log('up'); for (;;) { mv(door, inner); mv(lead, door); mv(door, lead); mv(inner, door) }`
  const swapper = spawn(process.execPath, ['-e', swap, door, inner, join(cwd, 'src/lead')], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(swapper.stdout, 'data')
  const seen = { ok: 0, other: 0 }
  const leaked: string[] = []
  try {
    for (let tries = 0; tries < 50_000 && (seen.ok < 30 || seen.other < 30); tries += 1) {
      const read = await run('read', { path: 'src/door/secret' })
      const written = await run('write', { path: `src/door/${tries}`, content: 'x' })
      const list = await run('grep', { pattern: 'SECRET', path: 'src' })
      for (const { outcome } of [read, written]) seen[outcome === 'ok' ? 'ok' : 'other'] += 1
      if ([read, list].some(({ outcome, content }) => outcome === 'ok' && content.includes('SECRET'))) leaked.push(read.content, list.content)
    }
  } finally {
    swapper.kill('SIGKILL')
    await once(swapper, 'exit')
  }
  expect(leaked).toEqual([])
  expect(await readdir(out)).toEqual(['secret'])
  expect(Math.min(seen.ok, seen.other)).toBeGreaterThanOrEqual(30)
})
