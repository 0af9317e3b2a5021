// The versions of installed external agents, and their comparison with the tested ones. The programs are files of the test.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { findInstalledPrograms, KNOWN_PROGRAMS } from '../../../src/config/known-programs.ts'
import { tempDir } from '../../support/tmp.ts'

function install(dir: string, program: keyof typeof KNOWN_PROGRAMS, path: string, packageJson: string | null): void {
  const file = join(dir, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '#!/bin/sh\n', { mode: 0o755 })
  if (packageJson !== null) writeFileSync(join(dir, path.split('/', 3).join('/'), 'package.json'), packageJson)
  mkdirSync(join(dir, 'bin'), { recursive: true })
  symlinkSync(file, join(dir, 'bin', program))
}

test.each([
  ['0.61.0', '0.61.0', 'tested'],
  ['0.62.0-preview.1', '0.62.0-preview.1', 'newer'],
  ['0.61.12', '0.61.12', 'newer'],
  ['0.9.80', '0.9.80', 'older'],
  ['next', 'next', null],
])('the installed version %s is shown as %s; its comparison with the tested version: %s', async (version, shown, comparison) => {
  await using dir = await tempDir()
  const name = KNOWN_PROGRAMS.gemini.package
  install(dir.path, 'gemini', 'lib/gemini/pkg/dist/index.js', JSON.stringify({ name, version }))
  expect(KNOWN_PROGRAMS.gemini.tested, 'the cases are about this version').toBe('0.61.0')
  expect(await findInstalledPrograms(`/nowhere:${join(dir.path, 'bin')}`)).toEqual([
    { program: 'gemini', package: name, tested: '0.61.0', version: shown, comparison },
  ])
})

test('without a package of its own, the path may name the version', async () => {
  await using dir = await tempDir()
  install(dir.path, 'claude', 'share/claude/versions/2.1.1', JSON.stringify({ name: 'another', version: '9.9.9' }))
  install(dir.path, 'codex', 'share/codex/bin/codex', null)
  const found = await findInstalledPrograms(join(dir.path, 'bin'))
  expect(found.map(({ program, version, comparison }) => [program, version, comparison])).toEqual([
    ['claude', '2.1.1', 'older'],
    ['codex', null, null],
  ])
})
