// A clean machine, where an ordinary user installs the package, works with it and removes it. clean-machine.txt is the transcript, with the
// commands and their output; `--update` rewrites it. At the end no process and no file is left, except what the transcript names. Another
// test runs `reeve` with a Node that is too old.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
import { FORM, ROOT } from '../support/env.ts'
import { tempDir } from '../support/tmp.ts'

/** the id of an ordinary user that exists on every Linux */
const NOBODY = 65534
const IS_ROOT = process.geteuid?.() === 0
const MIN_NODE = 24

/** The folder of a Node that is too old for reeve; null if there is none on this machine. */
function findOldNode(): string | null {
  const isOld = (dir: string): boolean => {
    const { status, stdout } = spawnSync(join(dir, 'node'), ['-p', 'process.versions.node'], { encoding: 'utf8' })
    return status === 0 && Number.parseInt(stdout, 10) < MIN_NODE
  }
  return ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'].find(isOld) ?? null
}
const OLD_NODE = findOldNode()

const HELLO = '- text: Hello. I am a model from a file.\n'
const WORK = JSON.stringify([
  { tools: [{ name: 'write', input: { path: 'about.txt', content: 'About us\n' } }] },
  { text: 'The page is written.' },
])

/** A home of an ordinary user, with a prefix of npm in it. */
class Machine {
  readonly home: string
  #lines: string[] = []
  readonly #root: string

  constructor(root: string) {
    this.#root = root
    this.home = join(root, 'home')
    for (const dir of [root, this.home, join(root, 'tmp'), join(root, 'npm')]) {
      mkdirSync(dir, { recursive: true })
      if (IS_ROOT) chownSync(dir, NOBODY, NOBODY)
    }
    chmodSync(root, 0o755)
    // The user may not read the folder of the Node that runs the tests.
    mkdirSync(join(root, 'node'))
    copyFileSync(process.execPath, join(root, 'node/node'))
    const prefix = join(this.home, '.npm-global')
    this.write('.npmrc', `prefix=${prefix}\ncache=${join(root, 'npm')}\nupdate-notifier=false\nfund=false\naudit=false\n`)
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.home, name), text)
    if (IS_ROOT) chownSync(join(this.home, name), NOBODY, NOBODY)
  }

  /** Runs a command of the shell as the user, and adds it with its output to the transcript. */
  run(command: string): void {
    const { status, stdout } = this.#spawn(command)
    expect([command, status, status === 0 ? '' : stdout]).toEqual([command, 0, ''])
    this.#lines.push(`$ ${command}`, ...(stdout === '' ? [] : [this.#normalise(stdout).trimEnd()]), '')
  }

  /** Ends the daemon of a test that failed. */
  [Symbol.dispose](): void {
    if (existsSync(join(this.home, '.npm-global/bin/reeve'))) this.#spawn('reeve daemon stop --now -q')
  }

  #spawn(command: string): { status: number | null; stdout: string } {
    const env = {
      HOME: this.home,
      TMPDIR: join(this.#root, 'tmp'),
      PATH: [join(this.home, '.npm-global/bin'), join(this.#root, 'node'), '/usr/bin', '/bin'].join(delimiter),
      LANG: 'C.UTF-8',
      NO_COLOR: '1',
      // On a slow machine a command would print what it waits for.
      REEVE_WAIT_NOTE_S: '600',
    }
    const asUser = IS_ROOT ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : []
    const [file = '', ...args] = [...asUser, 'sh', '-c', `cd "$HOME" && { ${command}\n} 2>&1`]
    return spawnSync(file, args, { env, encoding: 'utf8' })
  }

  note(line: string): void {
    this.#lines.push(`# ${line}`)
  }

  get transcript(): string {
    return `${this.#lines.join('\n').trimEnd()}\n`
  }

  /** Replaces what differs between two runs. */
  #normalise(output: string): string {
    return output
      .replaceAll(this.home, '~')
      .replaceAll(/\bin \d+m?s\b/g, 'in TIME')
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
      .replaceAll(/\b(?=[0-9a-f]*\d)[0-9a-f]{7,16}\b/g, 'ID')
      .replaceAll(/\b(reeve|Node\.js) \d+\.\d+\.\d+/g, '$1 VERSION')
      .replaceAll(/\d+(\.\d+)?m?s\b/g, 'TIME')
  }
}

/** The OS pids of the living programs with this home. */
function processesOf(home: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`HOME=${home}`)
    } catch {
      // The process has ended meanwhile, or belongs to another user.
      return false
    }
  })
}

const filesBelow = (dir: string): string[] =>
  existsSync(dir)
    ? readdirSync(dir, { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    : []

const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0
const canInstall = FORM === 'bundle' && process.platform === 'linux' && has('npm') && (!IS_ROOT || has('setpriv'))

test.runIf(canInstall)(
  'an ordinary user installs reeve, runs agents, takes their work, and removes it without a trace',
  async () => {
    await using dir = await tempDir()
    using machine = new Machine(join(dir.path, 'm'))
    chmodSync(dir.path, 0o755)
    const packed = spawnSync('npm', ['pack', '--ignore-scripts', '--pack-destination', machine.home], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, npm_config_cache: join(dir.path, 'cache'), npm_config_update_notifier: 'false' },
    })
    expect([packed.status, packed.status === 0 ? '' : packed.stderr]).toEqual([0, ''])
    machine.write('hello.yaml', HELLO)
    machine.write('work.yaml', WORK)
    machine.note('Install, without a network')
    machine.run('npm install --global --offline ./reeve-*.tgz')
    machine.run('npm ls --global --all --parseable | wc -l')
    machine.run('reeve version')
    machine.note('The first agent starts the daemon')
    machine.run('reeve run --model script:hello.yaml "say hello"')
    machine.run('reeve doctor > doctor.txt && echo no check failed')
    machine.note('The work of an agent in its own worktree')
    machine.run(
      'git init -q -b main site && cd site && git config user.name Ann && git config user.email ann@example.org && git commit -q --allow-empty -m first',
    )
    machine.run('cd site && reeve run --name page --worktree --model script:../work.yaml "write the page"')
    machine.run('cd site && reeve diff page')
    machine.run('cd site && reeve merge page')
    machine.run('cd site && git log --format=%s && cat about.txt')
    machine.run('reeve rm page && git -C site worktree list | wc -l && git -C site branch --list')
    machine.note('Without an installation')
    machine.run('npx --offline --yes --package ./reeve-*.tgz -- reeve version')
    machine.note('Remove')
    machine.run('reeve daemon stop && npm uninstall --global reeve')
    machine.run('command -v reeve || echo reeve is gone')
    machine.run('find ~ -type d -name reeve | sort')
    expect(processesOf(machine.home)).toEqual([])
    machine.run('rm -r ~/.local/state/reeve ~/.cache/reeve')
    expect(filesBelow(join(machine.home, '.npm-global'))).toEqual([])
    // npm keeps its own compiled code there.
    expect(filesBelow(join(dir.path, 'm/tmp')).filter((file) => !file.startsWith('node-compile-cache/'))).toEqual([])
    const kept = /^(site\/|\.npmrc$|(hello|work)\.yaml$|doctor\.txt$|reeve-[\d.]+\.tgz$)/
    expect(filesBelow(machine.home).filter((file) => !kept.test(file))).toEqual([])
    await expect(machine.transcript).toMatchFileSnapshot('./clean-machine.txt')
  },
  300_000,
)

test.runIf(FORM === 'bundle' && OLD_NODE !== null)(
  `a real Node that is too old${OLD_NODE === null ? ' (skipped: this machine has none)' : ''} gets one line that says what is needed`,
  async () => {
    await using dir = await tempDir()
    const bin = join(dir.path, 'bin')
    mkdirSync(bin)
    // As npm installs it: a link to a package without a Node of its own.
    for (const name of ['bin', 'dist', 'scripts/need-node.cjs', 'package.json'])
      cpSync(join(ROOT, name), join(dir.path, 'lib', name), { recursive: true })
    symlinkSync(join(dir.path, 'lib/bin/reeve'), join(bin, 'reeve'))
    const { status, stdout, stderr } = spawnSync('reeve', ['ps'], {
      encoding: 'utf8',
      env: { HOME: dir.path, PATH: [bin, OLD_NODE ?? '', '/bin'].join(delimiter) },
    })
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^reeve: Node 24 or newer is needed and this is v\d+[^\n]*\n$/),
    })
  },
)
