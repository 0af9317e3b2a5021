// `bin/reeve` finds a Node that is new enough. Covers an old Node, no Node, links, V8's compiled code, and a missing build. The tests
// simulate an old Node by the present one, which reports version 12. All other files are the real ones.
import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { testEnv } from '../../support/env.ts'
import { tempDir } from '../../support/tmp.ts'
import { blankOut, readSource } from '../../support/source.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const version = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version

interface FakeInstall extends AsyncDisposable {
  readonly path: string
  /** runs a program in this folder; with the environment of `old()`, each Node reports version 12 */
  run(file: string, args: string[], more?: Record<string, string>): SpawnSyncReturns<string>
  old(): Record<string, string>
  put(name: string, text: string, mode?: number): string
}

/** Copies bin/reeve and need-node.cjs into a temporary folder, without a build and without a bundled Node. */
async function makeFakeInstall(): Promise<FakeInstall> {
  const dir = await tempDir()
  const put = (name: string, text: string, mode = 0o644): string => {
    const file = join(dir.path, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    chmodSync(file, mode)
    return file
  }
  for (const name of ['bin/reeve', 'bin/package.json', 'scripts/need-node.cjs']) {
    put(name, '')
    copyFileSync(join(root, name), join(dir.path, name))
  }
  chmodSync(join(dir.path, 'bin/reeve'), 0o755)
  put('package.json', '{"type": "module"}')
  put('dist/cli/main.cjs', "console.log('main', process.version, ...process.argv.slice(2)); process.exitCode = 7")
  const preload = put(
    'old.cjs',
    "if (!process.env.BUNDLED) Object.defineProperty(process.versions, 'node', { value: '12.22.0' }), Object.defineProperty(process, 'version', { value: 'v12.22.0' })",
  )
  return {
    path: dir.path,
    put,
    old: () => ({ NODE_OPTIONS: `--require ${preload}` }),
    run: (file, args, more = {}) => spawnSync(file, args, { encoding: 'utf8', cwd: dir.path, env: testEnv(dir.path, more) }),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  }
}

/** Installs a bundled Node that reports its real version. */
function installBundledNode(install: FakeInstall): void {
  install.put('node_modules/node/bin/node', `#!/bin/sh\nBUNDLED=1 exec ${process.execPath} "$@"\n`, 0o755)
}

describe('bin/reeve', () => {
  test('starts the command line with its arguments and exit code', async () => {
    await using here = await makeFakeInstall()
    const { stdout, stderr, status } = here.run(join(here.path, 'bin/reeve'), ['run', '--', 'a b', ''])
    expect({ stdout, stderr, status }).toEqual({ stdout: `main ${process.version} run -- a b \n`, stderr: '', status: 7 })
  })

  test.each([
    ['through a link', (install: FakeInstall) => [join(install.path, 'link')]],
    ['through a link to a link, relative, from elsewhere', (install: FakeInstall) => [join(install.path, 'deep/er/link')]],
    ['as an argument of sh', (install: FakeInstall) => ['sh', join(install.path, 'bin/reeve')]],
    ['as an argument of node', (install: FakeInstall) => ['node', join(install.path, 'bin/reeve')]],
    ['by a relative path', () => ['bin/reeve']],
  ])('starts %s', async (_, command) => {
    await using here = await makeFakeInstall()
    symlinkSync('bin/reeve', join(here.path, 'link'))
    mkdirSync(join(here.path, 'deep/er'), { recursive: true })
    symlinkSync('../../link', join(here.path, 'deep/er/link'))
    const [file = '', ...args] = command(here)
    expect(here.run(file, [...args, 'ps'])).toMatchObject({ stdout: `main ${process.version} ps\n`, stderr: '', status: 7 })
  })

  test('a checkout starts its bundled Node and ignores the Node in PATH', async () => {
    await using here = await makeFakeInstall()
    installBundledNode(here)
    const wrongNode = here.put('path/node', '#!/bin/sh\necho the wrong node >&2\nexit 1\n', 0o755)
    expect(here.run(join(here.path, 'bin/reeve'), ['ps'], { PATH: `${dirname(wrongNode)}:/usr/bin:/bin` })).toMatchObject({
      stdout: `main ${process.version} ps\n`,
      stderr: '',
      status: 7,
    })
  })

  test('an old Node starts the bundled one', async () => {
    await using here = await makeFakeInstall()
    installBundledNode(here)
    symlinkSync('bin/reeve', join(here.path, 'link'))
    expect(here.run(join(here.path, 'link'), ['ps', 'a b'], here.old())).toMatchObject({
      stdout: `main ${process.version} ps a b\n`,
      stderr: '',
      status: 7,
    })
  })

  test('an old Node without a bundled Node prints one line that names the source of a new one', async () => {
    await using here = await makeFakeInstall()
    expect(here.run(join(here.path, 'bin/reeve'), ['ps'], here.old())).toMatchObject({
      stdout: '',
      stderr:
        'reeve: Node 24 or newer is needed and this is v12.22.0; install it from https://nodejs.org, or run: npx -p node@24 reeve VERB\n',
      status: 1,
    })
  })

  describe("V8's compiled code of the command line", () => {
    const sourceThatPrints = (word: string, code = 0): string =>
      `console.log(${JSON.stringify(word)}, require('node:path').basename(__dirname), process.argv[2])\nprocess.exitCode = ${code}`
    const putBuild = (install: FakeInstall, id: string, text: string, name = 'main'): string =>
      install.put(`dist/cli/${name}.cjs`, `// ${id}\n${text}`)
    const storedFiles = (install: FakeInstall): string[] =>
      (existsSync(join(install.path, '.cache/reeve')) ? readdirSync(join(install.path, '.cache/reeve'), { withFileTypes: true }) : [])
        .filter((one) => one.isFile())
        .map(({ name }) => name)
    const run = (install: FakeInstall, verb: string): SpawnSyncReturns<string> => install.run(join(install.path, 'bin/reeve'), [verb])
    const cacheName = (id: string): string => `${id}-${process.version}-${process.arch}`
    const [firstId, secondId] = ['0123456789abcdef', 'fedcba9876543210'] as const

    test('is stored by the first command, is used by all later ones, and is stored again for another build', async () => {
      await using here = await makeFakeInstall()
      putBuild(here, firstId, sourceThatPrints('first'))
      for (const verb of ['run', 'run', 'version']) {
        expect(run(here, verb)).toMatchObject({ stdout: `first cli ${verb}\n`, stderr: '', status: 0 })
        expect(storedFiles(here)).toEqual([cacheName(firstId)])
      }
      putBuild(here, secondId, sourceThatPrints('other'))
      for (const verb of ['run', 'run']) expect(run(here, verb)).toMatchObject({ stdout: `other cli ${verb}\n`, stderr: '', status: 0 })
      expect(storedFiles(here).toSorted()).toEqual([firstId, secondId].map(cacheName))
    })

    test('is stored separately for ps', async () => {
      await using here = await makeFakeInstall()
      putBuild(here, firstId, sourceThatPrints('whole'))
      putBuild(here, secondId, sourceThatPrints('own'), 'ps')
      for (const verb of ['ps', 'ps']) expect(run(here, verb)).toMatchObject({ stdout: `own cli ${verb}\n`, stderr: '', status: 0 })
      expect(storedFiles(here)).toEqual([cacheName(secondId)])
    })

    test('is stored for both files when ps loads the main file', async () => {
      await using here = await makeFakeInstall()
      putBuild(here, firstId, sourceThatPrints('whole'))
      putBuild(here, secondId, "require('./main.cjs')\nrequire('./main.cjs')", 'ps')
      for (const verb of ['ps', 'ps']) expect(run(here, verb)).toMatchObject({ stdout: `whole cli ${verb}\n`, stderr: '', status: 0 })
      expect(storedFiles(here).toSorted()).toEqual([firstId, secondId].map(cacheName))
    })

    test('is not stored by a failed command', async () => {
      await using here = await makeFakeInstall()
      putBuild(here, firstId, sourceThatPrints('failed', 4))
      expect(run(here, 'run')).toMatchObject({ stdout: 'failed cli run\n', stderr: '', status: 4 })
      expect(storedFiles(here)).toEqual([])
    })

    test('is stored again when V8 rejects it', async () => {
      await using here = await makeFakeInstall()
      putBuild(here, firstId, sourceThatPrints('said'))
      const file = here.put(`.cache/reeve/${cacheName(firstId)}`, 'of another V8')
      expect(run(here, 'run')).toMatchObject({ stdout: 'said cli run\n', stderr: '', status: 0 })
      expect(readFileSync(file).length).toBeGreaterThan(100)
    })

    test('is not stored where the folder cannot be written', async () => {
      await using here = await makeFakeInstall()
      putBuild(here, firstId, sourceThatPrints('said'))
      for (const cache of ['/proc/none', '/dev/null/none'])
        expect(here.run(join(here.path, 'bin/reeve'), ['run'], { XDG_CACHE_HOME: cache })).toMatchObject({
          stdout: 'said cli run\n',
          stderr: '',
          status: 0,
        })
    })
  })

  test('a system without any Node prints what is needed and exits with 127', async () => {
    await using here = await makeFakeInstall()
    mkdirSync(join(here.path, 'empty'))
    expect(here.run('/bin/sh', [join(here.path, 'bin/reeve')], { PATH: join(here.path, 'empty') })).toMatchObject({
      stdout: '',
      stderr: 'reeve: Node 24 or newer is needed and there is no `node` in PATH; see https://nodejs.org\n',
      status: 127,
    })
  })

  test('a checkout without a build prints the command that builds it', async () => {
    await using here = await makeFakeInstall()
    rmSync(join(here.path, 'dist'), { recursive: true })
    const { stdout, stderr, status } = here.run(join(here.path, 'bin/reeve'), ['ps'])
    expect({ stdout, stderr, status }).toEqual({
      stdout: '',
      stderr: `reeve: ${join(here.path, 'dist/cli/main.cjs')} does not exist; run: npm run build\n`,
      status: 1,
    })
  })

  test('any Node can parse bin/reeve and need-node.cjs, which use only ES5', () => {
    for (const path of ['scripts/need-node.cjs', 'bin/reeve']) {
      expect(
        blankOut(readSource(path).raw, ['comment', 'string', 'regex']).match(/=>|`|\b(const|let|class|async|await|of)\b|\.\.\.|\?\.|\?\?/g),
      ).toBeNull()
    }
  })
})

describe('need-node', () => {
  const needNode = ['scripts/need-node.cjs']

  test('runs a TypeScript script in the same process, with its arguments, top-level await and exit code', async () => {
    await using here = await makeFakeInstall()
    here.put(
      'it.ts',
      'const pid: number = await Promise.resolve(process.ppid)\nconsole.log(import.meta.main, pid, process.argv.slice(2))\nprocess.exitCode = 5',
    )
    const { stdout, status } = here.run('node', [...needNode, 'it.ts', 'a', '--b'])
    expect({ stdout, status }).toEqual({ stdout: `true ${process.pid} [ 'a', '--b' ]\n`, status: 5 })
  })

  test('under an old Node, it uses the bundled one', async () => {
    await using here = await makeFakeInstall()
    installBundledNode(here)
    here.put('it.ts', 'console.log(process.env.BUNDLED, process.argv.slice(2))\nprocess.exitCode = 5')
    expect(here.run('node', [...needNode, 'it.ts', 'a', '--b'], here.old())).toMatchObject({ stdout: "1 [ 'a', '--b' ]\n", status: 5 })
  })

  test('a checkout without the bundled Node prints how to install it', async () => {
    await using here = await makeFakeInstall()
    here.put('it.ts', '')
    here.put('scripts/build.mjs', '')
    expect(here.run('node', [...needNode, 'it.ts'], here.old())).toMatchObject({
      stderr:
        'reeve: Node 24 or newer is needed and this is v12.22.0; `npm ci` installs it, but not with --ignore-scripts, --omit=dev or NODE_ENV=production. Run: npm ci --include=dev --ignore-scripts=false\n',
      status: 1,
    })
  })

  test('a bundled Node that cannot run is reported', async () => {
    await using here = await makeFakeInstall()
    here.put('it.ts', '')
    here.put('node_modules/node/bin/node', 'for another machine', 0o644)
    expect(here.run('node', [...needNode, 'it.ts'], here.old())).toMatchObject({
      stderr: expect.stringContaining('bin/node cannot be run (EACCES). Node 24 or newer is needed'),
      status: 1,
    })
  })

  test.each([
    [[], 'usage: node scripts/need-node.cjs SCRIPT ARG...'],
    [['none.ts'], '/none.ts does not exist'],
  ])('%j is refused', async (args, message) => {
    await using here = await makeFakeInstall()
    expect(here.run('node', [...needNode, ...args])).toMatchObject({ stderr: expect.stringContaining(message), status: 1 })
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('%s reaches the script under the bundled Node, and both end by it', async (signal) => {
    await using here = await makeFakeInstall()
    installBundledNode(here)
    here.put(
      'it.ts',
      `process.on('${signal}', () => { console.log('got it'); process.removeAllListeners('${signal}'); process.kill(process.pid, '${signal}') })\nsetInterval(() => {}, 60_000)\nconsole.log('up')`,
    )
    const child = spawn('node', [...needNode, 'it.ts'], {
      cwd: here.path,
      env: testEnv(here.path, here.old()),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      if (text === 'up\n') child.kill(signal)
    })
    expect(await once(child, 'close')).toEqual([null, signal])
    expect(text).toBe('up\ngot it\n')
  })
})

describe('the build', () => {
  beforeAll(() => {
    if (!existsSync(join(root, 'dist/cli/main.cjs'))) throw new Error('these tests need a build: npm run build')
  })

  test('bin/reeve runs it', async () => {
    await using dir = await tempDir()
    const { stdout, stderr, status } = spawnSync(join(root, 'bin/reeve'), ['version'], { encoding: 'utf8', env: testEnv(dir.path) })
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
    expect(stdout).toContain(version)
    expect(readdirSync(dir.path), 'no daemon was started for that').toEqual(['.cache'])
  })

  test('bin/reeve finds the files beside the build without a warning, also with compiled code of an earlier command', async () => {
    await using dir = await tempDir()
    const run = (...args: string[]): SpawnSyncReturns<string> =>
      spawnSync(join(root, 'bin/reeve'), args, { encoding: 'utf8', env: testEnv(dir.path) })
    try {
      expect(run('ps')).toMatchObject({ status: 0 })
      for (const args of [
        ['config', 'show'],
        ['help', 'models'],
      ])
        expect(run(...args)).toMatchObject({ stderr: '', status: 0 })
    } finally {
      run('daemon', 'stop')
    }
  })

  test('the library and its types are usable from a package that depends on it', async () => {
    await using dir = await tempDir()
    mkdirSync(join(dir.path, 'node_modules'))
    symlinkSync(root, join(dir.path, 'node_modules/reeve'))
    symlinkSync(join(root, 'node_modules/@types'), join(dir.path, 'node_modules/@types'))
    writeFileSync(join(dir.path, 'package.json'), '{"type": "module"}')
    writeFileSync(
      join(dir.path, 'user.mts'),
      "import { connect } from 'reeve'\nconst reeve = connect()\nconst list: Promise<readonly { pid: number }[]> = reeve.list()\nlist.catch(() => {})\n",
    )
    writeFileSync(join(dir.path, 'wrong.mts'), "import { connect } from 'reeve'\nexport const wrong: number = connect().list()\n")
    writeFileSync(
      join(dir.path, 'tsconfig.json'),
      '{"compilerOptions": {"module": "nodenext", "target": "es2024", "lib": ["es2024", "esnext.disposable"], "strict": true, "noEmit": true, "types": ["node"]}, "files": ["user.mts", "wrong.mts"]}',
    )
    const tsc = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', dir.path], {
      encoding: 'utf8',
      cwd: dir.path,
    })
    expect(tsc.stdout, 'only what is wrong is refused').toMatch(/^wrong\.mts\(2,14\): error TS2322: [^\n]*\n$/)
    const imported = spawnSync(process.execPath, ['--input-type=module', '-e', "console.log(typeof (await import('reeve')).connect)"], {
      encoding: 'utf8',
      cwd: dir.path,
      env: testEnv(dir.path),
    })
    expect(imported).toMatchObject({ stdout: 'function\n', status: 0 })
  })
})
