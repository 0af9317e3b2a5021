// Every command of README, docs/start and docs/guides runs as it stands there: on the build, in a new repository, with a model on this
// machine. Each block that cannot be run here gives its reason in a comment of the page, and is counted below.
import { globSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../../support/env.ts'
import { blocksIn, readBlocks } from '../../support/docs/page-blocks.ts'
import { PAGE_WAIT_MS, runBlocks } from '../../support/docs/run-blocks.ts'

const PAGES = ['README.md', ...globSync('docs/{start,guides}/*.md', { cwd: ROOT })].toSorted()
const blocksOf = (page: string) => readBlocks(page).filter(({ reason }) => reason === null)
const pagesWithCommands = PAGES.filter((page) => blocksOf(page).some(({ kind }) => kind === 'commands'))

describe('the commands of a page run', () => {
  test.concurrent.each(pagesWithCommands)(
    '%s',
    async (page) => {
      const { code, output } = await runBlocks(page, blocksOf(page))
      // The end of the output names the command that failed.
      expect(code, output.slice(-3_000)).toBe(0)
    },
    PAGE_WAIT_MS + 60_000,
  )
})

test('only the blocks below cannot be run, and each gives its reason', () => {
  const left = PAGES.flatMap((page) => readBlocks(page).flatMap(({ reason }) => (reason === null ? [] : [`${page}: ${reason}`])))
  expect(left).toEqual([
    'README.md: test/scenarios/clean-machine.test.ts does, on a clean machine',
    'README.md: it installs from the network, and needs an account',
    'README.md: CI runs the demo by itself',
    'README.md: it runs all tests, and this one is one of them',
    'docs/guides/claude-code.md: it installs from the network, and needs an account',
    'docs/guides/survive-a-crash.md: it needs the systemd of a user',
    ...Array.from({ length: 4 }, () => 'docs/start/install.md: test/scenarios/clean-machine.test.ts does, on a clean machine'),
  ])
})

test('`blocksIn` finds the commands, files and reasons of a page', () => {
  const page =
    'a\n\n```sh\nreeve ps\n```\n\n```yaml\n# x.yaml\na: 1\n```\n\n```yaml\nb: 1\n```\n\n<!-- not run: no key -->\n```sh\nls\n```\n'
  expect(blocksIn(page)).toEqual([
    { line: 4, kind: 'commands', name: '', text: 'reeve ps\n', reason: null },
    { line: 8, kind: 'file', name: 'x.yaml', text: '# x.yaml\na: 1\n', reason: null },
    { line: 18, kind: 'commands', name: '', text: 'ls\n', reason: 'no key' },
  ])
})
