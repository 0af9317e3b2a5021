// The daemon's entry: starts it, logs to a file or to stderr, stops it on SIGTERM, SIGINT and SIGHUP.
// `--foreground` logs to stderr. A failure to start is one clear line and the error's exit code.
// Test: test/e2e/restart.test.ts.
import { existsSync } from 'node:fs'
import { pino } from 'pino'
import { paths as findPaths, prepareState } from '../config/paths.ts'
import { enterScope } from '../drivers/contain/scope.ts'
import { ERRORS, KernelError } from '../kernel/errors.ts'
import { startDaemon } from './daemon.ts'
import { trashOf } from './discard.ts'
import { giveBack, startPlainly } from './give-back.ts'
import { LogFile } from './log-file.ts'
import { VERSION } from './version.ts'

/** A terminal that was closed ends nobody. */
function standardError(): ReturnType<typeof pino.destination> {
  const destination = pino.destination({ dest: 2, sync: true })
  destination.on('error', () => {})
  return destination
}

async function main(): Promise<void> {
  startPlainly()
  enterScope()
  const where = findPaths()
  prepareState(where)
  const foreground = process.argv.includes('--foreground')
  const logger = pino({ base: { pid: process.pid } }, foreground ? standardError() : new LogFile(where.logFile))
  const log = (message: string, error: unknown): void => {
    if (error === null) logger.info(message)
    else logger.error({ err: error }, message)
  }
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'a defect: the daemon ends')
    process.exit(ERRORS.INTERNAL.exit)
  })
  const daemon = await startDaemon({ paths: where, log })
  logger.info(`reeve ${VERSION} at ${where.socket}`)
  giveBack(() => existsSync(trashOf(where.state)), (error) => log('memory was not given back', error))
  let isStopping = false
  const stop = (signal: string): void => {
    logger.info(`${signal}: stopping`)
    // Who asks twice does not want to wait.
    daemon.stop(isStopping ? 0 : undefined).catch((error: unknown) => logger.error({ err: error }, 'stopping failed'))
    isStopping = true
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)
  await daemon.stopped
  logger.info('stopped')
  process.exit(0)
}

main().catch((error: unknown) => {
  const known = error instanceof KernelError ? error : new KernelError('INTERNAL', error instanceof Error ? error.message : String(error))
  process.stderr.write(`reeve daemon: ${known.message} (${known.code})\n  ${known.hint}\n`)
  process.exit(ERRORS[known.code].exit)
})
