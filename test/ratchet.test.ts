// What must hold for the sources as a whole: purity, arrows, where programs are started, sizes, nothing dead, nothing private.
// The lists of exceptions are a ratchet: an entry that is no longer needed fails the test, so they only get shorter.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { errorsPage } from '../scripts/docs.ts'
import { ROOT } from './support/env.ts'
import { blank, functions, read, sources, type Import, type Source } from './support/source.ts'

const src = sources('src', '.ts')
const others = ['test', 'scripts', 'bench', 'examples'].flatMap((dir) => (existsSync(join(ROOT, dir)) ? sources(dir, '.ts', '.mjs') : []))
const all = [...src, ...others]
const ENTRIES = ['src/cli/main.ts', 'src/cli/ps-main.ts', 'src/daemon/main.ts', 'src/index.ts']
const PURE = ['kernel', 'supervise', 'crew']

/** Longer than the cap, each with its length: may shrink, never grow. */
const LONG_FILES: Readonly<Record<string, number>> = {}
const LONG_FUNCTIONS: Readonly<Record<string, number>> = {}
const MAX_FILE_LINES = 400
/** Tables of every case are long by nature. */
const MAX_TEST_LINES = 800
const MAX_FUNCTION_LINES = 70

/** The part that a file belongs to: its folder under src, or its own name. */
function part(path: string): string {
  return path.split('/')[1] ?? ''
}

function hits(files: readonly Source[], pattern: RegExp, where: 'raw' | 'text' | 'code' = 'code'): string[] {
  return files.flatMap((file) => file[where].split('\n').flatMap((line, index) => (pattern.test(line) ? [`${file.path}:${index + 1}: ${line.trim()}`] : [])))
}

describe('the scanner', () => {
  test.each([
    ["a // b 'c'\nd", "a         \nd"],
    ["x('a // b')", "x(        )"],
    ['x(`a ${b ? `c ${d}` : {e: 1}} f`) // g', 'x(     b ?      d   : {e: 1}    )     '],
    ['return /a\\/[/"]b/.test(c) / 2', 'return           .test(c) / 2'],
    ["it('isn\\'t') /* 'x\n' */ y", 'it(        )      \n     y'],
  ])('%j', (raw, code) => {
    expect(blank(raw, ['comment', 'string', 'regex'])).toBe(code)
  })
})

describe('purity', () => {
  const pure = src.filter((file) => PURE.includes(part(file.path)))

  test('pure folders import nothing but each other', () => {
    expect(pure.flatMap((file) => file.imports.filter((one) => !one.local || !PURE.includes(part(one.from))).map((one) => `${file.path} → ${one.from}`))).toEqual([])
  })

  test('pure folders know no time, chance or I/O', () => {
    const impure = /\b(Date|performance|crypto|setTimeout|setInterval|setImmediate|queueMicrotask|fetch|console|globalThis|Buffer|require|async|await|Promise)\b|\bMath\.random\b|\bprocess\.(env|argv|hrtime|nextTick|exit|on|once|kill|cwd|stdout|stderr|platform|uptime)\b|\bimport\(/
    expect(hits(pure, impure)).toEqual([])
  })

  test('each pure folder has a tsconfig without types', () => {
    const folders = [...new Set(pure.map((file) => dirname(file.path).split('/').slice(0, 2).join('/')))]
    expect(folders).toContain('src/kernel')
    for (const folder of folders) expect(readFileSync(join(ROOT, folder, 'tsconfig.json'), 'utf8')).toContain('"types": []')
  })
})

describe('arrows point down', () => {
  /** What each part may import; a name with `.ts` is one file. Types of the kernel cost nothing and may be named by all. */
  const outside = ['index.ts', 'api', 'config/paths.ts', 'config/duration.ts', 'config/bytes.ts', 'config/nearest.ts', 'kernel/errors.ts']
  const ARROWS: Readonly<Record<string, readonly string[]>> = {
    // The kernel asks for a decision, which knows its types alone.
    kernel: ['supervise', 'crew'],
    supervise: [],
    crew: ['kernel', 'supervise'],
    config: ['kernel', 'crew'],
    api: ['kernel/errors.ts'],
    store: ['kernel'],
    drivers: ['kernel'],
    daemon: ['drivers', 'store', 'kernel', 'supervise', 'crew', 'config', 'api'],
    cli: outside,
    tui: outside,
    // startDaemon() of the library does what the command line does at first use.
    'index.ts': [...outside, 'cli/start-daemon.ts'],
  }
  // It shows the configuration, so it reads it, and is loaded for that alone.
  const CONFIG_VERB = 'src/cli/verbs/config.ts'
  const WITHOUT_PACKAGES = ['kernel', 'supervise', 'crew', 'api', 'cli', 'index.ts']

  test('every part is in the table', () => {
    expect([...new Set(src.map((file) => part(file.path)))].filter((one) => !(one in ARROWS))).toEqual([])
  })

  test('and imports only what it may', () => {
    const wrong = src.flatMap((file) => {
      const own = part(file.path)
      const arrows = [own, ...(ARROWS[own] ?? []), ...(file.path === CONFIG_VERB ? ['config'] : [])]
      const allowed = (one: Import): boolean => (one.typeOnly && part(one.from) === 'kernel') || arrows.some((to) => one.from === `src/${to}` || one.from.startsWith(`src/${to}/`))
      return file.imports.filter((one) => one.local && one.from.startsWith('src/') && !allowed(one)).map((one) => `${file.path} → ${one.from}`)
    })
    expect(wrong).toEqual([])
  })

  test('what starts at each key press loads no package', () => {
    const light = src.filter((file) => WITHOUT_PACKAGES.includes(part(file.path)) && file.path !== CONFIG_VERB)
    expect(src.flatMap((file) => file.imports.filter((one) => one.from === CONFIG_VERB && !one.lazy).map(() => file.path))).toEqual([])
    expect(light.flatMap((file) => file.imports.filter((one) => !one.local && !one.typeOnly && !one.from.startsWith('node:')).map((one) => `${file.path} → ${one.from}`))).toEqual([])
  })

  test('config/paths.ts loads node:fs, node:os and node:path alone', () => {
    expect(read('src/config/paths.ts').imports.map((one) => one.from).toSorted()).toEqual(['node:fs', 'node:os', 'node:path'])
  })
})

describe('programs and promises', () => {
  const elsewhere = src.filter((file) => !file.path.startsWith('src/drivers/contain/') && !['src/cli/start-daemon.ts', 'src/cli/user-manager.ts'].includes(file.path))

  test('only drivers/contain starts and signals programs (and start-daemon.ts the daemon, user-manager.ts systemctl)', () => {
    const starting = elsewhere.flatMap((file) => file.imports.filter((one) => /^(node:)?(child_process|cluster)$/.test(one.from) && !one.typeOnly).map((one) => `${file.path} → ${one.from}`))
    expect([...starting, ...hits(elsewhere, /\bprocess\.(kill|execve|abort)\b/)]).toEqual([])
  })

  test('no promise is thrown away with `void`', () => {
    expect(hits(src, /(^|[;{}]|=>|&&|\|\||\?)\s*void\s+(\(|(await|new|import)\b|[\w$.#?!]+\()/)).toEqual([])
  })
})

describe('sizes', () => {
  /** Compares what is too long with its list; says what is new, what grew, and what the list need not name any more. */
  function ratchet(long: Readonly<Record<string, number>>, listed: Readonly<Record<string, number>>): string[] {
    const grown = Object.entries(long).filter(([name, lines]) => lines > (listed[name] ?? 0)).map(([name, lines]) => `${name} has ${lines} lines`)
    const done = Object.entries(listed).filter(([name, lines]) => (long[name] ?? 0) < lines).map(([name]) => `${name} got shorter: lower or remove its entry`)
    return [...grown, ...done]
  }

  test(`files have at most ${MAX_FILE_LINES} lines, tests ${MAX_TEST_LINES}`, () => {
    const cap = (path: string): number => (path.endsWith('.test.ts') ? MAX_TEST_LINES : MAX_FILE_LINES)
    const long = all.map((file) => [file.path, file.raw.split('\n').length - 1] as const).filter(([path, lines]) => lines > cap(path))
    expect(ratchet(Object.fromEntries(long), LONG_FILES)).toEqual([])
  })

  test(`functions have at most ${MAX_FUNCTION_LINES} lines`, () => {
    const measured = [...src, ...others.filter((file) => !file.path.startsWith('test/'))]
    expect(measured.flatMap(functions).length, 'the measure finds functions').toBeGreaterThan(100)
    const long = measured.flatMap((file) => functions(file).filter((one) => one.lines > MAX_FUNCTION_LINES).map((one) => [`${file.path}: ${one.head}`, one.lines] as const))
    expect(ratchet(Object.fromEntries(long), LONG_FUNCTIONS)).toEqual([])
  })
})

describe('nothing is dead', () => {
  const byPath = new Map(src.map((file) => [file.path, file]))

  test('every file is reached from an entry', () => {
    const reached = new Set<string>()
    const queue = [...ENTRIES]
    for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
      if (reached.has(path)) continue
      reached.add(path)
      queue.push(...(byPath.get(path)?.imports ?? []).filter((one) => one.local).map((one) => one.from))
    }
    expect(ENTRIES.filter((path) => !byPath.has(path))).toEqual([])
    expect(src.filter((file) => !reached.has(file.path)).map((file) => file.path)).toEqual([])
  })

  const users = (path: string, name: string, among: readonly Source[]): Source[] => {
    return among.filter((file) => file.path !== path && file.imports.some((one) => one.from === path && (one.names.includes(name) || one.names.includes('*'))))
  }

  const exported = src.filter((file) => !ENTRIES.includes(file.path)).flatMap((file) => file.exports.map((one) => ({ ...one, file })))
  /** How often a file names it besides declaring it. */
  const own = (file: Source, name: string): number => file.code.split(new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}(?![\\w$])`)).length - 2

  test('a file names tests that are there', () => {
    const named = src.flatMap(({ path, raw }) => (raw.split('\n', 12).join('\n').match(/\btest\/[\w./-]+\.test\.ts\b/g) ?? []).map((name) => ({ path, name })))
    expect(named.filter(({ name }) => !existsSync(join(ROOT, name))).map(({ path, name }) => `${path} → ${name}`)).toEqual([])
    expect(named.length).toBeGreaterThan(300)
  })

  test('every exported function and class is used by another file', () => {
    // Types name what a function takes, and constants name a limit: they may be read where they stand.
    const unused = exported.filter((one) => !one.typeOnly && !/^[A-Z][A-Z\d_]+$/.test(one.name) && users(one.file.path, one.name, all).length === 0)
    expect(unused.map((one) => `${one.file.path}: ${one.name}`)).toEqual([])
  })

  test('no exported value or type is used by tests alone', () => {
    const idle = exported.filter((one) => users(one.file.path, one.name, src).length === 0 && own(one.file, one.name) === 0)
    expect(idle.map((one) => `${one.file.path}: ${one.name}`)).toEqual([])
  })
})

describe('the text', () => {
  // Put together from halves, so that this file does not find itself.
  const word = (...halves: string[]): string => halves.join('')

  test('every source opens with a comment that says what it owns', () => {
    expect([...src, ...others].filter((file) => !/^(#!.*\n)?(\/\/ |\/\*\*)\S*/.test(file.raw)).map((file) => file.path)).toEqual([])
  })

  test('nothing is put off, and no check is switched off', () => {
    const marks = [word('TO', 'DO'), word('FIX', 'ME'), word('X', 'XX'), word('@ts-', 'ignore'), word('@ts-', 'nocheck'), word('@ts-', 'expect-error'), word('eslint-', 'disable')]
    expect(hits(all, new RegExp(`${marks.map((one) => (/^\w+$/.test(one) ? `\\b${one}\\b` : one)).join('|')}`), 'raw')).toEqual([])
    expect(hits(all, /(:|\bas|<|,)\s*any\b(?!\s*[:(])|\bany\[\]/)).toEqual([])
  })

  test('no tracked file speaks of the place where it was written', () => {
    const listed = spawnSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
    expect(listed.status, listed.stderr).toBe(0)
    const files = listed.stdout.split('\0').filter((path) => path !== '' && path !== 'LICENSE' && existsSync(join(ROOT, path)))
    const places = [word('/wo', 'rk/'), word('\\bsha', 'red/'), word('registry', '\\.npm'), word('npm', 'mirror'), word('arti', 'factory'), word('verd', 'accio'), word('\\bDES', 'IGN\\b'), '§\\s?\\d', word('"reso', 'lved":')]
    const pattern = new RegExp(places.join('|'))
    const found = files.flatMap((path) => readFileSync(join(ROOT, path), 'utf8').split('\n').flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 120)}`] : [])))
    expect(files.length).toBeGreaterThan(20)
    expect(found).toEqual([])
  })

  test('docs/errors.md is what `npm run docs` makes', () => {
    expect(readFileSync(join(ROOT, 'docs/errors.md'), 'utf8')).toBe(errorsPage())
  })
})
