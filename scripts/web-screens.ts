// Makes docs/screens/web*.png: pictures of the page in Chromium, on a desktop and on a phone, from a real daemon. With `all DIR` it puts
// pictures of all pages into a directory: on a desktop and a phone, in light and dark. `all DIR phone-dark` makes only those whose names
// contain that word. Needs a build and Chromium (scripts/need-chromium). Run it with `node scripts/web-screens.ts`, and look at the
// pictures before you commit them.
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'
import { ScreenWorld } from './web-screens/world.ts'

const OUT = resolve(import.meta.dirname, '../docs/screens')
const CHROMIUM = process.env['REEVE_CHROMIUM'] ?? '/usr/bin/chromium'
/** the time limit of each wait, in ms; much longer than a wait usually takes */
const LIMIT_MS = 240_000

const VIEWPORTS = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } } as const
type Device = keyof typeof VIEWPORTS
type Scheme = 'light' | 'dark'

interface Picture {
  readonly name: string
  /** the only device for which the picture is taken; absent: both */
  readonly only?: Device
  readonly path: string
  /** what must be there before the picture is taken */
  readonly ready: string
  readonly before?: (page: Page) => Promise<unknown>
}

/** The UUIDs of all processes, by name. */
async function findProcesses(world: ScreenWorld): Promise<ReadonlyMap<string, string>> {
  const { processes } = JSON.parse(await world.reeve('ps', '-a', '--json')) as {
    readonly processes: readonly { readonly uuid: string; readonly name: string | null }[]
  }
  return new Map(processes.map(({ uuid, name }) => [name ?? '', uuid]))
}

function picturesOf(uuids: ReadonlyMap<string, string>): readonly Picture[] {
  const at = (name: string, tab = ''): string => `/p/${uuids.get(name) ?? ''}${tab}`
  const tab = (name: string, ready = '.process-tab'): Picture => ({ name: `process-${name}`, path: at('lexer', `/${name}`), ready })
  return [
    { name: 'fleet', path: '/', ready: `.row[data-uuid="${uuids.get('lexer') ?? ''}"]` },
    {
      name: 'peek',
      only: 'desktop',
      path: '/',
      ready: '.peek-panel',
      before: async (page) => {
        await page.locator(`.row[data-uuid="${uuids.get('lexer') ?? ''}"] .why`).click()
        await page.keyboard.press('Space')
      },
    },
    { name: 'needs', path: '/needs', ready: '.need-cards button[data-kind]:enabled' },
    {
      name: 'need',
      path: '/needs',
      ready: '.need-page button',
      before: (page) => page.locator('[data-need] a').first().click(),
    },
    { name: 'process', path: at('lexer'), ready: '.question button:enabled' },
    tab('files', '.file-line'),
    tab('logs', '.log'),
    ...['context', 'signals', 'limits', 'events'].map((name) => tab(name)),
    {
      name: 'stop',
      path: at('lexer'),
      ready: 'dialog .stakes',
      before: (page) => page.getByRole('button', { name: 'Stop …' }).click(),
    },
    {
      name: 'fork',
      path: at('lexer', '/steps/3'),
      ready: 'dialog .fork-form',
      before: (page) => page.locator('.fork').click(),
    },
    { name: 'lineage', path: at('lexer', '/lineage'), ready: '.runs, .lineage' },
    { name: 'compare', path: `/compare/${uuids.get('lexer') ?? ''}/${uuids.get('lexer2') ?? ''}`, ready: '.compare' },
    { name: 'start', path: '/start', ready: '.start form' },
    { name: 'crews', path: '/crews', ready: 'tr[data-crew]' },
    { name: 'crew-start', path: '/crews/start', ready: '.plan ol li' },
    { name: 'crew', path: at('shop', '/board'), ready: '[data-lane="commit"] .card' },
    { name: 'crew-task', path: at('shop', '/board/tax'), ready: '.thread li' },
    { name: 'runs', path: '/runs', ready: 'tr[data-run]' },
    { name: 'run', path: `/runs/nightly/node/docs`, ready: '.node-panel' },
    { name: 'night', path: `/night?since=${encodeURIComponent(world.startedAt)}`, ready: '.swim-lanes li' },
    { name: 'supervisors', path: '/supervisors', ready: 'main section' },
    { name: 'machine', path: '/machines', ready: 'table tbody tr' },
    { name: 'cost', path: '/cost?split=model', ready: 'main table, .chart' },
    { name: 'settings', path: '/settings', ready: 'tr[data-session]' },
  ]
}

/** The pictures of the documentation. */
const DOCUMENTED: readonly (readonly [picture: string, device: Device, scheme: Scheme, file: string])[] = [
  ['fleet', 'desktop', 'light', 'web'],
  ['process', 'desktop', 'light', 'web-process'],
  ['crew', 'desktop', 'light', 'web-crew'],
  ['run', 'desktop', 'light', 'web-run'],
  ['night', 'desktop', 'light', 'web-night'],
  ['cost', 'desktop', 'dark', 'web-cost'],
  ['settings', 'desktop', 'light', 'web-settings'],
  ['needs', 'phone', 'dark', 'web-phone'],
]

async function open(world: ScreenWorld, browser: Browser, device: Device, scheme: Scheme): Promise<Page> {
  const context = await browser.newContext({
    viewport: VIEWPORTS[device],
    colorScheme: scheme,
    deviceScaleFactor: 1,
    hasTouch: device === 'phone',
  })
  const page = await context.newPage()
  page.setDefaultTimeout(LIMIT_MS)
  const { link } = JSON.parse(await world.reeve('web', '--no-open', '--json')) as { link: string }
  await page.goto(link)
  await page.locator('[data-link="open"]').waitFor()
  return page
}

/** Replaces the path of the scratch directory in all texts of the page by one that readers know. */
async function hideDirectory(page: Page): Promise<void> {
  await page.evaluate(`
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = texts.nextNode(); node; node = texts.nextNode())
      if (node.nodeValue.includes(${JSON.stringify(world.scratch)}))
        node.nodeValue = node.nodeValue.replaceAll(${JSON.stringify(world.scratch)}, '/home/me')
  `)
}

/** Takes a picture. Returns false, and prints why, if the page does not become ready for it. */
async function take(page: Page, { name, path, ready, before }: Picture, file: string, waitMs: number): Promise<boolean> {
  const origin = new URL(page.url()).origin
  try {
    await page.goto(origin + path)
    await page.locator('[data-link="open"]').waitFor()
    await before?.(page)
    await page.locator(ready).first().waitFor({ timeout: waitMs })
    await hideDirectory(page)
    await page.screenshot({ path: file })
    return true
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`)
    return false
  }
}

/** Waits until the crew and the agents ask, and makes a fork. */
async function waitForQuestions(world: ScreenWorld, page: Page): Promise<void> {
  await page.locator('.needs button[data-kind="allow_once"]:enabled').first().waitFor()
  await page.locator('.needs li', { hasText: 'shop' }).first().waitFor()
  await world.reeve(
    'resume',
    '-d',
    'lexer',
    '--fork',
    '--from-step',
    '2',
    '--with-files',
    '--name',
    'lexer2',
    '--message',
    'keep the whole string',
  )
  await page.locator('.row', { hasText: 'lexer2' }).waitFor()
}

const [mode, dir, only = ''] = process.argv.slice(2)
const target = mode === 'all' ? resolve(dir ?? 'screens') : OUT
mkdirSync(target, { recursive: true })
await using world = await ScreenWorld.start()
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--disable-gpu'] })
try {
  const first = await open(world, browser, 'desktop', 'light')
  await waitForQuestions(world, first)
  const pictures = picturesOf(await findProcesses(world))
  const wanted =
    mode === 'all'
      ? (['desktop', 'phone'] as const).flatMap((device) =>
          (['light', 'dark'] as const).flatMap((scheme) =>
            pictures
              .filter((picture) => (picture.only ?? device) === device)
              .map((picture) => ({ picture, device, scheme, file: `${picture.name}-${device}-${scheme}` })),
          ),
        )
      : DOCUMENTED.flatMap(([name, device, scheme, file]) =>
          pictures.filter((picture) => picture.name === name).map((picture) => ({ picture, device, scheme, file })),
        )
  const pages = new Map<string, Page>()
  for (const { picture, device, scheme, file } of wanted.filter((one) => one.file.includes(only))) {
    const key = `${device} ${scheme}`
    const page = pages.get(key) ?? (await open(world, browser, device, scheme))
    pages.set(key, page)
    const isTaken = await take(page, picture, join(target, `${file}.png`), mode === 'all' ? 30_000 : LIMIT_MS)
    if (!isTaken) process.exitCode = 1
  }
} finally {
  await browser.close()
}
