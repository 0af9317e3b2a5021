// Checks whether a server can keep a store: what it acknowledges must survive a crash of the server, and of its machine.
// Test: test/tables/store/postgres/server-check.test.ts.
import { KernelError } from '../../kernel/model/errors.ts'
import type { Durability } from '../../kernel/model/words.ts'
import type { PostgresConnection } from './connection.ts'

/** The oldest version that is tested. */
const MIN_VERSION = 150_000

/** The settings of a server that decide whether it can keep a store. */
export interface ServerFacts {
  /** the version as a number, such as 150020 */
  readonly version: number
  readonly versionText: string
  readonly encoding: string
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousCommit: string
  readonly standbyNames: string
  readonly isStandby: boolean
}

/** Reads the settings of the server, as they hold for this connection. */
export async function readServerFacts(connection: Pick<PostgresConnection, 'query'>): Promise<ServerFacts> {
  const [row] = await connection.query<ServerFacts>({
    text: `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_version') AS "versionText",
      current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync, current_setting('full_page_writes') AS "fullPageWrites",
      current_setting('synchronous_commit') AS "synchronousCommit", current_setting('synchronous_standby_names') AS "standbyNames",
      pg_is_in_recovery() AS "isStandby"`,
  })
  if (row === undefined) throw new KernelError('STORE_UNSUITABLE', 'the server does not show its settings')
  return row
}

/** Checks the server. Errors: `STORE_UNREACHABLE` for a standby, which may be promoted soon; `STORE_UNSUITABLE`. */
export function checkServer(facts: ServerFacts, durability: Durability): void {
  if (facts.isStandby)
    throw new KernelError('STORE_UNREACHABLE', 'the server is a standby, which cannot be written', {}, 'Use the URL of the primary.')
  const problem = problemOf(facts, durability)
  if (problem !== null) throw new KernelError('STORE_UNSUITABLE', problem.what, {}, problem.hint)
}

function problemOf(facts: ServerFacts, durability: Durability): { readonly what: string; readonly hint: string } | null {
  const { version, versionText, encoding, fsync, fullPageWrites, synchronousCommit, standbyNames } = facts
  if (version < MIN_VERSION) return { what: `the server has version ${versionText}`, hint: 'PostgreSQL 15 or newer is needed.' }
  if (encoding !== 'UTF8')
    return { what: `the database has the encoding ${encoding}`, hint: 'Create a database with `ENCODING UTF8 TEMPLATE template0`.' }
  if (fsync !== 'on' || fullPageWrites !== 'on')
    return { what: 'the server may lose data in a crash', hint: 'Set `fsync = on` and `full_page_writes = on` in postgresql.conf.' }
  if (synchronousCommit === 'off' || (synchronousCommit === 'local' && durability === 'replicated'))
    return {
      what: `synchronous_commit is ${synchronousCommit}, so that the server acknowledges what it may lose`,
      hint: 'Set it to `on` for the database: `ALTER DATABASE … SET synchronous_commit = on`.',
    }
  if (standbyNames === '' && durability === 'replicated')
    return {
      what: 'the server has no synchronous standby, so that a failover may lose acknowledged facts',
      hint: 'Set `synchronous_standby_names`; or write `durability: single` under `store:` in config.yaml, to accept it.',
    }
  return null
}
