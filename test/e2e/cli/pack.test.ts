// The published package. Packed in a clean copy of the repository without a build, it contains the program and its documents. npm
// installs it without another package, and it runs.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli } from '../../support/daemon/cli.ts'
import { FORM, ROOT, testEnv } from '../../support/env.ts'
import { tempDir } from '../../support/tmp.ts'

const canPack = FORM === 'bundle' && existsSync(join(ROOT, '.git')) && spawnSync('npm', ['--version'], { env: testEnv('/') }).status === 0

function runIn(cwd: string, env: Record<string, string>, command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  expect([command, args[0], status, status === 0 ? '' : stderr]).toEqual([command, args[0], 0, ''])
  return stdout
}

test.runIf(canPack)(
  '`npm pack` of a clean copy has the program, and npm installs it without another package',
  async () => {
    await using dir = await tempDir()
    const [clone, home] = [join(dir.path, 'clone'), join(dir.path, 'home')]
    mkdirSync(home, { mode: 0o700 })
    const env = testEnv(home, { npm_config_cache: join(dir.path, 'cache'), npm_config_update_notifier: 'false' })
    const files = runIn(ROOT, env, 'git', '-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard')
      .split('\0')
      .filter((file) => file !== '' && existsSync(join(ROOT, file)))
    for (const file of files) cpSync(join(ROOT, file), join(clone, file))
    symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'))

    const packedFile = JSON.parse(
      /\[\n.*/s.exec(runIn(clone, env, 'npm', 'pack', '--json', '--pack-destination', dir.path))?.[0] ?? '[]',
    ) as {
      filename: string
      files: { path: string }[]
    }[]
    const paths = packedFile[0]?.files.map(({ path }) => path) ?? []
    expect(paths).toEqual(
      expect.arrayContaining([
        'bin/reeve',
        'dist/cli/main.cjs',
        'dist/cli/ps.cjs',
        'dist/daemon.js',
        'dist/daemon.pack',
        'dist/index.js',
        'dist/types/index.d.ts',
        'dist/THIRD_PARTY_NOTICES',
        'docs/start/quick-start.md',
        'LICENSE',
      ]),
    )

    const prefix = join(dir.path, 'global')
    runIn(home, env, 'npm', 'install', '--global', '--offline', '--prefix', prefix, join(dir.path, packedFile[0]?.filename ?? ''))
    const installed = join(prefix, 'lib/node_modules/reeve')
    expect(existsSync(join(installed, 'node_modules')), 'another package').toBe(false)
    const notices = readFileSync(join(installed, 'dist/THIRD_PARTY_NOTICES'), 'utf8')
    for (const name of ['fastify', 'zod', 'pino', 'yaml', 'ignore', '@modelcontextprotocol/client'])
      expect(notices).toMatch(new RegExp(`^${name} [\\d.]+ \\([\\w.-]+\\)$`, 'm'))
    const bin = join(prefix, 'bin/reeve')
    try {
      expect(runIn(home, env, bin, 'run', '-q', '--', 'echo', 'hello')).toBe('hello\n')
      expect(await runCli(home, ['ps'])).toMatchObject({ code: 0, stderr: '' })
    } finally {
      runIn(home, env, bin, 'daemon', 'stop', '--now', '-q')
    }
  },
  300_000,
)
