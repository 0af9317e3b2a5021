// Demonstrates reeve's main features from end to end, offline and without a key, and explains each part. The demo runs the commands of
// a user in a temporary folder. It exits with 1 if a result is wrong.
// Run it with `npm run demo`.
import { spawnSync } from 'node:child_process'
import { closeSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const ROOT = resolve(import.meta.dirname, '..')
const CLI = join(ROOT, 'bin/reeve')
const SCRATCH = mkdtempSync(join(tmpdir(), 'reeve-demo-'))
const REPO = join(SCRATCH, 'shop')
const HOME = join(SCRATCH, 'home')
const CREW = join(SCRATCH, 'crew')
const CREW_REPO = join(CREW, 'shop')
const LINES = join(SCRATCH, 'lines.txt')
const LINE_COUNT = 30
const ENV: NodeJS.ProcessEnv = {
  ...process.env,
  REEVE_HOME: HOME,
  GIT_AUTHOR_NAME: 'demo',
  GIT_AUTHOR_EMAIL: 'demo@example.invalid',
  GIT_COMMITTER_NAME: 'demo',
  GIT_COMMITTER_EMAIL: 'demo@example.invalid',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
}
const LIMIT_MS = 30_000

class FailedCheck extends Error {}

function print(text: string): void {
  process.stdout.write(`\n${text}\n`)
}

function check(isTrue: boolean, promise: string): void {
  process.stdout.write(`  ${isTrue ? '✓' : '✗'} ${promise}\n`)
  if (!isTrue) throw new FailedCheck(promise)
}

/** Runs reeve as a user would and returns its output; `show` prints the command and the output. */
function reeve(args: readonly string[], options: { readonly show?: boolean; readonly code?: number; readonly cwd?: string } = {}): string {
  const { show = true, code = 0, cwd = REPO } = options
  if (show) process.stdout.write(`\n  $ reeve ${args.map((arg) => (/[\s&]/.test(arg) ? `'${arg}'` : arg)).join(' ')}\n`)
  const file = join(SCRATCH, 'output.txt')
  const outputFile = openSync(file, 'w')
  const run = spawnSync(process.execPath, [CLI, ...args], { cwd, env: ENV, stdio: ['ignore', outputFile, outputFile], timeout: LIMIT_MS })
  closeSync(outputFile)
  const output = readFileSync(file, 'utf8')
  if (show) process.stdout.write(indent(output))
  if (run.status !== code) throw new FailedCheck(`reeve ${args[0]} ended with ${run.status}: ${output}`)
  return output
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? line : `    ${line}`))
    .join('\n')
}

function git(...args: string[]): string {
  return gitIn(REPO, ...args)
}

function gitIn(cwd: string, ...args: string[]): string {
  const run = spawnSync('git', args, { cwd, env: ENV, encoding: 'utf8' })
  if (run.status !== 0) throw new FailedCheck(`git ${args[0]} failed: ${run.error?.message ?? run.stderr}`)
  return run.stdout
}

interface Row {
  readonly pid: number
  readonly uuid: string
  readonly status: string
  readonly step: number
  readonly elapsedMs: number
  readonly note: string | null
}

function inspect(name: string): Row {
  return JSON.parse(reeve(['inspect', '--json', name], { show: false })) as Row
}

async function waitUntil(isTrue: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + LIMIT_MS
  while (!isTrue()) {
    if (performance.now() > deadline) throw new FailedCheck(`it took too long until ${what}`)
    await delay(50)
  }
}

async function killDaemon(): Promise<void> {
  const { pid } = JSON.parse(reeve(['daemon', 'status', '--json'], { show: false })) as { pid: number }
  process.stdout.write(`\n  $ kill -9 ${pid}\n`)
  process.kill(pid, 'SIGKILL')
  await waitUntil(() => !existsSync(`/proc/${pid}`) || isZombie(pid), 'the daemon was dead')
}

function isZombie(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.startsWith('Z') ?? true
  } catch {
    // The process has gone.
    return true
  }
}

/** The OS pids of the living programs of this home, without the daemon. */
function findLeftovers(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const env = readFileSync(`/proc/${pid}/environ`, 'latin1')
        return env.includes(`REEVE_HOME=${HOME}`) && env.includes('REEVE_PROC=') && !isZombie(pid)
      } catch {
        // The process has gone, or belongs to another user.
        return false
      }
    })
}

function readLineNumbers(): number[] {
  return existsSync(LINES) ? readFileSync(LINES, 'utf8').trim().split('\n').filter(Boolean).map(Number) : []
}

function makeRepository(): void {
  mkdirSync(REPO)
  writeFileSync(join(REPO, 'price.js'), 'exports.total = (items) => items.reduce((sum, item) => sum + item.price, 1)\n')
  writeFileSync(
    join(REPO, 'price.test.js'),
    [
      "const { test } = require('node:test')",
      "const assert = require('node:assert')",
      "const { total } = require('./price.js')",
      "test('an empty cart costs nothing', () => assert.equal(total([]), 0))",
      "test('prices add up', () => assert.equal(total([{ price: 2 }, { price: 3 }]), 5))",
      '',
    ].join('\n'),
  )
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'A cart with a bug')
}

/** Writes the answers of a scripted model; JSON is valid YAML. */
function writeScript(name: string, answers: readonly unknown[]): string {
  const file = join(SCRATCH, name)
  writeFileSync(file, JSON.stringify(answers, null, 2))
  return `script:${file}`
}

const bash = (command: string): unknown => ({ name: 'bash', input: { command } })

function writeFixerScript(): string {
  return writeScript('fixer.yaml', [
    {
      text: 'I read the code first.',
      tools: [
        { name: 'read', input: { path: 'price.js' } },
        { name: 'read', input: { path: 'price.test.js' } },
      ],
      usage: { input: 900, output: 40 },
    },
    {
      text: 'The sum begins at 1 and must begin at 0.',
      tools: [{ name: 'edit', input: { path: 'price.js', old_text: 'item.price, 1)', new_text: 'item.price, 0)' } }],
      usage: { input: 1200, output: 60 },
    },
    {
      text: 'Now the tests.',
      tools: [bash('node --test 2>&1 | grep -E "^(# |ℹ )?(pass|fail|# pass|# fail|ℹ pass|ℹ fail)"')],
      usage: { input: 1300, output: 30 },
    },
    {
      text: 'They pass, so I commit.',
      tools: [bash("git commit -qam 'Begin the sum at 0' && git log --oneline | head -1")],
      usage: { input: 1400, output: 30 },
    },
    { text: 'Done: {{ lastResult }}', usage: { input: 1500, output: 20 } },
  ])
}

function writeWriterScript(): string {
  const steps = Array.from({ length: LINE_COUNT }, (_, i) => ({ delay_ms: 150, tools: [bash(`echo ${i + 1} >> '${LINES}'`)] }))
  return writeScript('writer.yaml', [...steps, { text: `All ${LINE_COUNT} lines are written.` }])
}

async function fixTheBug(): Promise<void> {
  print(
    '1. An agent repairs a small git repository: it reads, edits, runs the tests and commits. Its model is a script, so no key is needed.',
  )
  reeve(['run', '--name', 'fixer', '--model', writeFixerScript(), 'Repair the cart'])
  check(git('log', '--oneline').trim().split('\n').length === 2, 'the agent has committed its repair')
  check(git('status', '--porcelain') === '', 'the work tree is clean')
  reeve(['ps', '-a'])
}

async function pauseAndResume(): Promise<void> {
  print(`2. A second agent writes ${LINE_COUNT} numbered lines, one per step, and has a child. Both are paused as one tree, and resumed.`)
  reeve(['run', '-d', '--name', 'writer', '--model', writeWriterScript(), 'Write the lines'])
  const child = writeScript('child.yaml', [
    ...Array.from({ length: 40 }, (_, i) => ({ delay_ms: 150, tools: [bash(`true ${i}`)] })),
    { text: 'done' },
  ])
  reeve(['run', '-d', '--name', 'helper', '--parent', 'writer', '--model', child, 'Help the writer'])
  await waitUntil(() => readLineNumbers().length >= 3, 'three lines were written')
  reeve(['pause', '--subtree', 'writer'])
  reeve(['wait', '--for', 'suspended', 'writer'], { show: false })
  await waitUntil(() => !isDraining('writer'), 'the call in flight had ended')
  reeve(['ps', '--tree'])
  const stateBefore = { lines: readLineNumbers().length, elapsed: inspect('writer').elapsedMs }
  await delay(700)
  check(readLineNumbers().length === stateBefore.lines, 'no line is written during the pause')
  check(inspect('writer').elapsedMs === stateBefore.elapsed, 'its clock stands still during the pause')
  reeve(['resume', '--subtree', 'writer'])
  await waitUntil(() => readLineNumbers().length > stateBefore.lines, 'it wrote again')
  check(true, 'it continues where it was')
}

function isDraining(name: string): boolean {
  return inspect(name).note?.includes('draining') ?? false
}

async function crashAndResume(): Promise<void> {
  print(
    '3. kill -9 ends the daemon in the middle of the work. The next command starts it again. Nothing is lost, and nothing is done twice.',
  )
  await waitUntil(() => readLineNumbers().length >= 10, 'ten lines were written')
  const viewBefore = inspect('writer')
  await killDaemon()
  reeve(['ps', '-a'])
  const viewAfter = inspect('writer')
  check(viewAfter.status === 'interrupted', 'the table shows the truth: the writer is interrupted')
  check(viewAfter.step >= viewBefore.step, `no step is lost: it was at step ${viewBefore.step}, and ${viewAfter.step} is on disk`)
  reeve(['resume', 'writer'])
  const code = spawnSync(process.execPath, [CLI, 'wait', 'writer'], { cwd: REPO, env: ENV, encoding: 'utf8', timeout: LIMIT_MS }).status
  check(code === 0, 'the writer has completed')
  const resumedView = inspect('writer')
  check(
    resumedView.uuid === viewBefore.uuid && resumedView.pid > viewBefore.pid,
    `it is the same process (…${resumedView.uuid.slice(-8)}) with a new PID (${viewBefore.pid} → ${resumedView.pid})`,
  )
  const lines = readLineNumbers()
  check(new Set(lines).size === lines.length, `${lines.length} lines are in the file, and none was written twice`)
  check(lines.length >= LINE_COUNT - 1, 'at most the line of the cut-off call is missing, and the journal names that call')
}

async function killDaemonWithChildren(): Promise<void> {
  print('4. A command starts children that leave its session. kill -9 ends the daemon again, and the children are gone.')
  reeve(['run', '-d', '--name', 'runaway', '--', 'sh', '-c', 'setsid sleep 1000 & sleep 1000'])
  await waitUntil(() => findLeftovers().length >= 3, 'the command and its children ran')
  process.stdout.write(`    ${findLeftovers().length} programs run: OS pids ${findLeftovers().join(', ')}\n`)
  await killDaemon()
  await waitUntil(() => findLeftovers().length === 0, 'all of them were gone')
  check(findLeftovers().length === 0, '0 left')
  reeve(['ps', '-a'])
}

interface CrewTask {
  readonly id: string
  readonly state: string
  readonly implementer: string | null
  readonly reviewer: string | null
  readonly commit: string | null
  readonly denials: number
  readonly attempts: number
  readonly check: { readonly ok: boolean } | null
}

function crewTasks(): readonly CrewTask[] {
  return (JSON.parse(reeve(['crew', 'tasks', '--json', 'shop'], { show: false })) as { tasks: CrewTask[] }).tasks
}

function makeCrewRepository(): void {
  cpSync(join(ROOT, 'examples/crew'), CREW, { recursive: true })
  mkdirSync(CREW_REPO)
  writeFileSync(join(CREW_REPO, 'cart.js'), 'exports.total = (items) => items.reduce((sum, item) => sum + item.price, 0)\n')
  gitIn(CREW_REPO, 'init', '-q', '-b', 'main')
  gitIn(CREW_REPO, 'add', '.')
  gitIn(CREW_REPO, 'commit', '-qm', 'A shop with a cart')
}

async function runCrew(): Promise<void> {
  print(
    '5. A crew of two workers does three tasks. One worker implements a task, `node --test` verifies it, the other worker reviews it, and reeve commits it. One task fails its test, one is denied, and both are repaired. The daemon is killed in the middle.',
  )
  // A daemon that dies three times within 10 minutes holds all restarts. So the crew has its own home.
  reeve(['daemon', 'stop'])
  ENV['REEVE_HOME'] = join(SCRATCH, 'crew-home')
  makeCrewRepository()
  reeve(['crew', 'up', '-d', 'shop'], { cwd: CREW_REPO })
  await waitUntil(() => crewTasks().some(({ denials }) => denials > 0), 'a review had denied a task')
  reeve(['crew', 'ps', 'shop'])
  await killDaemon()
  reeve(['crew', 'tasks', 'shop'])
  const code = spawnSync(process.execPath, [CLI, 'wait', 'shop'], {
    cwd: CREW_REPO,
    env: ENV,
    encoding: 'utf8',
    timeout: 2 * LIMIT_MS,
  }).status
  check(code === 0, 'the crew has completed')
  reeve(['crew', 'tasks', 'shop'])
  const tasks = crewTasks()
  check(
    tasks.every(({ state, commit }) => state === 'done' && commit !== null),
    'all tasks are done and committed',
  )
  check(
    tasks.every((task) => task.check?.ok === true),
    'the merged files of each task had passed `node --test`',
  )
  check(
    tasks.some(({ id, attempts, denials }) => id === 'tax' && attempts === 1 && denials === 0),
    'the task with the failing test went back to its worker before any review',
  )
  check(
    tasks.every(({ implementer, reviewer }) => reviewer !== null && reviewer !== implementer),
    'another worker reviewed each task',
  )
  const commits = gitIn(CREW_REPO, 'log', '--no-merges', '--format=%h %s', 'main..reeve/shop').trim().split('\n')
  check(commits.length === tasks.length, 'each task is committed once')
  // After the end of a worker reeve removes its worktree. It checks each worktree first, one after the other.
  await waitUntil(() => gitIn(CREW_REPO, 'worktree', 'list').trim().split('\n').length === 1, 'no worktree is left')
  check(gitIn(CREW_REPO, 'status', '--porcelain') === '', 'the work tree is untouched, and no worktree is left')
  gitIn(CREW_REPO, 'merge', '-q', 'reeve/shop')
  const receipt = spawnSync(process.execPath, ['-p', "require('./receipt.js').receipt(200, 10, 0.2)"], {
    cwd: CREW_REPO,
    encoding: 'utf8',
  }).stdout.trim()
  check(receipt === 'to pay: 216.00', `the merged code works: ${receipt}`)
}

async function main(): Promise<void> {
  const beganMs = performance.now()
  process.stdout.write(`reeve's main job, offline, in ${SCRATCH}\n`)
  try {
    makeRepository()
    await fixTheBug()
    await pauseAndResume()
    await crashAndResume()
    await killDaemonWithChildren()
    await runCrew()
    reeve(['daemon', 'stop'])
    print(`All promises were kept, in ${((performance.now() - beganMs) / 1000).toFixed(0)} s.`)
  } catch (error) {
    process.exitCode = 1
    process.stderr.write(`\nThe demo failed: ${error instanceof FailedCheck ? error.message : String((error as Error).stack)}\n`)
    spawnSync(process.execPath, [CLI, 'daemon', 'stop'], { env: ENV, timeout: LIMIT_MS })
    if (existsSync(join(HOME, 'daemon.log')))
      process.stderr.write(readFileSync(join(HOME, 'daemon.log'), 'utf8').split('\n').slice(-20).join('\n'))
  } finally {
    rmSync(SCRATCH, { recursive: true, force: true })
  }
}

await main()
