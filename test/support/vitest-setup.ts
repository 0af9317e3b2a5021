// Vitest runs this before each test file. It passes the seed of the run to fast-check. It also gives daemons within the test's
// process the build id of the bundle. Tests run commands from the bundle, and a command compares the build ids. When a test fails, it
// prints what the pages of that test reported.
import { beforeEach } from 'vitest'
import { BUNDLE_ID } from './daemon/build-id.ts'
import { takeReports } from './web/page-reports.ts'

if (BUNDLE_ID !== null) Object.assign(globalThis, { REEVE_BUILD: BUNDLE_ID })
if (process.env['REEVE_SEED'] !== undefined) {
  const { configureGlobal, readConfigureGlobal } = await import('fast-check')
  configureGlobal({ ...readConfigureGlobal(), seed: Number(process.env['REEVE_SEED']) })
}

beforeEach(({ onTestFailed }) => {
  takeReports()
  onTestFailed(() => {
    const reports = takeReports()
    if (reports.length > 0) console.error(['the pages of this test reported:', ...reports].join('\n  '))
  })
})
