// Rules for the sources as a whole: pure folders, allowed imports, where programs are started, sizes, dead code, word lists, texts.
// The lists of exceptions are a ratchet: an entry that is no longer needed fails the test, so they only get shorter.
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { errorsPage } from '../scripts/docs-errors-and-tools.ts'
import { ROOT } from './support/env.ts'
import {
  blankOut,
  functionsOf,
  type Import,
  importCycles,
  readSource,
  type Source,
  readSources,
  duplicateTypeNames,
  upwardKernelImports,
  wordListsOf,
} from './support/source.ts'

const src = readSources('src', '.ts')
const otherSources = ['test', 'scripts', 'bench', 'examples'].flatMap((dir) =>
  existsSync(join(ROOT, dir)) ? readSources(dir, '.ts', '.mjs') : [],
)
/** the page, which a browser runs */
const web = readSources('web', '.ts', '.tsx')
const allSources = [...src, ...otherSources, ...web]
const ENTRIES = [
  'src/cli/main.ts',
  'src/cli/ps-main.ts',
  'src/cli/mcp/agent-program.ts',
  'src/daemon/main.ts',
  'src/index.ts',
  'src/drivers/native/tools/file-worker.ts',
  'web/main.tsx',
  'web/worker.ts',
]
const PURE = ['kernel']

/** Functions above the cap, each with its length, which may shrink, never grow. */
const LONG_FUNCTIONS: Readonly<Record<string, number>> = {
  // The wiring of the daemon's parts, and tables of statements and answers: one line for each entry.
  'src/daemon/daemon.ts: #createRoutesDeps(web: LazyWebService): Parameters<typeof addRoutes>[1] {': 107,
  'src/daemon/wiring.ts: export function connectDaemonParts(deps: DaemonResources, { table, cursor }: LoadedTable): DaemonParts {': 132,
  'src/store/statements.ts: export function prepareAll(db: DatabaseSync) {': 74,
  'bench/gateway.ts: async function bench(): Promise<void> {': 85,
}
/** The remaining cycles of imports; the list may only shrink. */
const IMPORT_CYCLES: readonly (readonly string[])[] = []
/** The names of files with more lines are printed. */
const LONG_FILE_LINES = 400
const MAX_FILE_LINES = 1_000
const MAX_FOLDER_FILES = 25
/** Tables of every case are naturally long. */
const LONG_TEST_LINES = 800
const MAX_FUNCTION_LINES = 70
/** The files that determine which tests run, and how. */
const TEST_CONFIGURATION = [
  'package.json',
  'vitest.config.ts',
  'test/agents/vitest.config.ts',
  'scripts/test.mjs',
  'scripts/test-agents.ts',
  '.ci/run',
]

/** The part that a file belongs to: its folder under src, or its own name. */
function partOf(path: string): string {
  return path.split('/')[1] ?? ''
}

/** Whether a path or a pattern of paths, from the root of the project, leads to a file or folder. */
function hasMatch(pattern: string): boolean {
  return globSync(pattern, { cwd: ROOT }).length > 0
}

function matchesOf(files: readonly Source[], pattern: RegExp, kindOfText: 'raw' | 'text' | 'code' = 'code'): string[] {
  return files.flatMap((file) =>
    file[kindOfText].split('\n').flatMap((line, index) => (pattern.test(line) ? [`${file.path}:${index + 1}: ${line.trim()}`] : [])),
  )
}

describe('the scanner', () => {
  test.each([
    ["a // b 'c'\nd", 'a         \nd'],
    ["x('a // b')", 'x(        )'],
    ['x(`a ${b ? `c ${d}` : {e: 1}} f`) // g', 'x(     b ?      d   : {e: 1}    )     '],
    ['return /a\\/[/"]b/.test(c) / 2', 'return           .test(c) / 2'],
    ["it('isn\\'t') /* 'x\n' */ y", 'it(        )      \n     y'],
  ])('%j', (raw, code) => {
    expect(blankOut(raw, ['comment', 'string', 'regex'])).toBe(code)
  })
})

describe('the pure folders', () => {
  const pure = src.filter((file) => PURE.includes(partOf(file.path)))

  test('import only each other', () => {
    expect(
      pure.flatMap((file) =>
        file.imports
          .filter((imported) => !imported.local || !PURE.includes(partOf(imported.from)))
          .map((imported) => `${file.path} → ${imported.from}`),
      ),
    ).toEqual([])
  })

  test('use no time, chance or I/O', () => {
    const impure =
      /\b(Date|performance|crypto|setTimeout|setInterval|setImmediate|queueMicrotask|fetch|console|globalThis|Buffer|require|async|await|Promise)\b|\bMath\.random\b|\bprocess\.(env|argv|hrtime|nextTick|exit|on|once|kill|cwd|stdout|stderr|platform|uptime)\b|\bimport\(/
    expect(matchesOf(pure, impure)).toEqual([])
  })

  test('each have a tsconfig without types', () => {
    const folders = [...new Set(pure.map((file) => dirname(file.path).split('/').slice(0, 2).join('/')))]
    expect(folders).toContain('src/kernel')
    for (const folder of folders) expect(readFileSync(join(ROOT, folder, 'tsconfig.json'), 'utf8')).toContain('"types": []')
  })
})

describe('the allowed imports', () => {
  /** What the clients of the daemon may import. */
  const CLIENT_IMPORTS = [
    'index.ts',
    'api',
    'faces',
    'config/paths.ts',
    'config/duration.ts',
    'config/bytes.ts',
    'kernel/model/errors.ts',
    // Pure values without imports add nothing to a command's start.
    'kernel/util/without-undefined.ts',
    'kernel/util/error-text.ts',
    'kernel/util/did-you-mean.ts',
    'kernel/model/words.ts',
    'kernel/model/crew/words.ts',
    'kernel/model/crew/unchecked-tasks.ts',
    'kernel/model/capabilities.ts',
    'kernel/model/holds.ts',
    'kernel/model/signals.ts',
  ]
  /** The allowed imports of each part; a name with `.ts` is one file. Types of the kernel cost nothing, and every part may name them. */
  const ALLOWED_IMPORTS: Readonly<Record<string, readonly string[]>> = {
    kernel: [],
    config: ['kernel'],
    api: ['kernel/model/errors.ts'],
    faces: ['api'],
    store: ['kernel'],
    drivers: ['kernel'],
    daemon: ['drivers', 'store', 'kernel', 'config', 'api'],
    cli: CLIENT_IMPORTS,
    tui: CLIENT_IMPORTS,
    // The library's startDaemon() works like the command line at its first use.
    'index.ts': [...CLIENT_IMPORTS, 'cli/service/start-daemon.ts'],
  }
  // This verb shows the configuration, so it reads it, and is loaded only for that.
  const CONFIG_VERB = 'src/cli/verbs/system/config.ts'
  const WITHOUT_PACKAGES = ['kernel', 'api', 'cli', 'index.ts']

  test('are listed for every part', () => {
    expect([...new Set(src.map((file) => partOf(file.path)))].filter((name) => !(name in ALLOWED_IMPORTS))).toEqual([])
  })

  test('are the only imports of each part', () => {
    const forbiddenImports = src.flatMap((file) => {
      const ownPart = partOf(file.path)
      const allowedImports = [ownPart, ...(ALLOWED_IMPORTS[ownPart] ?? []), ...(file.path === CONFIG_VERB ? ['config'] : [])]
      const isAllowed = (imported: Import): boolean =>
        (imported.typeOnly && partOf(imported.from) === 'kernel') ||
        allowedImports.some((to) => imported.from === `src/${to}` || imported.from.startsWith(`src/${to}/`))
      return file.imports
        .filter((imported) => imported.local && imported.from.startsWith('src/') && !isAllowed(imported))
        .map((imported) => `${file.path} → ${imported.from}`)
    })
    expect(forbiddenImports).toEqual([])
  })

  test('inside the kernel lead from decide to state, and from state to model', () => {
    expect(upwardKernelImports(src)).toEqual([])
  })

  test('have no cycle, types and lazy imports included', () => {
    expect(importCycles(src)).toEqual(IMPORT_CYCLES)
  })

  test('no two files export types of the same name', () => {
    expect(duplicateTypeNames(src)).toEqual([])
  })

  test('the kernel, the API, the command line and the library load no package', () => {
    const lightFiles = src.filter((file) => WITHOUT_PACKAGES.includes(partOf(file.path)) && file.path !== CONFIG_VERB)
    expect(
      src.flatMap((file) => file.imports.filter((imported) => imported.from === CONFIG_VERB && !imported.lazy).map(() => file.path)),
    ).toEqual([])
    expect(
      lightFiles.flatMap((file) =>
        file.imports
          .filter((imported) => !imported.local && !imported.typeOnly && !imported.from.startsWith('node:'))
          .map((imported) => `${file.path} → ${imported.from}`),
      ),
    ).toEqual([])
  })

  test('config/paths.ts loads only node:fs, node:os and node:path', () => {
    expect(
      readSource('src/config/paths.ts')
        .imports.map((imported) => imported.from)
        .toSorted(),
    ).toEqual(['node:fs', 'node:os', 'node:path'])
  })
})

describe('the page', () => {
  /** Packages that the page may bundle. */
  const WEB_PACKAGES = /^(preact|@preact\/signals)(\/|$)/
  /** Code of the API's clients that needs no Node. */
  const SHARED_CODE = [
    'src/api/text/answer-command.ts',
    'src/api/text/exit-reason.ts',
    'src/api/text/shell-quote.ts',
    'src/api/row-events.ts',
    'src/api/text/tool-input.ts',
    'src/api/web-hello.ts',
  ]

  test('imports its own files, the faces, types of the API, and its packages', () => {
    const isAllowed = ({ from, local, typeOnly }: Import): boolean =>
      local
        ? /^(web|src\/faces)\//.test(from) || SHARED_CODE.includes(from) || (typeOnly && from.startsWith('src/api/'))
        : WEB_PACKAGES.test(from)
    expect(web.length).toBeGreaterThan(5)
    expect(web.flatMap((file) => file.imports.filter((one) => !isAllowed(one)).map(({ from }) => `${file.path} → ${from}`))).toEqual([])
    expect(importCycles(web)).toEqual([])
  })

  test('makes no HTML and no code from text, and sets no cookie', () => {
    const sinks =
      /\b(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|srcdoc|setHTMLUnsafe|parseHTMLUnsafe|createContextualFragment|DOMParser|EventSource|WebSocket|XMLHttpRequest|serviceWorker|eval)\b|document\.(write|cookie)|\bnew Function\b/
    expect(matchesOf(web, sinks, 'text')).toEqual([])
    // A style as an attribute is refused by the page's own policy; an object sets each property by the CSSOM.
    expect(matchesOf(web, /\bstyle=(["']|\{(?!\{))/, 'text')).toEqual([])
  })

  test('loads code only through two loaders, each after a proof of the daemon', () => {
    const imports = matchesOf(web, /\bimport\(/)
    expect(imports.length).toBeGreaterThan(15)
    expect(imports.filter((line) => !/: (const \w+ = lazy\(|.*\bload: async \(\) => )/.test(line))).toEqual([])
    const loaders = web.filter(({ path }) => ['web/lazy.tsx', 'web/frame/current-page.tsx'].includes(path))
    expect(loaders.map(({ code }) => /proveDaemon\(\)\s*\.then\((load|\(\) => page\.load\(\))\)/.test(code))).toEqual([true, true])
    expect(matchesOf(web, /\bload\(\)/)).toEqual([expect.stringContaining('.then(() => page.load())')])
  })
})

describe('the rules for programs and promises', () => {
  const elsewhere = src.filter(
    (file) =>
      !file.path.startsWith('src/drivers/contain/') &&
      ![
        'src/cli/service/start-daemon.ts',
        'src/cli/service/kill-daemon.ts',
        'src/cli/service/user-manager.ts',
        'src/cli/actions/checkout.ts',
        'src/cli/actions/open-browser.ts',
        'src/cli/actions/web-by-ssh.ts',
        'src/cli/screen/screen.ts',
      ].includes(file.path),
  )

  test('only drivers/contain starts and signals programs (and start-daemon.ts and kill-daemon.ts the daemon, user-manager.ts systemctl, checkout.ts git, open-browser.ts a browser, web-by-ssh.ts ssh, screen.ts stops itself)', () => {
    const starters = elsewhere.flatMap((file) =>
      file.imports
        .filter((imported) => /^(node:)?(child_process|cluster)$/.test(imported.from) && !imported.typeOnly)
        .map((imported) => `${file.path} → ${imported.from}`),
    )
    expect([...starters, ...matchesOf(elsewhere, /\bprocess\.(kill|execve|abort)\b/)]).toEqual([])
  })

  test('tests signal only their own processes: a child of their own, or through support/living-processes.ts', () => {
    const directSignals = matchesOf(
      otherSources.filter(({ path }) => path.startsWith('test/') && path !== 'test/support/living-processes.ts'),
      /\bprocess\.kill\((?!process\.pid,)/,
    )
    expect(directSignals).toEqual([])
  })

  test('no promise is discarded with `void`', () => {
    expect(matchesOf(src, /(^|[;{}]|=>|&&|\|\||\?)\s*void\s+(\(|(await|new|import)\b|[\w$.#?!]+\()/)).toEqual([])
  })
})

test('a `catch` that drops its error gives the reason in a comment', () => {
  const constant = String.raw`(?:undefined|null|true|false|\d+|'[^']*'|\[\]|\{\}|\(\{[^{}]*\}\)|[A-Za-z_][\w.]*(?:\(\d*\))?)`
  const drops = [
    new RegExp(String.raw`\.catch\(\(\)(?:: [\w\[\]]+)? => ${constant},?\s*\)`, 'g'),
    new RegExp(String.raw`\bcatch(?: \(\w+\))? \{\s*(?:return(?: ${constant})?\s*|continue\s*|)\}`, 'g'),
  ]
  const found = [...src, ...otherSources.filter(({ path }) => path.startsWith('scripts/'))].flatMap(({ path, raw, text }) => {
    const [lines, withoutComments] = [raw.split('\n'), text.split('\n')]
    const isCommented = (line: number): boolean => lines[line]?.trimEnd() !== withoutComments[line]?.trimEnd()
    return drops.flatMap((drop) =>
      [...text.matchAll(drop)].map((match) => {
        const firstLine = text.slice(0, match.index).split('\n').length - 1
        const matchedLines = match[0].split('\n').map((_, index) => firstLine + index)
        return { at: `${path}:${firstLine + 1}`, hasReason: [firstLine - 1, ...matchedLines].some(isCommented) }
      }),
    )
  })
  expect(found.length).toBeGreaterThan(100)
  expect(found.filter(({ hasReason }) => !hasReason).map(({ at }) => at)).toEqual([])
})

describe('the rules for sizes', () => {
  /** Compares the measured excess with its list; reports new entries, grown ones, and unnecessary ones. */
  function exceptionErrors(measured: Readonly<Record<string, number>>, listed: Readonly<Record<string, number>>): string[] {
    const grown = Object.entries(measured)
      .filter(([name, lines]) => lines > (listed[name] ?? 0))
      .map(([name, lines]) => `${name} has ${lines} lines`)
    const unneeded = Object.entries(listed)
      .filter(([name, lines]) => (measured[name] ?? 0) < lines)
      .map(([name]) => `${name} got shorter: lower or remove its entry`)
    return [...grown, ...unneeded]
  }

  // A file may be long for a good reason: the reader of the output judges that.
  test('the names of long files are printed', () => {
    const maxLines = (path: string): number => (path.endsWith('.test.ts') ? LONG_TEST_LINES : LONG_FILE_LINES)
    const longFiles = allSources
      .map((file) => [file.path, file.raw.split('\n').length - 1] as const)
      .filter(([path, lines]) => lines > maxLines(path))
    if (longFiles.length > 0)
      console.info(`longer than ${LONG_FILE_LINES} lines: ${longFiles.map(([path, lines]) => `${path} (${lines})`).join(', ')}`)
    expect(longFiles.filter(([, lines]) => lines > MAX_FILE_LINES)).toEqual([])
  })

  test(`no folder has more than ${MAX_FOLDER_FILES} files`, () => {
    const folders = Map.groupBy(allSources, ({ path }) => dirname(path))
    expect(
      [...folders].filter(([, files]) => files.length > MAX_FOLDER_FILES).map(([folder, files]) => `${folder} has ${files.length}`),
    ).toEqual([])
  })

  test(`functions have at most ${MAX_FUNCTION_LINES} lines`, () => {
    const measured = [...src, ...otherSources.filter((file) => !file.path.startsWith('test/')), ...web]
    expect(measured.flatMap(functionsOf).length, 'the measure finds functions').toBeGreaterThan(100)
    const longFunctions = measured.flatMap((file) =>
      functionsOf(file)
        .filter((block) => block.lines > MAX_FUNCTION_LINES)
        .map((block) => [`${file.path}: ${block.head}`, block.lines] as const),
    )
    expect(exceptionErrors(Object.fromEntries(longFunctions), LONG_FUNCTIONS)).toEqual([])
  })
})

describe('no code is dead', () => {
  const byPath = new Map([...src, ...web].map((file) => [file.path, file]))

  test('every file is reached by imports from an entry file', () => {
    const reachedFiles = new Set<string>()
    const queue = [...ENTRIES]
    for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
      if (reachedFiles.has(path)) continue
      reachedFiles.add(path)
      queue.push(...(byPath.get(path)?.imports ?? []).filter((imported) => imported.local).map((imported) => imported.from))
    }
    expect(ENTRIES.filter((path) => !byPath.has(path))).toEqual([])
    expect([...src, ...web].filter((file) => !reachedFiles.has(file.path)).map((file) => file.path)).toEqual([])
  })

  const usersOf = (path: string, name: string, candidates: readonly Source[]): Source[] => {
    return candidates.filter(
      (file) =>
        file.path !== path &&
        file.imports.some((imported) => imported.from === path && (imported.names.includes(name) || imported.names.includes('*'))),
    )
  }

  const exported = src.filter((file) => !ENTRIES.includes(file.path)).flatMap((file) => file.exports.map((one) => ({ ...one, file })))
  /** The number of uses in its own file besides the declaration. */
  const ownUseCount = (file: Source, name: string): number =>
    file.code.split(new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}(?![\\w$])`)).length - 2

  test('a comment names only existing tests', () => {
    const named = [...src, ...web].flatMap(({ path, raw }) =>
      (
        raw
          .split('\n', 12)
          .join('\n')
          .match(/\btest\/[\w./*-]+\.test\.ts\b/g) ?? []
      ).map((name) => ({ path, name })),
    )
    expect(named.filter(({ name }) => !hasMatch(name)).map(({ path, name }) => `${path} → ${name}`)).toEqual([])
    expect(named.length).toBeGreaterThan(300)
  })

  test('every exported function and class is used by another file', () => {
    // A type describes a parameter, and a constant names a limit: both may be used only in their own file.
    const unused = exported.filter(
      (entry) => !entry.typeOnly && !/^[A-Z][A-Z\d_]+$/.test(entry.name) && usersOf(entry.file.path, entry.name, allSources).length === 0,
    )
    expect(unused.map((one) => `${one.file.path}: ${one.name}`)).toEqual([])
  })

  test('no exported value or type is used only by tests', () => {
    const productSources = [...otherSources.filter(({ path }) => path.startsWith('scripts/')), ...web]
    const testOnly = exported.filter(
      (one) => usersOf(one.file.path, one.name, [...src, ...productSources]).length === 0 && ownUseCount(one.file, one.name) === 0,
    )
    expect(testOnly.map((one) => `${one.file.path}: ${one.name}`)).toEqual([])
  })
})

test('each path and pattern of the test configuration matches a file', () => {
  const named = TEST_CONFIGURATION.flatMap((path) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(/(?<![\w./-])(?:test|scripts|bench)\/[\w./*-]*[\w*]/g)].map(([name]) => ({
      path,
      name,
    })),
  )
  expect(new Set(named.map(({ path }) => path))).toEqual(new Set(TEST_CONFIGURATION))
  expect(named.filter(({ name }) => !hasMatch(name)).map(({ path, name }) => `${path} → ${name}`)).toEqual([])
})

test('only test files choose a size, as `npm run test:deep` runs those that do', () => {
  const choosing = allSources.filter((file) => file.imports.some(({ from }) => from === 'test/support/deep.ts')).map((file) => file.path)
  expect(choosing.length).toBeGreaterThan(0)
  expect(choosing.filter((path) => !path.endsWith('.test.ts'))).toEqual([])
  expect(
    matchesOf(
      otherSources.filter(({ path }) => path.startsWith('test/') && path !== 'test/support/deep.ts'),
      /REEVE_TEST_[D]EEP/,
      'text',
    ),
  ).toEqual([])
})

describe('a word list is written once', () => {
  /** Returns the lists that repeat an exported constant. src/api/views is made from the constants, for readers without them. */
  function repeatedLists(files: readonly Pick<Source, 'path' | 'text'>[]): string[] {
    const found = files.flatMap(({ path, text }) => wordListsOf(text).map((list) => ({ ...list, place: `${path}:${list.line}` })))
    const constants = new Map(found.flatMap((list) => (list.constant === null ? [] : [[list.words, list] as const])))
    return found.flatMap((list) => {
      const firstList = constants.get(list.words)
      return firstList && firstList.place !== list.place ? [`${list.place} is ${firstList.constant} of ${firstList.place}`] : []
    })
  }

  test('nothing repeats the words of an exported constant', () => {
    expect(src.flatMap(({ text }) => wordListsOf(text)).filter(({ constant }) => constant !== null).length).toBeGreaterThan(40)
    expect(repeatedLists(src.filter(({ path }) => !path.startsWith('src/api/views/')))).toEqual([])
  })

  test.each([
    ["z.enum(['b', 'c', 'a'])", true],
    ["type T = 'a' | 'b' | 'c' | null", true],
    ["type T =\n  | 'a'\n  | 'b'\n  | 'c'\n", true],
    ["const X = [\n  'a',\n  'b',\n  'c',\n]", true],
    ["['a', 'b']", false],
    ["['a', 'b', 'c', 'd']", false],
    ["[...LIST, 'd']", false],
    ["run('a', 'b', 'c')", false],
  ])('%j', (text, isFound) => {
    const list = { path: 'src/list.ts', text: "export const LIST = ['a', 'b', 'c'] as const\n" }
    expect(repeatedLists([list, { path: 'src/other.ts', text }])).toHaveLength(isFound ? 1 : 0)
  })
})

describe('the text of the sources', () => {
  // Joined from halves, so that this file does not find itself.
  const joinWord = (...halves: string[]): string => halves.join('')

  test('every source begins with a comment about its content', () => {
    expect([...src, ...otherSources].filter((file) => !/^(#!.*\n)?(\/\/ |\/\*\*)\S*/.test(file.raw)).map((file) => file.path)).toEqual([])
  })

  test('comments fit into the columns that the formatter gives to code', () => {
    expect(matchesOf(allSources, /^(?=.{141})\s*(?:\/\/|\/?\*)/, 'raw')).toEqual([])
  })

  test('there are no to-do marks, and no check is disabled', () => {
    const marks = [
      joinWord('TO', 'DO'),
      joinWord('FIX', 'ME'),
      joinWord('X', 'XX'),
      joinWord('@ts-', 'ignore'),
      joinWord('@ts-', 'nocheck'),
      joinWord('@ts-', 'expect-error'),
      joinWord('eslint-', 'disable'),
    ]
    expect(matchesOf(allSources, new RegExp(marks.map((mark) => (/^\w+$/.test(mark) ? `\\b${mark}\\b` : mark)).join('|')), 'raw')).toEqual(
      [],
    )
    expect(matchesOf(allSources, /(:|\bas|<|,)\s*any\b(?!\s*[:(])|\bany\[\]/)).toEqual([])
  })

  test('no tracked file mentions the machine where it was written', () => {
    const listed = spawnSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
    expect(listed.status, listed.stderr).toBe(0)
    // The bytes of a picture are no text: by chance they look like any of these.
    const isText = (path: string): boolean => path !== '' && path !== 'LICENSE' && !path.endsWith('.png')
    const files = listed.stdout.split('\0').filter((path) => isText(path) && existsSync(join(ROOT, path)))
    const machineNames = [
      joinWord('/wo', 'rk/'),
      joinWord('\\bsha', 'red/'),
      joinWord('registry', '\\.npm'),
      joinWord('npm', 'mirror'),
      joinWord('arti', 'factory'),
      joinWord('verd', 'accio'),
      joinWord('\\bDES', 'IGN\\b'),
      '§\\s?\\d',
      joinWord('"reso', 'lved":'),
    ]
    const pattern = new RegExp(machineNames.join('|'))
    const found = files.flatMap((path) =>
      readFileSync(join(ROOT, path), 'utf8')
        .split('\n')
        .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 120)}`] : [])),
    )
    expect(files.length).toBeGreaterThan(20)
    expect(found).toEqual([])
  })

  test('docs/reference/errors.md is the output of `npm run docs`', () => {
    expect(readFileSync(join(ROOT, 'docs/reference/errors.md'), 'utf8')).toBe(errorsPage())
  })
})

test('docs/decisions/dependencies.md gives the reason for each package', () => {
  const page = readFileSync(join(ROOT, 'docs/decisions/dependencies.md'), 'utf8')
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'devDependencies',
    object
  >
  expect(Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})
