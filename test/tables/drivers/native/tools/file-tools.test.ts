// The file tools on real files: their results, their limits, and every refusal. Also which tools an agent has.
import { chmod, link, mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ToolCall } from '../../../../../src/drivers/native/context/context.ts'
import { NATIVE_TOOL_ACCESS, NATIVE_TOOLS } from '../../../../../src/kernel/model/words.ts'
import { FreezableTimers } from '../../../../../src/drivers/common/freezable-timers.ts'
import { Toolbox } from '../../../../../src/drivers/native/tools/toolbox.ts'
import type { ToolCallResult } from '../../../../../src/drivers/native/tools/toolbox.ts'
import { openContainmentHarness } from '../../../../support/agents/containment-harness.ts'
import type { ContainmentHarness } from '../../../../support/agents/containment-harness.ts'

let contained: ContainmentHarness
let dir: string

beforeEach(async () => {
  contained = await openContainmentHarness()
  dir = join(contained.dir, 'work')
  await mkdir(dir)
})
afterEach(() => contained[Symbol.asyncDispose]())

async function runTool(name: string, input: unknown, signal = new AbortController().signal): Promise<ToolCallResult> {
  const call: ToolCall = { type: 'tool-call', callId: 'c', name, input }
  const containment = await contained.open(contained.manager.kind)
  const endSignal = new AbortController().signal
  return new Toolbox({ tools: null, deny: [] }).run(call, {
    callId: 'call',
    cwd: dir,
    env: {},
    containment,
    timers: new FreezableTimers(),
    signal,
    endSignal,
    output: () => undefined,
  })
}

const okResult = (content: unknown): unknown => ({ outcome: 'ok', content })
const errorResult = (message: string): unknown => ({ outcome: 'error', content: expect.stringContaining(message) })

describe('read', () => {
  beforeEach(() => writeFile(join(dir, 'a.txt'), 'one\ntwo\nthree\nfour'))

  test.each([
    [{}, 'one\ntwo\nthree\nfour'],
    [{ offset: 2 }, 'two\nthree\nfour'],
    [{ offset: 2, limit: 2 }, 'two\nthree\n'],
    [{ limit: 1 }, 'one\n'],
    [{ offset: 4, limit: 9 }, 'four'],
  ])('returns the lines that %j selects', async (slice, content) => {
    expect(await runTool('read', { path: 'a.txt', ...slice })).toEqual(okResult(content))
  })

  test.each([
    [{ path: 'a.txt', offset: 6 }, 'the file ends at line 4, before line 6'],
    [{ path: 'no.txt' }, 'ENOENT'],
    [{ path: '.' }, 'is a directory'],
    [{ path: 'fifo' }, 'is not a regular file'],
    [{ path: 'bin' }, 'binary'],
    [{ path: 'a.txt', offset: 0 }, 'invalid input'],
    [{ path: 'a.txt', what: 1 }, 'invalid input'],
    ['a.txt', 'invalid input'],
  ])('%j is refused: %s', async (input, message) => {
    execFileSync('mkfifo', [join(dir, 'fifo')])
    await writeFile(join(dir, 'bin'), Buffer.from([1, 0, 2]))
    expect(await runTool('read', input)).toEqual(errorResult(message))
  })

  test('a large file is returned in parts that fit together, line by line', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index} é\n`)
    await writeFile(join(dir, 'large'), lines.join(''))
    let [offset, text] = [1, '']
    for (let partCount = 0; partCount < 20; partCount += 1) {
      const { content } = await runTool('read', { path: 'large', offset })
      expect(Buffer.byteLength(content)).toBeLessThanOrEqual(32 * 1024)
      const note = /\[… truncated; continue with offset (\d+) …\]$/.exec(content)
      text += note === null ? content : content.slice(0, note.index)
      if (note === null) break
      offset = Number(note[1])
    }
    expect(text).toBe(lines.join(''))
  })

  test('a line without an end is cut', async () => {
    await writeFile(join(dir, 'long'), 'x'.repeat(1_000_000))
    const { content } = await runTool('read', { path: 'long' })
    expect(content).toMatch(/^x+\n\[… truncated within line 1, which is too long …\]$/)
    expect(content.length).toBeLessThanOrEqual(32 * 1024)
  })

  test('an empty file is not an error', async () => {
    await writeFile(join(dir, 'empty'), '')
    expect(await runTool('read', { path: 'empty' })).toEqual(okResult('(no output)'))
  })
})

describe('write', () => {
  test('creates the directories, replaces an existing file, and leaves no other file behind', async () => {
    expect(await runTool('write', { path: 'x/y/z.txt', content: 'é' })).toEqual(okResult('wrote 2 bytes to x/y/z.txt'))
    await chmod(join(dir, 'x/y/z.txt'), 0o751)
    await runTool('write', { path: 'x/y/z.txt', content: 'new' })
    expect(await readFile(join(dir, 'x/y/z.txt'), 'utf8')).toBe('new')
    expect((await stat(join(dir, 'x/y/z.txt'))).mode & 0o777).toBe(0o751)
    expect(await readdir(join(dir, 'x/y'))).toEqual(['z.txt'])
  })

  test('writes through a symbolic link, and keeps a hard link', async () => {
    await writeFile(join(dir, 'real'), 'old')
    await symlink('real', join(dir, 'soft'))
    await link(join(dir, 'real'), join(dir, 'hard'))
    await runTool('write', { path: 'soft', content: 'new' })
    expect(await readFile(join(dir, 'hard'), 'utf8')).toBe('new')
    expect(await readFile(join(dir, 'real'), 'utf8')).toBe('new')
  })

  test('a directory is refused', async () => {
    expect(await runTool('write', { path: '.', content: '' })).toEqual(errorResult('is not a regular file'))
  })
})

describe('edit', () => {
  beforeEach(() => writeFile(join(dir, 'a.txt'), 'a b b'))

  test('replaces a text that occurs once, literally', async () => {
    expect(await runTool('edit', { path: 'a.txt', old_text: 'a ', new_text: '$& $1 ' })).toEqual(okResult('replaced 1 occurrence in a.txt'))
    expect(await readFile(join(dir, 'a.txt'), 'utf8')).toBe('$& $1 b b')
  })

  test('replaces all occurrences if `replace_all` is set', async () => {
    expect(await runTool('edit', { path: 'a.txt', old_text: 'b', new_text: 'c', replace_all: true })).toEqual(
      okResult('replaced 2 occurrences in a.txt'),
    )
    expect(await readFile(join(dir, 'a.txt'), 'utf8')).toBe('a c c')
  })

  test.each([
    [{ old_text: 'z', new_text: '' }, 'old_text was not found in a.txt'],
    [{ old_text: 'b', new_text: '' }, 'old_text occurs 2 times in a.txt'],
    [{ old_text: '', new_text: '' }, 'invalid input'],
  ])('%j is refused: %s', async (input, message) => {
    expect(await runTool('edit', { path: 'a.txt', ...input })).toEqual(errorResult(message))
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
    expect(await runTool('ls', {})).toEqual(okResult('.git/\nb.ts\nbin.ts\nnode_modules/\nsrc/'))
    expect(await runTool('ls', { path: 'nowhere' })).toEqual(errorResult('ENOENT'))
  })

  test('ls stops at a thousand names', async () => {
    await mkdir(join(dir, 'many'))
    await Promise.all(Array.from({ length: 1_001 }, (_, index) => writeFile(join(dir, 'many', `${index}`), '')))
    expect((await runTool('ls', { path: 'many' })).content).toMatch(/more than 1000 entries …\]$/)
  })

  test('glob skips node_modules and .git', async () => {
    expect(await runTool('glob', { pattern: '**/*.ts' })).toEqual(okResult('b.ts\nbin.ts\nsrc/a.ts'))
    expect(await runTool('glob', { pattern: '*.js', path: 'src/in' })).toEqual(okResult('c.js'))
    expect(await runTool('glob', { pattern: '*.py' })).toEqual(okResult('no files match'))
  })

  test('grep returns file, line and text', async () => {
    expect(await runTool('grep', { pattern: 'Word of' })).toEqual(
      okResult('b.ts:2: the Word of b.ts\nsrc/a.ts:2: the Word of src/a.ts\nsrc/in/c.js:2: the Word of src/in/c.js'),
    )
    expect(await runTool('grep', { pattern: 'WORD', ignore_case: true, glob: '**/*.js' })).toEqual(
      okResult('src/in/c.js:2: the Word of src/in/c.js'),
    )
    expect(await runTool('grep', { pattern: '^first$', path: 'b.ts' })).toEqual(okResult('b.ts:1: first'))
    expect(await runTool('grep', { pattern: 'nothing' })).toEqual(okResult('no lines match'))
  })

  test('grep refuses a broken pattern and a missing path', async () => {
    expect(await runTool('grep', { pattern: '(' })).toEqual(errorResult('the pattern cannot be used'))
    expect(await runTool('grep', { pattern: 'x', path: 'nowhere' })).toEqual(errorResult('ENOENT'))
  })

  test('grep stops a pattern that backtracks forever', async () => {
    await writeFile(join(dir, 'b.ts'), `${'a'.repeat(60)}b`)
    expect(await runTool('grep', { pattern: '(a+)+$' })).toEqual(errorResult('takes too long'))
  })

  test('grep stops at two hundred lines', async () => {
    await writeFile(join(dir, 'b.ts'), 'a Word\n'.repeat(300))
    const lines = (await runTool('grep', { pattern: 'Word' })).content.split('\n')
    expect(lines).toHaveLength(201)
    expect(lines.slice(-2)).toEqual(['b.ts:200: a Word', '[… stopped at 200 matches; there may be more …]'])
  })

  test('grep cuts long lines', async () => {
    await writeFile(join(dir, 'b.ts'), 'Word '.repeat(1_000))
    const { content } = await runTool('grep', { pattern: 'Word', path: 'b.ts' })
    expect(content).toBe(`b.ts:1: ${'Word '.repeat(60)}`)
  })

  test.each(['ls', 'glob', 'grep'])('an interrupted %s ends with an error', async (name) => {
    const controller = new AbortController()
    controller.abort()
    expect(await runTool(name, { pattern: '**' }, controller.signal)).toMatchObject({ outcome: 'error' })
  })
})

test('each tool has its effect, and its schema forbids unknown fields', () => {
  const box = new Toolbox({ tools: null, deny: [] })
  expect(box.offeredTools().map(({ name }) => [name, box.effect(name)])).toEqual([
    ['read', 'read'],
    ['write', 'idempotent'],
    ['edit', 'once'],
    ['ls', 'read'],
    ['glob', 'read'],
    ['grep', 'read'],
    ['bash', 'once'],
  ])
  for (const { schema } of box.offeredTools()) expect(schema).toMatchObject({ type: 'object', additionalProperties: false })
  expect(box.offeredTools().find(({ name }) => name === 'bash')?.schema['required']).toEqual(['command'])
})

/** The tools of each agent; `skill` is only for agents with skills. */
const BUILT_IN = NATIVE_TOOLS.filter((name) => name !== 'skill')

test('exactly the tools with read access have the effect `read`', () => {
  const box = new Toolbox({ tools: null, deny: [] })
  for (const tool of BUILT_IN) expect([tool, box.effect(tool) === 'read']).toEqual([tool, NATIVE_TOOL_ACCESS[tool] === 'read'])
})

const RULES: readonly (readonly [tools: readonly string[] | null, deny: readonly string[], allowed: readonly string[]])[] = [
  [null, [], BUILT_IN],
  [null, ['bash', 'Write'], ['read', 'edit', 'ls', 'glob', 'grep']],
  [['Read', 'Grep', 'Task'], [], ['read', 'grep']],
  [['read'], ['READ'], []],
  [[], [], []],
]

test.each(RULES)('with the allowed tools %j and the denied tools %j the agent has %j', (tools, deny, allowed) => {
  expect(new Toolbox({ tools, deny }).offeredTools().map(({ name }) => name)).toEqual(allowed)
})
