// The file tools on real files: what they give, their bounds, and every way in which they refuse.
import { chmod, link, mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ToolCall } from '../../src/drivers/native/context.ts'
import { Freezer } from '../../src/drivers/native/tools/freezer.ts'
import { Toolbox } from '../../src/drivers/native/tools/toolbox.ts'
import type { CallEnd } from '../../src/drivers/native/tools/toolbox.ts'
import { newContained } from '../support/contained.ts'
import type { Contained } from '../support/contained.ts'

let contained: Contained
let dir: string

beforeEach(async () => {
  contained = await newContained()
  dir = join(contained.dir, 'work')
  await mkdir(dir)
})
afterEach(() => contained[Symbol.asyncDispose]())

async function run(name: string, input: unknown, signal = new AbortController().signal): Promise<CallEnd> {
  const call: ToolCall = { type: 'tool-call', callId: 'c', name, input }
  const containment = await contained.open(contained.container.kind)
  const ending = new AbortController().signal
  return new Toolbox({ tools: null, deny: [] }).run(call, { callId: 'call', cwd: dir, env: {}, containment, freezer: new Freezer(), signal, ending, output: () => undefined })
}

const ok = (content: unknown): unknown => ({ outcome: 'ok', content })
const error = (words: string): unknown => ({ outcome: 'error', content: expect.stringContaining(words) })

describe('read', () => {
  beforeEach(() => writeFile(join(dir, 'a.txt'), 'one\ntwo\nthree\nfour'))

  test.each([
    [{}, 'one\ntwo\nthree\nfour'],
    [{ offset: 2 }, 'two\nthree\nfour'],
    [{ offset: 2, limit: 2 }, 'two\nthree\n'],
    [{ limit: 1 }, 'one\n'],
    [{ offset: 4, limit: 9 }, 'four'],
  ])('%j', async (slice, content) => {
    expect(await run('read', { path: 'a.txt', ...slice })).toEqual(ok(content))
  })

  test.each([
    [{ path: 'a.txt', offset: 6 }, 'the file ends at line 4, before line 6'],
    [{ path: 'no.txt' }, 'ENOENT'],
    [{ path: '.' }, 'is a directory'],
    [{ path: 'fifo' }, 'is not a regular file'],
    [{ path: 'bin' }, 'binary'],
    [{ path: 'a.txt', offset: 0 }, 'does not fit'],
    [{ path: 'a.txt', what: 1 }, 'does not fit'],
    ['a.txt', 'does not fit'],
  ])('%j is refused: %s', async (input, words) => {
    execFileSync('mkfifo', [join(dir, 'fifo')])
    await writeFile(join(dir, 'bin'), Buffer.from([1, 0, 2]))
    expect(await run('read', input)).toEqual(error(words))
  })

  test('a large file comes in parts that fit together, line by line', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index} é\n`)
    await writeFile(join(dir, 'large'), lines.join(''))
    let [offset, text] = [1, '']
    for (let parts = 0; parts < 20; parts += 1) {
      const { content } = await run('read', { path: 'large', offset })
      expect(Buffer.byteLength(content)).toBeLessThanOrEqual(32 * 1024)
      const note = /\[… cut here; go on with offset (\d+) …\]$/.exec(content)
      text += note === null ? content : content.slice(0, note.index)
      if (note === null) break
      offset = Number(note[1])
    }
    expect(text).toBe(lines.join(''))
  })

  test('a line without an end is cut', async () => {
    await writeFile(join(dir, 'long'), 'x'.repeat(1_000_000))
    const { content } = await run('read', { path: 'long' })
    expect(content).toMatch(/^x+\n\[… cut inside line 1, which is too long …\]$/)
    expect(content.length).toBeLessThanOrEqual(32 * 1024)
  })

  test('an empty file is no error', async () => {
    await writeFile(join(dir, 'empty'), '')
    expect(await run('read', { path: 'empty' })).toEqual(ok('(no output)'))
  })
})

describe('write', () => {
  test('makes the directories, replaces what was there, and leaves nothing beside it', async () => {
    expect(await run('write', { path: 'x/y/z.txt', content: 'é' })).toEqual(ok('wrote 2 bytes to x/y/z.txt'))
    await chmod(join(dir, 'x/y/z.txt'), 0o751)
    await run('write', { path: 'x/y/z.txt', content: 'new' })
    expect(await readFile(join(dir, 'x/y/z.txt'), 'utf8')).toBe('new')
    expect((await stat(join(dir, 'x/y/z.txt'))).mode & 0o777).toBe(0o751)
    expect(await readdir(join(dir, 'x/y'))).toEqual(['z.txt'])
  })

  test('follows a link, and keeps a hard link', async () => {
    await writeFile(join(dir, 'real'), 'old')
    await symlink('real', join(dir, 'soft'))
    await link(join(dir, 'real'), join(dir, 'hard'))
    await run('write', { path: 'soft', content: 'new' })
    expect(await readFile(join(dir, 'hard'), 'utf8')).toBe('new')
    expect(await readFile(join(dir, 'real'), 'utf8')).toBe('new')
  })

  test('a directory is refused', async () => {
    expect(await run('write', { path: '.', content: '' })).toEqual(error('is not a regular file'))
  })
})

describe('edit', () => {
  beforeEach(() => writeFile(join(dir, 'a.txt'), 'a b b'))

  test('replaces what is there once, literally', async () => {
    expect(await run('edit', { path: 'a.txt', old_text: 'a ', new_text: '$& $1 ' })).toEqual(ok('replaced 1 place in a.txt'))
    expect(await readFile(join(dir, 'a.txt'), 'utf8')).toBe('$& $1 b b')
  })

  test('replaces all when asked', async () => {
    expect(await run('edit', { path: 'a.txt', old_text: 'b', new_text: 'c', replace_all: true })).toEqual(ok('replaced 2 places in a.txt'))
    expect(await readFile(join(dir, 'a.txt'), 'utf8')).toBe('a c c')
  })

  test.each([
    [{ old_text: 'z', new_text: '' }, 'old_text is not in a.txt'],
    [{ old_text: 'b', new_text: '' }, 'old_text is 2 times in a.txt'],
    [{ old_text: '', new_text: '' }, 'does not fit'],
  ])('%j is refused: %s', async (input, words) => {
    expect(await run('edit', { path: 'a.txt', ...input })).toEqual(error(words))
    expect(await readFile(join(dir, 'a.txt'), 'utf8')).toBe('a b b')
  })
})

describe('search', () => {
  beforeEach(async () => {
    await Promise.all(['src/in', 'node_modules/m', '.git'].map((name) => mkdir(join(dir, name), { recursive: true })))
    const files = ['b.ts', 'src/a.ts', 'src/in/c.js', 'node_modules/m/d.ts', '.git/e.ts']
    await Promise.all(files.map((name) => writeFile(join(dir, name), `first\nthe Word of ${name}\n`)))
    await writeFile(join(dir, 'bin.ts'), Buffer.from('Word\0'))
    await symlink('..', join(dir, 'src/loop'))
  })

  test('ls sorts, and marks directories', async () => {
    expect(await run('ls', {})).toEqual(ok('.git/\nb.ts\nbin.ts\nnode_modules/\nsrc/'))
    expect(await run('ls', { path: 'nowhere' })).toEqual(error('ENOENT'))
  })

  test('ls stops at a thousand names', async () => {
    await mkdir(join(dir, 'many'))
    await Promise.all(Array.from({ length: 1_001 }, (_, index) => writeFile(join(dir, 'many', `${index}`), '')))
    expect((await run('ls', { path: 'many' })).content).toMatch(/there are more than 1000 …\]$/)
  })

  test('glob passes over node_modules and .git', async () => {
    expect(await run('glob', { pattern: '**/*.ts' })).toEqual(ok('b.ts\nbin.ts\nsrc/a.ts'))
    expect(await run('glob', { pattern: '*.js', path: 'src/in' })).toEqual(ok('c.js'))
    expect(await run('glob', { pattern: '*.py' })).toEqual(ok('no file fits'))
  })

  test('grep gives file, line and text', async () => {
    expect(await run('grep', { pattern: 'Word of' })).toEqual(ok('b.ts:2: the Word of b.ts\nsrc/a.ts:2: the Word of src/a.ts\nsrc/in/c.js:2: the Word of src/in/c.js'))
    expect(await run('grep', { pattern: 'WORD', ignore_case: true, glob: '**/*.js' })).toEqual(ok('src/in/c.js:2: the Word of src/in/c.js'))
    expect(await run('grep', { pattern: '^first$', path: 'b.ts' })).toEqual(ok('b.ts:1: first'))
    expect(await run('grep', { pattern: 'nothing' })).toEqual(ok('no line fits'))
  })

  test('grep refuses a broken pattern and a place that is not there', async () => {
    expect(await run('grep', { pattern: '(' })).toEqual(error('the pattern cannot be used'))
    expect(await run('grep', { pattern: 'x', path: 'nowhere' })).toEqual(error('ENOENT'))
  })

  test('grep stops a pattern that backtracks for ever', async () => {
    await writeFile(join(dir, 'b.ts'), `${'a'.repeat(60)}b`)
    expect(await run('grep', { pattern: '(a+)+$' })).toEqual(error('takes too long'))
  })

  test('grep stops at two hundred lines', async () => {
    await writeFile(join(dir, 'b.ts'), 'a Word\n'.repeat(300))
    const lines = (await run('grep', { pattern: 'Word' })).content.split('\n')
    expect(lines).toHaveLength(201)
    expect(lines.slice(-2)).toEqual(['b.ts:200: a Word', '[… there may be more than 200 …]'])
  })

  test('grep cuts long lines', async () => {
    await writeFile(join(dir, 'b.ts'), 'Word '.repeat(1_000))
    const { content } = await run('grep', { pattern: 'Word', path: 'b.ts' })
    expect(content).toBe(`b.ts:1: ${'Word '.repeat(60)}`)
  })

  test.each(['ls', 'glob', 'grep'])('%s ends when it is interrupted, and may be repeated', async (name) => {
    const controller = new AbortController()
    controller.abort()
    expect(await run(name, { pattern: '**' }, controller.signal)).toMatchObject({ outcome: 'error' })
  })
})

test('each tool has a schema that forbids what it does not know', () => {
  const box = new Toolbox({ tools: null, deny: [] })
  expect(box.offered().map(({ name }) => [name, box.effect(name)])).toEqual([
    ['read', 'read'], ['write', 'idempotent'], ['edit', 'once'], ['ls', 'read'], ['glob', 'read'], ['grep', 'read'], ['bash', 'once'],
  ])
  for (const { schema } of box.offered()) expect(schema).toMatchObject({ type: 'object', additionalProperties: false })
  expect(box.offered().find(({ name }) => name === 'bash')?.schema['required']).toEqual(['command'])
})

const RULES: readonly (readonly [tools: readonly string[] | null, deny: readonly string[], allowed: readonly string[]])[] = [
  [null, [], ['read', 'write', 'edit', 'ls', 'glob', 'grep', 'bash']],
  [null, ['bash', 'Write'], ['read', 'edit', 'ls', 'glob', 'grep']],
  [['Read', 'Grep', 'Task'], [], ['read', 'grep']],
  [['read'], ['READ'], []],
  [[], [], []],
]

test.each(RULES)('allowed %j, denied %j: %j', (tools, deny, allowed) => {
  expect(new Toolbox({ tools, deny }).offered().map(({ name }) => name)).toEqual(allowed)
})

test('a time limit stands still while it is frozen', async () => {
  const freezer = new Freezer()
  const due = Promise.withResolvers<string>()
  const end = freezer.deadline(40, () => due.resolve('due'))
  freezer.set(true)
  const later = new Promise((resolve) => setTimeout(() => resolve('later'), 120)) // a timer that runs fires after a shorter one
  expect(await Promise.race([due.promise, later])).toBe('later')
  freezer.set(false)
  expect(await due.promise).toBe('due')
  end()
})
