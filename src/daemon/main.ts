// The daemon's entry point: starts the daemon, writes its log to a file, and stops it on SIGTERM, SIGINT and SIGHUP. `--foreground` writes
// the log to stderr. `--accept-store` accepts a store other than the store that the last daemon left. `--check` loads the code, prints its
// version, build and store schema as JSON, and exits. A failed start prints the error and a hint, and exits with the error's exit code.
// Test: test/processes/daemon/refused-start.test.ts.
import { existsSync } from 'node:fs'
import { pino } from 'pino'
import { pathsFrom as findPaths, prepareState } from '../config/paths.ts'
import { enterScope } from '../drivers/contain/backends/systemd-scope.ts'
import { systemdNotifier } from '../drivers/contain/systemd-notifier.ts'
import { ERRORS, KernelError } from '../kernel/model/errors.ts'
import { startDaemon } from './daemon.ts'
import { trashPath } from './host/tmp-trash.ts'
import { releaseMemory, disableOptimizers } from './host/release-memory.ts'
import { preloadCode } from './host/preloaded-code.ts'
import { LogFile } from './host/log-file.ts'
import { BUILD } from '../api/build.ts'
import { VERSION } from '../api/version.ts'
import { SCHEMA_VERSION } from '../store/schema.ts'
import { errorText } from '../kernel/util/error-text.ts'

/** Opens stderr for the log. Write errors are ignored: a closed terminal must not end the daemon. */
function openStderr(): ReturnType<typeof pino.destination> {
  const destination = pino.destination({ dest: 2, sync: true })
  destination.on('error', () => {})
  return destination
}

async function main(): Promise<void> {
  preloadCode()
  if (process.argv.includes('--check')) {
    process.stdout.write(`${JSON.stringify({ reeve: VERSION, build: BUILD, schema: SCHEMA_VERSION })}\n`)
    return
  }
  disableOptimizers()
  enterScope()
  const paths = findPaths()
  prepareState(paths)
  const foreground = process.argv.includes('--foreground')
  const logger = pino({ base: { pid: process.pid } }, foreground ? openStderr() : new LogFile(paths.logFile))
  const log = (message: string, error: unknown): void => {
    if (error === null) logger.info(message)
    else logger.error({ err: error }, message)
  }
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'internal defect: the daemon ends')
    process.exit(ERRORS.INTERNAL.exit)
  })
  const systemd = systemdNotifier(process.env, (error) => log('the service manager could not be notified', error))
  const started = startDaemon({
    paths,
    log,
    acceptStore: process.argv.includes('--accept-store'),
    programFile: process.argv[1] ?? null,
  })
  let isStopping = false
  const stop = (signal: string): void => {
    logger.info(`${signal}: stopping`)
    // A second request to stop skips the drain.
    const drainMs = isStopping ? 0 : undefined
    isStopping = true
    started.then((daemon) => daemon.stop(drainMs)).catch((error: unknown) => logger.error({ err: error }, 'stopping failed'))
  }
  // The handlers are set before the daemon answers: a client may stop it at once, and that must not count as a crash.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)
  const daemon = await started
  systemd.ready()
  logger.info(`reeve ${VERSION} at ${paths.socket}`)
  releaseMemory(
    () => existsSync(trashPath(paths.state)),
    (error) => log('memory could not be released', error),
  )
  await daemon.stopped
  logger.info('stopped')
  process.exit(0)
}

main().catch((error: unknown) => {
  const known = error instanceof KernelError ? error : new KernelError('INTERNAL', errorText(error))
  process.stderr.write(`reeve daemon: ${known.message} (${known.code})\n  ${known.hint}\n`)
  process.exit(ERRORS[known.code].exit)
})
