// Makes docs/screens/*.svg: screenshots of the command line in tmux, at 60 to 200 columns, offline. Also makes the moving pictures of
// README and the guides, docs/top.svg and docs/picture.svg (`node scripts/screens.ts top picture`), each from the screens of one session. A
// screen is a list of typed lines and keys, each with the text to wait for. Colours are kept. Needs tmux and a build. Run it with
// `node scripts/screens.ts [NAME]...`, by default for all pictures, and check them before you commit them.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { toMovingSvg, toSvg, type Frame } from './screens/terminal-svg.ts'

const ROOT = resolve(import.meta.dirname, '..')
const OUT = join(ROOT, 'docs/screens')
const SCRATCH = mkdtempSync(join(tmpdir(), 'reeve-screens-'))
const HOME = join(SCRATCH, 'home')
/** The homes of the moving pictures. Their processes have the same names as those of the other pictures. */
const PICTURE_HOME = join(SCRATCH, 'picture')
const TOP_HOME = join(SCRATCH, 'top')
const SHOP = join(SCRATCH, 'shop')
const SOCKET = join(SCRATCH, 'tmux')
/** the time limit of each wait, in ms; much longer than a wait usually takes */
const LIMIT_MS = 240_000

/** A line with Enter, or single keys by their names in tmux. */
type Typed = { readonly line: string; readonly until: RegExp } | { readonly keys: readonly string[]; readonly until: RegExp }

interface Screen {
  readonly name: string
  readonly columns: number
  readonly rows: number
  /** what is typed, in order; each part is typed when the screen matches `until` of the part before it */
  readonly typed: readonly Typed[]
  readonly env?: Readonly<Record<string, string>>
}

const FIXER = `- text: I look at the tests first.
  tools: [{ name: ls, input: { path: . } }, { name: read, input: { path: price.js } }]
  usage: { input: 2140, output: 96 }
  delay_ms: 700
- text: The discount is taken off twice. I repair that.
  tools: [{ name: edit, input: { path: price.js, old_text: 'price - off - off', new_text: 'price - off' } }]
  usage: { input: 2410, output: 143 }
  delay_ms: 900
- tools: [{ name: bash, input: { command: 'node price.js && sleep 2' } }]
  usage: { input: 2650, output: 51 }
  delay_ms: 500
- text: "Done: price.js takes the discount off once, and prints 90."
  usage: { input: 2788, output: 40 }
`
const TALKER = `- text: I am ready. What is it about?
  usage: { input: 900, output: 12 }
- text: Then I would begin with the tests.
  usage: { input: 960, output: 20 }
`
const SLEEPER = `- tools: [{ name: bash, input: { command: sleep 300 } }]
  usage: { input: 1200, output: 30 }
`
const ASKER = `- text: The discount is taken off twice. I repair that.
  tools: [{ name: read, input: { path: price.js } }]
  usage: { input: 2140, output: 96 }
- tools: [{ name: edit, input: { path: price.js, old_text: 'price - off - off', new_text: 'price - off' } }]
  usage: { input: 2410, output: 143 }
- tools: [{ name: bash, input: { command: 'node price.js && sleep 300' } }]
  usage: { input: 2650, output: 51 }
`
const STEP = `- tools: [{ name: bash, input: { command: 'sleep 0.3; date +%N' } }]
`

const START = [
  { line: 'reeve run -d --name writer --model script:sleeper.yaml "write the manual" 2>/dev/null', until: /[0-9a-f-]{36}/ },
  {
    line: 'reeve run -d --name helper --parent writer --model script:sleeper.yaml "collect the flags" 2>/dev/null',
    until: /[0-9a-f-]{36}[^]*[0-9a-f-]{36}/,
  },
  { line: 'reeve run -d --name build -- sleep 900 2>/dev/null; clear', until: /\$ $/ },
]

const ASKING = 'reeve run -d --name fix --permissions ask --budget-usd 5 --model script:asker.yaml "repair the discount" >/dev/null 2>&1'

/** `reeve top` with a question in the panel. */
const topScreen = (columns: number, name = `top-${columns}`, env: Readonly<Record<string, string>> = {}): Screen => ({
  name,
  columns,
  rows: 24,
  typed: [
    { line: 'clear; reeve top', until: /live [^]*asks/ },
    { keys: ['1'], until: /2 Deny this call/ },
  ],
  env,
})

const SCREENS: readonly Screen[] = [
  {
    name: 'run',
    columns: 80,
    rows: 16,
    typed: [{ line: 'reeve run --model script:fixer.yaml "repair the discount"', until: /sleep 2[^]*\d+s/ }],
  },
  {
    name: 'run-wide',
    columns: 200,
    rows: 20,
    typed: [{ line: 'reeve run --model script:fixer.yaml "repair the discount"', until: /exit 0|completed/ }],
  },
  {
    name: 'ps',
    columns: 80,
    rows: 10,
    typed: [...START, { line: 'clear; reeve pause --subtree writer 2>/dev/null; reeve ps --tree', until: /build[^]*\$ $/ }],
  },
  { name: 'inspect', columns: 80, rows: 30, typed: [{ line: 'clear; reeve inspect writer', until: /\$ $/ }] },
  {
    ...topScreen(60),
    typed: [
      { line: `clear; ${ASKING}; reeve wait --for waiting fix; reeve top`, until: /live [^]*asks/ },
      { keys: ['1'], until: /2 Deny this call/ },
    ],
  },
  topScreen(80),
  topScreen(120),
  topScreen(200),
  topScreen(80, 'top-no-colour', { NO_COLOR: '1' }),
  { name: 'help', columns: 80, rows: 30, typed: [{ line: 'clear; reeve help', until: /\$ $/ }] },
  {
    name: 'attach',
    columns: 80,
    rows: 14,
    typed: [
      {
        line: 'clear; reeve run -d --interactive --name talker --model script:talker.yaml hello >/dev/null 2>&1; reeve attach talker',
        until: /ready/,
      },
      { line: 'the prices are wrong', until: /step 2 {2}1\.9k/ },
    ],
  },
]

/** A session for a moving picture. A line may name the PID of the daemon. */
interface MovingPicture extends Screen {
  /** what the picture shows, for readers who do not see it */
  readonly label: string
  /** commands that run before the session */
  readonly before?: readonly string[]
}

const PICTURE: MovingPicture = {
  name: 'picture',
  label: 'reeve pauses a tree of agents, survives a kill of its daemon, and continues the work',
  columns: 92,
  rows: 22,
  typed: [
    { line: 'reeve run -d --name writer --model script:steps.yaml "write the manual"', until: /[0-9a-f-]{36}\n/ },
    {
      line: 'reeve run -d --name helper --parent writer --model script:steps.yaml "collect the flags"',
      until: /[0-9a-f-]{36}\n[^]*[0-9a-f-]{36}\n/,
    },
    { line: 'clear; reeve ps --tree', until: /helper[^]*\$ $/ },
    { line: 'reeve pause --subtree writer', until: /in all\n/ },
    { line: 'reeve ps --tree', until: /suspended[^]*suspended[^]*suspended[^]*\$ $/ },
    { line: 'reeve resume -d --subtree writer', until: /working; 2[^]*in all/ },
    { line: 'kill -9 DAEMON        # the daemon', until: /# the daemon\n\$ $/ },
    { line: 'clear; reeve ps -a', until: /interrupted[^]*interrupted[^]*\$ $/ },
    { line: 'reeve resume --all-interrupted --yes', until: /2 resumed/ },
    { line: 'reeve ps --tree', until: /working[^]*working[^]*\$ $/ },
  ],
  env: { REEVE_HOME: PICTURE_HOME },
}

/** A question is answered, a tree is paused and resumed, and the screen shows what a stop would cost. */
const TOP: MovingPicture = {
  name: 'top',
  label: 'reeve top shows running agents; the user answers a question, pauses a tree of agents, and looks at what a stop would cost',
  columns: 100,
  rows: 20,
  before: [
    'reeve run -d --name manual --budget-usd 5 --model script:steps.yaml "write the manual"',
    'reeve run -d --name flags --parent manual --model script:steps.yaml "collect the flags"',
    'reeve run -d --name build -- sleep 900',
    ASKING,
  ],
  typed: [
    { line: 'reeve top', until: /live [^]*asks/ },
    { keys: ['1'], until: /2 Deny this call/ },
    { keys: ['a'], until: /bash: node price.js[^]*2 Deny this call/ },
    { keys: ['a'], until: /steps\] diff/ },
    { keys: ['Escape'], until: /live/ },
    { keys: ['g', 'g'], until: /reeve attach manual/ },
    { keys: ['p'], until: /⏸ manual[^]*⏸ flags/ },
    { keys: ['p'], until: /● manual[^]*● flags/ },
    { keys: ['s'], until: /in flight[^]*kept/ },
    { keys: ['Escape'], until: /reeve attach manual/ },
  ],
  env: { REEVE_HOME: TOP_HOME },
}
const MOVING_PICTURES = [TOP, PICTURE]

/** How long a frame stays: with the result of a command, with a typed command, and at the end. */
const [READ_MS, TYPED_MS, END_MS] = [1_800, 700, 4_000]

function runCommand(command: string, args: readonly string[]): string {
  const run = spawnSync(command, args, { encoding: 'utf8', cwd: SHOP })
  if (run.status !== 0) throw new Error(`${command} ${args.join(' ')}: ${run.stderr || run.error?.message}`)
  return run.stdout
}

const tmux = (...args: string[]): string => runCommand('tmux', ['-S', SOCKET, '-f', '/dev/null', ...args])

function openTerminal({ name, columns, rows, env = {} }: Screen): void {
  const vars = {
    REEVE_HOME: HOME,
    PATH: `${join(ROOT, 'bin')}:${process.env['PATH'] ?? ''}`,
    PS1: '$ ',
    LANG: 'C.UTF-8',
    ...env,
  }
  const assigned = Object.entries(vars).map(([key, value]) => `${key}=${value}`)
  tmux('new-session', '-d', '-s', name, '-x', String(columns), '-y', String(rows), '-c', SHOP, 'env', ...assigned, 'sh')
}

/** The text of the terminal with its colours, without names of this machine. */
function captureScreen(name: string): string {
  // Without -N the blanks at the end of an inverse line would be missing.
  const text = tmux('capture-pane', '-e', '-p', '-N', '-t', name).replaceAll(SCRATCH, '/home/me')
  return text.trimEnd().split('\n').map(withoutHostname).join('\n')
}

const HOST = new RegExp(String.raw`(?<=^|[^\w.-]|\x1b\[[\d;]*m)${hostname().replaceAll('.', String.raw`\.`)}(?![\w.-])`)
const SHOWN_HOST = 'box'

/** Replaces the name of this machine. The next gap of several spaces makes up for the difference, so that columns stay. */
function withoutHostname(line: string): string {
  const found = HOST.exec(line)
  if (!found) return line
  const end = found.index + found[0].length
  const more = SHOWN_HOST.length - found[0].length
  const rest = line.slice(end).replace(/ {2,}/, (gap) => ' '.repeat(Math.max(1, gap.length - more)))
  return line.slice(0, found.index) + SHOWN_HOST + rest
}

async function makeScreenshot(screen: Screen): Promise<void> {
  const { name, columns, typed } = screen
  writeFixtures()
  openTerminal(screen)
  await waitForScreen(name, /\$ $/)
  for (const part of typed) {
    tmux('send-keys', '-t', name, ...('line' in part ? [part.line, 'Enter'] : part.keys))
    await waitForScreen(name, part.until)
  }
  writeFileSync(join(OUT, `${name}.svg`), toSvg(captureScreen(name), columns, `reeve ${name} in a terminal`))
  console.log(`screens: ${name}.svg`)
}

/** Plays the session of a moving picture. A command gives two frames: typed, and with its result. Keys give one. */
async function makeMovingPicture(session: MovingPicture): Promise<void> {
  const { name, typed, before = [] } = session
  const env = { ...process.env, ...session.env, PATH: `${join(ROOT, 'bin')}:${process.env['PATH'] ?? ''}` }
  writeFixtures()
  for (const command of before) spawnSync('sh', ['-c', command], { cwd: SHOP, env })
  openTerminal(session)
  await waitForScreen(name, /\$ $/)
  const frames: Frame[] = []
  for (const part of typed) {
    if ('line' in part) {
      tmux('send-keys', '-t', name, part.line.replace('DAEMON', part.line.includes('DAEMON') ? String(daemonPid()) : ''))
      await waitForScreen(name, /\$ \S/)
      frames.push({ text: captureScreen(name), stayMs: TYPED_MS })
      tmux('send-keys', '-t', name, 'Enter')
    } else tmux('send-keys', '-t', name, ...part.keys)
    await waitForScreen(name, part.until)
    frames.push({ text: captureScreen(name), stayMs: READ_MS })
    await delay(READ_MS) // the agents work on while the reader looks
  }
  writeFileSync(join(ROOT, `docs/${name}.svg`), toMovingSvg([...frames, { text: captureScreen(name), stayMs: END_MS }], session))
  console.log(`screens: ${name}.svg, ${frames.length} frames`)
}

function daemonPid(): number {
  const env = { ...process.env, REEVE_HOME: PICTURE_HOME }
  const { stdout } = spawnSync(join(ROOT, 'bin/reeve'), ['daemon', 'status', '--json'], { env, encoding: 'utf8' })
  return (JSON.parse(stdout) as { pid: number }).pid
}

async function waitForScreen(name: string, until: RegExp): Promise<void> {
  const deadline = performance.now() + LIMIT_MS
  for (;;) {
    const text = tmux('capture-pane', '-p', '-t', name)
    if (until.test(text.trimEnd() + (text.trimEnd().endsWith('$') ? ' ' : ''))) return
    if (performance.now() > deadline) throw new Error(`${name}: ${String(until)} is not on the screen:\n${text}`)
    await delay(100)
  }
}

/** Writes the files as they are before an agent changes them. */
function writeFixtures(): void {
  mkdirSync(SHOP, { recursive: true })
  mkdirSync(OUT, { recursive: true })
  const files = {
    'price.js': 'const [price, off] = [100, 10]\nconsole.log(price - off - off)\n',
    'fixer.yaml': FIXER,
    'talker.yaml': TALKER,
    'asker.yaml': ASKER,
    'sleeper.yaml': SLEEPER,
    'steps.yaml': STEP.repeat(200),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(SHOP, name), text)
}

const NAMES = [...SCREENS, ...MOVING_PICTURES].map(({ name }) => name)

/** Why the pictures cannot be made; null: they can be. */
function findObstacle(wanted: readonly string[]): string | null {
  const unknown = wanted.find((name) => !NAMES.includes(name))
  if (unknown !== undefined)
    return `there is no picture "${unknown}".\nUsage: node scripts/screens.ts [NAME]...   NAME: ${NAMES.join(', ')}; default: all`
  if (spawnSync('tmux', ['-V']).status !== 0) return 'tmux is missing. Install it, for example with `apt-get install tmux`.'
  if (!existsSync(join(ROOT, 'dist/cli/main.cjs'))) return 'there is no build. Run `npm run build` first.'
  return null
}

const wanted = process.argv.slice(2)
const obstacle = findObstacle(wanted)
try {
  if (obstacle !== null) throw new Error(obstacle)
  writeFixtures()
  for (const screen of SCREENS) if (wanted.length === 0 || wanted.includes(screen.name)) await makeScreenshot(screen)
  for (const session of MOVING_PICTURES) if (wanted.length === 0 || wanted.includes(session.name)) await makeMovingPicture(session)
} catch (error) {
  console.error(`screens: ${(error as Error).message}`)
  process.exitCode = 1
} finally {
  spawnSync('tmux', ['-S', SOCKET, 'kill-server'])
  for (const home of [HOME, PICTURE_HOME, TOP_HOME])
    if (existsSync(home)) spawnSync(join(ROOT, 'bin/reeve'), ['daemon', 'stop', '--now'], { env: { ...process.env, REEVE_HOME: home } })
  rmSync(SCRATCH, { recursive: true, force: true })
}
