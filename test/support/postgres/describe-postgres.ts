// A suite of tests with a real PostgreSQL: it runs once for each version that is installed, with one server for all of its tests.
// Without a PostgreSQL it is skipped, and availablePostgres() prints the reason.
import { afterAll, beforeAll, describe } from 'vitest'
import { availablePostgres, type PostgresProgram } from './programs.ts'
import { startPostgres, type PostgresOptions, type PostgresServer } from './server.ts'

/** A file without any suite would fail. */
const NONE: PostgresProgram = { major: 0, version: 'of no version', bin: '' }

export function describePostgres(
  name: string,
  options: PostgresOptions,
  define: (suite: { readonly server: PostgresServer }) => void,
): void {
  const programs = availablePostgres()
  describe.runIf(programs.length > 0).each(programs.length > 0 ? programs : [NONE])(`${name}, with PostgreSQL $version`, (program) => {
    let server: PostgresServer | undefined
    beforeAll(async () => {
      server = await startPostgres(program, options)
    })
    afterAll(() => server?.[Symbol.asyncDispose]())
    define({
      get server() {
        if (server === undefined) throw new Error('a test uses the server before it starts')
        return server
      },
    })
  })
}
