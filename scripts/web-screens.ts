// Makes docs/screens/web*.png: pictures of the page in Chromium, on a desktop and on a phone, from a real daemon with models that are files.
// Needs a build and Chromium (scripts/need-chromium). Run it with `node scripts/web-screens.ts`, and check the pictures before you commit them.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'

const ROOT = resolve(import.meta.dirname, '..')
const OUT = join(ROOT, 'docs/screens')
const SCRATCH = mkdtempSync(join(tmpdir(), 'reeve-web-'))
const SHOP = join(SCRATCH, 'shop')
const CHROMIUM = process.env['REEVE_CHROMIUM'] ?? '/usr/bin/chromium'
const LIMIT_MS = 60_000

const DESKTOP = { width: 1280, height: 720 } as const
const PHONE = { width: 390, height: 844 } as const

const LEXER = `- text: I look at the failing case first.
  tools: [{ name: bash, input: { command: 'echo "lexer: 40 passed, 1 failed"; exit 1' } }]
  usage: { input: 21400, output: 310 }
- text: The state of the string was lost at a newline. I keep it.
  tools: [{ name: write, input: { path: lexer.js, content: "exports.scan = (text) => text.split(/\\\\b/)\\n" } }]
  usage: { input: 24100, output: 543 }
- text: All 41 tests pass. I push the branch, so that CI runs on it.
  tools: [{ name: bash, input: { command: git push --force origin HEAD } }]
  usage: { input: 26500, output: 151 }
`
const WRITER = `- text: I collect what changed since the last release.
  tools: [{ name: bash, input: { command: 'sleep 600 # git log --oneline v0.1..HEAD' } }]
  usage: { input: 8200, output: 90 }
`

function reeve(...args: string[]): string {
  return execFileSync(join(ROOT, 'bin/reeve'), args, {
    cwd: SHOP,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, HOME: SCRATCH, REEVE_HOME: join(SCRATCH, 'home') },
  })
}

/** Starts a crew, an agent that asks, one that works, a paused one, a server, and a command that fails. */
function startProcesses(): void {
  cpSync(join(ROOT, 'examples/crew'), SHOP, { recursive: true })
  writeFileSync(join(SHOP, 'lexer.yaml'), LEXER)
  writeFileSync(join(SHOP, 'writer.yaml'), WRITER)
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: SHOP, encoding: 'utf8' })
  git('init', '-q', '-b', 'main')
  for (const [name, value] of [['user.name', 'Ann'] as const, ['user.email', 'ann@example.org'] as const]) git('config', name, value)
  git('add', '-A')
  git('commit', '-q', '-m', 'first')
  reeve('run', '-d', '--name', 'notes', '--budget-tokens', '20000', '--model', 'script:writer.yaml', 'write the release notes')
  reeve('run', '-d', '--name', 'changes', '--parent', 'notes', '--model', 'script:writer.yaml', 'collect the changes')
  reeve(
    'run',
    '-d',
    '--name',
    'lexer',
    ...['--permissions', 'ask', '--allow', 'bash(echo:*),bash(exit:*),write'],
    '--model',
    'script:lexer.yaml',
    'keep the state of a string',
  )
  reeve('run', '-d', '--name', 'server', '--restart', 'on-failure', '--', 'sh', '-c', 'echo listening on 3000; sleep 900')
  reeve('run', '-d', '--name', 'bench', '--', 'sleep', '900')
  reeve('pause', 'bench')
  reeve('run', '-d', '--name', 'tests', '--', 'sh', '-c', 'echo 3 of 41 failed; exit 2')
  reeve('crew', 'up', '-d', '--gate', 'human')
}

async function open(
  browser: Browser,
  viewport: { readonly width: number; readonly height: number },
  scheme: 'light' | 'dark',
): Promise<Page> {
  const context = await browser.newContext({ viewport, colorScheme: scheme, deviceScaleFactor: 1 })
  const page = await context.newPage()
  page.setDefaultTimeout(LIMIT_MS)
  const { link } = JSON.parse(reeve('web', '--no-open', '--json')) as { link: string }
  await page.goto(link)
  await page.locator('[data-link="open"]').waitFor()
  return page
}

async function takePictures(browser: Browser): Promise<void> {
  const { processes } = JSON.parse(reeve('ps', '-a', '--json')) as {
    processes: { readonly uuid: string; readonly name: string | null; readonly driver: string }[]
  }
  const uuidOf = (isIt: (process: (typeof processes)[number]) => boolean): string => processes.find(isIt)?.uuid ?? ''
  const [crew, lexer] = [uuidOf(({ driver }) => driver === 'crew'), uuidOf(({ name }) => name === 'lexer')]
  const desktop = await open(browser, DESKTOP, 'light')
  await desktop.locator(`[data-uuid="${crew}"] .mark[aria-label="asks"]`).waitFor()
  await desktop.locator('.needs button[data-kind="allow_once"]:enabled').waitFor()
  await desktop.screenshot({ path: join(OUT, 'web.png') })
  await desktop.locator(`.row[data-uuid="${lexer}"] .name a`).click()
  await desktop.locator('.step-row').nth(2).waitFor()
  await desktop.locator('.question').waitFor()
  await desktop.screenshot({ path: join(OUT, 'web-process.png') })
  const phone = await open(browser, PHONE, 'dark')
  // The first page of a phone lists the needs.
  await phone.locator('button[data-kind="allow_once"]:enabled').first().waitFor()
  await phone.screenshot({ path: join(OUT, 'web-phone.png') })
}

mkdirSync(SHOP)
mkdirSync(OUT, { recursive: true })
let browser: Browser | undefined
try {
  startProcesses()
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--disable-gpu'] })
  await takePictures(browser)
} finally {
  await browser?.close()
  reeve('daemon', 'stop', '--now')
  rmSync(SCRATCH, { recursive: true, force: true })
}
